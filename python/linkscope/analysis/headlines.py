"""Headlines: of tables that differ by method alone the best one, and the matrix of what GPUs send each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscope.analysis.headline import RATE_UNIT
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.rivals import comparable, fastest
from linkscope.analysis.summary import Table, TableSummary


def best_by_method(lines: Iterable[TableSummary]) -> list[TableSummary]:
    """One line for each title without its method: the one with the best figure, in order of appearance."""
    best: dict[tuple[str, str, str, int | None], TableSummary] = {}
    for line in lines:
        heading = line.heading
        key = (heading.suite, _without_method(line), heading.unit, heading.bytes)
        if key not in best or _better(line, best[key]):
            best[key] = line
    return list(best.values())


def between_gpus(tables: Sequence[Table], lines: Sequence[TableSummary]) -> Matrix | None:
    """The first matrix of rates from every GPU to every other that is the best of its methods; None without one."""
    headings = [line.heading for line in best_by_method(lines)]
    for table in tables:
        if not isinstance(table, Matrix) or table.heading.unit != RATE_UNIT or table.heading not in headings:
            continue
        if len(table.row_ids) > 1 and all(one.startswith("gpu:") for one in (*table.row_ids, *table.column_ids)):
            return table
    return None


def furthest_below(lines: Iterable[TableSummary], share: float, most: int) -> list[TableSummary]:
    """Tables whose best figure is below ``share`` of its peak, the lowest first: not sizes too small to tell."""
    low = [line for line in lines if line.highest_share is not None and line.highest_share < share]
    return sorted(low, key=lambda line: line.highest_share or 0.0)[:most]


def _without_method(line: TableSummary) -> str:
    title = line.heading.title
    for method in line.heading.methods:
        title = title.removesuffix(f", {method}")
    return title


def _better(one: TableSummary, other: TableSummary) -> bool:
    return fastest(comparable([other.best, one.best])) is one.best
