"""The one figure that a row is read for, with its interval, unit and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any

from linkscope.analysis.collective import Collective
from linkscope.machine.traits import method_traits
from linkscope.results.replicates import across, reaching
from linkscope.results.row import FlowResult, Row, Stats
from linkscope.results.stats import scaled, stats_of
from linkscope.statistics.modes import two_modes

RATE_UNIT = "GB/s"
OWN_RATE = "the flow's own rate"
TOUCHED = "bytes read plus bytes written"
CALL = "time of one operation"
MESSAGE = "time of one message, half of a round trip"
ANSWERED = "time of one message one way, until an empty one has answered"
TRANSFER = "time of one transfer"
TOGETHER = "time of one collective, mean of its members"
SCHEDULE = "time of the whole schedule, of its slowest member"
ALGORITHM = "algorithm bandwidth: size over time"
BUS = "bus bandwidth as nccl-tests defines it"
OF_ALL = ("sum", "aggregate", "touched")
"""Figures of all flows of a case together, as labels name them."""
_TIME_UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3}
"""Of one second."""
MOST_WHOLE = 1e5
LEAST = 0.01
ROUNDING = 1e-9
"""Relative: figures of a virtual clock that differ by less are one."""


@dataclass(frozen=True)
class Headline:
    """``value`` in ``unit`` (GB/s, ns, us or ms); ``what`` says in words which figure it is."""

    value: Stats
    unit: str
    what: str
    modelled: bool = False

    @property
    def higher_is_better(self) -> bool:
        """True for rates, false for times."""
        return self.unit == RATE_UNIT

    @property
    def margin(self) -> float:
        """The larger side of the interval relative to the median: 0.004 where the median is known to +-0.4 %."""
        value = self.value
        return max(value.high - value.median, value.median - value.low) / value.median if value.median else 0.0

    @property
    def unknown(self) -> bool:
        """Whether a bound of the interval is further from the median than a factor of 3."""
        return self.value.unknown

    @property
    def of_bytes(self) -> bool:
        """Whether it is the time in which one operation moves its bytes, or that rate: size over one is the other."""
        return self.what in (OWN_RATE, ALGORITHM, TOGETHER, MESSAGE, ANSWERED, TRANSFER)

    @property
    def exact(self) -> bool:
        """Whether it is a model's and the same every time: its interval would only repeat it."""
        return self.modelled and self.margin < ROUNDING

    def in_unit(self, unit: str) -> Headline:
        """A time in another unit of time."""
        return replace(self, value=scaled(self.value, _TIME_UNITS[unit] / _TIME_UNITS[self.unit]), unit=unit)

    @property
    def seconds(self) -> float:
        """A time's median in seconds."""
        return self.value.median / _TIME_UNITS[self.unit]


def headline(row: Row) -> Headline | None:
    """The figure that ``labels.figure`` asks for; None unless the row is ok and holds it.

    ``first``: the first measured flow's rate (its time where the method measures latency). ``sum``: the sum of
    the measured flows' own rates. ``aggregate``: all bytes over first start to last end. ``half``: half of the
    first flow's rate, one direction of a flow that moves both ways. ``latency``: the first flow's time.
    ``touched``: bytes read plus bytes written per second, of several flows (alike) over first start to last end.
    ``algorithm``: of a collective, size over time; ``bus``: that by nccl-tests' factor, to be held against a link.
    A schedule is read for its time.
    """
    found = _figure(row)
    return None if found is None else replace(found, modelled=row.modelled)


def asked(row: Row) -> str:
    """The word by which the row's labels ask for its figure."""
    figure = str(row.labels.get("figure", "first"))
    return "latency" if figure == "first" and "schedule" in row.case["flows"][0] else figure


def _figure(row: Row) -> Headline | None:
    measured = row.measured_flows
    if row.status != "ok" or not measured:
        return None
    figure = asked(row)
    first = measured[0][1]
    if figure == "latency" or first.gbps is None:
        return _latency(row, *measured[0])
    if figure == "aggregate":
        return _aggregate(row)
    if figure == "sum":
        return _sum(row)
    if figure == "touched":
        ratio = touched_ratio(*measured[0])
        whole = row.aggregate if len(measured) > 1 else first.gbps
        if ratio is None or whole is None:
            return None
        return Headline(scaled(whole, ratio), RATE_UNIT, TOUCHED + (", all flows" if len(measured) > 1 else ""))
    if figure in ("algorithm", "bus"):
        return _bandwidth(*measured[0], figure)
    if figure == "half":
        return Headline(scaled(first.gbps, 0.5), RATE_UNIT, "half of the bytes moved both ways: one direction's rate")
    return Headline(first.gbps, RATE_UNIT, OWN_RATE)


def touched_ratio(flow: dict[str, Any], result: FlowResult) -> float | None:
    """Bytes read plus written for each byte of payload; None where the method does not say."""
    payload: int = flow["bytes"] * result.operations
    return None if result.touched_bytes is None or not payload else result.touched_bytes / payload


