"""The engine and its Python child, where a script that speaks the child's protocol stands for PyTorch."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch_child_plans import (
    TIMEOUT_S,
    RankGroup,
    case,
    collective,
    copy,
    engine,
    environment,
    plan,
    ranks,
    rows_of,
    run,
)

__all__ = ["ranks"]  # a fixture

Json = dict[str, Any]
Faulty = Callable[..., dict[str, str]]

SCRIPT = Path(__file__).resolve().parents[1] / "multi" / "fake_child.py"
RUN_S, MIN_SAMPLE_S = 0.002, 0.01
ENDLESS = {"max_samples": 10_000_000, "point_budget_s": 100.0, "precision": 1e-9}


@pytest.fixture
def faulty(tmp_path: Path) -> Faulty:
    """Variables that put the script in the child's place, with faults by "rank:command"."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SCRIPT}" "$@"\n')
    program.chmod(0o755)
    return lambda **faults: {
        "LINKSCOPE_PYTHON_PROGRAM": str(program),
        "FAKE_CHILD": json.dumps({f"{name[1:].replace('_', ':', 1)}": fault for name, fault in faults.items()}),
    }


def rank(number: int, group: RankGroup) -> str:
    return f"rank {number} (host {group.hellos[number]['host']})"


def test_the_description_says_what_python_has(faulty: Faulty) -> None:
    description = json.loads(engine("describe", env=environment(**faulty())).stdout)
    methods = {entry["name"]: entry for entry in description["methods"]}
    assert methods["torch-copy"]["available"]
    assert methods["torch-mpi"]["reason"] == "no mpi4py"
    assert description["versions"]["PyTorch"] == "0.0"


def test_an_engine_that_was_told_of_no_python_says_so() -> None:
    description = json.loads(engine("describe", env=environment(LINKSCOPE_PYTHON_PROGRAM="")).stdout)
    reasons = {entry.get("reason") for entry in description["methods"] if entry["name"].startswith("torch-")}
    assert reasons == {"this engine was told of no Python: LINKSCOPE_PYTHON_PROGRAM is not set"}
    assert "PyTorch" not in description["versions"]


def test_plans_without_such_methods_start_no_child(tmp_path: Path, faulty: Faulty) -> None:
    flow = copy(64, method="memcpy")
    assert run(tmp_path, case("a", flow), env=environment(**faulty(r0_begin="die")))["a"]["status"] == "ok"


def test_the_childs_own_stamps_are_the_figures(tmp_path: Path, faulty: Faulty) -> None:
    (flow,) = run(tmp_path, case("a", copy(1000)), env=environment(**faulty()))["a"]["flows"]
    assert flow["seconds"]["median"] == pytest.approx(RUN_S)
    assert flow["repeats"] == round(MIN_SAMPLE_S / RUN_S), "a sample lasts as long as the child says"
    assert flow["gbps"]["median"] == pytest.approx(1000 / RUN_S / 1e9)
    assert flow["notes"][:2] == ["a remark", "another"]


def test_what_arrived_wrong_fails_the_row_and_the_run_goes_on(tmp_path: Path, faulty: Faulty) -> None:
    rows = run(tmp_path, case("a", copy(64)), case("b", copy(64)), env=environment(**faulty(r0_verify="mismatch")))
    assert {row["status"] for row in rows.values()} == {"failed"}
    assert {row["reason"] for row in rows.values()} == {"byte 3 of 64 arrived wrong [wrong-data]"}


@pytest.mark.parametrize(
    ("word", "status"),
    [("unsupported", "skipped"), ("no-memory", "skipped"), ("broken", "failed"), ("bad-input", "failed")],
)
@pytest.mark.parametrize("command", ["prepare", "import_handles"])
def test_what_the_child_cannot_do_is_its_cases_row(
    tmp_path: Path, faulty: Faulty, command: str, word: str, status: str
) -> None:
    variables = faulty(**{f"r0_{command}": f"fault {word} so it is"})
    rows = run(tmp_path, case("a", copy(64)), case("b", copy(64)), env=environment(**variables))
    assert {(row["status"], row["reason"]) for row in rows.values()} == {(status, "so it is")}


