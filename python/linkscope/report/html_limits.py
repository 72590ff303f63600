"""What of a run's tables goes on the page, which stays small whatever the run, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.summary import Table
from linkscope.report.series_band import Band, collapsed

MOST_TABLES = 400


@dataclass(frozen=True)
class Fitted:
    """A table as it goes on the page, beside the ``whole``; ``left_out`` says what is not shown of it, or is empty.

    ``band``: of all its series, where those are too many to draw."""

    table: Table
    whole: Table
    left_out: str = ""
    band: Band | None = None
    quota: int = 0

    @property
    def listed(self) -> Table:
        """What the page lists of it, figure by figure: the whole behind a band where there is room."""
        return self.whole if self.band is not None and len(self.whole.flat) <= self.quota else self.table


def fitted(tables: Sequence[Table], most: int) -> list[Fitted]:
    """Tables with at most about ``most`` cells in all: small ones whole, large ones of what is left an equal part."""
    shown = list(tables[:MOST_TABLES])
    room, quota = most, most
    for place, size in enumerate(sorted(len(table.flat) for table in shown)):
        quota = room // (len(shown) - place)
        if size > quota:
            break
        room -= size
    return [_fitted(table, max(quota, 2)) for table in shown]


def _fitted(table: Table, quota: int) -> Fitted:
    if isinstance(table, CurveSet):
        return _curves(table, quota)
    count = len(table.flat)
    if count <= quota:
        return Fitted(table, table)
    if isinstance(table, Matrix):
        return _matrix(table, quota)
    kept = _ends(table.cells, quota)
    return Fitted(
        replace(table, cells=kept), table, f"{len(kept)} of {count} lines: the lowest and the highest figures"
    )


def _curves(table: CurveSet, quota: int) -> Fitted:
    drawn, band = collapsed(table)
    room = max(quota // max(len(curve.points) for curve in drawn.curves), 1)
    drawn = replace(drawn, curves=drawn.curves[:room])
    if band is not None:
        apart = len(drawn.curves) - 1
        few = f"the best of {band.count} series{f' and {apart} that stand apart' if apart else ''}"
        return Fitted(drawn, table, f"{few}; the band spans all", band, quota)
    if len(drawn.flat) < len(table.flat):
        return Fitted(drawn, table, f"{len(drawn.flat)} of {len(table.flat)} points, evenly picked")
    return Fitted(drawn, table)


def _matrix(table: Matrix, quota: int) -> Fitted:
    """The rows with the lowest figures, and as many columns as fit."""
    columns = table.column_ids[: min(len(table.column_ids), max(quota // 2, 1))]
    lines = [line[: len(columns)] for line in table.cells]
    room = max(quota // len(columns), 1)
    ranked = sorted(range(len(lines)), key=lambda number: min(map(_value, lines[number]), default=0.0))
    kept = sorted(ranked[:room])
    smaller = replace(
        table,
        row_ids=tuple(table.row_ids[number] for number in kept),
        column_ids=columns,
        cells=tuple(tuple(lines[number]) for number in kept),
    )
    return Fitted(smaller, table, f"{len(smaller.flat)} of {len(table.flat)} cells: the rows with the lowest figures")


def _ends(cells: Sequence[Cell], quota: int) -> tuple[Cell, ...]:
    ranked = sorted(range(len(cells)), key=lambda number: _value(cells[number]))
    kept = sorted({*ranked[: quota - quota // 2], *ranked[len(ranked) - quota // 2 :]})
    return tuple(cells[number] for number in kept)


def _value(entry: Cell | None) -> float:
    """Cells without a figure rank last."""
    return float("inf") if entry is None or entry.headline is None else entry.headline.value.median
