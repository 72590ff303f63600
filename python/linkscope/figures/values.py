"""Values: the number that a row is read for, out of the results of its flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.figures.collective import Collective
from linkscope.results.replicates import across, reaching
from linkscope.results.row import FlowResult, Row
from linkscope.results.stats import Stats, modes_of, stats_of

Json = dict[str, Any]


@dataclass(frozen=True)
class Quantity:
    """Select what a case is read for: ``figure`` of the flow ``first``; ``measured``: indices of all measured flows;
    ``cell``: its place among the labels' cells.

    ``first``: the first measured flow's rate (its time where the method measures latency). ``sum``: the sum of
    the measured flows' own rates. ``aggregate``: all bytes over first start to last end. ``half``: half of the
    first flow's rate, one direction of a flow that moves both ways. ``latency``: the first flow's time.
    ``touched``: bytes read plus bytes written per second, of several flows (alike) over first start to last end.
    ``algorithm``: of a collective, size over time; ``bus``: that by nccl-tests' factor, to be compared with a link.
    A schedule is read for its time.
    """

    figure: str
    first: int
    measured: tuple[int, ...]
    cell: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A rate in GB/s or a time in seconds: ``stats`` times ``factor``. ``touched``: bytes touched a byte of payload."""

    rate: bool
    stats: Stats
    factor: float = 1.0
    touched: float | None = None


def quantities(case: Json) -> list[Quantity]:
    """Return what a case is read for: each figure that its labels ask for, of each flow that has a cell of its own."""
    flows, labels = case["flows"], case.get("labels", {})
    measured = tuple(i for i, flow in enumerate(flows) if flow.get("role", "measured") == "measured")
    found = []
    for figure in labels.get("figures") or [labels.get("figure", "first")]:
        for cell, first in enumerate(measured if labels.get("cells") else measured[:1]):
            timed = figure == "first" and "schedule" in flows[first]
            found.append(Quantity("latency" if timed else figure, first, measured, cell))
    return found


def place_of(case: Json, quantity: Quantity) -> tuple[str, str]:
    """Return row and column of a table in which a quantity stands."""
    labels: Json = case.get("labels", {})
    cells = labels.get("cells")
    place = {**labels, **cells[quantity.cell]} if cells else labels
    return str(place.get("row", "")), str(place.get("column", ""))


def value_of(row: Row, quantity: Quantity) -> Value | None:
    """Return the value of a row, folded or of one replicate; None unless it is ok and holds it."""
    if row.status != "ok":
        return None
    first, figure = row.flows[quantity.first], quantity.figure
    if figure == "latency" or first.gbps is None:
        return Value(False, first.seconds)
    flow = row.case["flows"][quantity.first]
    if figure == "first":
        return Value(True, first.gbps)
    if figure == "half":
        return Value(True, first.gbps, 0.5)
    if figure == "sum":
        return Value(True, _sum(row, quantity.measured))
    if figure in ("bus", "algorithm"):
        collective = Collective.of(flow)
        factor = collective.bus_factor if collective is not None and figure == "bus" else 1.0
        return None if collective is None else Value(True, first.gbps, factor)
    whole = row.aggregate if figure == "aggregate" or len(quantity.measured) > 1 else first.gbps
    if whole is None or figure == "aggregate":
        return None if whole is None else Value(True, whole)
    touched = touched_ratio(flow, first)
    return None if touched is None else Value(True, whole, touched, touched)


def touched_ratio(flow: Json, result: FlowResult) -> float | None:
    """Return the bytes read plus written for each byte of payload; None where the method does not say."""
    payload: int = flow["bytes"] * result.operations
    return None if result.touched_bytes is None or not payload else result.touched_bytes / payload


def summed_rates(row: Row, measured: Sequence[int]) -> list[float]:
    """Return GB/s of flows together, sample by sample; empty where the row does not hold their samples."""
    sizes = [row.case["flows"][index]["bytes"] for index in measured]
    samples = [row.flows[index].samples_s for index in measured]
    if len(set(map(len, samples))) != 1 or any(min(one, default=0.0) <= 0 for one in samples):
        return []
    columns = zip(*samples, strict=True)
    return [sum([size / s for size, s in zip(sizes, column, strict=True)]) * 1e-9 for column in columns]


def _sum(row: Row, measured: Sequence[int]) -> Stats:
    """Return the sum of the flows' rates over the replicates of a row, which may be rows of several runs."""
    samples = [[] if one.replicates else summed_rates(one, measured) for one in row.measured]
    each = [
        _sum(one, measured) if one.replicates else stats_of(rates) if rates else _added(one, measured)
        for one, rates in zip(row.measured, samples, strict=True)
    ]
    return reaching(across(each, row.noise, row.usual), modes_of(each, samples))


def _added(row: Row, measured: Sequence[int]) -> Stats:
    """Return the sum of medians with the flows' bounds added, which is wider than the sum's true interval."""
    rates = [rate for rate in (row.flows[index].gbps for index in measured) if rate is not None]
    names = Stats.__struct_fields__[1:]
    return Stats(min(rate.n for rate in rates), *(sum(getattr(rate, name) for rate in rates) for name in names))
