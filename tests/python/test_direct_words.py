"""What "direct" of an application's messages means, and what would help MPI, stand where the verdict does."""

from __future__ import annotations

from pathlib import Path

import modelled_run as made
import pytest
import workload_rows as some

from linkscope.analysis.workloads import WorkloadTable, workloads
from linkscope.machine.paths import Paths
from linkscope.report import direct_text, workload_text
from linkscope.results.row import Row

APPLICATIONS = sorted((Path(__file__).parents[1] / "fixtures" / "applications").glob("*.jsonl"))
PARTICLES = next(path for path in APPLICATIONS if "particles" in path.name)


def table(rows: list[Row]) -> WorkloadTable:
    (found,) = workloads(rows, Paths(made.node(4)))
    return found


@pytest.mark.parametrize(
    ("processes", "told", "untold"),
    [(1, direct_text.THREADS, direct_text.PROCESSES), (4, direct_text.PROCESSES, direct_text.THREADS)],
)
def test_it_says_what_ranks_were(processes: int, told: str, untold: str) -> None:
    case = some.workload_case(some.HALO, "halo", "direct", processes=processes)
    (text,) = workload_text.meanings(table([some.timed(case, 1.0)]))
    assert told in text
    assert untold not in text
    assert workload_text.meanings(table([some.timed(some.workload_case(some.HALO, "halo"), 1.0)])) == []
