"""Joined runs: several runs of one node count together, and what is known of how they agree."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import modelled_run as made
import pytest
import recorded

from linkscope.answers.answer import Answer
from linkscope.answers.best import Choice, choices
from linkscope.answers.choose import answer
from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.formats import export
from linkscope.errors import LinkscopeError
from linkscope.figures.joined import joined
from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

KIB = 1 << 10


def run_of(*curves: list[Row], name: str = "synthetic.jsonl") -> Run:
    return Run(replace(made.run(found=[row for curve in curves for row in curve]), path=Path(name)))


def chosen(*runs: Run) -> list[Choice]:
    return [one for one in choices(joined(runs), len(runs)) if one.ranges]


def only(found: list[Choice]) -> Choice:
    (one,) = found
    return one


def messages(mpi: float, shm: float, sizes: list[int], name: str = "synthetic.jsonl") -> Run:
    return run_of(
        made.there_and_back("mpi", "pageable", mpi, sizes),
        made.there_and_back("shm-copy", "shm", shm, sizes),
        name=name,
    )


def disturbed(sizes: list[int]) -> list[Run]:
    """Return three runs, of which one is slow in all that it has."""
    return [
        messages(4e-7 * slow, 2e-7 * slow * own, sizes, f"{slow}.jsonl")
        for slow, own in ((1.0, 1.0), (9.0, 1.1), (1.2, 0.95))
    ]


def apart(found: Answer) -> list[tuple[str, dict[str, object]]]:
    told = ("choose.odd-run", "choose.runs-differ")
    return [(one.code, dict(one.facts)) for one in found.findings if one.code in told]


def test_runs_count_together_by_the_interval_between_them() -> None:
    sizes = [8, KIB, 64 * KIB]
    runs = [
        messages(4e-7, seconds, sizes, f"{name}.jsonl")
        for name, seconds in (("first", 2e-7), ("slow", 2e-6), ("third", 2.1e-7))
    ]
    fast, slow, _ = (only(chosen(run)) for run in runs)
    assert [one.ranges[0].best for one in (fast, slow)] == [
        ("shm-copy from shm to shm",),
        ("mpi from pageable to pageable",),
    ]
    assert chosen(*runs) == []
    assert answer(*runs).exit_code == 3
    alike = [runs[0], runs[2]]
    assert only(chosen(*alike)).ranges[0].best == ("shm-copy from shm to shm",)
    assert set(joined(alike)["replicates"]) == {2}
    assert "from first.jsonl, third.jsonl, " in Exported(tuple(alike)).origin[0]
    assert apart(answer(*runs)) == [("choose.odd-run", {"cases": 3, "of": 6, "odd": "slow.jsonl"})]
    assert apart(answer(*runs[:2])) == [("choose.runs-differ", {"cases": 3, "of": 6})]
    assert apart(answer(*alike)) == []


def test_of_runs_that_all_disagree_none_is_the_odd_one() -> None:
    runs = [messages(4e-7 * times, 2e-7 * times, [8, KIB], f"{times}.jsonl") for times in (1, 4, 16)]
    assert apart(answer(*runs)) == [("choose.runs-differ", {"cases": 4, "of": 4})]
    runs = [messages(4e-7 * a, 2e-7 * b, [8, KIB], f"{a}.jsonl") for a, b in ((1, 1), (4, 1), (16, 4))]
    assert apart(answer(*runs)) == [("choose.runs-differ", {"cases": 4, "of": 4})], "odd in half of the cases"


def test_a_run_that_is_faster_than_all_others_is_the_odd_one() -> None:
    runs = [messages(4e-7 * times, 2e-7 * times, [8, KIB], f"{times}.jsonl") for times in (4, 1, 4.2)]
    assert apart(answer(*runs)) == [("choose.odd-run", {"cases": 4, "of": 4, "odd": "1.jsonl"})]


def test_a_case_that_one_run_alone_has_is_none_to_disagree_on() -> None:
    more = messages(4e-7, 2e-6, [8, KIB, 64 * KIB], "more.jsonl")
    assert apart(answer(messages(4e-7, 2e-7, [8, KIB]), more)) == [("choose.runs-differ", {"cases": 2, "of": 4})]


def test_the_result_of_several_runs_is_the_middle_one_with_students_interval() -> None:
    sizes = [8]
    one = joined([messages(seconds, 2e-7, sizes) for seconds in (4e-7, 5e-7, 4.5e-7)])
    line = one.filter(one["method"] == "mpi").to_dicts()[0]
    assert line["value"] == pytest.approx(4.5e-7, rel=1e-5)
    logs = [math.log(seconds) for seconds in (4e-7, 5e-7, 4.5e-7)]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / 2)
    assert line["value_high"] == pytest.approx(math.exp(mean + 4.303 * deviation / math.sqrt(3)), rel=1e-3)
    assert line["replicate_values"] == pytest.approx([4e-7, 5e-7, 4.5e-7], rel=1e-5)


def test_runs_of_two_nodes_or_one_run_twice_do_not_count_together() -> None:
    first, second = messages(4e-7, 2e-7, [8]), messages(5e-7, 2e-7, [8])
    header = {**second.header, "node": {**second.header["node"], "name": "elsewhere"}}
    for other in (Run(replace(second.file, header=header)), first):
        with pytest.raises(LinkscopeError):
            joined([first, other])


def test_runs_without_serial_numbers_are_said_to_be_of_one_node_by_name() -> None:
    header = {**made.run().header, "host": "vm"}
    node = {**header["node"], "modelled": False}
    runs = [messages(seconds, 2e-7, [8]) for seconds in (4e-7, 5e-7)]
    real = [Run(replace(one.file, header={**header, "node": node})) for one in runs]
    assert [one.facts["host"] for one in answer(*real).findings if one.code == "choose.by-host-name"] == ["vm"]
    assert not any(one.code == "choose.by-host-name" for one in answer(*runs).findings), "a model has its name"


def test_what_one_of_several_runs_has_alone_is_said_and_exported() -> None:
    whole = RunFile.read(recorded.RUNS / "h200x4-packets.jsonl")
    part = replace(whole, rows=tuple(row for row in whole.rows if "all-reduce" in row.id), path=Path("part.jsonl"))
    rest = replace(whole, rows=tuple(row for row in whole.rows if "all-reduce" not in row.id), path=Path("rest.jsonl"))
    runs = [Run(whole), Run(part)]
    alone = {one.task.movement.partition("/")[0]: one.part for one in chosen(*runs)}
    assert alone.pop("all-reduce") is False
    assert set(alone.values()) == {True}
    assert any(one.code == "choose.part" for one in answer(*runs).findings)
    held = json.loads(export("json", *runs))["choices"]
    headed = {one["movement"].split()[0] for one in held if "in part of one run" in one["conditions"]}
    assert headed == set(alone)
    assert not any(one.part for one in chosen(Run(whole)))
    of_each = json.loads(export("json", Run(part), Run(rest)))["choices"]
    assert not any("in part of one run" in one["conditions"] for one in of_each), "nothing is set apart by it"
    assert all(one.part for one in chosen(Run(part), Run(rest)))


def test_methods_are_compared_within_each_run() -> None:
    sizes = [8, KIB, 64 * KIB]
    runs = disturbed(sizes)
    one = only(chosen(*runs))
    assert [span.best for span in one.ranges] == [("shm-copy from shm to shm",)]
    assert one.undecided == ()
    opposed = [runs[0], messages(4e-7, 18e-7, sizes), runs[2]]
    assert chosen(*opposed) == []
    told = json.loads(export("json", *runs))["choices"]
    assert [span["use"] for one in told for span in one["ranges"]] == ["shm-copy from shm to shm"]


@pytest.mark.parametrize("others", [(2e-7, 2.1e-7), ()])
@pytest.mark.parametrize("odd", [0.0, 1e17, 5e-324])
def test_a_value_that_no_ratio_can_be_made_of_is_in_no_pair(odd: float, others: tuple[float, ...]) -> None:
    runs = [
        messages(4e-7 * (1 + number / 1000), seconds, [8, KIB], f"{number}.jsonl")
        for number, seconds in enumerate((*others, *[odd] * (3 - len(others))))
    ]
    found = answer(*runs)
    assert found.tables == () or found.table("choose.costs").frame["extra"].is_nan().sum() == 0


def test_what_two_cases_of_a_run_contradict_is_told_by_no_pair() -> None:
    sizes = [8, KIB]
    runs = []
    for slow in (1.0, 1.3, 1.1):
        first, again = (made.there_and_back("mpi", "pageable", 4e-7 * by * slow, sizes) for by in (1, 2))
        again = [replace(row, id=f"{row.id}/again", case={**row.case, "id": f"{row.id}/again"}) for row in again]
        runs.append(run_of(first, again, made.there_and_back("shm-copy", "shm", 7.2e-7 * slow, sizes)))
    assert all(one.ties for one in chosen(*runs))


def test_runs_that_agree_by_chance_are_known_no_better_than_their_samples() -> None:
    def wide(row: Row) -> Row:
        stats = row.flows[0].seconds
        flow = replace(row.flows[0], seconds=replace(stats, low=stats.median * 0.5, high=stats.median * 1.5))
        return replace(row, flows=(flow, *row.flows[1:]))

    runs = [
        run_of(
            [wide(row) for row in made.there_and_back("mpi", "pageable", 4e-7 * slow, [8, KIB])],
            [wide(row) for row in made.there_and_back("shm-copy", "shm", 3.8e-7 * slow, [8, KIB])],
        )
        for slow in (1.0, 1.1)
    ]
    assert only(chosen(*runs)).ties
