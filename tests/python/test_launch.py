"""Running: a row for every case, whatever the engine does, and engines found and chosen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launching import TINY_IDS, Bench, add_engine, bench, statuses
from result_schema import validate

from linkscope.errors import LinkscopeError
from linkscope.launch import supervisor
from linkscope.launch.engines import choose_engine, find_engines
from linkscope.launch.process.child import URGENT_S, Child, ShutdownDeadline, end_all
from linkscope.launch.run import newest_output
from linkscope.launch.worker import engine_plan
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import error

__all__ = ["bench"]


def test_a_run_leaves_a_header_a_row_for_each_case_and_an_end(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 0
    records = bench.records(Path("a.jsonl"))
    assert [record["record"] for record in records] == ["header", *["row"] * 6, "state"]
    assert records[0]["plan"]["ids"] == TINY_IDS
    assert list(statuses(records)) == TINY_IDS
    assert records[-1]["when"] == "finished"
    for record in records:
        validate(record)


def test_rows_hold_their_cases_as_planned_though_an_engine_has_only_what_it_reads(bench: Bench) -> None:
    plan = json.loads(bench.cli("run", bench.suite, "--dry-run", "--json").out)
    bench.faults({"/8KiB": "crash", "/16KiB": "fatal"})
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    rows = [record for record in bench.records(Path("a.jsonl")) if record["record"] == "row"]
    assert {row["id"]: row["case"] for row in rows} == {case["id"]: case for case in plan["cases"]}
    assert {row["case"]["labels"]["title"] for row in rows} == {"Copies"}
    given = engine_plan(plan)
    assert {name for case in given["cases"] for name in case} == set(plan["cases"][0]) - {
        "suite", "name", "labels", "timeout_s"
    }  # fmt: skip
    assert given | {"cases": plan["cases"]} == plan


def test_progress_goes_to_standard_error_row_by_row_and_ends_with_what_to_type_next(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    lines = ended.err.splitlines()
    assert lines[0].startswith("6 cases on ")
    assert lines[1].startswith("[1/1] copy")
    assert "6 cases" in lines[1]
    assert "wrote a.jsonl" in lines
    (step,) = (line.partition("Next: ")[2] for line in ended.out.splitlines() if line.startswith("Next: "))
    assert bench.cli(*shlex.split(step)[1:]).code in (0, 3)


def test_a_run_writes_its_page_where_asked_though_a_case_failed(bench: Bench) -> None:
    bench.faults({TINY_IDS[2]: "crash"})
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--report").code == 1
    assert "SIGSEGV" in Path("a.html").read_text()


def test_a_page_in_the_place_of_its_run_is_refused_before_anything_is_measured(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "-o", "a.html", "--report")
    assert ended.code == 2
    assert "a.html" in ended.err
    assert not Path("a.html").exists()


def test_who_else_uses_the_machine_is_told_before_anything_is_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = replace(error("doctor.other-processes", processes=2), where=("gpu:0",))
    monkeypatch.setattr("linkscope.launch.job.neighbours", lambda node, state: [busy])
    lines = bench.cli("run", bench.suite, "-o", "a.jsonl").err.splitlines()
    assert lines[0] == sentence(busy)
    modelled = bench.cli("run", bench.suite, "--machine", "frontier", "--dry-run")
    assert sentence(busy) not in modelled.out + modelled.err


def test_json_goes_to_standard_output_alone(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "--json")
    assert [row["id"] for row in json.loads(ended.out)["rows"]] == TINY_IDS
    assert len(list(Path("runs").glob("*.jsonl"))) == 1


@pytest.mark.parametrize("machine", ["frontier", "./copies/frontier.yaml"])
def test_the_file_of_a_modelled_run_has_the_name_of_the_node_and_is_the_newest(bench: Bench, machine: str) -> None:
    if "/" in machine:
        Path("copies").mkdir()
        Path(machine).write_bytes((Path(__file__).parents[2] / "machines/frontier.yaml").read_bytes())
    bench.cli("run", bench.suite, "--machine", machine)
    (written,) = Path("runs").glob("*.jsonl")
    assert written.name.startswith("frontier-2")
    assert newest_output() == written


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", "the engine died of SIGSEGV: about to crash"),
        ("garbage", "the engine printed a line that is not a record: Segmentation fault"),
        ("fatal", "device lost"),
    ],
)
def test_a_case_that_ends_its_engine_fails_and_the_rest_goes_on(bench: Bench, fault: str, reason: str) -> None:
    bench.faults({"/8KiB": fault, "/64KiB": fault})
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 1
    records = bench.records(Path("a.jsonl"))
    found = statuses(records)
    assert [case_id for case_id, status in found.items() if status == "failed"] == [TINY_IDS[1], TINY_IDS[4]]
    assert list(found.values()).count("ok") == 4
    failed = next(record for record in records if record.get("status") == "failed")
    assert failed["reason"].startswith(reason)
    validate(failed)


def test_an_engine_that_ends_between_cases_is_told_of_though_no_case_fails(bench: Bench) -> None:
    bench.faults({"/8KiB": "leave", "/64KiB": "leave"})
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 0
    assert set(statuses(bench.records(Path("a.jsonl"))).values()) == {"ok"}
    told = [line for line in ended.err.splitlines() if "between cases" in line]
    assert [line.partition("between cases: ")[2] for line in told] == [
        f"the engine ended with exit code 4: gone for good; {left} more to measure: started again" for left in (4, 1)
    ]


def test_a_silent_case_is_killed_at_its_timeout(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 0.3)
    bench.faults({"/16KiB": "hang"})
    assert bench.cli("run", bench.suite, "-o", "a.jsonl").code == 1
    failed = [record for record in bench.records(Path("a.jsonl")) if record.get("status") == "failed"]
    assert [record["id"] for record in failed] == [TINY_IDS[2]]
    told = r"the engine hung: no sign of life for 0\.3 s \(threads: \S.*\); it was killed"
    assert re.fullmatch(told, failed[0]["reason"]), failed[0]["reason"]
    assert not engines_of(bench)


def test_an_engine_that_never_starts_is_given_up_with_a_reason_in_every_row(bench: Bench) -> None:
    bench.faults({"start": "die"})
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 1
    records = bench.records(Path("a.jsonl"))
    assert list(statuses(records).values()) == ["failed"] * 6
    assert "between cases" not in ended.err
    words = "before it began a case: the engine ended with exit code 1: driver gone"
    assert all(words in record["reason"] for record in records if record["record"] == "row")


def test_a_refused_plan_is_bad_input(bench: Bench) -> None:
    bench.faults({"start": "refuse"})
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 2
    assert "the engine refused the plan: plan.json: case 1 is wrong" in ended.err


def test_rows_known_to_be_impossible_are_written_without_asking_the_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_GPUS", "1")
    assert bench.cli("run", "sweep", "-o", "a.jsonl").code == 0
    (row,) = [record for record in bench.records(Path("a.jsonl")) if record["record"] == "row"]
    assert row["status"] == "skipped"
    assert row["reason"].startswith("needs at least two GPUs; 1 on ")
    validate(row)


def test_engines_are_found_where_the_variable_says_and_nowhere_else(tmp_path: Path) -> None:
    program = add_engine(tmp_path, "hip")
    assert find_engines({"LINKSCOPE_ENGINE_DIR": str(tmp_path)}) == {"hip": program}
    assert find_engines({"LINKSCOPE_ENGINE_DIR": str(tmp_path / "none")}) == {}


def test_the_gpu_engine_is_chosen_where_there_is_a_gpu(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_GPUS", "2")
    assert choose_engine().name == "cuda"


def test_a_gpu_engine_without_a_gpu_gives_way_and_its_reason_counts_if_a_driver_is_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_PROBLEM", "no CUDA-capable device is detected")
    monkeypatch.setattr("linkscope.launch.engines._driver_present", lambda name: name == "cuda")
    chosen = choose_engine()
    assert (chosen.name, chosen.gpu_problem) == ("host", "no CUDA-capable device is detected")


def test_without_a_driver_a_gpu_engine_gives_way_silently(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_PROBLEM", "no driver")
    monkeypatch.setattr("linkscope.launch.engines._driver_present", lambda name: False)
    assert choose_engine().gpu_problem is None


def test_an_engine_that_does_not_answer_is_one_line(bench: Bench) -> None:
    (bench.engines / "linkscope-engine-host").write_text("#!/bin/sh\necho cannot load libnuma >&2\nexit 127\n")
    with pytest.raises(LinkscopeError, match=r"describe failed \(exit 127\): cannot load libnuma"):
        choose_engine()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_keeps_what_was_measured_and_leaves_no_process(bench: Bench, number: signal.Signals) -> None:
    bench.faults({"/4KiB": "slow", "/16KiB": "hang"})
    process = start(bench, "run", bench.suite, "-o", "a.jsonl", "--rounds", "1")
    wait_for_rows(Path("a.jsonl"), 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted with 4 of 6 cases to go: `linkscope run --resume -o a.jsonl` completes the run" in err
    assert "Traceback" not in err
    records = bench.records(Path("a.jsonl"))
    assert (records[-1]["when"], records[-1]["state"]["at_s"] > 0) == ("interrupted", True)
    assert list(statuses(records)) == TINY_IDS[:2]
    assert not engines_of(bench)


AT_ONCE_S = 5.0
"""Schedulers that end a job send SIGTERM, and SIGKILL a few seconds later."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_is_heeded_at_once_where_the_engine_is_stopped(bench: Bench, number: signal.Signals) -> None:
    bench.faults({"/16KiB": "hang"})
    process = start(bench, "run", bench.suite, "-o", "a.jsonl", "--rounds", "1")
    wait_for_rows(Path("a.jsonl"), 2)
    stop_engines(bench)
    process.send_signal(number)
    _, err = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130, err
    assert not engines_of(bench)


