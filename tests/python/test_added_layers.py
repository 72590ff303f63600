"""analyze layers: what a method adds to the one that it calls, and which rows are no counterparts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import modelled_run as made
import polars
import pytest

import linkscope
from linkscope.answers.analyze.collectives import best_latencies
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.layers import layers
from linkscope.figures.run import Run
from linkscope.results.row import Row

Json = dict[str, Any]
KIB = 1 << 10


def timed(method: str, size: int, seconds: float, clock: str = "host", spread: float = 0.001, **parameters: Any) -> Row:
    """Return an ok row of a message from gpu:0 to gpu:1 whose interval reaches ``spread`` to either side."""
    flow = made.flow("gpu:0", "gpu:1", size, method, parameters=parameters)
    case = made.case("methods", [flow], {"show": "curve", "x": size, "x_name": "bytes", "figure": "latency"}, clock)
    case["id"] = "/".join([method, str(size), clock, *map(str, parameters.items())])
    around = [1 - spread] * 5 + [1.0] * 3 + [1 + spread] * 5
    row = made.ok(case, [[seconds * factor for factor in around]])
    return Row.from_json({**row.raw, "modelled": False, "backend": "cuda"})


def noted(row: Row, *notes: str) -> Row:
    """Return the row with these notes of its flow."""
    return Row.from_json({**row.raw, "flows": [{**flow, "notes": list(notes)} for flow in row.raw["flows"]]})


def found(*rows: Row) -> polars.DataFrame:
    return layers(Run(made.run(found=list(rows))))


def test_a_layer_stands_beside_what_it_calls() -> None:
    rows = [timed("torch-copy", KIB, 9e-6), timed("copy-engine", KIB, 4e-6)]
    rows += [timed("torch-copy", 2 * KIB, 9.1e-6, spread=0.9), timed("copy-engine", 2 * KIB, 9e-6)]
    small, large = found(*rows).to_dicts()
    assert (small["method"], small["raw"], small["path"]) == ("torch-copy", "copy-engine", "gpu:0>gpu:1")
    assert (small["added_s"], small["ratio"]) == pytest.approx((5e-6, 2.25))
    apart = math.hypot(math.log(1 / 0.999), math.log(1.001))
    assert small["added_s_low"] == pytest.approx(4e-6 * (2.25 * math.exp(-apart) - 1))
    assert small["added_s_high"] == pytest.approx(4e-6 * (2.25 * math.exp(apart) - 1), rel=1e-5)
    assert large["added_s_high"] < 1.9 * 9.1e-6, "no more than what the layer takes itself"
    assert (small["clear"], large["clear"]) == (True, False)
    answer = linkscope.analyze(made.run(found=rows), "layers")
    assert (answer.headline.code, answer.headline.facts["most"]) == ("analyze.layers-added", pytest.approx(2.25))


@pytest.mark.parametrize("untold", [0, 1])
def test_a_time_that_the_clock_could_not_tell_is_no_layer(untold: int) -> None:
    rows = [timed("torch-copy", KIB, 4e-6), timed("copy-engine", KIB, 4e-6)]
    (flow,) = rows[untold].flows
    rows[untold] = replace(rows[untold], flows=(replace(flow, seconds=replace(flow.seconds, median=0.0, low=0.0)),))
    assert found(*rows).is_empty()


def in_memory(row: Row, memory: str) -> Row:
    """Return the same between two processes' ordinary host memory of that kind."""
    told = json.loads(json.dumps(row.raw))
    (flow,) = told["case"]["flows"]
    flow |= {
        end: {"device": "numa:0", "memory": memory, "rank": rank} for rank, end in enumerate(("source", "destination"))
    }
    return Row.from_json(told)


