"""Sustained load: random permutations are what they say, and what is slow only under load is found and named."""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

import planted_faults as planted
import polars
import pytest
import recorded
from launching import Bench, bench
from modelled_run import not_ok
from planted_health import with_health
from test_patterns import flows, lay

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.questions import ask
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.launch import readings
from linkscope.launch.job import Request, prepare
from linkscope.launch.run import run as measure
from linkscope.messages.finding import Level
from linkscope.plan.sustained import SUITE, permutations_in
from linkscope.render import FORMS, render
from linkscope.results.limits import Limit, Limits
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["bench"]
Json = dict[str, Any]
MINUTE = Request(suites=(SUITE,), sustained=True, budget="60s", machine="h200x4")


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    return measure(MINUTE, tmp_path_factory.mktemp("load") / "a.jsonl")


def as_measured(run: RunFile) -> RunFile:
    """Return a model's run as if it had been measured, for as long as was asked."""
    path = run.path.with_name("b.jsonl")
    text = run.path.read_text().replace('"modelled":true', '"modelled":false')
    text = re.sub(r'"elapsed_s":[^,}]+', f'"elapsed_s":{60 / len(run.rows)}', text)
    path.write_text(text.replace('"modelled": true', '"modelled": false'))
    return RunFile.read(path)


@pytest.fixture(scope="module")
def measured(modelled: RunFile) -> RunFile:
    return as_measured(modelled)


def slowed(run: RunFile, hit: Callable[[Json], bool], factor: float, since: float = 0.0) -> RunFile:
    """With flows under load that are ``hit`` slower, from a share of the run on."""
    slow = planted.slowed(run, hit, factor)
    first = since * len(run.rows)
    rows = (
        b if a.load == "sustained" and i >= first else a
        for i, (a, b) in enumerate(zip(run.rows, slow.rows, strict=True))
    )
    return replace(run, rows=tuple(rows))


def errors(answer: Answer) -> list[tuple[str, str]]:
    return [
        (one.code, " ".join((*one.where, *filter(None, [one.facts.get("scope")])))) for one in answer.at(Level.ERROR)
    ]


@pytest.mark.parametrize("name", ["random-rings", "random-bisections", "random-pairs"])
def test_a_permutation_gives_each_device_one_partner(name: str) -> None:
    layouts = lay(name)
    assert len({frozenset(flows(layout)) for layout in layouts}) > 1
    assert lay(name) == layouts
    for layout in layouts:
        ends = flows(layout)
        assert layout.places == tuple(ends)
        sources, destinations = Counter(a for a, _ in ends), Counter(b for _, b in ends)
        assert max(*sources.values(), *destinations.values()) == 1
        assert len(ends) == (2 if name == "random-pairs" else 4)
        if name == "random-bisections":
            assert {(b, a) for a, b in ends} == set(ends)
    assert lay(name, gpus=1) == []
    assert {len(flows(one)) for one in lay(name, gpus=3)} == {{"random-rings": 3, "random-bisections": 2}.get(name, 1)}


def test_patterns_take_turns_after_each_path_alone() -> None:
    cases = [one.case for one in prepare(MINUTE).cases]
    alone = [one["name"] for one in cases if one["load"] == "once"]
    loaded = [one["name"] for one in cases if one["load"] == "sustained"]
    assert [one["name"] for one in cases] == [*alone, *loaded]
    assert set(alone) == {"d2d"}
    assert loaded == ["ring", "bisection", "pairs"] * permutations_in(60.0)
    again = Request.from_json(json.loads(json.dumps(MINUTE.to_json())))
    assert [one.id for one in prepare(again).cases] == [one["id"] for one in cases]
    assert MINUTE.command_line == ["linkscope", "check", "--sustained", "60s", "--machine", "h200x4"]


def test_a_long_load_has_longer_permutations_and_no_more_of_them() -> None:
    hour, day = (prepare(replace(MINUTE, budget=budget)) for budget in ("1h", "24h"))
    loaded = [[one.case for one in job.cases if one.case["load"] == "sustained"] for job in (hour, day)]
    assert len(loaded[0]) == len(loaded[1]) == 3000
    assert {one["min_sample_s"] for one in loaded[0]} == {0.15}
    assert max(one["min_sample_s"] for one in loaded[1]) == pytest.approx(24 * 0.15)
    assert day.options.point_budget_s == pytest.approx(24 * hour.options.point_budget_s)
    assert {one.case.get("min_sample_s") for one in day.cases if one.case["load"] == "once"} == {0.005}


def test_alike_paths_pass(measured: RunFile) -> None:
    answer = ask("check", measured)
    assert (answer.outcome, answer.headline.code, errors(answer)) == (Outcome.HOLDS, "sustained.steady", [])
    assert answer.headline.facts["paths"] == 12


