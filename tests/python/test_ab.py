"""A/B: planted changes are found and sized, sides that are alike are the same, and the command takes its turns."""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
import recorded
from interleaved import ask, claims, heavy, quiet, sides, two_speeds
from launching import Bench, add_engine, bench, real_engine, use_built_engines

from linkscope.answers.compare import compare
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.launch import ab, ab_narrow
from linkscope.launch.ab_sides import check_loaded, side_of
from linkscope.launch.job import Request
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.run import Listener
from linkscope.messages.catalog import verdict
from linkscope.messages.finding import Level
from linkscope.plan.planned_case import PlannedCase
from linkscope.results.run_file import RunFile

__all__ = ["bench", "real_engine"]
Json = dict[str, Any]
RECORDED = recorded.PAIR
PROTOCOLS = [recorded.FIXTURES / "ab" / f"nccl-proto-{side}.jsonl.gz" for side in "ab"]
"""Sides of NCCL's protocols, recorded by the command."""


@pytest.fixture(autouse=True)
def unconfirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what differs be known after the first rounds, for the sake of time."""
    monkeypatch.setattr("linkscope.launch.ab._CONFIRMED_ROUNDS", 8)


def _of_method(method: str, share: float, least: int = 0) -> Any:
    def slower(case: Json) -> float:
        flow = case["flows"][0]
        return share if flow["method"] == method and flow["bytes"] >= least else 0.0

    return slower


@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_a_planted_change_is_found_sized_and_named(share: float) -> None:
    runs = sides(RECORDED, 1, _of_method("kernel-copy", share), rounds=14)
    found = ask(runs)
    assert claims(found) == ["ab.slower"]
    facts = found.headline.facts
    assert facts["words"]["method"] == "kernel-copy"
    low, high = facts["interval"]
    lost = share / (1 + share)
    assert low <= lost * 1.001
    assert lost * 0.999 <= high
    assert high - low < 0.006
    assert {line["verdict"] for line in found.table("ab.differ").frame.iter_rows(named=True)} == {"lower"}
    assert found.exit_code == 1


@pytest.mark.parametrize("noise", [quiet, heavy, two_speeds])
@pytest.mark.parametrize("drift", [0.0, 0.005])
def test_sides_that_are_alike_are_never_said_to_differ(noise: Any, drift: float) -> None:
    for seed in range(2):
        found = ask(sides(RECORDED, seed, noise=noise, drift=drift))
        assert claims(found) == [], (seed, noise, drift)


def test_two_sides_of_one_comparison_are_compared_in_pairs_in_any_order() -> None:
    a, b = sides(RECORDED, 2, _of_method("kernel-copy", 0.03), rounds=8)
    found = compare([b], [a])
    assert found.question == "ab"
    assert found.headline.code == "ab.slower"
    assert found.headline.facts["side"] == "B"
    assert compare([a], [Run(RunFile.read(RECORDED))]).question == "compare"


def test_where_some_are_slower_and_some_faster_the_verdict_is_mixed() -> None:
    slower, faster = _of_method("kernel-copy", 0.05), _of_method("copy-engine", -0.05)
    found = ask(sides(RECORDED, 5, lambda case: slower(case) + faster(case), rounds=8))
    assert claims(found) == ["ab.mixed", "ab.faster"]
    assert (found.exit_code, found.headline.facts["change"]) == (1, pytest.approx(0.05 / 1.05, abs=0.002))
    decided = {line["told"] for line in found.table("ab.results").frame.iter_rows(named=True)}
    assert decided <= {"higher", "lower", "same", "unclear"}


def test_a_table_shows_what_varies_and_the_setting_that_tells_rows_apart() -> None:
    runs = [Run(RunFile.of_lines(path, gzip.decompress(path.read_bytes()).splitlines())) for path in PROTOCOLS]
    found = ask(runs)
    assert found.headline.code == "ab.mixed"
    assert [column.name for column in found.table("ab.differ").columns] == ["bytes", "base", "other", "speed"]
    every = found.table("ab.results").frame
    narrowed = every.filter(every["rounds"] < 8)
    assert set(narrowed["setting"]) >= {"type=bfloat16", "in_place=yes"}
    assert set(narrowed["told"]) == {"rounds/3"}
    assert every.select("id", "place").is_unique().all(), "a time and its rates are one result"


def test_each_result_counts_once_however_many_sides_there_are() -> None:
    found = ask(sides(RECORDED, 6, rounds=8, names=("a", "b", "c")))
    facts = found.headline.facts
    assert facts["total"] == found.table("ab.results").frame.height == facts["same"] + facts["unclear"]


def test_few_rounds_give_no_verdict_on_what_differs() -> None:
    found = ask(sides(RECORDED, 3, _of_method("kernel-copy", 0.1), rounds=3))
    assert claims(found) == []
    assert found.exit_code == 3


def test_each_further_side_has_a_verdict_of_its_own() -> None:
    found = ask(sides(RECORDED, 4, _of_method("kernel-copy", -0.05), rounds=8, names=("a", "b", "c")))
    assert claims(found) == ["ab.faster"]
    assert verdict(found.headline) == "C FASTER"
    assert [one["side"] for one in found.data["differences"]] == ["b", "c"]
    assert found.exit_code == 0


def _with_lost(run: Run, share: float) -> Run:
    """Return the run with the first cases failed, in all rounds."""
    ids = list(run.rows)[: math.ceil(share * len(run.rows))]
    failed = {"status": "failed", "reason": "data arrived wrong", "flows": []}
    lines = [
        {**{name: one[name] for name in one if name != "aggregate"}, **failed} if one.get("id") in ids else one
        for one in (run.header, *(line for row in run.file.rows for line in row.lines))
    ]
    return Run(RunFile.of_lines(run.path, (json.dumps(line).encode() for line in lines)))


@pytest.mark.parametrize("share", [0.001, 0.5, 1.0])
def test_cases_that_only_the_other_side_loses_decide(share: float) -> None:
    a, b = sides(RECORDED, 7, rounds=8)
    lost, found = _with_lost(b, share), ask([a, _with_lost(b, share)])
    count = sum(row.status == "failed" for row in lost.file.rows)
    facts = found.headline.facts
    assert (found.exit_code, found.headline.code, facts["side"], facts["count"]) == (1, "ab.failed", "B", count)
    assert "ab.lost" not in {one.code for one in (*found.findings, *found.details)}
    assert ask([_with_lost(a, 0.2), b]).exit_code == 0, "what the base lost is told, and nothing else"


def test_a_case_that_narrowing_added_decides_nothing_where_it_is_lost() -> None:
    a, b = sides(RECORDED, 7, rounds=8)
    lost = _with_lost(b, 0.001)
    (added,) = (row.id for row in lost.file.rows if row.status == "failed")
    for run in (a, lost):
        run.file.header["plan"]["ids"].remove(added)
    found = ask([a, lost])
    assert (found.exit_code, [one.facts["count"] for one in found.findings if one.code == "ab.lost"]) == (0, [1])


def test_the_worst_side_decides() -> None:
    a, b, c = sides(RECORDED, 8, rounds=8, names=("a", "b", "c"))
    assert ask([a, b, _with_lost(c, 1.0)]).headline.facts["side"] == "C"
    *_, wide = sides(RECORDED, 8, noise=two_speeds, rounds=8, names=("a", "b", "c"))
    found = ask([a, b, wide])
    assert (found.exit_code, found.headline.code, found.headline.facts["side"]) == (3, "ab.inconclusive", "C")
    (lines,) = (side["results"] for side in found.data["differences"] if side["side"] == "c")
    halves = sorted((line["speed_high"] - line["speed_low"]) / 2 for line in lines)
    assert halves[0] <= found.headline.facts["width"] <= halves[-1]
    assert found.headline.facts["width"] == pytest.approx(median(halves))


def test_what_is_slower_alone_is_an_error_and_the_sides_are_named() -> None:
    slower, faster = _of_method("kernel-copy", 0.05), _of_method("copy-engine", -0.05)
    _, b, c = sides(RECORDED, 5, lambda case: slower(case) + faster(case), rounds=8, names=("a", "b", "c"))
    found = ask([b, c])
    said = (found.headline, *found.findings)
    assert {one.code for one in said if one.level is Level.ERROR} == {"ab.mixed"}
    *_, c = sides(RECORDED, 5, slower, rounds=8, names=("a", "b", "c"))
    assert verdict(ask([b, c]).headline) == "B FASTER"


@pytest.mark.parametrize(
    ("turn_s", "visit_s", "budget_s", "rounds", "kept"),
    [(0.95, 0.225, 28.0, 8, 3), (0.2, 0.2, 30.0, 14, 4), (0.95, 0.225, 12.0, 3, 4), (0.95, 0.225, 21.5, 8, 1)],
)
def test_turns_that_take_longer_than_planned_end_in_whole_rounds(
    monkeypatch: pytest.MonkeyPatch, turn_s: float, visit_s: float, budget_s: float, rounds: int, kept: int
) -> None:
    clock = [0.0]
    monkeypatch.setattr(ab.time, "monotonic", lambda: clock[0])
    cases = [PlannedCase({"id": name, "flows": []}) for name in "wxyz"]
    options = SimpleNamespace(costs=SimpleNamespace(starts_s=lambda some: 0.3))
    job = SimpleNamespace(
        cases=cases, options=options, node=SimpleNamespace(modelled=False), visit_s=lambda case: visit_s
    )
    made: list[int] = []

    def visit(number: int, some: list[PlannedCase], stopped: Any) -> None:
        clock[0] += turn_s + visit_s * len(some)
        assert clock[0] <= budget_s, "a turn is cut short"
        made.append(len(some))
        for case in some:
            comparison.took_s.setdefault(case.id, []).append(visit_s)

    turns: Any = [
        SimpleNamespace(job=job, side=SimpleNamespace(name=name), run=SimpleNamespace(visit=visit)) for name in "ab"
    ]
    comparison = ab.Comparison(turns, budget_s, list(cases))
    monkeypatch.setattr(ab, "_is_open", lambda *_: comparison.round < 14)
    ab._measure(comparison, "x", Listener(), lambda comparison: (), lambda: False)
    assert (len(made), made[-1]) == (2 * rounds, kept)


def _sides_of(folder: Path) -> dict[str, list[Json]]:
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in folder.glob("*.jsonl")}


def test_the_command_takes_turns_finds_the_size_and_writes_a_file_a_side(bench: Bench) -> None:
    settings = ("--b", "FAKE_SLOWER=1.03", "--b", "FAKE_SLOWER_FROM=20000")
    ended = bench.cli("ab", bench.suite, "--a", "as-is", *settings, "--budget", "20s", "-o", "out", "--json")
    assert ended.code == 1, ended.err
    found = json.loads(ended.out)
    facts = found["headline"]["facts"]
    assert (found["headline"]["code"], facts["side"]) == ("ab.slower", "B")
    assert facts["change"] == pytest.approx(0.03 / 1.03, abs=1e-4)
    assert 16 << 10 < facts["words"]["from"] <= 21 << 10, "narrowed between 16 and 32 KiB"
    records = _sides_of(Path("out"))
    assert [records[side][0]["interleaved"]["settings"] for side in "ab"] == [["as-is"], list(settings[1::2])]
    assert records["a"][0]["interleaved"]["group"] == records["b"][0]["interleaved"]["group"]
    assert {row["replicate"] for row in records["b"] if row["record"] == "row"} >= set(range(8))
    again = bench.cli("compare", "out/a.jsonl", "out/b.jsonl", "--json")
    assert json.loads(again.out)["headline"]["facts"] == facts


def test_sides_that_are_alike_are_the_same(bench: Bench) -> None:
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", "NOTHING=1", "-o", "out", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["headline"]["code"], found["verdict"]) == (0, "ab.same", "SAME")


def test_a_case_that_fails_under_one_side_is_told(bench: Bench) -> None:
    fault = 'FAKE_ENGINE={"/64KiB": "crash"}'
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", fault, "--sizes", "32K,64K", "-o", "out", "--json")
    headline = json.loads(ended.out)["headline"]
    assert (ended.code, headline["code"]) == (1, "ab.failed")
    assert (headline["facts"]["side"], headline["facts"]["count"]) == ("B", 1)


def test_what_was_measured_before_an_interruption_can_be_compared(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_later(comparison: Any, narrowing: Any, original: Any = ab._wanted) -> Any:
        if comparison.round == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return original(comparison, narrowing)

    monkeypatch.setattr(ab, "_wanted", stop_later)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", "X=1", "-o", "out")
    signal.signal(signal.SIGINT, before)
    assert ended.code == 130
    assert "out/a.jsonl" in ended.err
    assert "out/b.jsonl" in ended.err
    ended = bench.cli("compare", "out/a.jsonl", "out/b.jsonl", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["headline"]["code"]) == (3, "ab.few-rounds")
    assert found["headline"]["facts"]["rounds"] == 2
    assert bench.cli("run", "--resume", "-o", "out/a.jsonl").code == 2
    ended = bench.cli("rerun", "out/b.jsonl", "-k", "copy", "-o", "again.jsonl")
    assert ended.code == 2
    assert "X=1" in ended.complaint


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--a", "as-is"), "--b"),
        (("--a", "as-is", "--b", "nccl=/nowhere.so"), "nccl=/nowhere.so"),
        (("--a", "as-is", "--b", "torch=/nowhere/python"), "torch=/nowhere/python"),
        (("--a", "as-is", "--b", "no setting"), "no setting"),
        (("--a", "as-is", "--b", "1X=2"), "1X=2"),
        (("--a", "as-is", "--a", "X=1", "--b", "X=2"), "as-is"),
        (("--a", "as-is", "--b", "X=1", "--b", "X=2"), "X"),
        (("--a", "as-is", "--b", "LINKSCOPE_TOKEN=1"), "LINKSCOPE_TOKEN"),
        (("--a", "as-is", "--b", "LD_PRELOAD=/nowhere.so"), "/nowhere.so"),
        (("--a", "as-is", "--b", "X=1", "--budget", "20ms"), "--budget"),
    ],
)
def test_bad_settings_are_one_line(bench: Bench, words: tuple[str, ...], part: str) -> None:
    ended = bench.cli("ab", bench.suite, *words, "-o", "out")
    assert ended.code == 2
    assert part in ended.complaint
    assert not Path("out").exists()


def test_a_side_whose_library_is_not_the_one_asked_for_is_an_error(bench: Bench) -> None:
    for name in ("asked.so", "other.so"):
        Path(name).touch()
    words = ("ab", bench.suite, "--a", "as-is", "--b", "mpi=asked.so", "-o", "out")
    assert "asked.so" in bench.cli(*words).complaint, "an engine that does not say what it loaded"
    ended = bench.cli(*words, "--b", "FAKE_LOADED=other.so")
    assert ended.code == 2
    assert "other.so" in ended.complaint
    loaded = f"FAKE_LOADED={Path('asked.so').absolute()}"
    assert bench.cli(*words, "--b", loaded, "--sizes", "4K").code == 0


def test_sides_that_differ_in_a_library_alone_measure_what_uses_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("asked.so").touch()
    monkeypatch.setenv("FAKE_LOADED", str(Path("asked.so").absolute()))
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", "mpi=asked.so", "-o", "out")
    assert ended.code == 2
    assert "mpi" in ended.complaint
    assert not Path("out").exists()


def test_a_preloaded_file_that_the_loader_ignores_is_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, real_engine: None
) -> None:
    use_built_engines(monkeypatch)
    Path("text.so").write_text("no library")
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", f"LD_PRELOAD={Path('text.so').absolute()}", "-o", "out")
    assert ended.code == 2
    assert "text.so" in ended.complaint


def test_sides_with_other_engines_are_an_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    add_engine(bench.engines, "cuda")
    monkeypatch.setattr("linkscope.launch.engines._driver_present", lambda name: False)
    ended = bench.cli("ab", bench.suite, "--a", "as-is", "--b", "FAKE_GPUS=2", "-o", "out")
    assert ended.code == 2
    assert "cuda" in ended.complaint


def test_another_python_finds_linkscope_and_nothing_else_of_this_one(tmp_path: Path) -> None:
    side = side_of("b", [f"torch={sys.executable}"], lambda: tmp_path)
    variables = dict(side.variables)
    assert variables["LINKSCOPE_PYTHON_PROGRAM"] == sys.executable
    first = Path(variables["PYTHONPATH"].split(os.pathsep)[0])
    assert [one.name for one in first.iterdir()] == ["linkscope"]
    assert (first / "linkscope" / "torch_child" / "__main__.py").is_file()
    with pytest.raises(LinkscopeError, match="PyTorch"):
        check_loaded(side, (), {"versions": {"Python": "3.12"}})


def test_a_library_that_is_not_loaded_is_named_once(tmp_path: Path) -> None:
    library = tmp_path / "libnccl.so"
    library.touch()
    side = side_of("b", [f"nccl={library}"], tmp_path)
    method = {"traits": {"by_xccl": True}, "reason": f"LINKSCOPE_XCCL: {library}: wrong ELF class"}
    with pytest.raises(LinkscopeError) as caught:
        check_loaded(side, (), {"versions": {}, "methods": [method]})
    said = str(caught.value)
    assert (caught.value.code, said.count(str(library)), "LINKSCOPE_XCCL" in said) == ("ab.not-loaded", 1, False)
    assert "wrong ELF class" in said


def test_a_side_without_another_python_makes_no_folder() -> None:
    assert side_of("b", ["X=1"], lambda: pytest.fail("a folder is made")).variables == (("X", "1"),)


def test_settings_reach_the_processes_and_no_file_brings_them_back() -> None:
    options = LaunchOptions(settings=(("X", "1"),))
    assert options.variables({}) == {"X": "1"}
    assert "settings" not in Request().to_json()["launching"]
    assert Request.from_json(Request(launching=options).to_json()).launching == options


def test_a_machine_model_compares_nothing(bench: Bench) -> None:
    words = ("--a", "as-is", "--b", "X=1", "--machine", "h200x4", "--sizes", "1M", "-k", "d2d")
    ended = bench.cli("ab", "default", *words, "-o", "out", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["headline"]["code"], found["tables"]) == (3, "ab.modelled", {})


def test_an_edge_is_looked_for_between_two_sizes() -> None:
    assert ab_narrow._powers(1 << 13, 1 << 17) == [1 << 14, 1 << 15, 1 << 16]
    assert ab_narrow._powers(1 << 13, 1 << 14) == []
    assert ab_narrow._half(1 << 13, 1 << 14) == [3 << 12]
    assert ab_narrow._half(100 << 10, 110 << 10) == []


def test_one_setting_is_changed_at_a_time() -> None:
    flow = {"method": "xccl-collective", "bytes": 8, "parameters": {"type": "float16"}}
    case = PlannedCase({"id": "x", "flows": [flow]})
    known = {"xccl-collective": frozenset(("type", "registered"))}
    made = [
        one
        for name, values in ab_narrow._SETTINGS.items()
        for one in ab_narrow._with_parameter(case, name, values, known)
    ]
    changed = [
        {**flow["parameters"], name: value}
        for name, value in (("registered", "yes"), ("type", "float32"), ("type", "bfloat16"))
    ]
    assert [one.case["flows"][0]["parameters"] for one in made] == changed
    fixed = ab_narrow._with_algorithm(case, "ring", "ll")
    assert fixed.environment == {"NCCL_ALGO": "ring", "NCCL_PROTO": "ll"}
    assert len({one.id for one in (case, fixed, *made)}) == 5


SLOW_MEMCPY = """
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
void *memmove(void *, const void *, size_t);
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double share;
__attribute__((constructor)) static void read_share(void) { share = atof(getenv("SLOW_SHARE")); }
void *memcpy(void *to, const void *from, size_t bytes) {
  const double begun = now();
  memmove(to, from, bytes);
  const double ended = now();
  while (bytes >= 1 << 15 && now() < ended + share * (ended - begun)) {}
  return to;
}
"""


def test_a_slow_library_is_found_by_a_real_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, real_engine: None
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    use_built_engines(monkeypatch)
    for module in ("launch.ab", "launch.ab_jobs", "launch.ab_narrow", "statistics.paired"):
        monkeypatch.setattr(f"linkscope.{module}.FEWEST_ROUNDS", 5)  # the change is large, and the test short
    monkeypatch.setattr("linkscope.statistics.paired.LOOKS", (5,))
    monkeypatch.setattr("linkscope.launch.ab._CONFIRMED_ROUNDS", 5)
    with Path(bench.suite).open("a") as suite:
        suite.write("    point_budget_s: 0.02\n")
    Path("slow.c").write_text(SLOW_MEMCPY)
    subprocess.run([compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", "slow.c", "-o", "slow.so"], check=True)
    preload = f"LD_PRELOAD={Path('slow.so').absolute()}"
    asked = ("--a", "as-is", "--b", preload, "--b", "SLOW_SHARE=20", "--sizes", "64K", "--budget", "40s")
    ended = bench.cli("ab", bench.suite, *asked, "-o", "out", "--json")
    headline = json.loads(ended.out)["headline"]
    assert (ended.code, headline["code"], headline["facts"]["side"]) == (1, "ab.slower", "B"), ended.err
