"""Other tools: their programs' names lead to commands that work, the same ones as the pages have."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from linkscope.codecs.peer.formats import FORMATS, check_format
from linkscope.errors import LinkscopeError
from linkscope.machine.recording import from_recording
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.keyword import picked
from linkscope.plan.other_tools import meant_instead
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite, suite_names

ROOT = Path(__file__).parents[2]
NODE = ROOT / "tests" / "fixtures" / "machines" / "h200x4-recorded.json"
sys.path.insert(0, str(ROOT))

from tools.coverage.names import load_names  # noqa: E402

GROUPS = {group.title: group for group in load_names()}
TOOLS = {title: group for title, group in GROUPS.items() if group.start.startswith("run ")}
NAMES = {
    name.removeprefix("nvbandwidth ").removeprefix("nccl-tests "): name
    for title in ("nvbandwidth", "Comm|Scope", "OSU micro-benchmarks", "nccl-tests and rccl-tests")
    for name, reason in GROUPS[title].names.items()
    if reason is None
}
"""By what a user types: every test and program that is a word of its own."""
OTHERS = ("omb", "imb", "mpi_latency", "mpi_bandwidth", "comm_scope", "bandwidthTest", "stream")


def command(name: str) -> str:
    """What follows "linkscope run" in what is suggested for it; "" where nothing is."""
    found = meant_instead(name, map(load_suite, suite_names()))
    return "" if found is None else str(found).split("`")[1].removeprefix("linkscope run ")


def tool_names() -> dict[str, str]:
    """What a user may type for each tool -> what he is to type first, as names.yaml has it."""
    titles = {"OSU micro-benchmarks": ("osu", "osu-micro-benchmarks"), "nvbandwidth": ()}
    return {
        name: group.start.removeprefix("run ")
        for title, group in TOOLS.items()
        for name in titles.get(title, tuple(title.split(" and ")))
    }


@cache
def planned(suites: Sequence[str], methods: Sequence[str]) -> list[PlannedCase]:
    """Their cases on four H200; an engine lacks nothing of them."""
    node, chosen = from_recording(NODE), Selection(methods=tuple(methods))
    found = []
    for suite in map(load_suite, suites):
        found += expand([suite], node, whole_catalog(suite), chosen)
    return found


@cache
def cases_of(said: str) -> list[PlannedCase]:
    """The cases that a command picks, and that can run on the node. Raises LinkscopeError as the command does."""
    words = shlex.split(said)
    start = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    options = dict(zip(words[start::2], words[start + 1 :: 2], strict=True))
    assert set(options) <= {"-k", "--methods", "--format"}
    cases = planned(tuple(words[:start]), tuple(filter(None, options.get("--methods", "").split(","))))
    cases = picked(cases, options["-k"]) if "-k" in options else cases
    if "--format" in options:
        check_format(options["--format"], [one.case for one in cases])
    return [one for one in cases if one.skip is None]


def test_every_program_and_test_that_is_covered_leads_to_a_command_with_cases() -> None:
    said = {name: command(name) for name in NAMES}
    assert [name for name, words in said.items() if not words] == []
    more = [command(name) for name in (*tool_names(), *OTHERS)]
    assert all(more)
    amd = {f"commscope -k commscope/{row.name}/" for row in load_suite("commscope").rows if row.vendor == "amd"}
    empty = {words for words in [*said.values(), *more] if not cases_of(words)}
    assert empty <= amd, "the GPUs are NVIDIA's"


def test_a_format_stands_wherever_it_has_some_of_the_cases() -> None:
    without = [words for words in map(command, NAMES) if words and "--format" not in words]
    takes = FORMATS["osu"].takes, FORMATS["nccl-tests"].takes
    assert without
    assert not any(take(one.case) for words in set(without) for one in cases_of(words) for take in takes)


@pytest.mark.parametrize(
    "word",
    [
        *("benchmark", "10", "P2P)", "bidirectional", "(MPI)", "2a", "5.2.3", "III-D", "kernel", "latency", "read"),
        *("write", "ways", "simple", "scaling", "p2p", "help", "pearson23 III-D", "scalarlm25 MPI benchmark"),
    ],
)
def test_a_studys_figures_and_a_tools_presets_are_no_programs(word: str) -> None:
    assert command(word) == ""


@pytest.mark.parametrize(
    ("program", "collective"),
    [
        ("reduce_perf", "reduce"),
        ("all_reduce_perf", "all-reduce"),
        ("osu_reduce", "reduce"),
        ("osu_reduce_scatter", "reduce-scatter"),
        ("osu_bcast", "broadcast"),
    ],
)
def test_a_program_measures_its_own_collective_alone(program: str, collective: str) -> None:
    cases = cases_of(command(program))
    assert {flow["parameters"]["collective"] for one in cases for flow in one.case["flows"]} == {collective}


@pytest.mark.parametrize(("name", "start"), tool_names().items())
def test_a_tools_name_leads_to_what_the_pages_start_with(name: str, start: str) -> None:
    assert command(name) == start


def test_a_program_leads_to_what_the_page_has_for_it() -> None:
    """Read the table's lines for a program by itself, with two processes or four GPUs as the page writes that."""
    text = (ROOT / "docs" / "from-other-tools.md").read_text()
    lines = re.findall(r"^\| (`.+) \| `linkscope run (.+)` \|$", text, re.MULTILINE)
    usual = re.compile(r"^mpi(?:run|exec) -n 2 | -g 4$")
    typed = [(usual.sub("", one), words) for cell, words in lines for one in re.findall(r"`([^`]+)`", cell)]
    alone = [(name, words) for name, words in typed if command(name)]
    assert {"osu_latency", "osu_bw", "osu_allreduce", "all_reduce_perf", "reduce_perf"} <= {name for name, _ in alone}
    assert [(name, words) for name, words in alone if command(name) != words] == []


@pytest.mark.parametrize("program", ["osu_latency", "Device_to_host_memcpy_ce", "MPI_latency", "Comm_hip_kernel"])
def test_as_a_suite_and_as_a_keyword_a_program_leads_to_its_command(program: str) -> None:
    words = re.escape(f"`linkscope run {command(program)}`")
    with pytest.raises(LinkscopeError, match=words):
        load_suite(program)
    with pytest.raises(LinkscopeError, match=words):
        picked([], program)


@pytest.mark.parametrize(
    ("typed", "start"),
    [
        ("nccl", "collectives"),
        ("allreduce", "collectives"),
        ("mpi", "p2p-processes -k ping-pong"),
        ("pingpong", "p2p-processes"),
        ("CopyEngine", "default"),
        ("osu_latancy", "p2p-processes -k ping-pong --format osu"),
        ("all_reduce_prf", "collectives"),
    ],
)
def test_what_people_type_for_a_suite_leads_to_a_command_with_cases(typed: str, start: str) -> None:
    with pytest.raises(LinkscopeError) as told:
        load_suite(typed)
    said = str(told.value).split("`")[1].removeprefix("linkscope run ")
    assert said.startswith(start)
    assert cases_of(said)


@pytest.mark.parametrize(("typed", "suite"), [("nvbandwith", "nvbandwidth"), ("latancy", "latency")])
def test_a_suites_name_is_nearer_than_a_programs(typed: str, suite: str) -> None:
    with pytest.raises(LinkscopeError, match=f"did you mean {suite}"):
        load_suite(typed)
