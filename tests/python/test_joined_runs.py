"""Joined runs: several runs of one node count together, and what is told of how they agree."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import modelled_run as made
import pytest

from linkscope.analysis.choose import ONE_RUN, Choice, Choices, choose
from linkscope.analysis.figures import figures
from linkscope.analysis.joined_runs import joined
from linkscope.analysis.steadiness import Disagreement, Steadiness, steadiness_of_runs
from linkscope.errors import LinkscopeError
from linkscope.report import choose_caveats, choose_text
from linkscope.report.exports.formats import export
from linkscope.report.exports.origin import origin
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
KIB = 1 << 10


def only(found: Choices) -> Choice:
    (answer,) = found.answers
    return answer


def test_runs_count_together_by_the_interval_between_them() -> None:
    sizes = [8, KIB, 64 * KIB]
    mpi = made.there_and_back("mpi", "pageable", 4e-7, sizes)
    shm = [made.there_and_back("shm-copy", "shm", seconds, sizes) for seconds in (2e-7, 2e-6, 2.1e-7)]
    runs = [made.run(found=[*mpi, *one]) for one in shm]
    fast, slow, _ = (only(choose(figures(run))) for run in runs)
    assert [one.ranges[0].best for one in (fast, slow)] == [
        ("shm-copy from shm to shm",),
        ("mpi from pageable to pageable",),
    ]
    found = choose(figures(joined(runs)), runs)
    assert found.answers == ()
    assert len(found.undecided) == 1
    alike = joined([runs[0], runs[2]])
    assert only(choose(figures(alike))).ranges[0].best == ("shm-copy from shm to shm",)
    assert {len(row.measured) for row in alike.rows} == {2}
    assert "from synthetic.jsonl, synthetic.jsonl, " in origin(alike)[0]
    forged = replace(runs[0], header={**runs[0].header, "joined": 5})
    assert "from synthetic.jsonl, " in origin(forged)[0]
    ids = {row.id for row in runs[0].rows}
    part = replace(runs[1], rows=runs[1].rows[:-1])
    assert replace(steadiness_of_runs([runs[0], part], ids), apart=None) == Steadiness(1, 2, of_cpus=True)
    assert replace(steadiness_of_runs(runs, ids), apart=None) == Steadiness(3, 3)
    third = replace(runs[2], path=Path("third.jsonl"))
    slow = replace(runs[1], path=Path("slow.jsonl"))
    assert steadiness_of_runs([runs[0], third], ids).apart is None
    assert steadiness_of_runs([runs[0], slow, third], ids).apart == Disagreement(3, 6, "slow.jsonl")
    assert steadiness_of_runs([runs[0], slow], ids).apart == Disagreement(3, 6)
    with pytest.raises(LinkscopeError, match="are one run"):
        joined([runs[0], runs[1], runs[0]])


def test_runs_of_two_nodes_do_not_count_together() -> None:
    other = made.run()
    elsewhere = replace(other, header={**other.header, "node": {**other.header["node"], "name": "elsewhere"}})
    with pytest.raises(LinkscopeError, match="of different nodes"):
        joined([other, elsewhere])


def test_runs_without_serial_numbers_are_said_to_be_of_one_node_by_name() -> None:
    rows = made.run().rows
    runs = [
        replace(
            made.run(), path=Path(f"{number}.jsonl"), rows=rows[number:], header={**made.run().header, "host": "vm"}
        )
        for number in range(2)
    ]
    real = [replace(one, header={**one.header, "node": {**one.header["node"], "modelled": False}}) for one in runs]
    assert [one for one in joined(real).notices if "by the host's name alone: vm" in one]
    assert not any("by the host" in one for one in joined(runs).notices), "a described node is known by its name"


def test_what_one_of_several_runs_has_alone_is_said_and_comes_last() -> None:
    whole = RunFile.read(FIXTURES / "runs" / "h200x4-packets.jsonl")
    part = replace(whole, rows=tuple(row for row in whole.rows if "all-reduce" in row.id), path=Path("part.jsonl"))
    runs = [whole, part]
    found = choose(figures(joined(runs)), runs)
    alone = {one.question.movement.partition(" on ")[0]: one.of_one_run for one in found.answers}
    assert alone.pop("all-reduce") is False
    assert set(alone.values()) == {True}
    headed = {one.question.movement for one in found.answers if ONE_RUN in one.question.conditions}
    assert headed == {one.question.movement for one in found.answers if one.of_one_run}
    assert any(text.startswith("In part of one run") for text in choose_caveats.caveats(found))
    first, *_ = sorted(found.answers, key=choose_text.rank)
    assert "all-reduce" in first.question.movement
    assert not any(one.of_one_run for one in choose(figures(whole)).answers)
    rest = replace(whole, rows=tuple(row for row in whole.rows if "all-reduce" not in row.id), path=Path("rest.jsonl"))
    of_each = choose(figures(joined([part, rest])), [part, rest])
    assert all(one.of_one_run for one in of_each.answers)
    assert not any(ONE_RUN in one.question.conditions for one in of_each.answers), "nothing is set apart by it"
    assert any(text.startswith("Every answer") for text in choose_caveats.caveats(of_each))


def test_how_far_intervals_hold_is_told_with_the_answers() -> None:
    found = choose(figures(RunFile.read(FIXTURES / "runs" / "h200x4-direct.jsonl")))
    assert found.steadiness == Steadiness(once=True)
    assert "within this run" in choose_caveats.read_as(found)
    assert "over 3 runs" in choose_caveats.read_as(replace(found, steadiness=Steadiness(3, 3)))
    of_cpus = choose_caveats.caveats(replace(found, steadiness=Steadiness(of_cpus=True)))
    assert any("`linkscope choose RUN1 RUN2 RUN3`" in line for line in of_cpus)


def disturbed(sizes: list[int]) -> list[RunFile]:
    """Three runs, of which one is slow in all that it has."""
    return [
        made.run(
            found=[
                *made.there_and_back("mpi", "pageable", 4e-7 * slow, sizes),
                *made.there_and_back("shm-copy", "shm", 2e-7 * slow * own, sizes),
            ]
        )
        for slow, own in ((1.0, 1.0), (9.0, 1.1), (1.2, 0.95))
    ]


def test_ways_are_held_against_one_another_within_each_run() -> None:
    sizes = [8, KIB, 64 * KIB]
    runs = disturbed(sizes)
    one = only(choose(figures(joined(runs)), runs))
    assert [span.best for span in one.ranges] == [("shm-copy from shm to shm",)]
    assert one.unknown == ()
    assert {at.unknown for at in one.sizes} == {()}, "each interval is wide, that of the ratio is not"
    opposed = [
        runs[0],
        replace(
            runs[1],
            rows=made.run(
                found=[
                    *made.there_and_back("mpi", "pageable", 4e-7, sizes),
                    *made.there_and_back("shm-copy", "shm", 18e-7, sizes),
                ]
            ).rows,
        ),
        runs[2],
    ]
    assert choose(figures(joined(opposed)), opposed).answers == ()


@pytest.mark.parametrize("others", [(2e-7, 2.1e-7), ()])
@pytest.mark.parametrize("odd", [0.0, 1e308, 5e-324])
def test_a_value_that_no_ratio_can_be_made_of_is_in_no_pair(odd: float, others: tuple[float, ...]) -> None:
    sizes = [8, KIB]
    runs = [
        made.run(
            found=[
                *made.there_and_back("mpi", "pageable", 4e-7, sizes),
                *made.there_and_back("shm-copy", "shm", seconds, sizes),
            ]
        )
        for seconds in (*others, *[odd] * (3 - len(others)))
    ]
    runs = [replace(run, path=Path(f"{number}.jsonl")) for number, run in enumerate(runs)]
    runs = [replace(run, rows=(*run.rows, *other(number))) for number, run in enumerate(runs)]
    found = choose(figures(joined(runs)), runs)
    assert len(found.answers) + len(found.undecided) <= 1
    assert all(not math.isnan(at.least[0][1]) for one in found.answers for at in one.sizes)


def other(number: int) -> tuple[Row, ...]:
    """By which runs that are alike otherwise differ."""
    return tuple(made.there_and_back("mpi", "pinned", 1e-6 * (number + 1), [8]))


def test_what_two_cases_of_a_run_contradict_is_told_by_no_pair() -> None:
    sizes = [8, KIB]
    runs = []
    for slow in (1.0, 1.3, 1.1):
        first, again = (made.there_and_back("mpi", "pageable", 4e-7 * by * slow, sizes) for by in (1, 2))
        again = [replace(row, id=f"{row.id}/again", case={**row.case, "id": f"{row.id}/again"}) for row in again]
        runs.append(made.run(found=[*first, *again, *made.there_and_back("shm-copy", "shm", 7.2e-7 * slow, sizes)]))
    found = choose(figures(joined(runs)), runs)
    assert all(one.equals for one in found.answers)


def test_runs_that_agree_by_chance_are_known_no_better_than_their_samples() -> None:
    sizes = [8, KIB]

    def wide(row: Row) -> Row:
        stats = row.flows[0].seconds
        flow = replace(row.flows[0], seconds=replace(stats, low=stats.median * 0.5, high=stats.median * 1.5))
        return replace(row, flows=(flow, *row.flows[1:]))

    runs = [
        made.run(
            found=[
                *map(wide, made.there_and_back("mpi", "pageable", 4e-7 * slow, sizes)),
                *map(wide, made.there_and_back("shm-copy", "shm", 3.8e-7 * slow, sizes)),
            ]
        )
        for slow in (1.0, 1.1)
    ]
    assert only(choose(figures(joined(runs)), runs)).equals


def test_what_is_exported_is_what_is_told() -> None:
    sizes = [8, KIB, 64 * KIB]
    runs = disturbed(sizes)
    told = json.loads(export(joined(runs), "json"))["choices"]
    assert [span["use"] for one in told for span in one["ranges"]] == ["shm-copy from shm to shm"]
