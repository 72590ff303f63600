"""Choices on a terminal: for each question the best interface by size, and what another costs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from linkscope.analysis.choose import ANY, Choice, Choices, Question
from linkscope.analysis.size_ranges import AS_GOOD, Crossover, SizeRange
from linkscope.analysis.way import interface
from linkscope.analysis.workloads import WorkloadTable
from linkscope.packaged_suites import packaged_suites
from linkscope.report import wording, workload_text
from linkscope.report.choose_caveats import (
    FEWEST_RUNS,
    LEFT_OUT,
    caveats,
    glossary,
    of_one_run_of_cpus,
    one_way,
    read_as,
)
from linkscope.report.choose_costs import UNDECIDED, cost, cost_range, percent
from linkscope.report.choose_elsewhere import elsewhere
from linkscope.report.grid import GAP, words
from linkscope.report.label_lines import LabelColumn, print_label_lines

Asked: TypeAlias = Sequence[WorkloadTable]
MOST_LINES = 40
INDENT = 2
MOST_ASKED = 2
"""Applications."""
COLLECTIVE = "-collective"
"""Follows the interface in the name of a collective's method."""
MOST_SIZES = 4
"""That are named one by one."""
COST_WIDTH = 9
"""Of a column with what a way costs at a size."""
CLEAR = 1.05
"""Where a factor is larger than what it surely is by so much, both are told."""
EXPORTED = "linkscope choose RUN --export json -o FILE  for programs; -h names more forms"
ALONE = "Not done in two ways that are timed alike, at the same sizes:"
OF_UNDECIDED = "+12 % ?: costs more by its median, but intervals cannot tell it from the best."


_PLAIN = re.compile(r"\w[\w.-]*", re.ASCII)
"""A name that needs no quotes."""


def show(found: Choices, node: str, console: Console, asked: Asked = (), grounds: Sequence[str] = ()) -> None:
    """In at most 40 lines of 80 columns: what applications are ``asked`` about, the answers that matter most, what
    their words mean, the other answers counted. ``grounds``: what else the figures rest on."""
    head, matter = _head(found, node, asked, grounds), [one for one in found.answers if not one.equals]
    worst = sorted(matter, key=stakes)[:1]
    exported = [Text(EXPORTED, style="dim")] if found.answers and not found.modelled else []
    alone: tuple[RenderableType, ...] = (head, Text(""), _rest(found, len(matter), len(matter)), *exported)
    fixed = _height(alone, console)
    told: list[list[list[Choice]]] = []

    def fits(more: list[list[Choice]]) -> bool:
        blocks = [*told, more]
        answers = sum(_height([_block(some, console.width)], console) for some in blocks)
        return fixed + answers + _height([_legend(found, worst + _answers_of(blocks))], console) <= MOST_LINES

    for block in _blocks(matter):
        fitting = (block[:count] for count in range(len(block), 0, -1))
        some = next((some for some in fitting if fits(some)), [] if told else block[:1])
        told += [some] if some else []
        if len(some) < len(block):
            break
    shown = _answers_of(told)
    tiers = dict.fromkeys(one.question.tier for one in matter if one.question.tier)
    hidden = tuple(tier for tier in tiers if not any(tier == one.question.tier for one in shown))
    blocks = [_block(some, console.width) for some in told]
    below = [_legend(found, worst + shown), _rest(found, len(matter), len(matter) - len(shown), hidden), *exported]
    for part in (head, *blocks, *([Text("")] if blocks else []), *filter(None, below)):
        console.print(part)


def _answers_of(blocks: Iterable[Sequence[Sequence[Choice]]]) -> list[Choice]:
    return [one for block in blocks for some in block for one in some]


def _rest(found: Choices, matter: int, hidden: int, tiers: Sequence[str] = ()) -> Text:
    """What is not shown; may be empty. ``tiers``: of links of which nothing is shown."""
    alike = len(found.answers) - matter
    rest = [
        *([f"{wording.count(hidden, 'more question')}{_links(tiers)}"] if hidden else []),
        *([f"{alike} in which no way is known to be faster"] if alike else []),
        *([f"{len(found.undecided)} that intervals leave open"] if found.undecided else []),
        *([f"{len(found.unrivalled)} not done in two ways at the same sizes"] if found.unrivalled else []),
    ]
    see = "--full" if found.word else "--full or --table WORD"
    lines = [f"{'; '.join(rest)}: see {see}" if rest else "", "" if found.word else elsewhere(found)]
    return Text("\n".join(line for line in lines if line), style="dim")


