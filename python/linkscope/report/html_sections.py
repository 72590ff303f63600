"""The page's tables as its templates want them: in chapters, with their colours and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.summary import Table, TableSummary, table_summary
from linkscope.report import wording
from linkscope.report.curve_svg import curve_svg
from linkscope.report.heat import step
from linkscope.report.html_limits import Fitted
from linkscope.report.html_records import Records
from linkscope.report.series_band import Band

FLOOR = 0.7
"""Where no peak is known, the palest colour stands for at most this share of the largest value, so that noise
looks like noise."""


@dataclass(frozen=True)
class Scale:
    """Of one family of matrices: what the palest and the strongest colour stand for, shares of peak or values."""

    low: float
    high: float
    of_peak: bool

    def step(self, entry: Cell) -> int | None:
        """The cell's colour; None where it has no place on the scale."""
        if entry.headline is None:
            return None
        found = entry.share if self.of_peak else entry.headline.value.median
        if found is None:
            return None
        return step((found - self.low) / (self.high - self.low)) if self.high > self.low else step(1.0)


OF_PEAK = Scale(0.0, 1.0, of_peak=True)


@dataclass(frozen=True)
class Heat:
    """A heat map's cell: its step on the colour scale (None: no figure), its record's index, whether it is short."""

    cell: Cell
    step: int | None
    index: int
    short: bool


@dataclass(frozen=True)
class Section:
    """A table as the template wants it; ``whole``: in the run. ``heat`` and ``scale`` are for a matrix, ``svg`` for
    curves, with the ``band`` of all series where those are too many; ``indices`` are the records' of its cells;
    ``single`` is the one cell of a table that has no other."""

    kind: str
    anchor: str
    table: Table
    whole: Table
    left_out: str
    line: TableSummary | None
    indices: tuple[int, ...]
    collective: bool
    heat: tuple[tuple[Heat | None, ...], ...] = ()
    scale: Scale | None = None
    svg: Markup | None = None
    band: Band | None = None

    @property
    def single(self) -> Cell | None:
        cells = self.whole.flat
        return cells[0] if len(cells) == 1 and cells[0].headline is not None and self.kind != "curve" else None

    @property
    def nothing(self) -> str:
        """Why there is nothing to show; empty where there is."""
        return wording.all_skipped(self.whole.flat)


@dataclass(frozen=True)
class Chapter:
    """Tables that are folded together."""

    anchor: str
    title: str
    sections: tuple[Section, ...]


def chapters(sections: Sequence[Section]) -> list[Chapter]:
    """Matrices, curves, lists, then all collectives; those without a table are left out."""
    kinds = (("matrices", "Matrices", "matrix"), ("curves", "Curves", "curve"), ("lists", "Lists", "list"))
    found = [
        Chapter(anchor, title, tuple(s for s in sections if s.kind == kind and not s.collective))
        for anchor, title, kind in kinds
    ]
    found.append(Chapter("collectives", "Collectives", tuple(s for s in sections if s.collective)))
    return [chapter for chapter in found if chapter.sections]


def sections_of(tables: Sequence[Fitted], records: Records) -> list[Section]:
    """One for each table, in their order."""
    scales = _scales(one.whole for one in tables if isinstance(one.whole, Matrix))
    return [_section(number, one, records, scales) for number, one in enumerate(tables)]


def family(table: Table) -> str:
    """The title without the method, where it ends with its one method: what tables of other methods share with it."""
    heading = table.heading
    ending = f", {heading.methods[0]}" if len(heading.methods) == 1 else ""
    return heading.title.removesuffix(ending) if ending else heading.title


def _section(number: int, one: Fitted, records: Records, scales: dict[tuple[str, str], Scale]) -> Section:
    table = one.table
    indices = tuple(records.index(entry) for entry in table.flat)
    shared = (f"t{number}", table, one.whole, one.left_out, table_summary(one.whole), indices)
    collective = records.gathers(table.flat[0])
    if isinstance(table, Matrix):
        scale = scales.get((family(table), table.heading.unit))
        heat = tuple(
            tuple(
                None if c is None else Heat(c, scale.step(c) if scale else None, records.index(c), records.short(c))
                for c in cells
            )
            for cells in table.cells
        )
        return Section("matrix", *shared, collective, heat=heat, scale=scale)
    if isinstance(table, CurveSet):
        svg = Markup(curve_svg(table, records.index, one.band))
        return Section("curve", *shared, collective, svg=svg, band=one.band)
    return Section("list", *shared, collective)


def _scales(tables: Iterable[Matrix]) -> dict[tuple[str, str], Scale]:
    """By family and unit: shares of peak where all figures have one, else values, least to largest."""
    members: dict[tuple[str, str], list[Cell]] = {}
    for table in tables:
        members.setdefault((family(table), table.heading.unit), []).extend(table.flat)
    return {key: scale for key, cells in members.items() if (scale := _scale(cells)) is not None}


def _scale(cells: Sequence[Cell]) -> Scale | None:
    figures = [(cell, cell.headline) for cell in cells if cell.headline is not None]
    if not figures:
        return None
    if all(cell.share is not None for cell, _ in figures):
        return OF_PEAK
    values = [figure.value.median for _, figure in figures]
    return Scale(min(min(values), FLOOR * max(values)), max(values), of_peak=False)
