"""Turns: measured, gone on with, interrupted and refused; what is kept of a calibration, and garbage in its place."""

from __future__ import annotations

import json
import math
import os
import platform
import signal
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from launching import TINY_IDS, Bench, bench
from typer.testing import CliRunner

from linkscope.answers.calibrate import calibration
from linkscope.cli.main import app
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.launch.calibrate import turns
from linkscope.launch.job import Request
from linkscope.launch.run import INTERRUPTED, Listener
from linkscope.machine.node import Device, Node
from linkscope.results.calibration import Intervals, KnownDevice, NodeNoise, Noise, keep, kept_at, load, noise_of
from linkscope.results.run_file import RunFile
from linkscope.statistics.ranks import t975

__all__ = ["bench"]
Json = dict[str, Any]
RECORDED = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where calibrations are kept during a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "linkscope" / "calibration"


def test_turns_are_measured_shown_and_kept(bench: Bench, state: Path) -> None:
    ended = bench.cli("calibrate", bench.suite, "--turns", "5", "--rounds", "2", "-o", "noise")
    assert ended.code == 0
    assert [path.name for path in sorted(Path("noise").iterdir())] == [f"turn-0{n}.jsonl" for n in range(1, 6)]
    first, *lines = ended.err.splitlines()
    assert first.startswith("5 turns of 6 cases on ")
    assert [line.split()[0] for line in lines] == [f"[{n}/5]" for n in range(1, 6)]
    run = RunFile.read("noise/turn-01.jsonl")
    (path,) = state.iterdir()
    assert str(path) in ended.out.replace("\n", "")
    (found,) = load(run.node) or ()
    assert (found.turns, found.suites, found.host) == (5, (bench.suite,), run.header["host"])
    assert [(noise.name, noise.cases, noise.intervals.covered) for noise in found.classes] == [
        ("cpu", 6, 1.0),
        ("all", 6, 1.0),
    ]
    assert {noise.replicates for noise in found.classes} == {0}
    assert run.header["command"][-2:] == ["-o", "noise/turn-01.jsonl"]


def test_a_folder_of_turns_is_gone_on_with_and_what_it_holds_stays(bench: Bench) -> None:
    assert bench.cli("calibrate", bench.suite, "--turns", "2", "-o", "noise").code == 0
    whole = Path("noise/turn-01.jsonl").read_bytes()
    lines = Path("noise/turn-02.jsonl").read_text().splitlines(keepends=True)
    Path("noise/turn-02.jsonl").write_text("".join(lines[:4]))
    ended = bench.cli("calibrate", "--turns", "3", "-o", "noise")
    assert ended.code == 0
    assert Path("noise/turn-01.jsonl").read_bytes() == whole
    assert Path("noise/turn-02.jsonl").read_text().startswith("".join(lines[:4]))
    for number in (2, 3):
        assert [row.id for row in RunFile.read(f"noise/turn-0{number}.jsonl").rows] == TINY_IDS


def test_a_table_of_few_turns_or_of_single_replicates_is_not_kept(bench: Bench, state: Path) -> None:
    few = bench.cli("calibrate", bench.suite, "--turns", "4", "--rounds", "2", "-o", "few", "--json")
    single = bench.cli("calibrate", bench.suite, "--turns", "5", "--rounds", "1", "-o", "single", "--json")
    assert (few.code, single.code) == (0, 0)
    assert "calibrate.few-turns" in codes(few.out)
    assert "calibrate.one-replicate" in codes(single.out)
    assert not state.exists()


def codes(out: str) -> list[str]:
    return [one["code"] for one in json.loads(out)["findings"]]


def test_a_folder_of_another_plan_is_refused(bench: Bench) -> None:
    bench.cli("calibrate", bench.suite, "--turns", "2", "-o", "noise")
    before = Path("noise/turn-01.jsonl").read_bytes()
    ended = bench.cli("calibrate", bench.suite, "--sizes", "4K", "--turns", "3", "-o", "noise")
    assert (ended.code, "holds another plan" in ended.complaint) == (2, True)
    assert Path("noise/turn-01.jsonl").read_bytes() == before
    assert not Path("noise/turn-03.jsonl").exists()