def start_with_immortals(bench: Bench, *arguments: str) -> subprocess.Popen[str]:
    """As start(); what linkscope kills lives on until linkscope ends, as a process does that is stuck in the kernel."""
    program = "import os, sys; from linkscope.cli import main; os.killpg = lambda *_: None; main(sys.argv[1:])"
    return start(bench, *arguments, program=("-c", program))


def test_a_stop_signal_is_heeded_at_once_where_the_kernel_cannot_end_the_engine(bench: Bench) -> None:
    bench.faults({"/16KiB": "hang"})
    process = start_with_immortals(bench, "run", bench.suite, "-o", "a.jsonl", "--rounds", "1")
    wait_for_rows(Path("a.jsonl"), 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130, err
    assert "`linkscope run --resume -o a.jsonl` completes the run" in err
    records = bench.records(Path("a.jsonl"))
    assert (records[-1]["when"], records[-1]["state"]["at_s"] > 0) == ("interrupted", True)
    assert list(statuses(records)) == TINY_IDS[:2]
    wait_until(lambda: not engines_of(bench))


def test_the_end_of_an_engine_is_waited_for_until_that_is_urgent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere a case that failed is followed by others, which what the engine still holds would disturb."""
    asked = iter([False, False, True])
    with monkeypatch.context() as immortal:
        immortal.setattr("os.killpg", lambda *_: None)
        children = [Child(["sleep", "600"], os.environ, tmp_path / str(number)) for number in range(8)]
        begin = time.monotonic()
        end_all(children, ShutdownDeadline(lambda: next(asked, True)))
        assert URGENT_S <= time.monotonic() - begin < AT_ONCE_S, "for all of them together"
        assert next(asked, None) is None
    end_all(children)
    assert {child.status() for child in children} == {-signal.SIGKILL}


def test_waits_that_follow_one_another_end_together_where_that_is_urgent(tmp_path: Path) -> None:
    """Each of them alone would take as long."""
    deaf = ["sh", "-c", "trap '' TERM; echo deaf >&2; while :; do sleep 1; done"]
    children = [Child(deaf, os.environ, tmp_path / str(number)) for number in range(3)]
    wait_until(lambda: all(child.last_words() == "deaf" for child in children))
    shutdown, begin = ShutdownDeadline(lambda: True), time.monotonic()
    for child in children:
        child.dismiss(60, shutdown)
    assert URGENT_S <= time.monotonic() - begin < 2 * URGENT_S
    assert {child.status() for child in children} == {-signal.SIGKILL}


def test_a_killed_run_takes_its_engine_along_and_loses_only_the_row_in_flight(bench: Bench) -> None:
    bench.faults({"/32KiB": "hang"})
    process = start(bench, "run", bench.suite, "-o", "a.jsonl", "--rounds", "1")
    wait_for_rows(Path("a.jsonl"), 3)
    process.kill()
    process.wait(30)
    assert list(statuses(bench.records(Path("a.jsonl")))) == TINY_IDS[:3]
    wait_until(lambda: not engines_of(bench))


def test_the_supervisor_allows_a_start_more_time_than_a_case(bench: Bench) -> None:
    assert supervisor.START_TIMEOUT_S >= supervisor.DEFAULT_TIMEOUT_S


def start(bench: Bench, *arguments: str, program: Sequence[str] = ("-m", "linkscope")) -> subprocess.Popen[str]:
    source = Path(__file__).resolve().parents[2] / "python"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, *program, *arguments]
    return subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """A shell starts background jobs with SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_rows(path: Path, count: int) -> None:
    wait_until(lambda: path.exists() and path.read_text().count('"record":"row"') >= count)


def wait_until(true: Any) -> None:
    """Fails after a time that only a broken program needs."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    pytest.fail("waited in vain")


def stop_engines(bench: Bench) -> None:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(bench.engines) in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGSTOP)


def engines_of(bench: Bench) -> list[str]:
    """Command lines of living processes that run one of the bench's engines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(os.fsencode(bench.engines)) for word in words):
            found.append(b" ".join(words).decode())
    return found
