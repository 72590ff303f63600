"""A budget: what fits it is planned by what visits took before, it ends the run, and what it left out is said."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launching import TINY_IDS, Bench, bench

from linkscope.cli.dry_run import plan
from linkscope.cli.progress import extent
from linkscope.launch import costs
from linkscope.launch.job import Request, prepare
from linkscope.launch.run import RunUnderWay
from linkscope.launch.scheduler import JobScheduler
from linkscope.launch.worker import InterruptedRunError
from linkscope.messages.finding import Facts
from linkscope.plan.budget import Costs, fit, least_s
from linkscope.plan.case_groups import CaseGroup
from linkscope.plan.planned_case import PlannedCase
from linkscope.results.run_file import RunFile

__all__ = ["bench"]

Json = dict[str, Any]


def curve(name: str, sizes: int) -> list[Json]:
    flow = {"method": "memcpy", "source": {"device": "numa:0"}, "destination": {"device": "numa:0"}}
    return [
        {
            "id": f"s/{name}/{n}",
            "suite": "s",
            "name": name,
            "flows": [{**flow, "bytes": 1 << n}],
            "labels": {"x": 1 << n},
        }
        for n in range(sizes)
    ]


def test_what_fits_is_visited_as_often_as_asked_else_once_else_by_fewer_sizes() -> None:
    cases = curve("a", 9) + curve("b", 5)
    known = Costs({case["id"]: 1.0 for case in cases}, {}, {1: 2.0})
    assert least_s(cases, known) == pytest.approx(16.0, abs=0.5)
    assert fit(cases, 60.0, 3, known) == (3, frozenset())
    assert fit(cases, 20.0, 3, known) == (1, frozenset())
    visits, out = fit(cases, 8.3, 3, known)
    assert visits == 1
    kept = [case["id"] for case in cases if case["id"] not in out]
    assert kept == ["s/a/0", "s/a/4", "s/a/8", "s/b/0", "s/b/2", "s/b/4"], "ends and middles of both curves"


def test_costs_are_learnt_and_guide_the_estimate_of_what_was_not_visited(bench: Bench, own_folders: Path) -> None:
    assert bench.cli("run", bench.suite, "-o", "a.jsonl").code == 0
    (path,) = own_folders.rglob("*.json")
    found = costs.known(path)
    assert set(found.visits) == set(TINY_IDS)
    assert found.starts[1] > 0
    slow = Costs({}, {"s/a": 10.0, "": 2.0}, {})
    (a, b) = curve("a", 1) + curve("b", 1)
    assert slow.setup_s(a) == pytest.approx(10 * Costs().setup_s(a))
    assert slow.setup_s(b) == pytest.approx(2 * Costs().setup_s(b))


DAMAGED = [
    *("", "[]", "{}", "\xff"),
    '{"schema":1,"visits":[],"ratios":{},"starts":{}}',
    '{"schema":1,"visits":{"a":-1},"ratios":{},"starts":{}}',
    '{"schema":1,"visits":{"a":"x"},"ratios":{},"starts":{}}',
]


@pytest.mark.parametrize("text", DAMAGED)
def test_costs_that_are_damaged_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text, encoding="latin-1")
    assert costs.known(path) == Costs()
    assert costs.known(tmp_path / "none.json") == Costs()


def test_a_run_whose_costs_cannot_be_kept_or_read_is_as_any_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(bench.folder / "tiny.yaml"))
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl")
    assert ended.code == 0, ended.err
    assert "cache" not in ended.err
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_folders / "other"))
    place = costs.kept_at(RunFile.read(Path("a.jsonl")).node.name, "host")
    place.mkdir(parents=True)
    assert bench.cli("run", bench.suite, "-o", "b.jsonl").code == 0
    assert list(place.parent.iterdir()) == [place], "nothing stays beside what could not be replaced"


def test_every_estimate_of_a_run_has_its_rounds_and_starts_as_learnt_here(bench: Bench, own_folders: Path) -> None:
    name = "latency-host"
    assert bench.cli("run", name, "--rounds", "1", "-o", "a.jsonl").code == 0
    (path,) = own_folders.rglob("*.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "visits": dict.fromkeys(data["visits"], 0.001), "starts": {"1": 20.0}}))

    def estimated(rounds: str, budget: str | None = None) -> Facts:
        job = prepare(Request(suites=(name,), rounds=rounds, budget=budget))
        return extent(job, job.cases).facts

    assert estimated("3:6")["rounds"] == 3
    seconds = next(
        one["seconds"] for one in json.loads(bench.cli("list", "suites", "--json").out) if one["name"] == name
    )
    assert seconds > 60, "three starts of 20 s"
    assert estimated("3:6")["likely"] == pytest.approx(seconds, rel=0.2)
    assert 20 <= estimated("1")["likely"] < seconds - 39
    assert estimated("3:6", "50s")["likely"] == pytest.approx(50)


def test_starts_are_counted_by_what_can_share_processes() -> None:
    known = Costs({}, {}, {1: 1.0, 2: 10.0})
    (one, *_) = curve("a", 1)
    assert known.starts_s([one, {**one, "id": "again"}]) == 1
    assert known.starts_s([one, {**one, "environment": {"A": "1"}}]) == 2
    flow = {"method": "mpi", "executor": "gpu:0", "bytes": 8, "source": {"device": "gpu:0"}}
    ends = [{**flow, "destination": {"device": f"gpu:{n}", "rank": 1}} for n in (1, 2)]
    pairs = [{**one, "processes": 2, "flows": [end]} for end in ends]
    assert known.starts_s([pairs[0], pairs[0]]) == 10
    assert known.starts_s(pairs) == 20, "MPI is given memory of one GPU alone"
    by_python = {**one, "flows": [{**flow, "method": "torch-copy", "destination": {"device": "gpu:1"}}]}
    assert known.starts_s([one, by_python]) == 2


def test_a_budget_too_short_says_so_first_and_leaves_sizes_out(bench: Bench, own_folders: Path) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    (path,) = own_folders.rglob("*.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"visits": dict.fromkeys(TINY_IDS, 1.0)}))
    ended = bench.cli("run", bench.suite, "-o", "b.jsonl", "--budget", "5s")
    assert re.match(r"5s .* 6 cases .*\d+ s.* 4 cases", ended.err)
    left_out = [row for row in RunFile.read("b.jsonl").rows if row.status == "skipped"]
    assert [row.reason for row in left_out] == ["a budget of 5s is too short"] * 4


def test_a_budget_that_is_used_up_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.launch.run._SILENT_S", 0.5)
    bench.faults({"/16KiB": "hang"})
    began = time.monotonic()
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--budget", "3s").code == 1
    assert time.monotonic() - began < 30, "far from the limit of a case that hangs"
    found = RunFile.read("a.jsonl")
    assert found.missing == ()
    assert {row.reason for row in found.with_status("skipped")} <= {"the budget of 3s was used up"}
    (hung,) = [row for row in found.rows if row.id.endswith("/16KiB")]
    assert hung.status == "failed"
    assert "no sign of life" in (hung.reason or "")


def test_what_was_left_out_is_measured_by_resume(bench: Bench, own_folders: Path) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    (path,) = own_folders.rglob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"visits": dict.fromkeys(TINY_IDS, 1.0)}))
    bench.cli("run", bench.suite, "-o", "b.jsonl", "--budget", "5s")
    assert RunFile.read("b.jsonl").with_status("skipped")
    assert bench.cli("run", "--resume", "-o", "b.jsonl", bench.suite, "--budget", "60s").code == 0
    found = RunFile.read("b.jsonl")
    assert found.missing == ()
    assert len(found.with_status("ok")) == len(TINY_IDS)


def test_a_dry_run_says_what_a_budget_leaves_out(bench: Bench, own_folders: Path) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    (path,) = own_folders.rglob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"visits": dict.fromkeys(TINY_IDS, 1.0)}))
    found = plan(prepare(Request(suites=(bench.suite,), budget="5s")))
    assert found.tables[0].frame["skipped"].to_list() == [4]


def test_a_budget_on_a_crowded_machine_is_for_less_of_what_was_learnt(
    bench: Bench, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl")
    (path,) = own_folders.rglob("*.json")
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"visits": dict.fromkeys(TINY_IDS, 1.0), "starts": {"1": 0.1}})
    )
    said = []
    for crowd in (1.0, 2.0):
        monkeypatch.setattr("linkscope.launch.job.crowd_now", lambda crowd=crowd: crowd)
        said.append(bench.cli("run", bench.suite, "--budget", "12s", "--dry-run").out)
    assert ["left out" in one for one in said] == [False, True]


def test_a_budget_for_nothing_is_refused_with_one_that_suffices(bench: Bench) -> None:
    ended = bench.cli("run", bench.suite, "-o", "a.jsonl", "--budget", "500ms")
    assert ended.code == 2
    assert "too short for any case: all need about " in ended.complaint
    assert not Path("a.jsonl").exists()


def test_rounds_that_were_asked_for_bound_a_budget_too(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl", "--budget", "20s", "--rounds", "2")
    assert {len(row.replicates) for row in RunFile.read("a.jsonl").rows} == {2}


def test_a_run_with_a_budget_is_resumed(bench: Bench) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl", "--budget", "20s")
    path = Path("a.jsonl")
    path.write_text("\n".join(path.read_text().splitlines()[:3]) + "\n")
    assert bench.cli("run", "--resume", "-o", path).code == 0
    assert RunFile.read(path).missing == ()


def test_more_time_never_loses_a_case() -> None:
    cases = curve("a", 23) + curve("b", 5)
    long = {case["id"]: 0.05 * 3**place for place, case in enumerate(cases[:10])}
    known = Costs({**{case["id"]: 0.05 for case in cases}, **long}, {}, {1: 0.1})
    kept: list[set[str]] = []
    for budget in range(1, 40):
        _, out = fit(cases, float(budget), 3, known)
        kept.append({case["id"] for case in cases} - out)
    assert all(less <= more for less, more in pairwise(kept))
    assert 0 < len(kept[0]) < len(kept[-1])


def test_one_long_case_keeps_no_others_out() -> None:
    cases = curve("a", 12) + curve("b", 1)
    known = Costs({**{case["id"]: 0.3 for case in cases}, cases[-1]["id"]: 4.0}, {}, {1: 0.1})
    _, out = fit(cases, 4.2, 3, known)
    assert out == {cases[-1]["id"]}


def test_groups_of_processes_share_a_budget_and_what_one_leaves_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case takes ten times what was expected; a group that comes after it is measured all the same."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    cases = {name: PlannedCase({"id": name, "flows": []}) for name in ("slow", "later", "other")}
    known = SimpleNamespace(times=lambda crowd: SimpleNamespace(starts_s=lambda cases: 0.0))
    job: Any = SimpleNamespace(
        deadline=100.0,
        request=SimpleNamespace(sustained=None),
        options=SimpleNamespace(costs=known),
        crowd=1.0,
        visit_s=lambda case: 5.0,
        plan=lambda cases, tuned: cases,
    )
    ran: list[str] = []

    class Scheduler(JobScheduler):
        def groups(self, cases: Iterable[PlannedCase]) -> list[CaseGroup]:
            parts = [tuple(one for one in cases if (one.id == "other") == python) for python in (False, True)]
            return [CaseGroup((), 1, None, part) for part in parts if part]

        def obstacle(self, group: CaseGroup) -> None:
            pass

        def supervisor(self, group: CaseGroup) -> Any:
            return SimpleNamespace(run=run)

    def run(plan: Sequence[PlannedCase], watch: Any) -> None:
        for case in plan:
            if watch.interrupted():
                raise InterruptedRunError
            ran.append(case.id)
            now[0] += 80.0 if case.id == "slow" else 1.0

    rounds: Any = SimpleNamespace(tuned=lambda cases: {}, lacks_all=lambda case: case.id not in ran)
    listener: Any = SimpleNamespace(on_start=None, on_note=None)
    scheduler = Scheduler(job, None, lambda record: None, lambda note: None)
    monkeypatch.setattr("linkscope.launch.run.parts", lambda job, group: [group])
    writer: Any = SimpleNamespace()
    under_way = RunUnderWay(job, rounds, writer, listener, scheduler)
    under_way.visit(0, list(cases.values()), lambda: False)
    assert ran == ["slow", "other", "later"]
