"""bench/: a program that hangs costs its own figures alone, what it printed is kept; a suite is cut down as asked."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
import tuned_run
from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import host  # noqa: E402
import nccl_tests  # noqa: E402
import nccl_tuner  # noqa: E402
import nvbandwidth  # noqa: E402
import osu  # noqa: E402
import program  # noqa: E402
import turns  # noqa: E402
from narrowed import rows_of  # noqa: E402

from linkscope.plan.suites import load_suite  # noqa: E402

Json = dict[str, Any]
LIMIT_S = 2.0
LONG_S = 600


def script(path: Path, text: str) -> Path:
    """A program of a few lines of Python."""
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{text}")
    path.chmod(0o755)
    return path


def test_what_a_program_printed_before_its_time_was_over_is_kept_and_all_that_it_started_is_gone(
    tmp_path: Path,
) -> None:
    text = f"""
import subprocess
held = subprocess.Popen(["sleep", "{LONG_S}"], start_new_session=True)
print(held.pid, flush=True)
print("half of a", end="", flush=True)
time.sleep({LONG_S})
"""
    output = tmp_path / "printed"
    output.write_text("before\n")
    began = time.monotonic()
    ended = program.run([str(script(tmp_path / "hangs", text))], LIMIT_S, output=output)
    assert time.monotonic() - began < 20
    assert ended.code is None
    assert ended.problem is not None
    assert ended.problem.endswith("hangs: not done within 2 s, ended")
    first, rest = ended.printed.split("\n")
    assert rest == ""
    assert output.read_text() == f"before\n{first}\nhalf of a"
    assert not alive(int(first))


def alive(pid: int) -> bool:
    """Whether it runs; the system may take a moment to let go of it."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.05)
    return True


def test_a_program_that_ends_says_what_it_printed_and_why_it_failed(tmp_path: Path) -> None:
    well = program.run([str(script(tmp_path / "well", "print('a 1', end='')"))], LIMIT_S * 10)
    assert (well.printed, well.code, well.problem) == ("a 1", 0, None)
    failing = script(tmp_path / "fails", "print('a 1'); print('no such device', file=sys.stderr); sys.exit(3)")
    failed = program.run([str(failing)], LIMIT_S * 10)
    assert (failed.printed, failed.code) == ("a 1\n", 3)
    assert str(failed.problem).endswith("fails: exit code 3: no such device")
    lacking = program.run([str(tmp_path / "none")], LIMIT_S)
    assert (lacking.printed, lacking.code) == ("", None)
    assert "cannot start" in str(lacking.problem)


def test_the_command_line_says_how_long_a_program_may_take() -> None:
    parser = nccl_tests.argparse.ArgumentParser()
    program.add_limit(parser)
    assert parser.parse_args(["--limit", "5"]).limit == 5.0
    assert parser.parse_args([]).limit == program.LIMIT_S


def test_missing_figures_are_counted_for_each_tool() -> None:
    text = io.StringIO()
    console = Console(file=text, width=160)
    assert turns.missing(["a", "b"], {"a": [1.0, 2.0], "b": [1.0]}, 3) == 1 + 2
    assert turns.print_missing(Counter({"one": 0, "other": 3}), console) == 1
    assert text.getvalue() == "missing: 3 figures of other's\n"
    assert turns.print_missing(Counter({"one": 0}), console) == 0


