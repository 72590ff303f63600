"""Contention: GPUs that slow one another down on the way to the host more than other GPUs of the same case do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkscope.analysis.ledger import Ledger
from linkscope.machine.paths import Paths, Traffic
from linkscope.results.row import Row

CROWDED = 0.7
"""Of what the least hindered GPU keeps: recorded and modelled nodes keep alike within 4 %."""


@dataclass(frozen=True)
class Crowd:
    """GPUs whose paths to the host are slow together.

    ``lost``: the share that the worst loses, beyond what the topology and the least hindered GPU of the case lose.
    """

    id: str
    gpus: tuple[str, ...]
    lost: float
    evidence: str


def crowds(rows: Iterable[Row], accounts: Sequence[Ledger], paths: Paths) -> list[Crowd]:
    """One for each set of GPUs, of the case that shows it best; cases of one flow for each GPU, all one way."""
    alone = {(one.source, one.destination, one.method): one for one in accounts if one.kind == "host" and not one.both}
    found: dict[tuple[str, ...], Crowd] = {}
    for row in rows:
        one = _crowd(row, alone, paths)
        if one is not None and (one.gpus not in found or found[one.gpus].lost < one.lost):
            found[one.gpus] = one
    return list(found.values())


def _crowd(row: Row, alone: dict[tuple[str, str, str], Ledger], paths: Paths) -> Crowd | None:
    flows = row.case["flows"]
    if row.status != "ok" or len(flows) < 3 or len(row.measured_flows) < len(flows) or row.between:
        return None
    ends = [tuple(flow.get(end, {}).get("device", "") for end in ("source", "destination")) for flow in flows]
    singles = [alone.get((*pair, flow["method"])) for pair, flow in zip(ends, flows, strict=True)]
    gpus = [single.gpus[0] for single in singles if single is not None]
    if len(set(gpus)) < len(flows):
        return None
    together = paths.concurrent_peak([Traffic.of(flow) for flow in flows]).flows
    kept: dict[str, float] = {}
    told: dict[str, str] = {}
    for single, (_, result), share in zip(singles, row.measured_flows, together, strict=True):
        if single is None or result.gbps is None or not single.line_gbps or not single.measured.median:
            return None
        goal = single.measured.median * min(1.0, (share or single.line_gbps) / single.line_gbps)
        kept[single.gpus[0]] = result.gbps.high / goal
        told[single.gpus[0]] = f"{result.gbps.median:.1f} of {goal:.1f} GB/s"
    best = max(kept, key=lambda gpu: kept[gpu])
    slow = tuple(gpu for gpu in kept if kept[gpu] < CROWDED * kept[best])
    if len(slow) < 2:
        return None
    worst = min(slow, key=lambda gpu: kept[gpu])
    evidence = f"all at once {worst} keeps {told[worst]}, {best} {told[best]} ({row.name})"
    return Crowd(row.id, slow, 1 - kept[worst] / kept[best], evidence)
