"""The page's tables as its templates want them: in chapters, with their colours and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.summary import Table, TableSummary, table_summary
from linkscope.report import case_path, wording
from linkscope.report.curve_svg import curve_svg
from linkscope.report.heat_scale import Scale, shares_scale, values_scale
from linkscope.report.html_limits import Fitted
from linkscope.report.html_records import Records
from linkscope.report.series_band import Band
from linkscope.report.sweep import Sweep, sweep

EVEN = 0.03
"""A table whose figures are within that of one another is one figure."""


@dataclass(frozen=True)
class Heat:
    """A heat map's cell: the class of its colour (empty: none), its record's index, whether it is short."""

    cell: Cell
    colour: str
    index: int
    short: bool


@dataclass(frozen=True)
class Section:
    """A table as the template wants it; ``whole``: in the run. ``heat`` and ``scale`` are for a matrix, ``svg`` for
    curves, with the ``band`` of all series where those are too many; ``indices`` are the records' of its cells;
    ``single`` is the one cell of a table that has no other. ``path`` is what its bytes pass; ``methods``: of each
    case, by its id. ``collectives``: those of its cases."""

    kind: str
    anchor: str
    table: Table
    whole: Table
    left_out: str
    line: TableSummary | None
    indices: tuple[int, ...]
    path: str
    methods: Mapping[str, str]
    collectives: tuple[str, ...]
    heat: tuple[tuple[Heat | None, ...], ...] = ()
    scale: Scale | None = None
    svg: Markup | None = None
    band: Band | None = None

    @property
    def single(self) -> Cell | None:
        cells = self.whole.flat
        return cells[0] if len(cells) == 1 and cells[0].headline is not None and self.kind != "curve" else None

    @property
    def collective(self) -> str:
        """Such as "all-reduce"; of tables with several that they are several; empty where there is none."""
        return self.collectives[0] if len(self.collectives) == 1 else case_path.SEVERAL if self.collectives else ""

    @property
    def nothing(self) -> str:
        """Why there is nothing to show; empty where there is."""
        cells = self.whole.flat
        if any(entry.status != "skipped" for entry in cells):
            return wording.all_skipped(cells)
        reasons = list(dict.fromkeys(entry.reason or "no reason recorded" for entry in cells))
        return wording.all_skipped(cells) or f"all {len(cells)} skipped: {wording.few(reasons)}"

    @property
    def sweep(self) -> Sweep | None:
        """Of a table over sizes or counts."""
        return None if self.single else sweep(self.whole)

    @property
    def exact(self) -> bool:
        """Whether no figure has an interval, as a model's."""
        return all(entry.headline.exact for entry in self.whole.flat if entry.headline is not None)

    @property
    def no_rivals(self) -> list[str]:
        """Which curves are left out of what is said to be best, and why."""
        return wording.no_rivals(self.whole) if isinstance(self.whole, CurveSet) else []

    @property
    def brief(self) -> str:
        """The table in a line, such as "396.1 – 396.4 GB/s, 88 % of peak"."""
        if self.sweep is not None:
            return self.sweep.words
        if self.line is None:
            return self.nothing or "no figure"
        shares = (self.line.lowest_share, self.line.highest_share)
        told = dict.fromkeys(wording.share_of_peak(share) for share in shares if share is not None)
        of_peak = f", {' – '.join(told)} of peak" if told else ""
        return f"{span(self.line)} {self.line.heading.unit}{of_peak}"


@dataclass(frozen=True)
class CollectiveGroup:
    """Tables of one collective; ``best``: its way by size, or empty."""

    title: str
    best: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Chapter:
    """Tables that are folded together; ``groups`` hold them all where there are any."""

    anchor: str
    title: str
    sections: tuple[Section, ...]
    groups: tuple[CollectiveGroup, ...] = ()