def test_mpi_stands_beside_copies_by_shared_memory_call_by_call() -> None:
    rows = [
        in_memory(timed(method, KIB, time, call=call), memory)
        for method, memory, times in (("mpi", "pageable", (6e-6, 9e-6)), ("shm-copy", "shm", (2e-6, 4e-6)))
        for call, time in zip(("ping-pong", "send"), times, strict=True)
    ]
    lines = found(*rows)
    assert lines.select("method", "raw").rows() == [("mpi", "shm-copy")] * 2
    assert lines["ratio"].to_list() == pytest.approx([3, 9 / 4])
    assert found(in_memory(rows[0], "huge"), rows[2]).is_empty(), "huge pages are no ordinary ones"
    assert found(noted(rows[0], "source: 100 % in transparent huge pages"), rows[2]).is_empty()


@pytest.mark.parametrize(
    "raw",
    [
        timed("copy-engine", 2 * KIB, 4e-6),
        timed("copy-engine", KIB, 4e-6, "device"),
        timed("kernel-copy", KIB, 4e-6),
        timed("copy-engine", KIB, 4e-6, call="sync"),
    ],
    ids=["another size", "another clock", "another method", "another call"],
)
def test_what_differs_is_no_counterpart(raw: Row) -> None:
    assert found(timed("torch-copy", KIB, 9e-6), raw).is_empty()


def test_graphs_stand_beside_graphs_of_as_many_calls() -> None:
    forms: list[Json] = [{"form": "eager"}, {"form": "graph", "recorded": 1}, {"form": "graph", "recorded": 20}]
    rows = []
    for number, form in enumerate(forms):
        rows.append(timed("torch-collective", KIB, (31 + number) * 1e-6, "batch", backend="nccl", **form))
        rows.append(timed("xccl-collective", KIB, (11 + number) * 1e-6, "batch", **form))
    for order in (rows, rows[::-1]):
        assert sorted(found(*order)["raw_s"]) == pytest.approx([11e-6, 12e-6, 13e-6])
    unsaid = timed("xccl-collective", KIB, 12e-6, "batch", form="graph")
    assert found(rows[2], unsaid).height == 1, "a graph holds one call where nothing else is said"
    assert found(rows[0], rows[3]).is_empty()


@pytest.mark.parametrize(("place", "height"), [("yes", 1), ("no", 0), (None, 0)])
def test_in_place_stands_beside_in_place(place: str | None, height: int) -> None:
    said = {} if place is None else {"in_place": place}
    layer = timed("torch-collective", KIB, 30e-6, "batch", backend="nccl", in_place="yes")
    assert found(layer, timed("xccl-collective", KIB, 10e-6, "batch", form="eager", **said)).height == height


@pytest.mark.parametrize(
    ("by", "height"),
    [("by MPICH Version: 5.0.2", 1), ("by Open MPI v5.0.11", 0), ("source: 100 % where it was put", 1)],
)
def test_tensors_by_another_mpi_are_no_counterpart(by: str, height: int) -> None:
    raw = noted(timed("mpi", KIB, 5e-6), "by MPICH Version: 5.0.2")
    assert found(noted(timed("torch-mpi", KIB, 9e-6), by), raw).height == height


def test_what_was_not_held_back_is_no_counterpart_of_what_was() -> None:
    layer, raw = (timed(method, KIB, 9e-6, "device") for method in ("torch-collective", "xccl-collective"))
    inside = [noted(row, "not held back by a gate: launch cost is inside") for row in (layer, raw)]
    assert found(layer, raw).height == found(*inside).height == 1
    assert found(inside[0], raw).is_empty()
    assert found(layer, inside[1]).is_empty()


@pytest.mark.parametrize(("clock", "height"), [("batch", 1), ("host", 0)])
def test_a_message_that_is_answered_is_no_counterpart_of_one_that_is_not(clock: str, height: int) -> None:
    assert found(timed("torch-send", KIB, 9e-6, clock), timed("xccl", KIB, 5e-6, clock)).height == height


def test_an_answered_send_is_no_latency_of_one_way() -> None:
    sent = timed("mpi", 8, 3e-6, call="send")
    halved = timed("mpi", 8, 2e-6, call="ping-pong")
    for rows, known in (([sent], {}), ([sent, halved], {"gpu": pytest.approx(2e-6)})):
        run = Run(made.run(found=rows))
        assert {kind: seconds for kind, (seconds, _) in best_latencies(usable(run), run.rows).items()} == known
