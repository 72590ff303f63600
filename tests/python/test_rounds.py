"""Rounds: every case is visited as often as asked, in orders of their own, those that are wide more often."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from launching import TINY_IDS, Bench, bench
from result_schema import validate

from linkscope.errors import LinkscopeError
from linkscope.launch.job import Job
from linkscope.launch.launcher.inside import JobRank
from linkscope.launch.rounds import Rounds
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import note
from linkscope.plan.budget import RoundLimits
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import parse_rounds
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["bench"]

Json = dict[str, Any]


def rows_of(bench: Bench, path: str = "a.jsonl") -> list[Json]:
    return [record for record in bench.records(Path(path)) if record["record"] == "row"]


def begun(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Runs begin at ``when``, as their files say."""
    header = Job.header
    monkeypatch.setattr(Job, "header", lambda job, command: {**header(job, command), "started": when})


def test_every_case_is_visited_in_every_round_and_rounds_differ_in_order(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(monkeypatch, "2026-01-01")
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "3").code == 0
    rows = rows_of(bench)
    for row in rows:
        validate(row)
    orders = [[row["id"] for row in rows if row["replicate"] == number] for number in range(3)]
    assert [sorted(order) for order in orders] == [sorted(TINY_IDS)] * 3
    assert len({tuple(order) for order in orders}) == 3
    assert [row["replicate"] for row in rows] == sorted(row["replicate"] for row in rows)
    found = RunFile.read("a.jsonl")
    assert [row.id for row in found.rows] == TINY_IDS
    assert {len(row.replicates) for row in found.rows} == {3}
    assert found.header["plan"]["rounds"] == {"least": 3, "most": 3}


def test_the_machine_is_read_between_rounds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.launch.run._LOOK_S", 0.0)
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "3").code == 0
    records = bench.records(Path("a.jsonl"))
    places = [number for number, record in enumerate(records) if record.get("when") == "round"]
    assert [number - places[0] for number in places] == [0, len(TINY_IDS) + 1]
    for number in places:
        validate(records[number])
        assert records[number]["state"]["at_s"] > records[0]["state"]["at_s"]


def test_the_order_is_drawn_by_when_the_run_began(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, when in (("a.jsonl", "2026-01-01"), ("b.jsonl", "2026-01-01"), ("c.jsonl", "2026-01-02")):
        begun(monkeypatch, when)
        bench.cli("run", bench.suite, "-o", name, "--rounds", "2")
    orders = [[row["id"] for row in rows_of(bench, name)] for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    assert orders[0] == orders[1] != orders[2]


def test_figures_that_are_precise_are_left_alone_after_the_least(bench: Bench) -> None:
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "2:5").code == 0
    assert set(Counter(row["id"] for row in rows_of(bench)).values()) == {2}


def test_a_case_that_fails_once_has_its_other_replicates(bench: Bench) -> None:
    bench.faults({"/8KiB": "crash"})
    assert bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "4").code == 1
    counts = Counter(row["id"].rsplit("/", 1)[1] for row in rows_of(bench))
    assert counts["8KiB"] == 2, "a case that failed twice has failed"
    assert counts["4KiB"] == 4


@pytest.mark.parametrize("kept", [4, 9, 15])
def test_a_run_cut_in_any_round_is_completed(bench: Bench, kept: int) -> None:
    bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "3")
    path = Path("a.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[: 1 + kept]) + "\n")
    assert bench.cli("run", "--resume", "-o", path).code == 0
    assert path.read_text().splitlines()[: 1 + kept] == lines[: 1 + kept]
    rows = rows_of(bench)
    assert len(rows) == 18
    assert Counter((row["id"], row["replicate"]) for row in rows).most_common(1)[0][1] == 1


def test_a_failed_case_is_measured_anew_in_all_rounds(bench: Bench) -> None:
    bench.faults({"/8KiB": "crash"})
    bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "3")
    bench.faults({})
    assert bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert {(row.status, len(row.measured)) for row in RunFile.read("a.jsonl").rows} == {("ok", 3)}


def test_a_described_node_is_modelled_once(bench: Bench) -> None:
    found = bench.cli("run", bench.suite, "--machine", "frontier", "--json", "-o", "a.jsonl")
    assert found.code in (0, 1)
    assert all("replicate" not in row for row in json.loads(found.out)["rows"])