@pytest.mark.parametrize("command", ["check", "prepare", "run", "verify"])
def test_a_child_that_dies_ends_the_engine_with_its_last_words(tmp_path: Path, faulty: Faulty, command: str) -> None:
    variables = environment(**faulty(**{f"r0_{command}": "die"}))
    rows = run(tmp_path, case("a", copy(64)), case("b", copy(64)), env=variables, code=3)
    assert rows.keys() == {"a"}, "the rest is for a fresh engine"
    died = "the Python child died of signal 9 (Killed): no memory for a ring"
    assert (rows["a"]["status"], rows["a"]["reason"]) == ("failed", died)


def test_a_fatal_fault_ends_the_engine(tmp_path: Path, faulty: Faulty) -> None:
    variables = environment(**faulty(r0_run="fault fatal CUDA error: lost"))
    rows = run(tmp_path, case("a", copy(64)), case("b", copy(64)), env=variables, code=3)
    assert {name: row["reason"] for name, row in rows.items()} == {"a": "CUDA error: lost"}


def test_several_processes_have_a_child_each(ranks: Callable[..., RankGroup], faulty: Faulty) -> None:
    row = rows_of(ranks(3, **faulty()), plan(case("a", collective("all-reduce", 1200, (1, 0, 2)))))["a"]
    assert row["status"] == "ok", row
    assert row["flows"][0]["parts_s"] == [RUN_S] * 3
    assert row["verified"]["bytes"] == 2 * 3 * 64


@pytest.mark.parametrize("failed", [0, 1])
def test_whose_child_failed_is_named(ranks: Callable[..., RankGroup], faulty: Faulty, failed: int) -> None:
    started = ranks(2, **faulty(**{f"r{failed}_import_handles": "fault unsupported no such ring"}))
    rows = rows_of(started, plan(case("a", collective("all-reduce", 64))))
    assert (rows["a"]["status"], rows["a"]["reason"]) == ("skipped", f"{rank(failed, started)}: no such ring")


@pytest.mark.parametrize("failed", [0, 1])
def test_whose_child_died_is_named_with_its_words_and_all_leave(
    ranks: Callable[..., RankGroup], faulty: Faulty, failed: int
) -> None:
    started = ranks(2, **faulty(**{f"r{failed}_run": "die"}))
    started.begin(plan(case("a", collective("all-reduce", 64)), case("b", collective("all-reduce", 64))))
    row = next(record for record in started.records(0) if record["record"] == "row")
    died = "the Python child died of signal 9 (Killed): no memory for a ring"
    assert (row["id"], row["status"], row["reason"]) == ("a", "failed", f"{rank(failed, started)}: {died}")
    assert set(started.codes()) == {3}


def test_whose_child_hangs_is_named_within_the_limit(ranks: Callable[..., RankGroup], faulty: Faulty) -> None:
    started = ranks(2, **faulty(r1_run="hang"))
    started.begin(plan(case("a", collective("all-reduce", 64))), limit_s=1)
    row = next(record for record in started.records(0) if record["record"] == "row")
    assert row["status"] == "failed"
    assert row["reason"] == f"{rank(1, started)} has not come within 1 s"
    started.hang_up()
    started.processes[1].wait(TIMEOUT_S)


def test_children_end_with_their_engines(ranks: Callable[..., RankGroup], faulty: Faulty) -> None:
    started = ranks(2, **faulty())
    started.begin(plan(case("endless", collective("all-reduce", 64)), **ENDLESS))
    assert started.record(1) == {"record": "start", "id": "endless"}
    children = [child for process in started.processes for child in _children_of(process.pid)]
    started.processes[1].send_signal(signal.SIGKILL)
    started.hang_up()
    assert set(started.codes()) <= {3, -signal.SIGKILL}
    assert all(_is_gone(child) for child in children)


def _is_gone(pid: int) -> bool:
    """Once it is; False where it stays."""
    for _ in range(1000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        signal.sigtimedwait([], 0.01)
    return False


def _children_of(parent: int) -> list[int]:
    """Once there is one."""
    for _ in range(1000):
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if listed:
            return [int(pid) for pid in listed]
        signal.sigtimedwait([], 0.01)
    return []