def test_nccl_tests_that_hang_in_one_mode_lack_its_points_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the graphs' range of several sizes, it hangs after the first line."""
    text = f"""
smallest, largest, graph = sys.argv[2], sys.argv[4], "-G" in sys.argv
unit = lambda word: int(word[:-1]) << {{"K": 10, "M": 20, "G": 30}}[word[-1]]
size = unit(smallest)
print("# nThread 1")
while size <= unit(largest):
    rate = size / 12.5e3
    print(f"{{size:12d}} {{size // 4:12d}}  float  sum  -1  12.50  {{rate:.2f}}  {{1.5 * rate:.2f}}  0", flush=True)
    if graph and smallest == "4K":
        time.sleep({LONG_S})
    size *= 4
"""
    script(tmp_path / "all_reduce_perf", text)
    output = tmp_path / "all-reduce.txt"
    output.write_text("of an earlier run\n")
    times = nccl_tests.theirs(tmp_path, "all-reduce", nccl_tests.MODES, 4, dict(os.environ), output, LIMIT_S)
    asked = [nccl_tests.Point("all-reduce", mode, size) for mode in nccl_tests.MODES for size in nccl_tests.SIZES]
    lacking = [point for point in asked if point not in times]
    smaller = [size for size in nccl_tests.SIZES if 4 << 10 < size <= 4 << 20]
    assert [(point.mode, point.size) for point in lacking] == [("graph", size) for size in smaller]
    assert {round(seconds * 1e6, 6) for seconds in times.values()} == {12.5}
    assert turns.missing(asked, {point: [seconds] for point, seconds in times.items()}, 1) == len(smaller)
    kept = output.read_text()
    assert "earlier" not in kept
    assert kept.count("float") == len(asked) - len(smaller)
    assert "all_reduce_perf -b 4K -e 4M" in capsys.readouterr().out