def _links(tiers: Sequence[str]) -> str:
    """ ", also on other kinds of links (single; dual), where another way may be best"; empty without any."""
    return f", also on other kinds of links ({'; '.join(tiers)}), where another way may be best" if tiers else ""


def show_all(found: Choices, node: str, console: Console, asked: Asked = (), grounds: Sequence[str] = ()) -> None:
    """Every answer, each with what every way costs at every size, below what the words of all mean; else as
    ``show``."""
    console.print(_head(found, node, asked, grounds))
    console.print(_legend(found, found.answers))
    if any(cost(at, name).endswith(UNDECIDED) for one in found.answers for at in one.sizes for name in at.best):
        console.print(Text(OF_UNDECIDED, style="dim"))
    for answer in found.answers:
        console.print(_block([[answer]], console.width, len(answer.sizes) + len(answer.unknown)))
        _print_map(answer, console)
    for head, questions in ((f"Not told, {wording.TOO_WIDE}:", found.undecided), (ALONE, found.unrivalled)):
        if questions:
            console.print(Text(head, style="bold"))
        for question in questions:
            console.print(Padding(words(title(question), "dim"), (0, 0, 0, INDENT)))


def verdict(found: Choices, asked: Sequence[WorkloadTable] = ()) -> str:
    """One sentence or two; of the applications that the run was ``asked`` about what is fastest and its gain."""
    starts = tuple(f"{one.application} " for one in asked)
    others = [one for one in found.answers if not one.question.movement.startswith(starts)] if asked else []
    told = [workload_text.answer(one) for one in asked[:MOST_ASKED]]
    rest = [f"{wording.count(len(asked) - MOST_ASKED, 'more')}: `linkscope show`."] if len(asked) > MOST_ASKED else []
    return " ".join([*told, *rest, *([_of_questions(found)] if others or not asked else [])])


def _of_questions(found: Choices) -> str:
    matter, number = [one for one in found.answers if not one.equals], len(found.answers) + len(found.undecided)
    asked = f"with {found.word!r} in the title " if found.word else ""
    in_several = f"{asked}that {'these runs' if found.steadiness.most > 1 else 'this run'} did in several ways"
    if found.undecided and not found.answers:
        several = f"{wording.count(len(found.undecided), 'thing')} {in_several}"
        more = "name a third run, or more" if found.steadiness.most == FEWEST_RUNS else "name more runs"
        remedy = more if found.steadiness.most > 1 else "in more rounds (the same run with `--rounds 6:12`)"
        return (
            f"Cannot tell which way is faster: of {several}, {wording.TOO_WIDE} leave every size open. Measure where "
            f"nothing else runs, or {remedy}."
        )
    if not found.answers and found.word:
        return f"Nothing {asked}was done in two ways at the same sizes and conditions."
    if not found.answers and found.left_out:
        cases = wording.count(found.left_out, "case")
        return (
            f"Nothing to choose: nothing was measured in two ways at the same sizes and conditions, {cases} {LEFT_OUT}."
        )
    if not found.answers:
        return (
            "Nothing to choose: this run does nothing in two ways at the same sizes and conditions. Suites that do, "
            "whole: with GPUs default and peer; between processes p2p-processes (a window of messages, as osu_bw's, "
            "has one way alone), collectives and mpi-allocators; halo for what an application sends."
        )
    if not matter:
        differ = max(one.spread for one in found.answers)
        where = "here" if number == 1 else f"for any of {number} things {in_several}"
        unsure = f"medians differ by up to {differ * 100:.3g} %, and intervals cannot tell which is faster"
        left_out = sorted({size for one in found.answers for size in one.unknown})
        named = f" ({some_sizes(left_out)})" if left_out else ""
        told = f" Sizes at which {wording.TOO_WIDE} do not tell are left out{named}."
        besides = told if left_out or found.undecided else ""
        return f"No way is known to be faster {where}: {unsure if differ > AS_GOOD else 'all are within 1 %'}.{besides}"
    worst = min(matter, key=stakes)
    every = "both" if number == 2 else f"all {number}"
    count = every if len(matter) == number else f"{len(matter)} of {number}"
    counted = f" It matters for {count} things {in_several}." if number > 1 else ""
    here = ", by this run alone" if of_one_run_of_cpus(found) and _on_host(worst) else ""
    return f"It matters which way you take{here}: {title(worst.question)}, {_dearest(worst)}.{counted}"


