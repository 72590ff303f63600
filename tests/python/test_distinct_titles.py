"""Distinct titles: no two suite rows of one suite read alike, where they are listed and while they are measured."""

from __future__ import annotations

import pytest

from linkscope.cli.row_tally import tallies
from linkscope.launch.job import Request, prepare
from linkscope.plan.distinct_titles import distinct_titles
from linkscope.plan.suites import load_suite, suite_names


@pytest.mark.parametrize("name", suite_names())
def test_the_titles_of_a_packaged_suite_are_distinct(name: str) -> None:
    suite = load_suite(name)
    rows = [*suite.rows, *suite.workloads]
    titles = distinct_titles(rows)
    assert len(set(titles.values())) == len(rows)
    assert all(titles[row.name].startswith(row.title) for row in rows)


def test_a_title_of_its_own_stands_alone_and_a_shared_one_says_what_differs_first() -> None:
    titles = distinct_titles(load_suite("p2p-processes").rows)
    assert titles["host-latency"].endswith(", mpi")
    assert titles["host-latency-shm"].endswith(", shm-copy")
    assert titles["host-bandwidth-large"].endswith(", window 4")
    assert titles["pairs-mapped"] == "Mapped memory of another process, between every two GPUs"


@pytest.mark.parametrize("name", ["p2p-processes", "collectives", "schieffer25"])
def test_tests_that_are_measured_have_names_of_their_own(name: str) -> None:
    names = [tally.name for tally in tallies(prepare(Request((name,), machine="h200x4", sizes="1M")).cases).values()]
    assert len(set(names)) == len(names) > 1
