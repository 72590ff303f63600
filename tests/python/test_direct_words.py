"""What "direct" of an application's messages means, and what would help MPI, stand where the verdict does."""

from __future__ import annotations

import io
from pathlib import Path

import modelled_run as made
import pytest
import workload_rows as some
from rich.console import Console
from typer.testing import CliRunner

import linkscope
from linkscope.analysis.explain import explain
from linkscope.analysis.overview import overview
from linkscope.analysis.workloads import WorkloadTable, workloads
from linkscope.cli.main import app
from linkscope.machine.paths import Paths
from linkscope.report import brief_text, direct_text, wording, workload_text
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

APPLICATIONS = sorted((Path(__file__).parents[1] / "fixtures" / "applications").glob("*.jsonl"))
PARTICLES = next(path for path in APPLICATIONS if "particles" in path.name)


def table(rows: list[Row]) -> WorkloadTable:
    (found,) = workloads(rows, Paths(made.node(4)))
    return found


@pytest.mark.parametrize("path", APPLICATIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("command", [["show"], ["show", "--full"]])
def test_what_direct_means_stands_below_the_verdict(path: Path, command: list[str]) -> None:
    said = CliRunner().invoke(app, [*command, str(path)], env={"COLUMNS": "80"}).output
    (one,) = linkscope.workloads(path)
    assert workload_text.meanings(one)
    for text in workload_text.meanings(one):
        assert text in " ".join(said.split())
    if command[-1] != "--full":
        assert len(said.splitlines()) <= brief_text.MOST_LINES


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


def test_an_mpi_that_takes_no_gpu_memory_has_its_remedy() -> None:
    (one,) = linkscope.workloads(PARTICLES)
    assert any(wording.GPU_AWARE in text for text in workload_text.meanings(one))
    rest = some.timed(some.workload_case(some.HALO, "halo", memory="pinned"), 1.0)
    other = table([some.skipped(some.workload_case(some.HALO, "halo", baseline=True), "no MPI library"), rest])
    assert workload_text.meanings(other) == []


def test_why_another_way_stands_in_for_the_baseline_is_told_whole() -> None:
    (path,) = (one for one in APPLICATIONS if one.stem == "h100-particles-4-ranks")
    run = RunFile.read(path)
    stream = io.StringIO()
    brief_text.show(run, overview(run.rows, run.node), explain(run), Console(file=stream, width=80))
    assert "kernels of gpu:0 cannot reach pageable memory (no pageable memory access)." in " ".join(
        stream.getvalue().split()
    )
    assert len(stream.getvalue().splitlines()) <= brief_text.MOST_LINES


def test_several_applications_stay_on_one_screen_and_say_it_once() -> None:
    rows = [
        row
        for name in ("one", "two", "three")
        for row in (
            some.timed(some.workload_case(some.HALO, name, "direct", processes=1), 1.0),
            some.timed(some.workload_case(some.HALO, name, memory="pinned"), 2.0),
            some.skipped(some.workload_case(some.HALO, name, baseline=True), "it takes no GPU memory, says it"),
        )
    ]
    run = made.run(4, [*made.run(4).rows, *rows])
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=False)
    brief_text.show(run, overview(run.rows, run.node), explain(run), console)
    assert len(stream.getvalue().splitlines()) <= brief_text.MOST_LINES
