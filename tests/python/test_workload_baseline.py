"""A workload's baseline that cannot run: what stands in for it, and the reasons of ranks, each once."""

from __future__ import annotations

from dataclasses import replace

import modelled_run as made
import pytest
import workload_rows as some

from linkscope.analysis.workloads import WorkloadTable, workloads
from linkscope.machine.paths import Paths
from linkscope.report import workload_text
from linkscope.results.row import Row


def table(rows: list[Row]) -> WorkloadTable:
    (found,) = workloads(rows, Paths(made.node(4)))
    return found


@pytest.mark.parametrize(("staging", "stands_in"), [("full", "mpi staged, device"), ("none", "mpi, pinned")])
def test_a_baseline_without_a_time_has_a_stand_in_by_mpi(staging: str, stands_in: str) -> None:
    base = some.workload_case(some.HALO, "halo", baseline=True)
    rest = [
        some.timed(some.workload_case(some.HALO, "halo", "direct"), 1.0),
        some.timed(some.workload_case(some.HALO, "halo", memory="pinned"), 2.0),
        some.timed(
            some.workload_case(
                some.HALO, "halo", memory="device" if staging == "full" else "managed", staging=staging, variant="s"
            ),
            4.0,
        ),
    ]
    found = table([some.skipped(base, "rank 3 (host vm): it takes no GPU memory"), *rest])
    assert found.baseline is not None
    assert (found.baseline.name, found.stood_in_for) == (stands_in, "it takes no GPU memory")
    assert found.best is not None
    assert found.best.speedup is not None
    assert found.best.speedup.ratio == pytest.approx(found.baseline.seconds.median, rel=0.01)
    assert "it takes no GPU memory" in workload_text.verdict(found)


def test_ways_are_told_apart_each_pair_for_itself() -> None:
    """As choose tells them: more ways beside two of them make these no more alike."""
    names = ("device", "pinned", "managed", "registered")
    slow = {name: some.timed(some.workload_case(some.HALO, "halo", memory=name), 0.012) for name in names[1:]}
    best = with_interval(some.timed(some.workload_case(some.HALO, "halo"), 0.010), 0.07)
    rows = [best, *(with_interval(row, 0.14) for row in slow.values())]
    assert [way.equal for way in table(rows[:2]).ways] == [True, False]
    assert [way.equal for way in table(rows).ways] == [True, False, False, False]


def with_interval(row: Row, half: float) -> Row:
    flow = row.flows[0]
    seconds = replace(flow.seconds, low=flow.seconds.median * (1 - half), high=flow.seconds.median * (1 + half))
    return replace(row, flows=(replace(flow, seconds=seconds),))


def test_ranks_that_skip_for_one_reason_say_it_once() -> None:
    cases = [some.workload_case(some.HALO, "halo", memory=memory) for memory in ("device", "managed")]
    found = table([some.skipped(one, f"rank {rank} (host vm): no GPU memory") for rank, one in enumerate(cases)])
    assert [(one.reason, len(one.names)) for one in found.missing] == [("no GPU memory", 2)]