def hanging_linkscope(path: Path, rows: list[Json], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of Python: writes a run file of ``rows`` to where -o says, then hangs."""
    header = made.run(found=[]).header
    lines = "".join(json.dumps(record) + "\n" for record in (header, *rows))
    text = f"open(sys.argv[sys.argv.index('-o') + 1], 'w').write({lines!r})\ntime.sleep({LONG_S})\n"
    monkeypatch.setattr(sys, "executable", str(script(path, text)))


def row_of(method: str, size: int, seconds: float, **parameters: str) -> Json:
    members = [{"device": f"gpu:{i}", "memory": "xccl"} for i in range(4)]
    flow = {"method": method, "executor": "gpu:0", "bytes": size, "members": members, "parameters": parameters}
    raw: Json = made.ok(made.case(method, [flow], {}, clock="batch"), [[seconds] * 8]).raw
    return raw


def test_a_linkscope_that_hangs_has_the_rows_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = row_of("xccl-collective", 4096, 9e-6, collective="all-reduce", launch="one-thread")
    hanging_linkscope(tmp_path / "python", [row], monkeypatch)
    output = tmp_path / "run.jsonl"
    times = nccl_tests.ours(tmp_path / "suite.yaml", output, dict(os.environ), LIMIT_S)
    assert times == {nccl_tests.Point("all-reduce", "one-thread", 4096): pytest.approx(9e-6)}
    assert "not done within 2 s" in capsys.readouterr().out


def test_an_osu_benchmark_that_hangs_gives_the_sizes_that_it_came_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"""
print("# OSU MPI Latency Test v7.4")
print("# Size          Latency (us)")
print("1                       0.25")
print("8                       0.26", flush=True)
if "-m" in sys.argv and sys.argv[sys.argv.index("-m") + 1].endswith("64"):
    time.sleep({LONG_S})
"""
    mpiexec = script(tmp_path / "mpiexec", text)
    found = osu.theirs(str(mpiexec), [0, 1], tmp_path, "ping-pong", [1, 8, 64], LIMIT_S)
    assert found == {("ping-pong", 1): 0.25, ("ping-pong", 8): 0.26}
    assert "not done within 2 s" in capsys.readouterr().out


def test_what_osu_prints_is_read_with_and_without_sizes() -> None:
    assert osu.rows_of("# OSU MPI Barrier\n# Avg Latency(us)\n             1.75\n") == {0: 1.75}
    ended = "# Size  MB/s\n1     4.50\n1048576       9000.12\n====== BAD TERMINATION 15\n=   PID 7 RUNNING\n"
    assert osu.rows_of(ended) == {1: 4.5, 1 << 20: 9000.12}


def test_osus_figures_of_linkscope_that_hangs_or_never_began_are_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = row_of("mpi-collective", 64, 2e-6, collective="all-reduce")
    hanging_linkscope(tmp_path / "python", [row], monkeypatch)
    figures, cpus = osu.ours(tmp_path / "suite.yaml", "mpiexec", LIMIT_S)
    assert figures == {("all-reduce", 64): pytest.approx(2.0)}
    assert cpus == []
    monkeypatch.setattr(sys, "executable", "/none/python")
    assert osu.ours(tmp_path / "suite.yaml", "mpiexec", LIMIT_S) == ({}, [])


def test_a_peer_on_the_host_that_hangs_has_no_figure_that_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = script(tmp_path / "hangs", f"print('1.0', flush=True); time.sleep({LONG_S})")
    well = script(tmp_path / "well", "print('samples: 2.5')")
    key = ("pointer-chase", 4096, 1)
    assert host.theirs(key, str(hangs), LIMIT_S) == {}
    assert "not done within 2 s" in capsys.readouterr().out
    assert host.theirs(key, str(well), LIMIT_S * 10) == {key: 2.5}


def test_an_nvbandwidth_that_hangs_leaves_no_figures_and_does_not_stop_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = script(tmp_path / "hangs", f"print('{{', flush=True); time.sleep({LONG_S})")
    output = tmp_path / "nvbandwidth.json"
    seconds, well = nvbandwidth.timed([str(hangs)], output, LIMIT_S)
    assert seconds >= LIMIT_S
    assert not well
    assert output.read_text() == "{\n"
    assert nvbandwidth.read_peer(output) == {}
    assert "not done within 2 s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "modes", "found"),
    [
        ("reduce", ["graph"], {("graph", "thread-per-gpu")}),
        ("reduce", ["one-thread"], {("eager", "one-thread")}),
        ("send-receive", ["thread-per-gpu", "graph"], {("eager", "thread-per-gpu"), ("graph", "thread-per-gpu")}),
    ],
)
def test_the_nccl_suite_is_cut_down_to_a_kind_and_its_modes(
    tmp_path: Path, kind: str, modes: list[str], found: set[tuple[str, str]]
) -> None:
    rows = rows_of(nccl_tests.suite_of(kind, modes, tmp_path))
    assert {(row["parameters"]["form"], launch) for row in rows for launch in row["parameters"]["launch"]} == found
    assert all(row.get("collective", "send-receive") == kind for row in rows)


def test_nccl_with_rules_is_held_against_nccl_alone_collective_by_collective() -> None:
    rules = {"NCCL_TUNER_PLUGIN": "plugin.so", "NCCL_TUNER_CONFIG_FILE": "tuner.csv"}
    curves = [
        tuned_run.rows(collective, environment, tuned_run.line(alpha, 100))
        for collective, alpha in (("all-reduce", 5), ("broadcast", 20))
        for environment, alpha in (({}, 10), (rules, alpha))
    ]
    lines = nccl_tuner.ratios(tuned_run.run(curves))
    assert len(lines) == 2 * len(tuned_run.SIZES)
    small = lines.filter(lines["bytes"] == tuned_run.SIZES[0])
    assert dict(zip(small["collective"], small["ratio"], strict=True)) == pytest.approx(
        {"all-reduce": 0.5, "broadcast": 2}, rel=0.02
    )
    assert nccl_tuner.slower(lines) == ["broadcast"]


def test_the_suite_that_compares_is_one_and_names_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKSCOPE_ALLOW_ENVIRONMENT", "1")
    path = tmp_path / "ab.yaml"
    path.write_text(json.dumps(nccl_tuner.suite_of(Path("/plugin.so"), Path("/tuner.csv"))))
    (row,) = load_suite(str(path)).rows
    assert [dict(variant.settings) for variant in row.variants] == [
        {},
        {"NCCL_TUNER_PLUGIN": "/plugin.so", "NCCL_TUNER_CONFIG_FILE": "/tuner.csv"},
    ]
