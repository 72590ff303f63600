"""Resume: a run cut short at any point is completed to the same set of rows."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from launching import TINY_IDS, Bench, bench, statuses

from linkscope.launch.run import resume
from linkscope.results.run_file import RunFile

__all__ = ["bench"]


def run_and_cut(bench: Bench, share: float) -> Path:
    """A whole run of the tiny suite, of which so much is left behind the header."""
    path = Path("a.jsonl")
    bench.cli("run", bench.suite, "-o", path)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    path.write_bytes(whole[: header + int((len(whole) - header) * share)])
    return path


@pytest.mark.parametrize("share", [0.5, 0.77, 0.999])
def test_a_run_cut_anywhere_is_completed_to_the_same_rows(bench: Bench, share: float) -> None:
    path = run_and_cut(bench, share)
    assert bench.cli("run", "--resume", "-o", path).code == 0
    found = RunFile.read(path)
    assert [row.id for row in found.rows] == TINY_IDS
    assert found.findings == ()
    assert [state["when"] for state in found.states][-2:] == ["resumed", "finished"]


def test_rows_that_are_there_are_not_measured_again(bench: Bench) -> None:
    path = Path("a.jsonl")
    bench.cli("run", bench.suite, "-o", path)
    before = [line for line in path.read_text().splitlines() if '"record":"row"' in line]
    path.write_text("\n".join([path.read_text().splitlines()[0], *before[:4]]) + "\n")
    ended = bench.cli("run", "--resume", "-o", path)
    assert ended.err.splitlines()[0].startswith("2 cases on ")
    after = [line for line in path.read_text().splitlines() if '"record":"row"' in line]
    assert after[:4] == before[:4]
    assert len(after) == 6


def test_failed_rows_are_measured_again_and_the_new_row_counts(bench: Bench) -> None:
    bench.faults({"/8KiB": "crash"})
    assert bench.cli("run", bench.suite, "-o", "a.jsonl").code == 1
    bench.faults({})
    assert bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert set(statuses(bench.records(Path("a.jsonl"))).values()) == {"ok"}
    assert [row.status for row in RunFile.read("a.jsonl").rows] == ["ok"] * 6


def test_a_complete_run_is_left_as_it_is(bench: Bench) -> None:
    path = Path("a.jsonl")
    bench.cli("run", bench.suite, "-o", path)
    whole = path.read_bytes()
    ended = bench.cli("run", "--resume", "-o", path)
    assert ended.code == 0
    assert ended.err.startswith("nothing left to measure: all 6 cases are in a.jsonl")
    assert path.read_bytes() == whole


def test_resume_without_a_name_takes_the_newest_run(bench: Bench) -> None:
    bench.cli("run", bench.suite)
    assert bench.cli("run", "--resume").err.startswith("nothing left to measure: all 6 cases are in runs/")


def test_the_interface_resumes_too(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert resume(Path("a.jsonl")).missing == ()


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("host", "elsewhere", "was made on elsewhere"),
        ("node", {"name": "n", "devices": [{"id": "numa:0", "kind": "numa"}], "links": []}, "other devices"),
        ("engine", {"backend": "cuda"}, "was made with the cuda engine"),
        ("plan", {"options": {}, "ids": ["x"], "request": None}, "how it was asked for"),
    ],
)
def test_a_file_of_another_machine_or_engine_is_refused(bench: Bench, key: str, value: object, complaint: str) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    lines = Path("a.jsonl").read_text().splitlines()
    Path("a.jsonl").write_text("\n".join([json.dumps({**json.loads(lines[0]), key: value}), *lines[1:]]) + "\n")
    before = Path("a.jsonl").read_bytes()
    ended = bench.cli("run", "--resume", "-o", "a.jsonl")
    assert ended.code == 2
    assert complaint in ended.complaint
    assert Path("a.jsonl").read_bytes() == before


@pytest.mark.parametrize("asked", [("--sizes", "1M"), ("--precision", "5%")])
def test_another_plan_is_refused(bench: Bench, asked: tuple[str, str]) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    before = Path("a.jsonl").read_bytes()
    ended = bench.cli("run", bench.suite, *asked, "--resume", "-o", "a.jsonl")
    assert (ended.code, "holds another plan" in ended.complaint) == (2, True)
    assert Path("a.jsonl").read_bytes() == before


def test_what_is_asked_of_a_resumed_run_beside_its_name_is_not_ignored(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    before = Path("a.jsonl").read_bytes()
    assert bench.cli("run", "--resume", "-o", "a.jsonl", "--precision", "5%").code == 2
    assert Path("a.jsonl").read_bytes() == before


def test_an_existing_file_is_never_overwritten(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 2
    assert "add --resume" in ended.complaint


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"launcher_command": "touch started"}, ["--launcher-command", "touch started"]),
        ({"launcher": "mpiexec", "hosts": "a,b"}, ["--launcher", "mpiexec", "--hosts", "a,b"]),
    ],
)
def test_a_file_starts_no_program(bench: Bench, asked: dict[str, str], named: list[str]) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    lines = Path("a.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["plan"]["request"]["launching"] |= asked
    Path("a.jsonl").write_text("\n".join([json.dumps(header), *lines[1:3]]) + "\n")
    ended = bench.cli("run", "--resume", "-o", "a.jsonl")
    assert (ended.code, f"asks for `{shlex.join(named)}`" in ended.complaint) == (2, True)
    assert not Path("started").exists()
    assert bench.cli("run", "--resume", "-o", "a.jsonl", *named).code == 0


UNSAID = "does not say how it was asked for"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (None, UNSAID),
        (7, "line 1: plan.request"),
        ({"suites": 5}, UNSAID),
        ({"sizes": 7}, UNSAID),
        ({"launching": []}, UNSAID),
    ],
)
def test_a_request_of_the_wrong_shape_is_refused(bench: Bench, request_: object, said: str) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    lines = Path("a.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["plan"]["request"] = request_
    Path("a.jsonl").write_text("\n".join([json.dumps(header), *lines[1:3]]) + "\n")
    assert said in bench.cli("run", "--resume", "-o", "a.jsonl").complaint
