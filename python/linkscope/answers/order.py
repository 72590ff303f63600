"""Order: which rank belongs on which device by the paths as measured, and what other orders gained."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Table
from linkscope.answers.rank_order import RankOrder, rank_order
from linkscope.answers.run_head import run_head
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.machine.paths import natural
from linkscope.messages.finding import Finding, note
from linkscope.results.row import Row
from linkscope.statistics.interval import Interval
from linkscope.workload.schedule import Schedule

Json = dict[str, Any]

_VISIBLE = {"AMD": "ROCR_VISIBLE_DEVICES"}
"""Variable by the vendor's name in a device's; else NVIDIA's."""
_GAINS: dict[str, Any] = {
    **dict.fromkeys(("workload", "method", "default", "order"), polars.String),
    **dict.fromkeys(("default_seconds", "seconds", "gain", "gain_low", "gain_high"), polars.Float64),
    "modelled": polars.Boolean,
}


def answer(run: Run, schedule: Schedule, method: str | None = None) -> Answer:
    """Return the order of ranks for a schedule. Raises LinkscopeError where the run lacks pairs of devices."""
    head = run_head(run)
    found = rank_order(schedule, run.results, run.paths, method)
    gains = measured_gain(run.rows.values())
    facts = {"workload": schedule.name, "ranks": schedule.ranks, "gain": found.gain, "order": " ".join(found.devices)}
    code = "order.faster" if found.matters else "order.alike"
    lines: list[Json] = [{"which": "default", "order": " ".join(found.default), "seconds": found.default_seconds}]
    if found.matters:
        lines.append({"which": "suggested", "order": facts["order"], "seconds": found.seconds})
    times = (Column("order"), Column("seconds", Kind.TIME))
    gained = (Column("default_seconds", Kind.TIME), Column("gain", Kind.FACTOR, interval=True))
    return Answer(
        question="order",
        runs=(head,),
        headline=note(code, **facts),
        findings=(*head.findings, *_notes(found, run.node)),
        tables=(
            Table("order.predicted", polars.DataFrame(lines), (Column("which", Kind.NAME), *times)),
            Table("order.measured", gains, (Column("workload"), Column("method"), *times, *gained)),
        ),
        next=(note("order.halo", order=",".join(found.devices)),) if _is_halo(found, schedule, run.node) else (),
        data={**asdict(found), "gain": found.gain, "rankfile": rankfile(found, run.node)},
    )


def _is_halo(found: RankOrder, schedule: Schedule, node: Node) -> bool:
    return found.matters and schedule.grid is not None and not node.modelled


def _notes(found: RankOrder, node: Node) -> Iterator[Finding]:
    """Yield what the application waits for, and how to start it in the order."""
    waits = found.bottleneck
    yield note("order.waits", path=waits.what, share=waits.share)
    if not found.matters:
        return
    numbers = ",".join(device.partition(":")[2] for device in found.devices)
    if found.devices[0].startswith("gpu:"):
        name = node.device(found.devices[0]).name
        variable = next((word for vendor, word in _VISIBLE.items() if vendor in name), "CUDA_VISIBLE_DEVICES")
        yield note("order.start", variable=variable, numbers=numbers)
    else:
        yield note("order.rankfile")


def rankfile(found: RankOrder, node: Node) -> str:
    """Return Open MPI's rankfile: each rank on CPUs of its NUMA node, or of its GPU's, on this host.

    Ranks of one node share its CPUs out while they last.
    """
    homes = [_home(device, node) for device in found.devices]
    lines = []
    for rank, home in enumerate(homes):
        cpus = node.device(home).cpus if home is not None else ()
        beside, before = homes.count(home), homes[:rank].count(home)
        share = cpus[before::beside] or cpus
        lines.append(f"rank {rank}=localhost slot={','.join(map(str, share)) or rank}\n")
    return "".join(lines)


def _home(device: str, node: Node) -> str | None:
    """Return the NUMA node that a device is, or is next to."""
    if device.startswith("numa:"):
        return device
    numa = f"numa:{node.device(device).numa}"
    return numa if any(one.id == numa for one in node.of_kind("numa")) else None


def measured_gain(rows: Iterable[Row]) -> polars.DataFrame:
    """Return a line for each workload that rows have in several orders, all else being the same.

    ``gain``: 1.5 where the fastest order is 1.5 times as fast as the devices' own, or as the slowest where that is
    missing; with its 95% interval, the two times' intervals taken as independent.
    """
    found: dict[str, dict[tuple[str, ...], Row]] = {}
    for row in rows:
        workload = row.labels.get("workload")
        order = workload.get("order") if isinstance(workload, dict) else None
        if isinstance(order, list) and row.status == "ok" and row.measured_flows:
            found.setdefault(_but_order(row), {})[tuple(map(str, order))] = row
    lines = [_gain(orders) for orders in found.values() if len(orders) > 1]
    return polars.DataFrame(lines, schema=_GAINS, orient="row")


def _but_order(row: Row) -> str:
    """Return all that tells a row's workload from others, but for the order."""
    workload: Json = {name: value for name, value in row.labels["workload"].items() if name != "order"}
    flow = row.case["flows"][0]
    apart = [flow["method"], flow.get("parameters", {}), row.environment, row.case.get("clock"), row.modelled]
    return json.dumps([workload, *apart], sort_keys=True)


def _gain(orders: dict[tuple[str, ...], Row]) -> Json:
    times = {}
    for order, row in orders.items():
        seconds = row.measured_flows[0][1].seconds
        times[order] = Interval(seconds.median, seconds.low, seconds.high)
    ascending = sorted(times, key=lambda order: times[order].value)
    default = min((one for one in times if list(one) == sorted(one, key=natural)), default=ascending[-1])
    best = next(order for order in ascending if order != default)
    gain, row = times[default].over(times[best]), orders[best]
    return {
        "workload": str(row.labels["workload"].get("application", row.name)),
        **{"method": row.case["flows"][0]["method"], "default": " ".join(default), "order": " ".join(best)},
        **{"default_seconds": times[default].value, "seconds": times[best].value, "modelled": row.modelled},
        **gain.columns("gain"),
    }
