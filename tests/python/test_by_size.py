"""What each way takes by size: which questions, which ways first, and what of it a terminal shows."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from rich.console import Console

from linkscope.analysis.by_size import BySize, by_size
from linkscope.analysis.choose import Question
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.analysis.size_ranges import Cost
from linkscope.report import brief_text, by_size_text
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
KIB = 1 << 10


def _exactly(seconds: float) -> Cost:
    return Cost(seconds, seconds, seconds)


def _printed(found: list[BySize], width: int = 80) -> list[str]:
    return [line.plain for line in by_size_text.lines(found, Console(width=width, file=io.StringIO()))]


@pytest.fixture
def crossing() -> BySize:
    """The one has less latency, the other a higher rate; a third was not measured at the ends."""
    sizes = [KIB << (2 * number) for number in range(10)]
    ways = {
        "kernel-copy push": {size: _exactly(1e-6 + size / 100e9) for size in sizes},
        "copy-engine push": {size: _exactly(4e-6 + size / 200e9) for size in sizes},
        "copy-engine pull": {size: _exactly(4e-6 + size / 150e9) for size in sizes[2:5]},
    }
    return BySize(Question("GPU to GPU", "nvlink", "device > device", ("device clock",)), ways)


def test_the_fastest_way_is_told_by_size(crossing: BySize) -> None:
    assert crossing.fastest(KIB) == {"kernel-copy push"}
    assert crossing.fastest(256 << 20) == {"copy-engine push"}


def test_a_way_far_behind_that_nobody_knows_well_is_not_called_equal() -> None:
    sizes = [KIB << number for number in range(4)]
    wide = {"behind": (1.43e-6, 0.9e-6, 2.2e-6), "first": (1e-6, 0.7e-6, 1.5e-6), "near": (1.005e-6, 0.7e-6, 1.5e-6)}
    ways = {name: dict.fromkeys(map(float, sizes), Cost(*cost)) for name, cost in wide.items()}
    found = BySize(Question("within a NUMA node", "", "any memory", ("host clock",)), ways)
    assert found.fastest(KIB) == {"first", "near"}
    assert found.undecided(KIB) == {"behind"}
    line = next(line.split() for line in _printed([found]) if line.startswith("1 KiB"))
    assert line[3:] == ["1.430", "?", "1.000", "*", "1.005", "*"]


def test_a_way_alone_at_a_size_is_not_called_the_fastest_there(crossing: BySize) -> None:
    fast = {float(KIB): _exactly(1e-6)}
    slow = {size: _exactly(2e-6) for size in (float(KIB), 4.0 * KIB)}
    lines = _printed([BySize(crossing.question, {"slow": slow, "fast": fast})])
    assert next(line.split() for line in lines if line.startswith("1 KiB"))[-2:] == ["1.000", "*"]
    assert next(line.split() for line in lines if line.startswith("4 KiB"))[3:] == ["2.000", "-"]


def test_ways_that_differ_in_a_number_stand_in_its_order_whichever_is_best(crossing: BySize) -> None:
    ways = {f"memcpy threads={number}": {float(KIB): _exactly(number * 1e-6)} for number in (10, 4, 2)}
    line = next(line.split() for line in _printed([BySize(crossing.question, ways)]) if line.startswith("1 KiB"))
    assert [word for word in line if word[0].isdecimal()][1:] == ["2.000", "4.000", "10.00"]


def test_graphs_of_many_calls_and_linkscopes_own_kernels_are_explained_beside_their_figures() -> None:
    told = "\n".join(_printed(by_size(figures(RunFile.read(RUNS / "h200x4-direct.jsonl")))))
    assert "graph of 20: one launch for 20 calls" in told
    assert "direct: linkscope's own kernels" in told


def test_sizes_are_spread_between_the_first_and_the_last(crossing: BySize) -> None:
    assert crossing.picks(20) == crossing.sizes
    assert crossing.picks(4) == tuple(crossing.sizes[number] for number in (0, 3, 6, 9))


def test_rates_of_several_flows_together_are_no_times() -> None:
    run = RunFile.read(RUNS / "h200x4-packets.jsonl")
    frame = figures(run)
    assert by_size(frame)
    assert by_size(frame.with_columns(figure=polars.lit("sum"))) == []


def test_sizes_of_one_way_alone_are_no_picks(crossing: BySize) -> None:
    alone = {size + 1: cost for size, cost in crossing.ways["kernel-copy push"].items()}
    ways = {**crossing.ways, "kernel-copy push": {**crossing.ways["kernel-copy push"], **alone}}
    assert BySize(crossing.question, ways).picks(20) == crossing.picks(20)


def test_small_sizes_have_times_and_large_ones_rates(crossing: BySize) -> None:
    lines = _printed([crossing])
    first = next(line.split() for line in lines if line.startswith("1 KiB"))
    last = next(line.split() for line in lines if line.startswith("256 MiB"))
    assert first[2:] == ["us", "1.010", "*", "4.005", "-"]
    assert last[2] == "GB/s"
    assert last[-2] == "*"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(crossing: BySize, width: int) -> None:
    assert max(map(len, _printed([crossing], width))) <= width


def test_ways_and_questions_that_are_left_out_are_counted(crossing: BySize) -> None:
    assert "1 more way; 2 more questions" in _printed([crossing, crossing, crossing], 52)[-1]
    assert "more" not in _printed([crossing])[-1]


@pytest.mark.parametrize("name", ["packets", "direct"])
def test_the_library_stands_beside_the_direct_collective(name: str) -> None:
    found = by_size(figures(RunFile.read(RUNS / f"h200x4-{name}.jsonl")))
    assert found[0].question.movement == "all-reduce on 4 GPUs"
    assert found[0].methods == {"direct-collective", "xccl-collective"}
    assert [way.partition(" ")[0] for way in found[0].ways][:2] == ["direct-collective", "xccl-collective"]
    assert found[0].fastest(found[0].sizes[0]) == {next(iter(found[0].ways))}


@pytest.mark.parametrize(("name", "told"), [("packets", True), ("direct", True), ("default", False)])
def test_a_sweep_is_told_by_size_on_the_first_screen(name: str, told: bool) -> None:
    run = RunFile.read(RUNS / f"h200x4-{name}.jsonl")
    console = Console(width=80, file=io.StringIO())
    brief_text.show(run, overview(run.rows, run.node), explain(run), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert text.count("\n") <= brief_text.MOST_LINES
    assert (_printed(by_size(figures(run)))[0] in text) is told


def test_where_launches_are_counted_is_named_where_the_run_has_it(crossing: BySize) -> None:
    alone = " ".join(_printed([crossing]))
    assert "clock tells: `run --clock host`." in alone
    waited = BySize(Question("GPU to GPU", "nvlink", "device > device", ("host clock",)), crossing.ways)
    assert "clock tells: `linkscope choose RUN`." in " ".join(_printed([crossing, waited]))
    copies = {name: costs for name, costs in waited.ways.items() if name.startswith("copy-engine")}
    for other in (replace(waited, ways=copies), replace(waited, question=replace(waited.question, tier="pcie5"))):
        assert "linkscope choose RUN" not in " ".join(_printed([crossing, other])), "it has no answer to this question"
