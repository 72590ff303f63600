"""Several processes with PyTorch in their Python children: messages, collectives, and who is named when one fails."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch_child_plans import (
    SOURCE,
    TIMEOUT_S,
    RankGroup,
    case,
    collective,
    end,
    plan,
    ranks,
    rows_of,
    send,
    torch,
)

from linkscope.torch_child import installation

__all__ = ["ranks", "torch"]  # fixtures

Json = dict[str, Any]

ENDLESS = {"max_samples": 10_000_000, "point_budget_s": 100.0, "precision": 1e-9}


def _unsaid(flow: Json) -> Json:
    """The flow without a word on where it works."""
    return {**flow, "parameters": {name: text for name, text in flow["parameters"].items() if name != "in_place"}}


def test_messages_arrive_whole_and_the_sender_is_timed(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    ways = list(itertools.product(("send", "ping-pong"), ("host", "batch"), (1, 4099)))
    cases = [case(f"{call}/{clock}/{size}", send(size, call=call), clock=clock) for call, clock, size in ways]
    rows = rows_of(ranks(2), plan(*cases, case("back", send(1 << 20, source=1, destination=0), cache="rotated")))
    for call, clock, size in ways:
        row = rows[f"{call}/{clock}/{size}"]
        assert row["status"] == "ok", row
        (flow,) = row["flows"]
        there_and_back = call == "ping-pong"
        assert flow["operations"] == (2 if there_and_back else 1)
        assert ("gbps" in flow) == (not there_and_back)
        assert len(flow["parts_s"]) == 1
        assert row["verified"]["bytes"] == 2 * size * flow["operations"]
    assert rows["back"]["status"] == "ok", rows["back"]


def test_collectives_are_exact_in_every_type(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    kinds = ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all")
    types = ("float32", "float16", "bfloat16", "int32")
    ways = list(itertools.product(kinds, types))
    cases = [case(f"{kind}/{name}", collective(kind, 1200, (1, 0, 2), type=name)) for kind, name in ways]
    cases += [
        case("in place", collective("all-gather", 1200, in_place="yes")),
        case("barrier", collective("barrier", 0)),
        case("rotated", collective("all-gather", 1200), cache="rotated"),
    ]
    rows = rows_of(ranks(3), plan(*cases))
    for planned in cases:
        row = rows[planned["id"]]
        assert row["status"] == "ok", row
        assert len(row["flows"][0]["parts_s"]) == len(planned["flows"][0]["members"])
    assert rows["all-to-all/float32"]["verified"]["bytes"] == 2 * 3 * 1200
    assert rows["reduce/float32"]["verified"]["bytes"] == 2 * 1200  # the root's alone
    assert "gbps" not in rows["barrier"]["flows"][0]
    one_slot = "repeats one slot: caches may serve it"
    assert one_slot in rows["rotated"]["flows"][0]["notes"]
    assert one_slot not in rows["all-gather/float32"]["flows"][0].get("notes", []), "warm, as was asked for"


def test_collectives_that_torch_has_not_are_skipped(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    cases = [
        case("out of place", collective("all-reduce", 8, in_place="no")),
        *(case(f"{kind} unsaid", _unsaid(collective(kind, 8))) for kind in ("all-reduce", "reduce", "broadcast")),
        case("in place", collective("all-to-all", 8, in_place="yes")),
        case("part of an element", collective("all-reduce", 6)),
        case("part of a block", collective("all-gather", 4)),
        case("one process", {**collective("all-reduce", 8), "members": [end(0), end(0)]}),
        case("nccl", collective("all-reduce", 8, backend="nccl")),
        case("device clock", collective("all-reduce", 8), clock="device"),
        case("graph", collective("all-reduce", 8, form="graph", recorded=20)),
    ]
    rows = rows_of(ranks(2), plan(*cases))
    reasons = {name: row["reason"] for name, row in rows.items()}
    assert {row["status"] for row in rows.values()} == {"skipped"}, reasons
    assert reasons["out of place"].endswith("torch.distributed has all-reduce only in place: write in_place: yes")
    for kind in ("all-reduce", "reduce", "broadcast"):
        assert reasons[f"{kind} unsaid"].endswith(f"has {kind} only in place: write in_place: yes")
    assert "not a whole number" in reasons["part of a block"]
    assert "one member in each process" in reasons["one process"]
    assert "memory of GPUs alone" in reasons["nccl"]
    assert "Gloo's calls cannot be recorded in a graph" in reasons["graph"]


def test_memory_that_one_process_alone_lacks_skips_the_case_for_all(
    torch: Any, ranks: Callable[..., RankGroup]
) -> None:
    flow = {**send(64), "destination": {**end(1), "device": "numa:99"}}
    rows = rows_of(ranks(2), plan(case("a", flow), case("b", send(64))))
    assert rows["a"]["status"] == "skipped"
    assert rows["a"]["reason"].startswith("rank 1")
    assert "numa:99" in rows["a"]["reason"]
    assert rows["b"]["status"] == "ok"


@pytest.mark.parametrize("method", ["torch-send", "torch-collective"])
def test_a_killed_process_fails_the_case_by_name_and_the_others_leave(
    torch: Any, ranks: Callable[..., RankGroup], method: str
) -> None:
    started = ranks(2)
    flow = send(1 << 16) if method == "torch-send" else collective("all-reduce", 1 << 16)
    started.begin(plan({**case("short", flow), "point_budget_s": 0.01}, case("endless", flow), **ENDLESS))
    while started.record(1) != {"record": "start", "id": "endless"}:
        pass
    started.processes[1].send_signal(signal.SIGKILL)
    row, error = started.records(0)[-2:]
    assert (row["record"], row["id"], row["status"]) == ("row", "endless", "failed")
    assert row["reason"].startswith("rank 1 (host ")
    assert error == {"record": "error", "fault": "lost", "reason": row["reason"], "causes": row["causes"]}
    assert (row["causes"][0]["how"], row["causes"][0]["ranks"]) == ("gone", [1])
    assert started.codes() == [3, -signal.SIGKILL]


def test_a_stopped_process_fails_the_case_by_name_within_the_limit(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    started = ranks(2)
    started.begin(plan(case("endless", send(1 << 16)), **ENDLESS), limit_s=2)
    assert started.record(1) == {"record": "start", "id": "endless"}
    started.processes[1].send_signal(signal.SIGSTOP)
    row, error = started.records(0)[-2:]
    assert (row["record"], row["status"], error["record"]) == ("row", "failed", "error")
    assert row["reason"].startswith("rank 1")
    assert "has not come within 2 s" in row["reason"]
    assert started.processes[0].wait(TIMEOUT_S) == 3


FAULTY = """
import os, signal
import torch.distributed
real = torch.distributed.all_reduce
def all_reduce(*arguments, **named):
    if os.environ.get("LINKSCOPE_RANK") == os.environ["FAILS"]:
        raise RuntimeError("no memory for a ring")
    if os.environ.get("LINKSCOPE_RANK") == os.environ["HANGS"]:
        signal.pause()
    return real(*arguments, **named)