def _dearest(answer: Choice) -> str:
    """What the wrong way costs, where it costs most."""
    assert answer.dearest is not None
    share, name, at = answer.dearest
    least, unknown = 1 + dict(at.least).get(name, share), {name, at.excess[0][0]} & {*at.unknown}
    best_way, by_median = way(at.excess[0][0]), f"{1 + share:.3g}"
    bound = _floored(least) > 1 and least < (1 + share) / CLEAR and not unknown and not answer.modelled
    several = f"at least {_floored(least):g} times as long as {best_way} ({by_median} by the median)"
    times = several if bound else f"{by_median} times as long as {best_way}"
    if unknown:
        times += f" by medians with {wording.TOO_WIDE}"
    return f"at {wording.size(at.bytes)} {way(name)} takes {times}{aside(answer)}"


def _floored(factor: float) -> float:
    """To two digits, never up; of what is not above zero zero."""
    step = 10.0 ** (math.floor(math.log10(factor)) - 1) if factor > 0 else 1.0
    return math.floor(factor / step * (1 + 1e-12)) * step if factor > 0 else 0.0


def aside(answer: Choice) -> str:
    """Follows a figure of an answer that leaves launches out; else empty."""
    return ", launches aside" if answer.launches_aside else ""


def title(question: Question) -> str:
    """Such as "GPU to GPU, nvlink-18, device > device (device clock)"."""
    what = ", ".join(word for word in (question.movement, question.tier, question.memory) if word)
    clock, *others = question.conditions
    return f"{what} ({', '.join([clock, *(['one way'] if one_way(question) else []), *others])})"


def best(one: SizeRange) -> str:
    """Its winner, or its equals."""
    return wording.either([way(name) for name in one.best])


def sizes(one: SizeRange) -> str:
    """Such as "4 KiB to 16 MiB"."""
    if one.first == one.last:
        return wording.size(one.first)
    return f"{wording.size(one.first)} to {wording.size(one.last)}"


def costs(one: SizeRange) -> str:
    """What the next best of another interface costs more there, else the next best; and the worst. Of one that was not
    measured at all sizes there with those that it has."""
    partly = {name: f" ({sizes(replace(one, first=first, last=last))})" for name, first, last in one.partly}
    more = {name: cost_range(least, most) for name, least, most in one.excess}
    return "; worst ".join(f"{way(name)} {more[name]}{partly.get(name, '')}" for name in _told_of(one))


def _told_of(one: SizeRange) -> tuple[str, ...]:
    """The ways of which ``costs`` tells: the next best and the worst, perhaps the same; none where all are best."""
    if not one.excess:
        return ()
    winners, partly = set(map(interface, one.best)), {name for name, *_ in one.partly}
    following = min(one.excess, key=lambda loser: (interface(loser[0]) in winners, loser[0] in partly))
    worst = max(one.excess, key=lambda loser: loser[2])
    return tuple(dict.fromkeys((following[0], worst[0])))


def way(name: str) -> str:
    """Short: that it is of a collective the question says."""
    return name.replace(COLLECTIVE, "", 1)


def stakes(answer: Choice) -> tuple[bool, bool, bool, bool, float]:
    """Order by what the wrong way costs: of several runs what all have, what GPUs do, which interface or memory before
    how to set one, and times that hold the launch of every copy before others, first."""
    return answer.of_one_run, _on_host(answer), _of_settings(answer), answer.launches_aside, -answer.stake