def in_unit(seconds: float, unit: str) -> float:
    """The time in ns, us or ms."""
    return seconds * _TIME_UNITS[unit]


def time_unit(seconds: float, longest: float = 0.0) -> str:
    """ns below 10 us, us below 10 ms, ms from there on; a longer one where ``longest`` would have over five digits."""
    suited = "ns" if seconds < 1e-5 else "us" if seconds < 1e-2 else "ms"
    longer = list(_TIME_UNITS)[list(_TIME_UNITS).index(suited) :]
    return next((unit for unit in longer if longest * _TIME_UNITS[unit] < MOST_WHOLE), "ms")


def shared_unit(times: Sequence[float]) -> str:
    """One unit for times (seconds) of a table: the median's, unless it would make the longest unreadable; where they
    differ so much that it leaves nothing but zeros of the shortest, the next shorter one.
    """
    unit = time_unit(median_low(times), longest=max(times))
    place = list(_TIME_UNITS).index(unit)
    return list(_TIME_UNITS)[place - 1] if place > 0 and min(times) * _TIME_UNITS[unit] < LEAST else unit


def summed_rates(measured: Sequence[tuple[dict[str, Any], FlowResult]]) -> list[float]:
    """GB/s of several flows together, sample by sample; empty where the row does not hold their samples."""
    return rates_together([flow["bytes"] for flow, _ in measured], [result.samples_s for _, result in measured])


def rates_together(sizes: Sequence[int], samples_s: Sequence[Sequence[float]]) -> list[float]:
    """Of flows of so many bytes whose samples took so long; empty where they have not the same number of samples, or
    one took no time at all."""
    if len({len(samples) for samples in samples_s}) != 1 or any(min(samples, default=0) <= 0 for samples in samples_s):
        return []
    columns = zip(*samples_s, strict=True)
    return [sum(size / s for size, s in zip(sizes, column, strict=True)) * 1e-9 for column in columns]


def _latency(row: Row, flow: dict[str, Any], result: FlowResult) -> Headline:
    what = "time of one dependent operation" if method_traits(row.case, flow["method"]).dependent else CALL
    if "schedule" in flow:
        what = SCHEDULE
    elif "members" in flow:
        what = TOGETHER
    elif flow.get("parameters", {}).get("call") == "ping-pong":
        what = MESSAGE
    elif _is_answered(row, flow):
        what = ANSWERED
    elif result.gbps is not None or ("source" in flow and "destination" in flow and what == CALL):
        what = TRANSFER
    unit = time_unit(result.seconds.median)
    return Headline(scaled(result.seconds, _TIME_UNITS[unit]), unit, what)


def _is_answered(row: Row, flow: dict[str, Any]) -> bool:
    """Whether the time, as the host sees it, is that of a message and of the empty one that answers it."""
    sent = flow.get("parameters", {}).get("call", "send") == "send"
    return sent and row.case["clock"] == "host" and method_traits(row.case, flow["method"]).answered


def _bandwidth(flow: dict[str, Any], result: FlowResult, figure: str) -> Headline | None:
    collective = Collective.of(flow)
    if collective is None or result.gbps is None:
        return None
    if figure == "algorithm":
        return Headline(result.gbps, RATE_UNIT, ALGORITHM)
    return Headline(scaled(result.gbps, collective.bus_factor), RATE_UNIT, BUS)


def _aggregate(row: Row) -> Headline | None:
    if row.aggregate is None:
        return None
    return Headline(row.aggregate, RATE_UNIT, "all bytes over first start to last end")


def _sum(row: Row) -> Headline | None:
    sums = [found for one in row.measured if (found := _sum_of(one.measured_flows)) is not None]
    modes = two_modes([summed_rates(one.measured_flows) for one in row.measured])
    return replace(sums[-1], value=reaching(across([one.value for one in sums], row.noise), modes)) if sums else None


def _sum_of(measured: list[tuple[dict[str, Any], FlowResult]]) -> Headline | None:
    what = f"sum of {len(measured)} flows, each at its own rate"
    if len(measured) == 1:
        what = OWN_RATE
    sums = summed_rates(measured)
    if sums:
        return Headline(stats_of(sums), RATE_UNIT, what)
    rates = [result.gbps for _, result in measured if result.gbps is not None]
    return Headline(_bounds_added(rates), RATE_UNIT, f"{what} (samples absent: bounds added)") if rates else None


def _bounds_added(rates: list[Stats]) -> Stats:
    """Sum of medians with the flows' bounds added, which is wider than the sum's true interval."""

    def total(name: str) -> float:
        return sum(float(getattr(rate, name)) for rate in rates)

    names = ("median", "low", "high", "mean", "min", "p5", "p95", "p99", "max")
    return Stats(n=min(rate.n for rate in rates), **{name: total(name) for name in names})