torch.distributed.all_reduce = all_reduce
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Variables that have a rank's all-reduces fail, or never return."""
    (tmp_path / "sitecustomize.py").write_text(FAULTY)
    path = f"{tmp_path}{os.pathsep}{SOURCE}"
    return lambda fails, hangs="": {"PYTHONPATH": path, "FAILS": str(fails), "HANGS": str(hangs)}


@pytest.mark.parametrize("failed", [0, 1])
def test_who_failed_in_a_collective_is_named_and_not_who_waited_for_it_there(
    torch: Any, ranks: Callable[..., RankGroup], faulty: Callable[..., dict[str, str]], failed: int
) -> None:
    """Gloo tells the other that nobody came, after as long as processes wait for one another here."""
    started = ranks(2, **faulty(failed))
    started.begin(plan(case("a", collective("all-reduce", 1 << 16))), limit_s=2)
    row = next(record for record in started.records(0) if record["record"] == "row")
    assert row["status"] == "failed"
    assert row["reason"].startswith(f"rank {failed} (host {started.hellos[failed]['host']})")
    assert "RuntimeError: no memory for a ring" in row["reason"]


@pytest.mark.parametrize(("failed", "held_up"), [(0, 1), (1, 0)])
def test_what_a_process_failed_of_is_told_where_another_is_held_up(
    torch: Any, ranks: Callable[..., RankGroup], faulty: Callable[..., dict[str, str]], failed: int, held_up: int
) -> None:
    started = ranks(2, **faulty(failed, held_up))
    started.begin(plan(case("a", collective("all-reduce", 1 << 16))), limit_s=2)
    start, failure, *_, error = started.records(failed)
    assert (start["record"], failure) == (
        "start",
        {"record": "failure", "reason": "RuntimeError: no memory for a ring"},
    )
    failing, missing = (f"rank {rank} (host {started.hellos[rank]['host']})" for rank in (failed, held_up))
    words = f"{failing} failed: RuntimeError: no memory for a ring; {missing} has not come within 2 s"
    assert [(one["how"], one["ranks"]) for one in error.pop("causes")] == [("failed", [failed]), ("late", [held_up])]
    assert error == {"record": "error", "fault": "lost", "reason": words}


def test_processes_leave_at_once_when_their_control_is_gone(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    started = ranks(2)
    started.begin(plan(case("endless", send(1 << 16)), **ENDLESS))
    assert started.record(1) == {"record": "start", "id": "endless"}
    started.hang_up()
    assert started.codes() == [3, 3]


def test_tensors_go_by_mpi_where_there_is_one(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    problem = installation.problems()["mpi"]
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if problem or mpiexec is None:
        pytest.skip(problem or "there is no mpiexec")
    calls = [
        case(f"{call}/{size}", send(size, method="torch-mpi", call=call))
        for call in ("send", "ping-pong")
        for size in (0, 4099)
    ]
    rows = rows_of(ranks(2, [mpiexec, "-n", "2"]), plan(*calls))
    for row in rows.values():
        assert row["status"] == "ok", row
    assert "gbps" not in rows["send/0"]["flows"][0]
    for row in rows.values():
        assert row["flows"][0]["notes"][0].startswith("by ")


def test_processes_that_mpi_did_not_start_are_told_so(torch: Any, ranks: Callable[..., RankGroup]) -> None:
    problem = installation.problems()["mpi"]
    if problem:
        pytest.skip(problem)
    row = rows_of(ranks(2), plan(case("a", send(64, method="torch-mpi"))))["a"]
    assert row["status"] == "skipped"
    assert "MPI" in row["reason"]
