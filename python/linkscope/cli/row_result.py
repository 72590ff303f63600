"""RowResult: what a row of a run under way is read for, as progress shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.figures.kinds import call_of
from linkscope.figures.values import place_of, quantities, value_of
from linkscope.messages import numbers
from linkscope.results.case_traffic import both_ways
from linkscope.results.row import Row

Json = dict[str, Any]


@dataclass(frozen=True)
class RowResult:
    """``value``: GB/s of a ``rate``, else seconds. ``place``: row and column of its matrix. ``x``: where it is on
    the axis ``x_name`` of its curve. ``timing``: the clock and the kind of call; ``plain``: one call, one way.
    """

    value: float
    rate: bool
    place: tuple[str, str]
    x: float
    x_name: str
    timing: tuple[str, ...]
    plain: bool

    @property
    def text(self) -> str:
        """Return "393.9 GB/s" or "825.0 ns"."""
        return f"{numbers.number(self.value)} GB/s" if self.rate else numbers.time(self.value)

    @property
    def at(self) -> str:
        """Return "1 KiB" or "8 threads"."""
        if self.x_name.endswith("bytes") or self.x_name == "locality":
            return numbers.size(self.x)
        return f"{self.x:g} {'GPUs' if self.x_name == 'gpus' else self.x_name.replace('_', ' ')}"


def results_of(record: Json) -> list[RowResult]:
    """Return the results of a row as it stands in a run file; none unless it is ok."""
    row = Row.from_json(record)
    found = []
    for quantity in quantities(row.case):
        value = value_of(row, quantity)
        if value is not None:
            flow = row.case["flows"][quantity.first]
            call, opposite = call_of(flow), both_ways(row.case, flow)
            x = row.labels.get("x")
            found.append(
                RowResult(
                    value.stats.median * value.factor,
                    value.rate,
                    place_of(row.case, quantity),
                    float(x) if isinstance(x, (int, float)) else float(flow["bytes"]),
                    str(row.labels.get("x_name", "bytes")),
                    (str(row.case["clock"]), call, str(opposite)),
                    call not in ("in-kernel", "window") and not opposite,
                )
            )
    return found


def places(labels: Json) -> list[tuple[str, str]]:
    """Return the (row, column) of each cell that a case has in its matrix."""
    cells = [labels | one for one in labels.get("cells") or [{}]]
    return [(str(cell.get("row", "")), str(cell.get("column", ""))) for cell in cells]


def span(found: Sequence[RowResult]) -> str:
    """Return "393.5-396.4 GB/s" of rates, then times in one unit; empty for none."""
    rates = sorted(one.value for one in found if one.rate)
    times = sorted(one.value for one in found if not one.rate)
    parts = [f"{numbers.number_range(rates[0], rates[-1])} GB/s"] if rates else []
    if times:
        unit = numbers.shared_time_unit(times)
        ends = numbers.number_range(*(numbers.in_unit(one, unit) for one in (times[0], times[-1])))
        parts.append(f"{ends} {unit}")
    return ", ".join(parts)


def end_of_curve(found: Sequence[RowResult]) -> str:
    """Return "1.020 us at 1 B": of times the shortest at the smallest x, of rates the highest at the largest.

    Of several timings the one with most results counts, one call one way before others. Empty for none.
    """
    parts = []
    for rate in (True, False):
        alike = [one for one in found if one.rate is rate]
        if alike:
            many = {one.timing: (one.plain, sum(other.timing == one.timing for other in alike)) for one in alike}
            timing = max(many, key=lambda name: many[name])
            chosen = [one for one in alike if one.timing == timing]
            best = sorted(chosen, key=lambda one: (one.x, one.value))[-1 if rate else 0]
            parts.append(f"{best.text} at {best.at}")
    return ", ".join(parts)