def test_a_model_gives_no_verdict(modelled: RunFile) -> None:
    answer = ask("check", modelled)
    assert (answer.outcome, answer.headline.code) == (Outcome.UNTESTED, "sustained.model")


def test_a_path_that_is_slow_under_load_alone_is_named(measured: RunFile) -> None:
    answer = ask("check", slowed(measured, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9))
    assert (answer.outcome, answer.exit_code) == (Outcome.FAILS, 1)
    assert errors(answer) == [("sustained.slow-path", "gpu:1>gpu:3")]
    assert [one.code for one in answer.next] == ["sustained.next-full", "sustained.next-doctor"]
    (worst,) = answer.table("sustained.worst").frame.to_dicts()
    assert worst["behind"] == pytest.approx(0.1, abs=0.005)
    assert worst["slow_share"] == 1.0


def test_a_path_that_is_slow_alone_is_said_to_be(measured: RunFile) -> None:
    run = planted.slowed(measured, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9)
    assert errors(ask("check", run)) == [("sustained.slow-path-alone", "gpu:1>gpu:3")]


@pytest.mark.parametrize(
    ("end", "scope"), [(slice(0, 1), "from"), (slice(1, 2), "to"), (slice(0, 2), "of")], ids=["from", "to", "of"]
)
def test_a_gpu_whose_paths_are_all_slow_is_named(end: slice, scope: str, measured: RunFile) -> None:
    answer = ask("check", slowed(measured, lambda flow: "gpu:2" in planted.ends(flow)[end], 0.85))
    assert errors(answer) == [("sustained.slow-device", f"gpu:2 {scope}")]


def with_noise(run: RunFile, deviation: float, seed: int) -> Run:
    """With every flow's rate off by as much as normal noise."""
    draw, found = random.Random(seed), Run(run)
    values = [value * (1 + draw.gauss(0, deviation)) for value in found.results["value"]]
    vars(found)["results"] = found.results.with_columns(polars.Series("value", values))
    return found


def test_noise_is_no_alarm_and_hides_little(measured: RunFile) -> None:
    slow = slowed(measured, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9)
    for seed in range(3):
        assert errors(ask("check", with_noise(measured, 0.06, seed))) == []
        assert errors(ask("check", with_noise(slow, 0.02, seed))) == [("sustained.slow-path", "gpu:1>gpu:3")]


def test_a_little_slower_is_not_slow(measured: RunFile) -> None:
    answer = ask("check", slowed(measured, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.97))
    assert answer.outcome is Outcome.HOLDS


def test_what_slows_down_with_time_is_named(measured: RunFile) -> None:
    late = ask("check", slowed(measured, lambda flow: "gpu:1" in planted.ends(flow), 0.9, since=0.6))
    assert errors(late) == [("sustained.drop-device", "gpu:1 of")]
    kernels = slowed(measured, lambda flow: flow["method"] == "kernel-copy", 0.7, since=0.6)
    assert {one.code for one in ask("check", kernels).at(Level.ERROR)} <= {"sustained.drop-path", "sustained.drop-all"}
    assert {one.code for one in ask("check", slowed(measured, lambda flow: True, 0.9, since=0.6)).at(Level.ERROR)} == {
        "sustained.drop-all"
    }


def test_a_drop_within_the_noise_of_both_ends_is_none(tmp_path: Path) -> None:
    """With 5% noise and 17 permutations in a third, the two medians are together uncertain by 7.5%."""
    run = as_measured(measure(replace(MINUTE, devices="gpu:0,gpu:1"), tmp_path / "a.jsonl"))
    for factor, named in ((0.88, []), (0.84, [("sustained.drop-path", "gpu:1>gpu:0")])):
        late = slowed(run, lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), factor, since=0.66)
        assert [errors(ask("check", with_noise(late, 0.05, seed))) for seed in (0, 2, 3)] == [named] * 3


def test_three_permutations_of_a_pattern_are_too_few_to_judge_it_alone(measured: RunFile) -> None:
    slow = slowed(measured, lambda flow: planted.copied(flow, "gpu:0", "gpu:1"), 0.8)
    for name, count, named in (("pairs", 3, []), ("ring", 8, [("sustained.slow-path", "gpu:0>gpu:1")])):
        rows = zip(measured.rows, slow.rows, strict=True)
        run = replace(measured, rows=tuple(b if a.case["name"] == name else a for a, b in rows))
        hit = [a for a, b in zip(measured.rows, run.rows, strict=True) if a.raw != b.raw]
        assert (len(hit), errors(ask("check", run))) == (count, named)


