"""What `choose` prints: the sizes that a cost holds for, a pair of each kind of links, and which suites answer more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import linkscope
from linkscope.analysis.choose import AtSize, Choices, choose
from linkscope.analysis.figures import figures
from linkscope.analysis.movement import BETWEEN_PROCESSES
from linkscope.analysis.size_ranges import SizeRange
from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.machine.node import ASSUMED
from linkscope.packaged_suites import packaged_suites
from linkscope.report import choose_caveats, choose_elsewhere, choose_narrowed, choose_text, model_grounds
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"


@cache
def modelled(suite: str, machine: str) -> Choices:
    return choose(figures(linkscope.run(suite, machine=machine, sizes="1M,64M", progress="none")))


def printed(found: Choices, grounds: Sequence[str] = ()) -> str:
    stream = StringIO()
    choose_text.show(found, "node", Console(file=stream, width=80), grounds=grounds)
    return " ".join(stream.getvalue().split())


def test_the_next_best_is_one_with_all_sizes_of_the_range() -> None:
    every = (("mpi call=put", 1.58, 1.58), ("mpi call=send", 1.58, 2.08), ("ipc-copy push", 1.63, 2.08))
    one = SizeRange(4096, 65536, ("ipc-kernel push",), every, partly=(("mpi call=put", 4096, 4096),))
    assert choose_text.costs(one).startswith("mpi call=send +158 % to +208 %")
    alone = replace(one, excess=every[:1])
    assert choose_text.costs(alone) == "mpi call=put +158 % (4 KiB)"


def test_what_a_description_assumes_is_told_with_its_answers() -> None:
    node, found = load_machine("frontier"), modelled("default", "frontier")
    (told,) = model_grounds.of_choices(node, found)
    heads = [note.removeprefix(ASSUMED).partition(":")[0] for note in node.notes if note.startswith(ASSUMED)]
    elsewhere = ("kernel-read", "stream", "page-fault", "mpi", "xccl-collective")
    lacking = {head for head in heads if any(name in re.split(r"[ ,]+", head) for name in elsewhere)}
    assert {head for head in heads if head not in told} == lacking, "no answer has these"
    assert len(lacking) < len(heads)
    assert "linkscope reproduce STUDY --machine frontier` (pearson23, schieffer24)" in told
    changed = replace(node, name="other")
    assert "linkscope" not in " ".join(model_grounds.of_choices(changed, found)), "no command knows it by its name"
    assert model_grounds.of_choices(replace(node, modelled=False), found) == []
    assert "so the description assumes" in printed(found, model_grounds.of_choices(node, found))


def test_what_was_sent_one_at_a_time_needs_no_other_run() -> None:
    found = modelled("p2p-processes", "mi300a")
    window = replace(
        found.answers[0].question,
        movement=f"host to host, {BETWEEN_PROCESSES}",
        conditions=("host clock, window", "warm caches"),
    )
    messages = replace(found.answers[0], question=replace(window, conditions=("host clock", "warm caches")))
    alone = replace(found, answers=(), unrivalled=(window,))
    assert any(choose_caveats.SENT_SO in text for text in choose_caveats.caveats(alone))
    both = replace(alone, answers=(messages,))
    assert choose_caveats.OF_WINDOWS in choose_caveats.caveats(both)
    assert not any(choose_caveats.SENT_SO in text for text in choose_caveats.caveats(both))


def test_several_kinds_of_links_have_a_pair_each() -> None:
    found, other = modelled("default", "frontier"), modelled("default", "h200x4")
    told = [text for text in choose_caveats.glossary(found, ()) if "Links, a pair each" in text]
    assert len(told) == 1
    assert "quad gpu:0>gpu:1; single gpu:0>gpu:2" in told[0]
    assert told[0] in printed(found), "the screen names kinds of which it shows nothing"
    assert not any("Links, a pair each" in text for text in choose_caveats.glossary(other, other.answers))


def test_paths_on_which_other_ways_come_next_are_told_apart() -> None:
    """The variable that makes MPI fast over a wide link makes it slow over a thin one."""
    (found,) = [one for one in modelled("p2p-processes", "frontier").answers if one.question.tier == "quad"][:1]
    spans = [
        tuple(replace(span, excess=((name, 0.1, 0.2),)) for span in found.ranges) for name in ("mpi", "mpi", "ipc-copy")
    ]
    tiers = zip(("quad", "dual", "single"), spans, strict=True)
    answers = [replace(found, question=replace(found.question, tier=tier), ranges=ranges) for tier, ranges in tiers]
    together = [[one.question.tier for one in alike] for alike in choose_text.by_ranges(answers)]
    assert together == [["quad", "dual"], ["single"]]


@pytest.mark.parametrize(("suite", "told"), [("default", True), ("p2p-processes", False)])
def test_a_first_run_names_suites_that_answer_more(suite: str, told: bool) -> None:
    text = printed(modelled(suite, "frontier"))
    assert all(name in text for name in choose_elsewhere.OTHER_SUITES) == told
    assert {*choose_elsewhere.OTHER_SUITES, *choose_elsewhere.FIRST_SUITES} <= packaged_suites()


def test_of_several_paths_a_cost_is_partial_where_it_is_for_all() -> None:
    some = SizeRange(4096, 65536, ("a",), (("b", 0.5, 0.6),), partly=(("b", 4096, 4096),))
    whole = SizeRange(4096, 65536, ("a",), (("b", 0.5, 2.0),))
    more = replace(some, partly=(("b", 16384, 65536),))
    assert choose_text.costs(choose_text.together([some, whole])) == "b +50 % to +200 %"
    assert choose_text.costs(choose_text.together([some, more])) == "b +50 % to +60 % (4 KiB to 64 KiB)"


@pytest.mark.parametrize(("run", "told"), [("h200x4-direct", True), ("h200x4-packets", False)])
def test_nccl_in_memory_of_its_own_alone_is_said_to_be_so(run: str, told: bool) -> None:
    found = choose(figures(RunFile.read(RUNS / f"{run}.jsonl")))
    assert any(choose_caveats.NO_PLAIN in text for text in choose_caveats.glossary(found, found.answers)) is told


def test_the_headline_of_one_run_of_cpus_says_so() -> None:
    found = choose(figures(RunFile.read(RUNS / "h200x4-default.jsonl")))
    of_cpus = choose_narrowed.with_word(found, "NUMA node")
    assert found.steadiness.of_cpus
    assert choose_text.verdict(of_cpus).startswith("It matters which way you take, by this run alone:")
    assert choose_text.verdict(found).startswith("It matters which way you take: GPU to GPU")
    steady = replace(of_cpus, steadiness=replace(of_cpus.steadiness, of_cpus=False))
    assert choose_text.verdict(steady).startswith("It matters which way you take: ")


def test_a_reader_gets_the_questions_that_he_names() -> None:
    found = choose(figures(RunFile.read(RUNS / "h200x4-default.jsonl")))
    part = choose_narrowed.with_word(found, "HOST to gpu")
    assert {one.question.movement for one in part.answers} == {"host to GPU"}
    assert len(part.answers) < len(found.answers)
    text = printed(part)
    assert "GPU to GPU" not in text
    assert "'HOST to gpu' in the title" in " ".join(text.split())
    assert "linkscope list suites" not in text, "other suites are told of a whole run"
    alone = choose_narrowed.with_word(found, "calls included")
    assert choose_text.verdict(alone).startswith("Nothing with 'calls included' in the title was done")
    with pytest.raises(LinkscopeError, match="name a word"):
        choose_narrowed.with_word(found, " ")
    with pytest.raises(LinkscopeError, match="did you mean host to GPU"):
        choose_narrowed.with_word(found, "hist to GPU")


def test_what_no_time_was_left_for_is_said() -> None:
    found = choose(figures(RunFile.read(RUNS / "h200x4-default.jsonl")))
    short = replace(found, left_out=3)
    assert any(text.startswith("3 cases left out for lack of time") for text in choose_caveats.caveats(short))
    nothing = replace(short, answers=())
    assert "3 cases left out for lack of time" in choose_text.verdict(nothing)


@pytest.mark.parametrize(("suite", "told"), [("mpi-allocators", True), ("host-device", False)])
def test_kinds_of_memory_that_a_model_does_not_tell_apart_are_named(suite: str, told: bool) -> None:
    (text,) = model_grounds.of_choices(load_machine("frontier"), modelled(suite, "frontier"))
    assert ("Kinds of memory are alike in it for mpi:" in text) is told


def test_answers_stand_before_what_their_words_mean() -> None:
    found = modelled("default", "h200x4")
    told = printed(found)
    first = min(found.answers, key=choose_text.rank)
    assert 0 < told.index(choose_text.title(first.question)) < told.index(choose_caveats.read_as(found))


def test_a_range_of_sizes_has_what_is_best_beside_it() -> None:
    stream = StringIO()
    found = choose(figures(RunFile.read(RUNS / "h200x4-direct.jsonl")))
    choose_text.show_all(found, "node", Console(file=stream, width=60))
    told = stream.getvalue().splitlines()
    ranges = [line for line in told if re.match(r"  [0-9.]+ [KMG]?i?B( to [0-9.]+ [KMG]?i?B)?(\s|$)", line)]
    assert len(ranges) > len(found.answers)
    assert all(len(re.split(r"\s{2,}", line.strip())) > 1 for line in ranges)


@pytest.mark.parametrize("width", [40, 44, 50, 60, 80])
def test_sizes_of_collectives_stay_whole_on_a_narrow_terminal(width: int) -> None:
    stream = StringIO()
    found = choose(figures(RunFile.read(RUNS / "h200x4-direct.jsonl")))
    choose_text.show(found, "node", Console(file=stream, width=width))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert any(re.search(r" 1 MiB to (1 GiB|256 MiB)( |$)", line) for line in lines)
    assert not any(re.search(r"[KMG]?i?B to [0-9]*$|\d [KMG]iB(?=[a-z])", line) for line in lines)


def test_a_model_has_no_median_and_a_bound_is_no_rounding() -> None:
    found = modelled("default", "h200x4")
    answer = next(one for one in found.answers if not one.equals)
    at = AtSize(4096, (("one", 0.0), ("other", 13.0)), ("one",), (), (("other", 8.0),))
    near = replace(at, least=(("other", 12.9),))
    model = replace(answer, sizes=(at,))
    measured = replace(model, modelled=False)
    told = [
        choose_text.verdict(replace(found, answers=(one,)))
        for one in (model, measured, replace(measured, sizes=(near,)))
    ]
    assert ["at least 9 times as long as one (14 by the median)" in text for text in told] == [False, True, False]
    assert all("14" in text for text in told)


def test_copies_by_the_hosts_clock_alone_are_explained() -> None:
    found = modelled("default", "h200x4")
    copies = [one for one in found.answers if any(name.startswith("kernel-copy") for name in one.rivals)]
    by_host = replace(found, answers=tuple(replace(one, launches_aside=False) for one in copies))
    assert choose_caveats.COPIES in choose_caveats.glossary(by_host, by_host.answers)
    assert choose_caveats.COPIES not in choose_caveats.glossary(by_host, ())


def test_words_are_explained_where_they_stand() -> None:
    ways = ("mpi call=put from device to device", "mpi call=get-window", "copy-engine push")
    told = " ".join(choose_caveats.meanings(ways, ()))
    assert "MPI_Put, MPI_Get, each waited for" in told
    assert "then one wait" in told
    assert "push, pull" in told
    (single,) = choose_caveats.meanings(("mpi call=put-window",), ())
    assert "each waited for" not in single