def test_a_turn_in_which_a_case_fails_counts_with_the_others(bench: Bench) -> None:
    bench.faults({"/8KiB": "crash"})
    ended = bench.cli("calibrate", bench.suite, "--turns", "2", "--rounds", "1", "--json")
    assert ended.code == 1
    found = json.loads(ended.out)
    everything = found["calibration"]["classes"][-1]
    assert (everything["replicates"], everything["cases"]) == (None, 5)
    cases = [one["id"] for one in found["tables"]["calibrate.cases"]]
    assert sorted(cases) == sorted(set(TINY_IDS) - {"tiny/copy/numa:0/8KiB"})


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """Also where the tests were started in the background, whose programs ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupted_turn_keeps_what_was_measured(bench: Bench) -> None:
    folder, rows = Path("noise"), []

    def stop_in_the_second(row: Json) -> None:
        if (folder / "turn-02.jsonl").exists():
            rows.append(row)
            if len(rows) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    bench.faults({"/16KiB": "slow"})
    taken = turns(Request(suites=(bench.suite,)), 2, folder, Listener(on_row=stop_in_the_second))
    assert len(next(taken).rows) == len(TINY_IDS)
    with pytest.raises(LinkscopeError, match=f"interrupted in turn 2 of 2: .* -o {folder} goes on") as stopped:
        next(taken)
    assert stopped.value.exit_code == INTERRUPTED
    assert len(RunFile.read(folder / "turn-02.jsonl").rows) >= 2
    assert [len(run.rows) for run in turns(None, 2, folder)] == [6, 6]


BAD_INPUTS = {
    "one turn": (["tiny.yaml", "--turns", "1"], "--turns 1 is too few"),
    "no number": (["tiny.yaml", "--turns", "many"], "Invalid value for '--turns'"),
    "unknown suite": (["nosuch"], "unknown suite 'nosuch'"),
    "folder is a file": (["tiny.yaml", "-o", "tiny.yaml"], "cannot write tiny.yaml/turn-01.jsonl"),
    "nothing named": (["--from"], "no run file to calibrate by"),
    "hundred turns": (["tiny.yaml", "--turns", "100"], "--turns 100 is too many"),
    "an empty folder": (["--from", "engines"], "no run file to calibrate by"),
    "a missing file": (["--from", "none.jsonl"], "cannot read none.jsonl"),
    "a foreign file": (["--from", "tiny.yaml", "tiny.yaml"], "tiny.yaml holds no line of a tool"),
    "one file twice": (["--from", str(RECORDED), str(RECORDED)], "1 run is too few"),
    "from and turns": (["--from", str(RECORDED), "--turns", "3"], "--from measures nothing"),
    "from and devices": (["--from", str(RECORDED), "--devices", "gpu:0"], "--from measures nothing"),
}


@pytest.mark.parametrize(("arguments", "complaint"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_input_is_one_clear_line(bench: Bench, arguments: list[str], complaint: str) -> None:
    ended = bench.cli("calibrate", *arguments)
    assert (ended.code, complaint in ended.complaint) == (2, True), ended.complaint
    assert not list(Path().glob("runs/*/*"))


def test_ranks_of_a_job_take_no_turns(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2")
    ended = bench.cli("calibrate", bench.suite)
    assert (ended.code, "start linkscope alone" in ended.complaint) == (2, True)


def test_runs_that_exist_are_computed_and_not_kept(bench: Bench, state: Path) -> None:
    for name in ("a", "b"):
        bench.cli("run", bench.suite, "-o", f"runs/{name}.jsonl")
    lines = Path("runs/b.jsonl").read_text().splitlines(keepends=True)
    Path("runs/b.jsonl").write_text("".join(lines[:4]))
    ended = bench.cli("calibrate", "--from", "runs", "--json")
    found = json.loads(ended.out)["calibration"]
    assert (ended.code, found["turns"], found["classes"][-1]["cases"]) == (3, 2, 3)
    (cut,) = [one["facts"] for one in json.loads(ended.out)["findings"] if one["code"] == "run.cut-short"]
    assert (cut["missing"], cut["cases"], cut["path"]) == (3, 6, "runs/b.jsonl")
    again = json.loads(bench.cli("calibrate", "--from", "runs/a.jsonl", "runs/b.jsonl", "--json").out)
    assert again["calibration"] == found
    assert not state.exists()


def test_a_described_node_varies_by_nothing_and_is_not_kept(
    state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--machine", "frontier", "--devices", "gpu:0-1", "--sizes", "64K", "--turns", "2", "-o", "noise"]
    ended = CliRunner().invoke(app, ["calibrate", *asked])
    assert ended.exit_code == 0
    answer = calibration([Run.of(path) for path in Path("noise").iterdir()])
    found = answer.noise
    assert (found.modelled, answer.answer.headline.code) == (True, "calibrate.modelled")
    assert {(noise.intervals.covered, noise.intervals.disjoint, noise.runs) for noise in found.classes} == {(1, 0, 0)}
    with pytest.raises(ValueError, match="modelled"):
        keep(found)
    assert not state.exists()


NODE = Node("2 x Fake / GPU", (Device("numa:0", "numa", "CPU"), Device("gpu:0", "gpu", "Fake")), ())
HELD = Intervals(0.95, 0.01, 0.0, 0.004)
NOISE = Noise("cpu", 3, HELD, replace(HELD, covered=0.99), 0.002, None, 0.001)
FOUND = NodeNoise(
    made="2026-11-23T06:00:00+00:00",
    version="0.1.0",
    suites=("default",),
    turns=10,
    freedom=13,
    host=platform.node(),
    node=NODE.name,
    devices=(KnownDevice("numa:0", "CPU"), KnownDevice("gpu:0", "Fake")),
    modelled=False,
    classes=(NOISE, replace(NOISE, name="all", calibrated=None)),
    runs={"host/copy": 0.01},
    replicates={"host/copy": 0.02},
)


def test_what_is_kept_is_read_back_and_replaced_by_suites(state: Path) -> None:
    notes: list[str] = []
    assert load(NODE, notes.append) is None
    keep(FOUND)
    other = replace(FOUND, suites=("host",), runs={"host/other": 0.1}, replicates={})
    keep(other)
    path = keep(replace(FOUND, turns=12))
    assert [one.name for one in state.iterdir()] == [path.name]
    assert path.name.endswith("-2-x-Fake-GPU.json")
    found = load(NODE, notes.append)
    assert found == (replace(FOUND, turns=12), other)
    assert notes == []
    said = noise_of(found, ["host/copy", "host/other", "host/unknown"])
    assert (said["suites"], said["turns"], said["freedom"]) == (["default", "host"], 10, 13)
    assert said["between_runs"]["cases"] == {
        "host/copy": pytest.approx(t975(13) * 0.01, abs=1e-6),
        "host/other": pytest.approx(t975(13) * 0.1, abs=1e-6),
    }
    alone = said["one_replicate"]["cases"]
    assert alone["host/copy"] == pytest.approx(t975(13) * math.hypot(0.01, 0.02), abs=1e-6)
    assert alone["host/other"] == said["between_runs"]["cases"]["host/other"]


def test_another_host_of_the_same_kind_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(FOUND)
    assert load(NODE) == (FOUND,)
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    assert load(NODE) is None


def test_a_node_with_other_devices_is_not_known_again() -> None:
    notes: list[str] = []
    keep(FOUND)
    assert load(replace(NODE, devices=NODE.devices[:1]), notes.append) is None
    assert load(replace(NODE, modelled=True), notes.append) is None
    assert len(notes) == 1
    assert "of other devices" in notes[0]


def spoiled(**fields: Any) -> bytes:
    return json.dumps({"schema": 2, "calibrations": [{**FOUND.to_json(), **fields}]}).encode()


GARBAGE = {
    "empty": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "no object": b"[1, 2]",
    "deep": b"[" * 100_000,
    "another schema": spoiled().replace(b'"schema": 2', b'"schema": 1'),
    "none": b'{"schema": 2, "calibrations": []}',
    "a field more": spoiled(more=1),
    "a field less": spoiled().replace(b'"turns": 10, ', b""),
    "a word for a number": spoiled(turns="ten"),
    "a share above 1": spoiled(classes=[{**asdict(NOISE), "intervals": {**asdict(HELD), "covered": 1.5}}]),
    "no number": spoiled(classes=[{**asdict(NOISE), "runs": math.nan}]),
    "a case's noise below 0": spoiled(runs={"a": -0.1}),
    "a case's noise without end": spoiled(runs={"a": 0.1}).replace(b"0.1}", b"1e999}"),
    "a case's noise of 400 digits": spoiled(runs={"a": 10**400}),
    "turns of 400 digits": spoiled(turns=10**400),
    "modelled": spoiled(modelled=True),
    "escapes": spoiled(made="\x1b[31m"),
    "large": b" " * (16 << 20) + spoiled(),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_left_out_with_a_notice(garbage: bytes) -> None:
    notes: list[str] = []
    path = keep(FOUND)
    path.write_bytes(garbage)
    assert load(NODE, notes.append) is None
    assert len(notes) == 1
    assert str(path) in notes[0]
    assert "\n" not in notes[0]
    assert keep(FOUND) == path
    assert load(NODE, notes.append) == (FOUND,)


def test_what_is_no_file_is_left_out_with_a_notice() -> None:
    notes: list[str] = []
    path = kept_at(NODE.name)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert load(NODE, notes.append) is None
    path.unlink()
    path.mkdir()
    assert load(NODE, notes.append) is None
    assert len(notes) == 2


def test_what_may_not_be_read_is_left_out_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(FOUND)

    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    notes: list[str] = []
    assert load(NODE, notes.append) is None
    assert len(notes) == 1
    assert "Permission denied" in notes[0]


def test_a_folder_that_can_hold_nothing_is_as_good_as_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    notes: list[str] = []
    assert load(NODE, notes.append) is None
    assert notes == []


def test_one_turn_is_too_few(bench: Bench) -> None:
    ended = bench.cli("calibrate", bench.suite, "--turns", "1")
    assert ended.code == 2
    assert "--turns 1 is too few" in ended.complaint
    assert not Path("runs").exists()


def test_where_nothing_can_be_kept_the_table_is_printed_and_the_turns_stay(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(bench.folder / "tiny.yaml"))
    ended = bench.cli("calibrate", bench.suite, "--turns", "5", "--rounds", "2", "-o", "noise")
    assert ended.code == 2
    assert ended.err.splitlines()[-1].startswith("linkscope: cannot keep the calibration in ")
    assert "5 runs" in ended.out
    assert len(list(Path("noise").iterdir())) == 5


def test_the_place_follows_the_environment_and_no_name_leads_out_of_it() -> None:
    home = {"HOME": "/home/me"}
    assert kept_at("a", "h", home) == Path("/home/me/.local/state/linkscope/calibration/h-a.json")
    assert kept_at("a", "h", {**home, "XDG_STATE_HOME": "/s"}) == Path("/s/linkscope/calibration/h-a.json")
    assert kept_at("a", "h", {**home, "XDG_STATE_HOME": "relative"}).is_relative_to("/home/me")
    for name in ("../../x", "/etc/passwd", "..", "", "x" * 999):
        path = kept_at(name, name, home)
        assert path.parent == Path("/home/me/.local/state/linkscope/calibration")
        assert 5 < len(path.name) < 256