def test_a_path_that_is_slow_in_half_of_its_permutations_is_no_slow_path(measured: RunFile) -> None:
    """Its median lies between the two speeds, and says nothing of either."""
    slow = slowed(measured, lambda flow: planted.copied(flow, "gpu:0", "gpu:1"), 0.8)
    rings = [a.id for a, b in zip(measured.rows, slow.rows, strict=True) if a.raw != b.raw and a.case["name"] == "ring"]
    assert len(rings) == 8
    rows = zip(measured.rows, slow.rows, strict=True)
    run = replace(measured, rows=tuple(b if a.id in rings[::2] else a for a, b in rows))
    assert errors(ask("check", run)) == []


def cut(run: RunFile, share: float, path: Path) -> RunFile:
    """Return a share of the run, as if it had been stopped then."""
    lines = run.path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: round(len(lines) * share)]))
    return RunFile.read(path)


def test_a_load_that_was_stopped_late_is_judged_by_what_it_has(measured: RunFile, tmp_path: Path) -> None:
    answer = ask("check", cut(measured, 2 / 3, tmp_path / "cut.jsonl"))
    assert answer.outcome is Outcome.HOLDS
    (stopped,) = [one for one in answer.findings if one.code == "sustained.stopped"]
    assert stopped.facts["share"] == pytest.approx(2 / 3, abs=0.02)
    assert "run.cut-short" not in {one.code for one in answer.findings}
    load = json.loads(render(answer, "json-line"))["load"]
    assert (load["stopped"], load["share"]) == (True, stopped.facts["share"])


def test_a_load_that_was_stopped_early_shows_faults_alone(measured: RunFile, tmp_path: Path) -> None:
    run = cut(measured, 0.45, tmp_path / "cut.jsonl")
    answer = ask("check", run)
    assert (answer.exit_code, answer.headline.code) == (3, "sustained.too-short")
    assert json.loads(render(answer, "json-line"))["passed"] is False
    slow = ask("check", slowed(run, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9))
    assert (slow.exit_code, slow.headline.code) == (1, "sustained.slow")
    assert "sustained.stopped" in {one.code for one in slow.findings}
    assert json.loads(render(ask("check", measured), "json-line"))["load"]["stopped"] is False


@pytest.mark.parametrize("load", ["sustained", "once"])
def test_cases_that_fail_under_load_fail_the_check_in_every_form(measured: RunFile, load: str) -> None:
    rows = [
        Row.from_json({**not_ok(row.case, "failed", "data arrived wrong").raw, "modelled": False})
        if row.load == load
        else row
        for row in measured.rows
    ]
    answer = ask("check", replace(measured, rows=tuple(rows)))
    assert (answer.exit_code, answer.headline.code) == (1, "check.lacking")
    assert all("data arrived wrong" in render(answer, form) for form in ("text", "json", "json-line", "junit", "dcgm"))
    assert "linkscope_check_passed 0" in render(answer, "prometheus")


def test_of_two_gpus_each_direction_is_compared_with_the_other(tmp_path: Path) -> None:
    run = as_measured(measure(replace(MINUTE, devices="gpu:0,gpu:1"), tmp_path / "a.jsonl"))
    assert ask("check", run).outcome is Outcome.HOLDS
    answer = ask("check", slowed(run, lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.9))
    assert errors(answer) == [("sustained.slow-path", "gpu:1>gpu:0")]
    assert all(render(answer, form) for form in FORMS)
    dropped = ask("check", slowed(run, lambda flow: True, 0.9, since=0.6))
    assert errors(dropped) == [("sustained.drop-all", "")]
    kernels = slowed(
        run, lambda flow: flow["method"] == "kernel-copy" and planted.ends(flow)[0] == "gpu:1", 0.7, since=0.6
    )
    assert errors(ask("check", kernels)) == [("sustained.drop-path", "gpu:1>gpu:0")]


def test_too_few_permutations_are_no_verdict(measured: RunFile, tmp_path: Path) -> None:
    kept = [one for one in measured.rows if one.load == "once"] + [one for one in measured.rows if one.load != "once"][
        :2
    ]
    answer = ask("check", replace(measured, rows=tuple(kept)))
    assert (answer.outcome, answer.headline.code) == (Outcome.UNTESTED, "sustained.few")
    assert "too few permutations" in render(answer, "junit")


def test_limits_hold_beside_a_load(measured: RunFile) -> None:
    known = Limits(1, [Limit({"row": "d2d", "method": "copy-engine"}, least_gbps=380.0)])
    answer = ask("check", measured, limits=known)
    assert (answer.outcome, answer.headline.code) == (Outcome.HOLDS, "check.passed")
    assert "sustained.steady" in {one.code for one in answer.findings}
    strict = ask("check", measured, limits=Limits(1, [Limit({"row": "d2d"}, least_gbps=500.0)]))
    assert (strict.outcome, strict.headline.code) == (Outcome.FAILS, "check.broken")


