"""Choices on a terminal: for each question the best interface by size, and what another costs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from linkscope.analysis.choose import ANY, Choice, Choices, Question
from linkscope.analysis.size_ranges import AS_GOOD, Crossover, SizeRange
from linkscope.analysis.way import interface
from linkscope.analysis.workloads import WorkloadTable
from linkscope.report import wording, workload_text
from linkscope.report.choose_caveats import (
    FEWEST_RUNS,
    LEFT_OUT,
    of_one_run_of_cpus,
    one_way,
)
from linkscope.report.choose_costs import cost_range, percent
from linkscope.suites import packaged_suites

MOST_LINES = 40
INDENT = 2
MOST_ASKED = 2
"""Applications."""
COLLECTIVE = "-collective"
"""Follows the interface in the name of a collective's method."""
MOST_SIZES = 4
"""That are named one by one."""
CLEAR = 1.05
"""Where a factor is larger than what it surely is by so much, both are told."""


_PLAIN = re.compile(r"\w[\w.-]*", re.ASCII)
"""A name that needs no quotes."""


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


def by_ranges(answers: Iterable[Choice]) -> list[list[Choice]]:
    """Those that differ only in the paths they are about and in how much is lost, together."""
    found: dict[object, list[Choice]] = {}
    for one in answers:
        ranges = tuple((span.first, span.last, span.best, _told_of(span)) for span in one.ranges)
        found.setdefault((replace(one.question, tier=""), ranges), []).append(one)
    return list(found.values())


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


def _about(size: float) -> str:
    """Two digits: what a crossover is worth."""
    return wording.size(float(f"{size / _unit(size):.2g}") * _unit(size))


def _unit(size: float) -> int:
    return next((unit for unit in (1 << 30, 1 << 20, 1 << 10) if size >= unit), 1)
