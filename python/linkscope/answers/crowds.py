"""Crowds: GPUs that slow one another down on the way to the host more than other GPUs of the same case do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars

from linkscope.answers.answer import Outcome
from linkscope.figures.run import Run
from linkscope.machine.paths import Traffic
from linkscope.messages.finding import Finding, note
from linkscope.results.row import Row

Line = Mapping[str, Any]

CROWDED = 0.7
"""Share of what the least hindered GPU keeps: recorded and modelled nodes keep alike within 4%."""


@dataclass(frozen=True)
class SharedPath:
    """GPUs whose paths to the host are slow together, as the case ``id`` shows.

    ``lost``: the share that the worst loses, beyond what the topology and the least hindered GPU of the case lose.
    """

    id: str
    gpus: tuple[str, ...]
    lost: float
    evidence: Finding


def crowds(run: Run, checked: Iterable[Line]) -> list[SharedPath]:
    """Return one crowd for each set of GPUs, of the case that shows it best.

    Cases have one flow for each GPU, all one way. GPUs that are slow alone are left out, unless all are.
    """
    singles = [line for line in checked if line["kind"] == "host" and line["flows"] == 1 and line["line_gbps"]]
    alone = {(line["source"], line["destination"], line["method"]): line for line in singles}
    several = run.results.filter(
        polars.col("status") == "ok", polars.col("flows") >= 3, polars.col("background") == 0, polars.col("hosts") == ""
    )
    found: dict[tuple[str, ...], SharedPath] = {}
    for name in several["id"].unique(maintain_order=True):
        one = _crowd(run, run.rows[name], alone)
        if one is not None and (one.gpus not in found or found[one.gpus].lost < one.lost):
            found[one.gpus] = one
    return list(found.values())


def _crowd(run: Run, row: Row, alone: Mapping[tuple[str, str, str], Line]) -> SharedPath | None:
    flows, results = row.case["flows"], [result for _, result in row.measured_flows]
    if len(results) < len(flows):
        return None
    ends = [tuple(flow.get(end, {}).get("device", "") for end in ("source", "destination")) for flow in flows]
    singles = [single for pair, flow in zip(ends, flows, strict=True) if (single := alone.get((*pair, flow["method"])))]
    if len({single["gpus"][0] for single in singles}) < len(flows):
        return None
    together = run.paths.concurrent_peak([Traffic.of(flow) for flow in flows]).flows
    kept: dict[str, float] = {}
    rates: dict[str, tuple[float, float]] = {}
    all_slow = all(map(_slow, singles))
    for single, result, share in zip(singles, results, together, strict=True):
        if result.gbps is None or not single["value"]:
            return None
        goal = single["value"] * min(1.0, (share or single["line_gbps"]) / single["line_gbps"])
        if all_slow or not _slow(single):
            kept[single["gpus"][0]] = result.gbps.high / goal
            rates[single["gpus"][0]] = (result.gbps.median, goal)
    best, worst = max(kept, key=lambda gpu: kept[gpu]), min(kept, key=lambda gpu: kept[gpu])
    slow = tuple(gpu for gpu in kept if kept[gpu] < CROWDED * kept[best])
    if len(slow) < 2:
        return None
    (rate, goal), (other, its_goal) = rates[worst], rates[best]
    facts = {"gpu": worst, "rate": rate, "alone": goal, "other": best, "other_rate": other, "other_alone": its_goal}
    return SharedPath(
        row.id, slow, 1 - kept[worst] / kept[best], note("explain.evidence-crowd", test=row.name, **facts)
    )


def _slow(line: Line) -> bool:
    return bool(line["outcome"] == Outcome.FAILS.value)