def chapters(sections: Sequence[Section], best: Mapping[str, str] | None = None) -> list[Chapter]:
    """Matrices, curves, lists, then all collectives; those without a table are left out. ``best``: of each collective
    its way by size."""
    kinds = (("matrices", "Matrices", "matrix"), ("curves", "Curves", "curve"), ("lists", "Lists", "list"))
    found = [
        Chapter(anchor, title, tuple(s for s in sections if s.kind == kind and not s.collectives))
        for anchor, title, kind in kinds
    ]
    collective = tuple(s for s in sections if s.collectives)
    found.append(Chapter("collectives", "Collectives", collective, _groups(collective, best or {})))
    return [chapter for chapter in found if chapter.sections]


def _groups(sections: Sequence[Section], best: Mapping[str, str]) -> tuple[CollectiveGroup, ...]:
    """By collective, in the order of the run; tables of several ones last."""
    found: dict[str, list[Section]] = {}
    for one in sorted(sections, key=lambda one: len(one.collectives) > 1):
        found.setdefault(one.collective, []).append(one)
    return tuple(CollectiveGroup(title, best.get(title, ""), tuple(some)) for title, some in found.items())


def sections_of(tables: Sequence[Fitted], records: Records) -> list[Section]:
    """One for each table, in their order."""
    scales = _scales(tables, records)
    return [_section(number, one, records, scales) for number, one in enumerate(tables)]


def span(line: TableSummary) -> str:
    """Its comparable figures from the lowest to the highest; the mean where all hardly differ."""
    if line.spread <= EVEN:
        return wording.value(line.mean)
    ends = sorted(one.headline.value.median for one in (line.worst, line.best) if one.headline is not None)
    return " – ".join(dict.fromkeys(map(wording.value, ends)))


def family(table: Table) -> str:
    """The title without the method, where it ends with its one method: what tables of other methods share with it."""
    heading = table.heading
    ending = f", {heading.methods[0]}" if len(heading.methods) == 1 else ""
    return heading.title.removesuffix(ending) if ending else heading.title


def _section(number: int, one: Fitted, records: Records, scales: Mapping[tuple[str, str], Scale]) -> Section:
    table = one.table
    rows = {entry.id: records.row(entry) for entry in one.whole.flat}
    collectives = dict.fromkeys(filter(None, map(case_path.collective, rows.values())))
    shared = (
        f"t{number}",
        table,
        one.whole,
        one.left_out,
        table_summary(one.whole),
        tuple(records.index(entry) for entry in table.flat),
        _path(one.whole, records),
        {case_id: " + ".join(case_path.methods(row)) for case_id, row in rows.items()},
        tuple(collectives),
    )
    if isinstance(table, Matrix):
        scale = shares_scale(one.whole.flat) or scales.get((_path(one.whole, records), table.heading.unit))
        return Section("matrix", *shared, heat=_heat(table, scale, records), scale=scale)
    if isinstance(table, CurveSet):
        svg = Markup(curve_svg(table, records.index, one.band))
        return Section("curve", *shared, svg=svg, band=one.band)
    return Section("list", *shared)


def _path(table: Table, records: Records) -> str:
    """Of most of its cases."""
    counts = Counter(case_path.path(records.row(entry)) for entry in table.flat)
    return counts.most_common(1)[0][0]


def _heat(table: Matrix, scale: Scale | None, records: Records) -> tuple[tuple[Heat | None, ...], ...]:
    def heat(entry: Cell | None) -> Heat | None:
        if entry is None:
            return None
        return Heat(entry, scale.colour(entry) if scale else "", records.index(entry), records.short(entry))

    return tuple(tuple(heat(entry) for entry in line) for line in table.cells)


def _scales(tables: Sequence[Fitted], records: Records) -> dict[tuple[str, str], Scale]:
    """By path and unit, of all matrices without a peak."""
    members: dict[tuple[str, str], list[Sequence[Cell]]] = {}
    for whole in (one.whole for one in tables):
        if isinstance(whole, Matrix) and shares_scale(whole.flat) is None:
            members.setdefault((_path(whole, records), whole.heading.unit), []).append(whole.flat)
    found = {key: values_scale(key[0], cells) for key, cells in members.items()}
    return {key: scale for key, scale in found.items() if scale is not None}