def test_a_run_without_load_needs_limits() -> None:
    run = Path(__file__).parents[1] / "fixtures" / "turns" / "h200x2-1.jsonl"
    with pytest.raises(LinkscopeError) as caught:
        ask("check", run)
    assert caught.value.code == "check.no-limits"


def test_files_for_gates_hold_paths_under_load(measured: RunFile) -> None:
    answer = ask("check", slowed(measured, lambda flow: planted.copied(flow, "gpu:1", "gpu:3"), 0.9))
    line = json.loads(render(answer, "json-line"))
    assert {one["path"] for one in line["failed"]} == {"gpu:1>gpu:3"}
    assert [one["code"] for one in line["errors"]] == ["sustained.slow-path"]
    assert "gpu:1>gpu:3" in unescape(render(answer, "junit"))
    metrics = render(answer, "prometheus").splitlines()
    assert "linkscope_check_passed 0" in metrics
    (rate,) = [
        one for one in metrics if one.startswith('linkscope_bytes_per_second{id="sustained/all"') and "1>gpu:3" in one
    ]
    assert float(rate.rpartition(" ")[2]) == pytest.approx(0.9 * 395.3e9, rel=0.01)
    (category,) = json.loads(render(answer, "dcgm"))["DCGM Diagnostic"]["test_categories"]
    failed = {one["entity_id"] for one in category["tests"][0]["results"] if one["status"] == "Fail"}
    assert failed == {1, 3}


def test_the_command_measures_two_gpus_and_judges_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_GPUS", "2")
    ended = bench.cli("check", "--sustained", "20s", "-o", tmp_path / "a.jsonl", "--write", "json-line=-")
    line = json.loads(ended.out)
    assert (ended.code, line["passed"], line["checked"] > 0) == (0, True, True)
    assert RunFile.read(tmp_path / "a.jsonl").header["plan"]["request"]["sustained"] is True


def test_the_state_is_read_between_parts_of_a_load(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_GPUS", "2")
    monkeypatch.setattr("linkscope.launch.readings.OF_LOAD_S", 6.0)
    monkeypatch.setattr("linkscope.launch.run.OF_LOAD_S", 0.0)
    bench.cli("check", "--sustained", "20s", "-o", tmp_path / "a.jsonl")
    records = bench.records(tmp_path / "a.jsonl")
    ids = [one["id"] for one in records if one["record"] == "row"]
    assert ids == records[0]["plan"]["ids"]
    states = [one for one in records if one["record"] == "state"]
    assert [one["when"] for one in states] == ["round", "round", "finished"]
    assert all(one["state"]["at_s"] for one in states)


def test_a_driver_that_does_not_answer_keeps_nobody_who_stops_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "_MOST_WAIT_S", 0.01)
    forever = threading.Event()
    for state in (lambda: {"at_s": forever.wait(9.0)}, dict[str, Any], lambda: {"at_s": 1 / 0}):
        assert readings.last_reading(state) == {}
    forever.set()
    assert readings.last_reading(lambda: {"at_s": 1.0}) == {"state": {"at_s": 1.0}}


@pytest.mark.parametrize(
    "words",
    [
        ("--sustained", "5s"),
        ("--sustained", "30h"),
        ("--sustained", "soon"),
        ("--sustained", "1m", "default"),
        ("--sustained", "1m", "--budget", "5s"),
        ("--sustained", "1m", "--make-limits", "a.yaml"),
        (),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], bench: Bench) -> None:
    ended = bench.cli("check", *words)
    assert ended.code == 2
    assert ended.complaint


def test_nodes_without_gpus_copy_between_numa_nodes() -> None:
    assert not any(one.case["name"].startswith("host") for one in prepare(replace(MINUTE, machine="frontier")).cases)
    with pytest.raises(LinkscopeError, match="memcpy"):  # which the model has no data for
        prepare(replace(MINUTE, machine="frontier", devices="numa:0-1"))


def test_a_node_with_one_gpu_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GPUS", "1")
    ended = bench.cli("check", "--sustained", "10s")
    assert (ended.code, "two GPUs" in ended.complaint) == (2, True)


def test_a_clock_that_was_held_down_is_a_warning_of_the_first_screen(measured: RunFile) -> None:
    other = recorded.healthy()
    before, after = (
        {"held": {"gpu:1": {"power cap": seconds}, "gpu:2": {"power cap": 2 * seconds}}} for seconds in (1.0, 31.0)
    )
    read = replace(measured, header={**measured.header, "state": other.header["state"]}, states=other.states)
    run = with_health(read, before, after)
    answer = ask("check", run)
    (warned,) = [one for one in answer.at(Level.WARNING) if one.code == "health.held-down"]
    assert (answer.outcome, warned.where) == (Outcome.HOLDS, ("gpu:2",))
    assert [one.where for one in answer.details if one.code == "health.held-down"] == [("gpu:1",)]
