"""Collectives: latency against its bound, the size where it turns linear, bandwidth against the links."""

from __future__ import annotations

import modelled_run as made
import pytest

from linkscope.answers.analyze.collectives import collectives, turning
from linkscope.answers.analyze.comparing import usable
from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.statistics.interval import Interval

ALPHA, BETA = 8e-6, 100e9


def reduced(size: int, figure: str) -> Row:
    """An all-reduce of 4 GPUs by t = ALPHA + size / BETA."""
    members = [{"device": f"gpu:{i}", "memory": "device"} for i in range(4)]
    flow = {"method": "xccl-collective", "executor": "gpu:0", "bytes": size, "members": members}
    flow["parameters"] = {"collective": "all-reduce"}
    case = made.case(f"{figure}{size}", [flow], {"figure": figure})
    time = ALPHA + size / BETA
    return made.ok(case, [[time * (1 + 0.001 * i) for i in range(12)]])


def test_latency_bound_turn_and_bandwidth() -> None:
    sizes = [64 << power for power in range(0, 25, 2)]
    rows = [reduced(size, figure) for size in sizes for figure in ("latency", "bus")]
    (line,) = collectives(usable(Run(made.run(found=rows))), {"gpu": (2e-6, "ping-pong")}).to_dicts()
    assert line["latency_seconds"] == pytest.approx(ALPHA, rel=0.01)
    assert (line["passes"], line["bound_method"]) == (2, "ping-pong")
    assert line["of_bound"] == pytest.approx(ALPHA / 4e-6, rel=0.01)
    assert line["linear_bytes_low"] <= ALPHA * BETA <= line["linear_bytes_high"]
    assert line["linear_bytes"] == pytest.approx(ALPHA * BETA, rel=0.2)
    assert line["bus_gbps"] == pytest.approx(1.5 * BETA * 1e-9, rel=0.02)
    assert (line["bus_bytes"], line["peak_gbps"]) == (sizes[-1], made.LINK_GBPS)


def test_large_sizes_alone_are_no_latency() -> None:
    (line,) = collectives(usable(Run(made.run(found=[reduced(1 << 24, "bus")]))), {"gpu": (2e-6, "x")}).to_dicts()
    assert (line["latency_seconds"], line["of_bound"], line["linear_bytes"]) == (None, None, None)


def test_time_that_never_doubles_does_not_turn() -> None:
    assert turning([(64, Interval(1.0, 1.0, 1.0)), (1024, Interval(1.5, 1.5, 1.5))]) is None