def test_further_rounds_are_said_and_their_figures_are_not(bench: Bench) -> None:
    lines = bench.cli("run", bench.suite, "-o", "a.jsonl", "--rounds", "3").err.splitlines()
    rounds = [line for line in lines if line.startswith("round ")]
    assert [re.findall(r"\d+", line)[:3] for line in rounds[1:]] == [["2", "3", "6"], ["3", "3", "6"]]
    assert sum(line.startswith("[") for line in lines) == 1


def row_of(case: PlannedCase, number: int, seconds: float, **of_flow: Any) -> Row:
    found = made.ok(case.case, [[seconds] * 9], replicate=number).raw
    return Row.from_json({**found, "flows": [{**found["flows"][0], **of_flow}]})


def a_case(name: str, **of_flow: Any) -> PlannedCase:
    return PlannedCase(made.case(name, [{**made.flow("gpu:0", "gpu:1"), **of_flow}], {}))


def visited(times: list[float], deadline: float = math.inf) -> int:
    """How often a case is visited whose replicates take these times."""
    rounds = Rounds([a_case("copy")], RoundLimits(3, 6), 0.01, "seed", deadline)
    seen = 0
    for number, (case,) in rounds:
        seen += 1
        rounds.take([row_of(case, number, times[number], elapsed_s=0.0)])
    return seen


def test_further_rounds_go_where_they_can_bring_what_is_asked() -> None:
    assert visited([1e-3] * 6) == 3, "narrow"
    assert visited([1e-3, 1.009e-3] * 3) == 4, "a little too wide"
    assert visited([1e-3, 1.5e-3, 2e-3] * 2) == 3, "out of reach"
    assert visited([1e-3, 1e-3, 4e-3, 1e-3, 1e-3, 1e-3]) == 5, "unknown to a factor of 3 until the fifth"
    assert visited([1e-3, 1.5e-3, 2e-3] * 2, time.monotonic() + 60) == 6, "while a budget lasts"


def test_launch_shapes_are_sought_once() -> None:
    first, second = a_case("a", tuning_group="g"), a_case("b", tuning_group="h")
    rounds = Rounds([first, second], RoundLimits(3, 3), 0.01, "seed")
    assert rounds.tuned([first, second]) == {}
    shape = {"blocks": 66}
    rounds.take([row_of(first, 0, 1e-3, setting=shape, tuned=[{**shape, "gbps": 1.0}])])
    rounds.take([row_of(first, 1, 1e-3, setting=shape), row_of(second, 0, 1e-3, setting={"blocks": 1})])
    assert rounds.tuned([first, second]) == {"g": shape}
    assert rounds.tuned([second]) == {}, "what others found is theirs"


def test_what_is_settled_is_visited_no_more_and_lacks_nothing() -> None:
    """As of processes that others started: they come once."""
    inside, own = a_case("inside"), a_case("own")
    rounds = Rounds([inside, own], RoundLimits(3, 3), 0.01, "seed")
    seen: list[list[str]] = []
    for number, cases in rounds:
        seen.append(sorted(case.id for case in cases))
        rounds.take([row_of(case, number, 1e-3) for case in cases])
        rounds.settle([inside])
    assert seen == [[inside.id, own.id], [own.id], [own.id]]
    assert not rounds.lacks(inside)


def test_rounds_are_a_number_or_two() -> None:
    assert parse_rounds("4") == RoundLimits(4, 4)
    assert parse_rounds("3:6") == RoundLimits(3, 6)
    for wrong in ("", "0", "6:3", "x", "-1", "3:", "99999"):
        with pytest.raises(LinkscopeError, match="rounds"):
            parse_rounds(wrong)


@pytest.mark.parametrize(("rounds", "overruled"), [("1", False), ("3", True), ("2:4", True)])
def test_ranks_say_that_rounds_which_were_asked_for_do_not_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rounds: str, overruled: bool
) -> None:
    monkeypatch.setattr("linkscope.launch.launcher.inside.place", lambda *_: JobRank(0, 2, "job", again=False))
    ended = bench.cli("run", bench.suite, "--rounds", rounds, "--dry-run")
    assert ended.code == 0, ended.err
    assert sentence(note("plan.once")) in " ".join(ended.out.split())
    assert (f"--rounds {rounds}" in ended.out) == overruled
