"""Sampling: what a row says of a case whose flows a machine model plays as an engine would measure them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.modelled.play import LaneRun, play
from linkscope.modelled.repeats import RateEstimate, plan_repeats
from linkscope.modelled.work import Work

Json = dict[str, Any]

_SAMPLES = 6
"""As many as an interval needs; a model gives the same each time."""
_MIN_SAMPLE_S = 1e-4
_FEWEST_SUSTAINED = 4
"""Transfers of a measured flow under sustained load."""
_MOST_WARM_UPS = 12
_ENOUGH = {True: 0.9, False: 0.8}
"""Share of the wanted repeats that will do, of measured flows and of others."""
_TOO_MANY = 4.0


@dataclass(frozen=True)
class _Sample:
    """``ends``: seconds from the common start to the end of each flow."""

    works: Sequence[Work]
    repeats: Sequence[int]
    ends: Sequence[float]

    def per_transfer(self, flow: int) -> float:
        return self.ends[flow] / self.repeats[flow]

    def per_operation(self, flow: int) -> float:
        return self.per_transfer(flow) / self.works[flow].operations

    def payload(self, flow: int) -> int:
        work = self.works[flow]
        return work.payload * self.repeats[flow] * work.operations

    def gbps(self, flow: int) -> float:
        return self.payload(flow) / self.ends[flow] * 1e-9

    def aggregate(self) -> Json:
        """Return all measured bytes over the time of the longest measured flow."""
        measured = [flow for flow, work in enumerate(self.works) if work.measured]
        longest = max(self.ends[flow] for flow in measured)
        rate = sum(self.payload(flow) for flow in measured) / longest * 1e-9
        overlap = min(self.ends[flow] for flow in measured) / longest
        return {"gbps": _stats(rate), "overlap": _printed(overlap), "timeline_uncertainty_us": 0.0}


def sampled(case: Json, works: Sequence[Work], capacities: Mapping[str, float]) -> Json:
    """Return the figures of a row (schema/result.schema.json) whose flows are ``works``."""
    sample = _settled(case, works, capacities)
    row: Json = {"flows": [_flow(sample, number) for number in range(len(works))]}
    if all(work.bandwidth for work in works if work.measured):
        row["aggregate"] = sample.aggregate()
    return row | {"stopped": "precision"}


def _settled(case: Json, works: Sequence[Work], capacities: Mapping[str, float]) -> _Sample:
    """Return a sample with as many repeats as the engine's warm-up comes to."""
    repeats = [1] * len(works)
    sustained = case.get("load", "once") == "sustained"
    sample = _take(works, repeats, sustained, capacities)
    for _ in range(_MOST_WARM_UPS):
        wanted = _wanted(case, sample, sustained)
        if _fits(sample, wanted):
            return sample
        sample = _take(works, wanted, sustained, capacities)
    return sample


def _take(works: Sequence[Work], repeats: Sequence[int], sustained: bool, capacities: Mapping[str, float]) -> _Sample:
    runs = [
        LaneRun(work.lane, count, tail=sustained and work.measured, background=not work.measured)
        for work, count in zip(works, repeats, strict=True)
    ]
    return _Sample(works, repeats, play(runs, capacities))


def _wanted(case: Json, sample: _Sample, sustained: bool) -> list[int]:
    """Return the repeats that fill the wanted length at the rates of ``sample``."""
    works = sample.works
    flushed = case.get("cache") == "flushed"
    target_s = 0.0 if flushed else max(_MIN_SAMPLE_S, case.get("min_sample_s", 0.0))
    if sustained:
        slowest = max(sample.per_transfer(flow) for flow, work in enumerate(works) if work.measured)
        target_s = max(target_s, _FEWEST_SUSTAINED * slowest)
    estimates = [RateEstimate(sample.per_transfer(flow), work.measured, work.group) for flow, work in enumerate(works)]
    wanted = plan_repeats(estimates, target_s)
    return [1 if flushed and work.measured else count for work, count in zip(works, wanted, strict=True)]


def _fits(sample: _Sample, wanted: Sequence[int]) -> bool:
    ratios = [asked / had for asked, had in zip(wanted, sample.repeats, strict=True)]
    return all(
        1 / _TOO_MANY <= ratio <= 1 / _ENOUGH[work.measured] for ratio, work in zip(ratios, sample.works, strict=True)
    )


def _flow(sample: _Sample, number: int) -> Json:
    work, seconds = sample.works[number], sample.per_operation(number)
    flow: Json = {"repeats": sample.repeats[number], "operations": work.operations, "seconds": _stats(seconds)}
    if work.bandwidth:
        flow["gbps"] = _stats(sample.gbps(number))
    if work.members > 1:
        flow["parts_s"] = [_printed(seconds)] * work.members
    if work.breakdown:
        flow["breakdown"] = [_told(one) for one in work.breakdown]
    if work.touched_bytes:
        flow["touched_bytes"] = work.touched_bytes
    if work.notes:
        flow["notes"] = list(work.notes)
    return flow | {"samples_s": [_printed(seconds)] * _SAMPLES}


def _told(breakdown: Json) -> Json:
    parts = {name: _printed(seconds) for name, seconds in sorted(breakdown["parts_s"].items())}
    return {"parts_s": parts, "phases_s": [_printed(seconds) for seconds in breakdown["phases_s"]]}


def _stats(value: float) -> Json:
    """Return the statistics of samples that are all the same."""
    printed = _printed(value)
    names = ("median", "low", "high", "mean", "min", "p5", "p95", "p99", "max")
    return {"n": _SAMPLES, **dict.fromkeys(names, printed)}


def _printed(value: float) -> float:
    """Return ``value`` to nine digits, as engines print it."""
    return float(f"{value:.9g}")
