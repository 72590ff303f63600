"""Order gain: what another order of ranks gained, where a run measured a workload in several."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linkscope.machine.paths import natural
from linkscope.results.row import Row, Stats


@dataclass(frozen=True)
class OrderGain:
    """Of ``workload`` by ``method``: seconds with the ranks on the devices of ``default``, and with ``devices``, the
    fastest order. ``gain``: 1.5 for 1.5 times as fast, ``low`` to ``high`` its 95 % interval."""

    workload: str
    method: str
    default: tuple[str, ...]
    devices: tuple[str, ...]
    default_seconds: float
    seconds: float
    gain: float
    low: float
    high: float
    modelled: bool


def measured_gain(rows: Iterable[Row]) -> list[OrderGain]:
    """Of every workload that rows have in several orders, all else being the same; the base is the devices' own order,
    the slowest where that is missing. The two times' intervals are taken to be independent."""
    found: dict[str, dict[tuple[str, ...], Row]] = {}
    for row in rows:
        order = _order(row)
        if order and row.status == "ok" and row.measured_flows:
            found.setdefault(_but_order(row), {})[order] = row
    return [_gain(orders) for orders in found.values() if len(orders) > 1]


def _order(row: Row) -> tuple[str, ...]:
    """Of a row of a workload; empty of any other."""
    workload = row.labels.get("workload")
    order = workload.get("order") if isinstance(workload, dict) else None
    return tuple(map(str, order)) if isinstance(order, list) else ()


def _but_order(row: Row) -> str:
    """All that tells a row's workload from others, but for the order."""
    workload: dict[str, Any] = {name: value for name, value in row.labels["workload"].items() if name != "order"}
    flow = row.case["flows"][0]
    apart = [flow["method"], flow.get("parameters", {}), row.environment, row.case.get("clock"), row.modelled]
    return json.dumps([workload, *apart], sort_keys=True)


def _gain(orders: dict[tuple[str, ...], Row]) -> OrderGain:
    times = {order: row.measured_flows[0][1].seconds for order, row in orders.items()}
    own = [order for order in times if list(order) == sorted(order, key=natural)]
    default = min(own) if own else max(times, key=lambda order: times[order].median)
    best = min((order for order in times if order != default), key=lambda order: times[order].median)
    row = orders[best]
    base, new = times[default], times[best]
    gain = base.median / new.median
    down = math.hypot(_margin(base, base.low), _margin(new, new.high))
    up = math.hypot(_margin(base, base.high), _margin(new, new.low))
    return OrderGain(
        workload=str(row.labels["workload"].get("application", row.name)),
        method=row.case["flows"][0]["method"],
        default=default,
        devices=best,
        default_seconds=base.median,
        seconds=new.median,
        gain=gain,
        low=gain * math.exp(-down),
        high=gain * math.exp(up),
        modelled=row.modelled,
    )


def _margin(time: Stats, end: float) -> float:
    """Logarithm of how far an end of the interval is from the median."""
    return abs(math.log(end / time.median))
