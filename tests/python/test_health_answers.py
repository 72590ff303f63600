"""Health in answers: what moved during a run is named by link, and what nothing mends decides the outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import recorded
from planted_faults import lanes_down, shared, with_state
from planted_health import BEGAN_S, LINKS, READ, with_health

from linkscope.answers.answer import Outcome
from linkscope.answers.health import failures, health_findings, held_down, others_cpus
from linkscope.answers.questions import ask
from linkscope.answers.setup_changes import disturbances, setup_changes
from linkscope.figures.run import Run
from linkscope.machine.kernel_log import LogEvent
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Level
from linkscope.render import render
from linkscope.results.run_file import RunFile

RECOVERED = {"counts": {"gpu:1/7": {"nvlink-recovery": 505}}}


def _run(before: dict[str, Any], after: dict[str, Any], **more: Any) -> Run:
    return Run(with_health(recorded.healthy(), before, after, **more))


def test_a_link_that_recovers_is_named_though_nothing_is_slow() -> None:
    found = ask("explain", _run({}, RECOVERED))
    (warned,) = [one for one in found.findings if one.code == "health.nvlink"]
    assert found.outcome is Outcome.HOLDS
    assert (warned.level, warned.where, warned.facts["link"]) == (Level.WARNING, ("gpu:1",), 7)
    assert warned.facts["moved"] == {"nvlink-recovery": 505}
    assert "505 recoveries" in sentence(warned)
    assert len(render(found).splitlines()) <= 24


def test_what_was_counted_before_the_run_is_not_its_finding() -> None:
    assert health_findings(_run(RECOVERED, RECOVERED)) == []
    one_more = {"counts": {"gpu:1/7": {"nvlink-recovery": 506}}}
    (moved,) = health_findings(_run(RECOVERED, one_more))
    assert moved.facts["moved"] == {"nvlink-recovery": 1}
    assert "1 recovery" in sentence(moved)


def test_many_links_are_one_line_with_the_worst() -> None:
    counts = {f"gpu:0/{link}": {"nvlink-replay": link} for link in range(1, 10)}
    (found,) = health_findings(_run({}, {"counts": counts}))
    assert found.code == "health.nvlinks"
    assert (found.facts["links"], found.facts["link"], found.facts["most"]) == (9, 9, 9)
    assert found.facts["moved"] == {"nvlink-replay": 45}


@pytest.mark.parametrize(
    ("after", "code", "where"),
    [
        ({"links": {**LINKS, "gpu:1": tuple(range(17))}}, "health.link-down", ("gpu:1",)),
        ({"counts": {"gpu:0": {"ecc-uncorrected": 1}}}, "health.memory", ("gpu:0",)),
        ({"counts": {"gpu:0": {"row-remap-failure": 1}}}, "health.memory", ("gpu:0",)),
        ({"counts": {"gpu:1": {"pcie-fatal": 1}}}, "health.pcie", ("gpu:1",)),
        ({"events": (LogEvent("xid", 5, "0000:1b:00", 149),)}, "health.xid", ()),
        ({"events": (LogEvent("gpu-reset", 5, "0000:1b:00.0"),)}, "health.gpu-reset", ()),
    ],
)
def test_what_nothing_mends_fails_the_run(after: dict[str, Any], code: str, where: tuple[str, ...]) -> None:
    read = {"read": {**READ, "row-remap-failure": 2, "pcie-fatal": 2}}
    run = _run(read, {**read, **after})
    found = ask("explain", run)
    assert [one.code for one in failures(run)] == [code]
    assert (found.outcome, found.headline.code, found.headline.where) == (Outcome.FAILS, code, where)
    assert code not in {one.code for one in found.findings}
    assert "FAILED" in render(found)


def test_an_xid_names_the_gpu_by_its_address() -> None:
    run = recorded.healthy()
    pci = run.node.of_kind("gpu")[2].pci or ""
    (found,) = health_findings(_run({}, {"events": (LogEvent("xid", 9, pci.rpartition(".")[0], 79),) * 2}))
    assert (found.where, found.facts["number"]) == (("gpu:2",), 79)


def test_a_programs_xid_fails_nothing() -> None:
    run = _run({}, {"events": (LogEvent("xid", 5, "0000:1b:00", 13),)})
    assert [one.level for one in health_findings(run)] == [Level.WARNING]
    assert ask("explain", run).outcome is Outcome.HOLDS


def test_a_slow_link_stays_the_headline_beside_a_failure() -> None:
    down = lanes_down("gpu:1")(recorded.healthy())
    found = ask("explain", Run(with_health(down, {}, {"counts": {"gpu:1": {"ecc-uncorrected": 1}}})))
    assert found.headline.code.startswith("explain.slow")
    assert "health.memory" in {one.code for one in found.at(Level.ERROR)}


def test_a_few_pcie_replays_are_for_full_alone() -> None:
    seldom, often = ({"counts": {"gpu:0": {"pcie-replay": count}}} for count in (3, 300))
    run = _run({}, seldom)
    assert [one.level for one in health_findings(run)] == [Level.NOTE]
    found = ask("explain", run)
    assert "health.pcie" in {one.code for one in found.details} - {one.code for one in found.findings}
    assert [one.level for one in health_findings(_run({}, often))] == [Level.WARNING]


def test_counters_that_could_not_be_read_before_say_nothing() -> None:
    assert health_findings(_run({"read": {}}, RECOVERED)) == []
    closed = health_findings(_run({"log": False}, {"events": (LogEvent("xid", 5, "0000:1b:00", 149),)}))
    assert [(one.code, one.level) for one in closed] == [("health.no-log", Level.NOTE)]
    assert health_findings(Run(recorded.healthy())) == []


def test_a_clock_that_is_held_down_has_its_share() -> None:
    run = _run({"held": {"gpu:1": {"power cap": 100.0}}}, {"held": {"gpu:1": {"power cap": 250.0}}})
    assert held_down(run) == {"gpu:1": {"power cap": 0.5}}
    firmware = {"held": {"gpu:1": {"power cap": 10.0}}, "cycles": {"gpu:1": 100}}
    later = {"held": {"gpu:1": {"power cap": 30.0}}, "cycles": {"gpu:1": 200}}
    assert held_down(_run(firmware, later)) == {"gpu:1": {"power cap": 0.2}}
    assert held_down(_run(firmware, firmware)) == {}
    little = {"held": {"gpu:1": {"power cap": 115.0}}}
    run = _run({"held": {"gpu:1": {"power cap": 100.0}}}, little)
    assert [one.facts["share"] for one in health_findings(run)] == [0.05], "worth a word"
    assert held_down(run) == {}, "and no cause"
    both = {"held": {"gpu:1": {"power cap": 130.0, "thermal slowdown": 160.0}}}
    (most,) = health_findings(_run({"held": {"gpu:1": {"power cap": 100.0, "thermal slowdown": 100.0}}}, both))
    assert (most.facts["reason"], most.facts["share"]) == ("thermal slowdown", 0.2)


def test_compare_names_the_run_whose_link_recovered(tmp_path: Path) -> None:
    quiet, moved = (
        recorded.write(with_health(recorded.healthy(), {}, after), tmp_path / name)
        for name, after in (("quiet.jsonl", {}), ("moved.jsonl", RECOVERED))
    )
    found = ask("compare", quiet, moved)
    (warned,) = [one for one in found.findings if one.code == "health.nvlink"]
    assert warned.facts["run"] == "moved.jsonl"


def test_a_run_file_with_health_reads_back(tmp_path: Path) -> None:
    path = recorded.write(with_health(recorded.healthy(), RECOVERED, RECOVERED), tmp_path / "a.jsonl")
    state = Run(RunFile.read(path)).states[-1]
    assert state.health.counts == RECOVERED["counts"]
    assert state.health.links == LINKS
    assert state.at_s == BEGAN_S + 300.0


def _states(run: RunFile, *changes: dict[str, Any]) -> RunFile:
    """Return the run with fields of its states, first to last, as these say."""
    states = [{**run.header["state"], **changes[0]}, {**run.states[-1]["state"], **changes[-1]}]
    between = [{"record": "state", "when": "round", "state": {**states[0], **one}} for one in changes[1:-1]]
    ended = {**run.states[-1], "state": states[1]}
    return replace(run, header={**run.header, "state": states[0]}, states=(*run.states[:-1], *between, ended))


def test_cpus_that_other_programs_kept_busy() -> None:
    quiet = with_health(recorded.healthy(), {}, {}, lasted_s=100.0)
    began, ended = {"cpu_busy_s": 1000.0, "own_cpu_s": 5.0}, {"cpu_busy_s": 2000.0, "own_cpu_s": 205.0}
    run = Run(_states(quiet, {**began, "cpus_online": 32}, ended))
    assert others_cpus(run) == 8.0
    assert "health.others-cpus" in {one.code for one in ask("explain", run).findings}
    joined = {"record": "state", "when": "joined", "launcher": "mpiexec"}
    assert others_cpus(Run(replace(run.file, states=(joined, *run.file.states)))) is None
    idle = Run(_states(quiet, {**began, "cpus_online": 32, "load": 30.0}, {**ended, "own_cpu_s": 1000.0}))
    assert not {"health.others-cpus", "doctor.load"} & {one.code for one in ask("explain", idle).findings}


def test_a_process_that_came_and_went_is_the_cause() -> None:
    slow = with_state(shared("gpu:1")(recorded.healthy()), "gpu:1", processes=0)
    seen = [{**gpu, "processes": int(gpu["id"] == "gpu:1")} for gpu in slow.header["state"]["gpus"]]
    found = ask("explain", Run(_states(slow, {}, {"gpus": seen}, {})))
    assert [one["cause"] for one in found.data["problems"]] == ["explain.other-processes"]
    assert found.headline.where == ("gpu:1",)


def test_a_gpu_that_works_for_processes_not_seen_here_is_the_cause() -> None:
    slow = with_state(shared("gpu:1")(recorded.healthy()), "gpu:1", processes=0)
    seen = [{**gpu, "busy": float(gpu["id"] == "gpu:1")} for gpu in slow.header["state"]["gpus"]]
    found = ask("explain", Run(_states(slow, {"gpus": seen}, {})))
    assert [one["cause"] for one in found.data["problems"]] == ["health.busy"]
    assert found.headline.where == ("gpu:1",)


def test_compare_names_what_a_gpu_did_besides() -> None:
    quiet = with_health(recorded.healthy(), {"held": {"gpu:1": {}}}, {"held": {"gpu:1": {"power cap": 0.0}}})
    held = {"held": {"gpu:1": {"power cap": 1.0}}}, {"held": {"gpu:1": {"power cap": 200.0}}}
    busy = with_health(recorded.healthy(), *held)
    seen = [{**gpu, "busy": float(gpu["id"] == "gpu:1")} for gpu in busy.header["state"]["gpus"]]
    found = disturbances(Run(quiet), Run(_states(busy, {"gpus": seen}, {})))
    assert [(one.device, one.setting, one.base, one.new) for one in found] == [
        ("gpu:1", "throttled", "no", "power cap"),
        ("gpu:1", "unseen", "off", "on"),
    ]


def test_what_older_runs_do_not_say_did_not_change() -> None:
    old, new = recorded.healthy(), with_state(recorded.healthy(), "gpu:1", bar1_bytes=1 << 38, clique=1)
    assert setup_changes(Run(old), Run(new), ()) == []
    small = with_state(recorded.healthy(), "gpu:1", bar1_bytes=1 << 28, clique=1)
    assert [one.setting for one in setup_changes(Run(small), Run(new), ())] == ["bar1_bytes"]


def test_what_moved_while_nothing_was_measured_is_not_the_runs() -> None:
    """A run that was interrupted reads the counters again before it goes on."""
    first, moved = _run({}, {}).file, _run({}, RECOVERED).file
    resumed = {**moved.states[-1], "when": "resumed"}
    for pause, found in ((first.states[-1:], []), ((), ["health.nvlink"])):
        states = (*pause, resumed, moved.states[-1]) if pause else (moved.states[-1],)
        assert [one.code for one in health_findings(Run(replace(first, states=states)))] == found