def rank(answer: Choice) -> tuple[bool, bool, bool, tuple[int, bool, bool, bool], float]:
    """Order of importance: what several runs have before what one has, what GPUs do before what CPUs do, which
    interface or memory before how to set one, plain questions before others, movements between devices before those
    within one, messages as OSU has them before others, times that hold the launch of every copy before others."""
    question = answer.question
    plain = len(question.conditions), not question.tier, one_way(question), answer.launches_aside
    return answer.of_one_run, _on_host(answer), _of_settings(answer), plain, -answer.stake


def _of_settings(answer: Choice) -> bool:
    """Whether it is only how to set an interface."""
    return len(answer.interfaces) < 2 and answer.question.memory != ANY


def _on_host(answer: Choice) -> bool:
    return "GPU" not in answer.question.movement


def _head(found: Choices, node: str, asked: Sequence[WorkloadTable], grounds: Sequence[str]) -> Group:
    """Title, verdict, what limits it, caveats."""
    title = Text(node, style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    named = dict.fromkeys(text for one in asked[:MOST_ASKED] for text in workload_text.meanings(one))
    warnings = [Text(text, style="yellow") for text in (*caveats(found), *grounds)]
    return Group(title, Text(verdict(found, asked), style="bold"), *map(Text, named), *warnings)


def _legend(found: Choices, shown: Sequence[Choice]) -> Text:
    """How answers are read, and what the words of those that are ``shown`` mean; may be empty."""
    reading = [read_as(found)] if found.answers else []
    return Text("\n".join([*reading, *glossary(found, shown)]), style="dim")


def by_ranges(answers: Iterable[Choice]) -> list[list[Choice]]:
    """Those that differ only in the paths they are about and in how much is lost, together."""
    found: dict[object, list[Choice]] = {}
    for one in answers:
        ranges = tuple((span.first, span.last, span.best, _told_of(span)) for span in one.ranges)
        found.setdefault((replace(one.question, tier=""), ranges), []).append(one)
    return list(found.values())


def _blocks(answers: Iterable[Choice]) -> list[list[list[Choice]]]:
    """What is told under one title, in order of importance: the same of several collectives, in the order of the run;
    of each those that differ only in the paths they are about, together."""
    found: dict[object, list[list[Choice]]] = {}
    for alike in by_ranges(answers):
        first = alike[0]
        name, where = _collective(first.question)
        tiers = tuple(one.question.tier for one in alike) if name else alike
        key = replace(first.question, movement=where, tier=""), tuple(tiers), len(first.interfaces) > 1
        found.setdefault(key, []).append(alike)
    return sorted(found.values(), key=lambda block: min(rank(alike[0]) for alike in block))


def _collective(question: Question) -> tuple[str, str]:
    """Its name and where: "all-reduce", "4 GPUs"; no name where it is none."""
    name, on, where = question.movement.partition(" on ")
    return (name, where) if on and " " not in name else ("", question.movement)


def _height(parts: Iterable[RenderableType], console: Console) -> int:
    return sum(len(console.render_lines(part, pad=False)) for part in parts)


def _block(block: Sequence[Sequence[Choice]], width: int, most: int = MOST_SIZES) -> Group:
    """A title, a line for each size range of each, and of one alone where ways cross; costs from the least to the most
    of all paths. ``most``: as of ``closings``."""
    alike = block[0]
    tiers = list(dict.fromkeys(one.question.tier for one in alike))
    tier = " or ".join(tiers) if len(tiers) < 4 else f"{len(tiers)} kinds of links"
    question = replace(alike[0].question, tier=tier)
    if len(block) > 1:
        question = replace(question, movement=f"collectives on {_collective(question)[1]}")
    spans = [
        (_collective(some[0].question)[0] if len(block) > 1 and not number else "", span, told)
        for some in block
        for number, (span, told) in enumerate(joined_ranges(some))
    ]
    lines = _range_lines(spans, width)
    parts: list[RenderableType] = [Text(""), Text(title(question), style="bold"), *lines]
    largest = max((size for some in block for one in some for size in one.assumed), default=0)
    if largest:
        parts.append(Text(f"{' ' * INDENT}up to {wording.size(largest)} nobody knows: see Left out", style="dim"))
    if len(block) == len(alike) == 1:
        parts += [Padding(words(line, "dim"), (0, 0, 0, INDENT)) for line in closings(alike[0], most)]
    return Group(*parts)


def joined_ranges(alike: Sequence[Choice]) -> list[tuple[SizeRange, str]]:
    """The ranges of several that have the same, each as one, with its sizes in words; those with the same best between
    which sizes are not told, too: "1 B to 8 KiB, 6 of its 14 sizes"."""
    spans = [together(span) for span in zip(*(one.ranges for one in alike), strict=True)]
    found = []
    for _, some in groupby(spans, key=lambda span: span.best):
        first, *others = some
        whole = replace(together([first, *others]), last=others[-1].last) if others else first
        told = sizes(whole)
        if others:
            measured = [*(at.bytes for at in alike[0].sizes), *alike[0].unknown]
            within = [size for size in measured if whole.first <= size <= whole.last]
            known = [size for size in within if any(span.first <= size <= span.last for span in (first, *others))]
            told += f", {len(known)} of its {len(within)} sizes" if len(known) < len(within) else ""
        found.append((whole, told))
    return found


def _range_lines(spans: Sequence[tuple[str, SizeRange, str]], width: int) -> list[RenderableType]:
    """A line for each range, or two where its costs do not fit beside it; before it what it is of, if anything."""
    sized, ways = max(len(told) for _, _, told in spans), max(len(best(one)) for _, one, _ in spans)
    labelled = max(len(label) for label, _, _ in spans)
    start = INDENT + (labelled + GAP if labelled else 0)
    beside = all(start + sized + GAP + ways + GAP + len(costs(one)) <= width for _, one, _ in spans)
    lines: list[RenderableType] = []
    for label, one, told in spans:
        line = Text(f"{' ' * INDENT}{label}".ljust(start) + told.ljust(sized + GAP)).append(best(one), "cyan")
        if beside:
            line.pad_right(max(start + sized + GAP + ways + GAP - len(line), 0))
        if len(line) > width:
            alone, named = line.divide([len(line) - len(best(one))])
            lines += _beside(alone, named, width)
        else:
            lines.append(line.append(costs(one), style="dim") if beside else line)
        if not beside and costs(one):
            lines.append(Padding(words(costs(one), "dim"), (0, 0, 0, start + INDENT)))
    return lines


def _beside(sizes: Text, ways: Text, width: int) -> list[RenderableType]:
    """Ways in lines of their own column, or below where they find no room there."""
    longest = max(map(len, ways.plain.split()))
    if len(sizes) + longest > width:
        return [sizes, Padding(ways, (0, 0, 0, len(sizes) - len(sizes.plain.lstrip()) + INDENT))]
    grid = Table.grid()
    grid.add_column(no_wrap=True, min_width=len(sizes))
    grid.add_column(overflow="fold")
    grid.add_row(sizes, ways)
    return [grid]


def together(spans: Sequence[SizeRange]) -> SizeRange:
    """One range of several that have the same best."""
    found: dict[str, tuple[float, float]] = {}
    for name, least, most in (loser for span in spans for loser in span.excess):
        low, high = found.get(name, (least, most))
        found[name] = min(low, least), max(high, most)
    ordered = sorted(found.items(), key=lambda one: sum(one[1])) if len(spans) > 1 else found.items()
    return replace(spans[0], excess=tuple((name, *cost) for name, cost in ordered), partly=_partly(spans))


def _partly(spans: Sequence[SizeRange]) -> tuple[tuple[str, float, float], ...]:
    """Of what has some of the sizes alone in every span that has it, the first and the last."""
    whole = {name for span in spans for name, *_ in span.excess if name not in {one[0] for one in span.partly}}
    found: dict[str, tuple[float, float]] = {}
    for name, first, last in (one for span in spans for one in span.partly if one[0] not in whole):
        low, high = found.get(name, (first, last))
        found[name] = min(low, first), max(high, last)
    return tuple((name, *ends) for name, ends in found.items())


def closings(answer: Choice, most: int = MOST_SIZES) -> list[str]:
    """Where ways cross, with launches and without, what one for all sizes costs, at which sizes a range's best is not
    told apart, and what is left out; may be empty. ``most``: sizes that are named one by one."""
    cross = [f"cross at {_about(one.size)}{_within(one)}{aside(answer)}" for one in answer.crossovers]
    if cross and answer.launches_aside:
        cross.append(_launched(answer))
    everywhere = not answer.assumed and not answer.unknown
    always = answer.always if len(answer.ranges) > 1 and everywhere else None
    one_for_all = [f"{way(always[0])} for all sizes {_at_most(always[1])}{aside(answer)}"] if always else []
    single = untold(answer, most)
    open_ = [single] if single else []
    left_out = [f"{wording.NOT_TOLD}: {some_sizes(answer.unknown, most)}"] if answer.unknown else []
    return [*cross, *one_for_all, *open_, *left_out]


def untold(answer: Choice, most: int = MOST_SIZES) -> str:
    """Which others are as good as the best of a range, or not told apart from it, at single sizes within it: "as good,
    or not told apart: copy-engine at 256 MiB"; may be empty. ``most``: sizes, and ways, that are named one by one."""
    alike = "as good" if answer.modelled else "as good, or not told apart"
    found: dict[str, list[int]] = {}
    for at in answer.sizes:
        around = {name for one in answer.ranges if one.first <= at.bytes <= one.last for name in one.best}
        for name in at.best if around else ():
            if name not in around:
                found.setdefault(name, []).append(at.bytes)
    if len(found) > most:
        some = sorted({size for sizes in found.values() for size in sizes})
        return f"others are {alike} at {some_sizes(some, most)}"
    named = [f"{way(name)} at {some_sizes(some, most)}" for name, some in found.items()]
    return f"{alike}: {'; '.join(named)}" if named else ""


def some_sizes(some: Sequence[int], most: int = MOST_SIZES) -> str:
    """Such as "64 B, 1 KiB", "18 sizes, 2 B to 4 MiB"."""
    if len(some) <= most:
        return ", ".join(map(wording.size, some))
    return f"{len(some)} sizes, {wording.size(some[0])} to {wording.size(some[-1])}"


def _launched(answer: Choice) -> str:
    """The answer with a launch for each copy, an estimate; else what measures it: the command where anybody has the
    suite and no shell reads anything else in the row's name."""
    if answer.waited:
        return "with them: the answer by the host's clock"
    if answer.launched is None or not answer.launched.ranges:
        suite, _, row = answer.row.partition(" ")
        if suite in packaged_suites() and _PLAIN.fullmatch(row):
            return f"with them: `linkscope run {suite} -k {row} --clock host`"
        return "`--clock host` measures with them"
    first, *_ = answer.launched.ranges
    ways = [best(first), *(f"from {_about(one.size)} on {way(one.after)}" for one in answer.launched.crossovers)]
    added = f"with a launch of {wording.time(answer.launched.seconds)} for each kernel copy, an estimate"
    return f"{added}: {', '.join(ways)}{'' if len(ways) > 1 else ' at all sizes'}"


def _at_most(most: float) -> str:
    return "is as good, or not told apart" if most <= AS_GOOD else f"costs at most {percent(most)}"


def _within(one: Crossover) -> str:
    low, high = _about(one.low), _about(one.high)
    return "" if low == high else f" ({low} to {high})"


def _print_map(answer: Choice, console: Console) -> None:
    """In as many parts as the width of the terminal needs."""
    head = "costs more than the best"
    left = console.width - max(len(head), min(max(map(len, answer.rivals)), console.width // 2))
    each = max(left // COST_WIDTH, 1)
    for start in range(0, len(answer.sizes), each):
        columns = [
            LabelColumn(wording.size(at.bytes), tuple(cost(at, name) for name in answer.rivals), "numbers")
            for at in answer.sizes[start : start + each]
        ]
        print_label_lines(head, answer.rivals, columns, console)


def _about(size: float) -> str:
    """Two digits: what a crossover is worth."""
    return wording.size(float(f"{size / _unit(size):.2g}") * _unit(size))


def _unit(size: float) -> int:
    return next((unit for unit in (1 << 30, 1 << 20, 1 << 10) if size >= unit), 1)
