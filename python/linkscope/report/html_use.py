"""What to use: the answers of `choose` in a line each, and the map of what every way costs at every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from linkscope.analysis.choose import ANY, AtSize, Choice, Choices, Question
from linkscope.analysis.movement import BETWEEN_PROCESSES
from linkscope.analysis.way import interface
from linkscope.report import wording
from linkscope.report.choose_caveats import FULL, MAY_BE_FASTER, caveats, glossary, meanings, one_way, read_as
from linkscope.report.choose_costs import cost
from linkscope.report.choose_text import (
    COLLECTIVE,
    aside,
    best,
    by_ranges,
    closings,
    joined_ranges,
    rank,
    some_sizes,
    stakes,
    title,
    untold,
    way,
)

MOST_USES = 3
"""Lines on what to use at the top of the page."""
MOST_COSTS = 4000
"""Cells of all maps on the page: questions beyond, by the order of `choose`, are left out."""
NEAR, FAR = 0.05, 0.5
"""A way that costs less than the first share is nearly as good, one that costs more than the second a mistake."""


@dataclass(frozen=True)
class CostCell:
    """What a way costs at a size, "+12 %" or "best"; ``tone``: best (or not told apart from it), near, more, far, or
    none where not measured."""

    text: str
    tone: str


@dataclass(frozen=True)
class UseMap:
    """One question: ``lines`` are (way, its cells by ``sizes``)."""

    title: str
    answer: str
    sizes: tuple[str, ...]
    lines: tuple[tuple[str, tuple[CostCell, ...]], ...]
    closing: str
    modelled: bool


def use_maps(choices: Choices) -> list[UseMap]:
    """A map for every question, as far as there is room, in the order of ``_ranked``."""
    ranked = _ranked(choices.answers)
    room = accumulate(len(one.rivals) * len(one.sizes) for one in ranked)
    return [_map(one) for one, used in zip(ranked, room, strict=True) if used <= MOST_COSTS]


def _map(one: Choice) -> UseMap:
    return UseMap(
        title=title(one.question),
        answer=in_words(one),
        sizes=tuple(wording.size(at.bytes) for at in one.sizes),
        lines=tuple((name, tuple(_cell(at, name) for at in one.sizes)) for name in one.rivals),
        closing="; ".join(closings(one)),
        modelled=one.modelled,
    )


def _cell(at: AtSize, name: str) -> CostCell:
    if name in at.best:
        return CostCell(cost(at, name), "best")
    share = dict(at.excess).get(name)
    if share is None:
        return CostCell("", "none")
    return CostCell(cost(at, name), "near" if share < NEAR else "far" if share > FAR else "more")


def reading(choices: Choices) -> str:
    """How the answers are read, with what limits them."""
    return " ".join([read_as(choices).replace(FULL, ""), *caveats(choices), *glossary(choices, choices.answers)])


def uses(choices: Choices) -> list[tuple[str, str]]:
    """What to use for what, such as ("GPU to GPU", "kernel-copy push up to 16 MiB, copy-engine push from 64 MiB"):
    first where most is at stake, last where it does not matter."""
    whatever = {_moved(one) for one in choices.answers if one.question.memory == ANY}
    open_ = [one for one in choices.answers if one.question.memory == ANY or _moved(one) not in whatever]
    by_movement: dict[str, list[Choice]] = {}
    for one in _ranked(open_):
        by_movement.setdefault(f"{one.question.movement}{called(one.question)}", []).append(one)
    lines: dict[str, str] = {}
    for some in by_movement.values():
        (first, *others), *_ = by_ranges(some)
        tiers = dict.fromkeys(one.question.tier for one in (first, *others) if one.question.tier)
        where = f" ({' or '.join(tiers)})" if 0 < len(tiers) < 3 else ""
        memory = "" if first.question.memory == ANY else f", {first.question.memory}"
        beside = "".join(f", {condition}" for condition in first.question.conditions[1:])
        moved = f"{first.question.movement}{called(first.question)}"
        lines.setdefault(f"{moved}{where}{memory}{beside}", in_words(first))
    return list(lines.items())[:MOST_USES]


def called(question: Question) -> str:
    """ ", ping-pong": how messages between processes were called; else nothing."""
    if BETWEEN_PROCESSES not in question.movement:
        return ""
    _, _, call = question.conditions[0].partition(", ")
    return f", {'one way' if one_way(question) else call}" if one_way(question) or call else ""


def use_notes(choices: Choices) -> list[str]:
    """What a reader must know before he takes the answers of ``uses`` that name a library or linkscope's own kernels:
    what the names mean, and without what the library was measured; may be empty."""
    if not any(interface(name).endswith(COLLECTIVE) for one in choices.answers for name in one.rivals):
        return []
    named = meanings((name for one in choices.answers for name in one.rivals), ())
    return [*named, *(f"{setting}: {MAY_BE_FASTER}." for setting in choices.settings)]


def _ranked(answers: Sequence[Choice]) -> list[Choice]:
    """First the one with most at stake, which the verdict of `choose` names, then in the order of `choose`; last those
    in which it does not matter."""
    worst = min(answers, key=lambda one: (one.equals, *stakes(one)), default=None)
    return sorted(answers, key=lambda one: (one.equals, one is not worst, rank(one)))


def best_collectives(choices: Choices) -> dict[str, str]:
    """Of each collective the best way by size, by the question on it that comes first."""
    found: dict[str, str] = {}
    for one in sorted(choices.answers, key=rank):
        collective, on, _ = one.question.movement.partition(" on ")
        if on:
            found.setdefault(collective, f"{in_words(one)} ({', '.join(one.question.conditions)})")
    return found


def _moved(one: Choice) -> tuple[str, str, tuple[str, ...]]:
    return one.question.movement, one.question.tier, one.question.conditions


def in_words(one: Choice) -> str:
    """Its answer by size: "kernel-copy push up to 16 MiB, copy-engine push from 64 MiB", and where that is open: "mpi
    from 4 B to 1 KiB and at 4 MiB (not known at 4 KiB, 64 KiB)"."""
    if one.equals:
        return f"{wording.either([way(name) for name in one.rivals])}: none is known to be faster"
    if one.assumed or one.unknown:
        words = (
            f"{best(span)} {'at' if span.first == span.last else 'from'} {told}" for span, told in joined_ranges([one])
        )
        return ", ".join(words) + aside(one) + _open(one)
    spans = [
        f"{best(span)} {_span(span.first, span.last, number, len(one.ranges))}"
        for number, span in enumerate(one.ranges)
    ]
    return ", ".join(spans) + aside(one) + _open(one)


def _open(one: Choice) -> str:
    """In brackets where others are as good, and at which sizes nobody knows; may be empty."""
    left_out = sorted({*one.assumed, *one.unknown})
    told = "; ".join(filter(None, [untold(one), f"not known at {some_sizes(left_out)}" if left_out else ""]))
    return f" ({told})" if told else ""


def _span(first: float, last: float, number: int, count: int) -> str:
    if first == last and (count == 1 or number == 0):
        return f"at {wording.size(first)}"
    if count == 1:
        return f"from {wording.size(first)} to {wording.size(last)}"
    if number == 0:
        return f"up to {wording.size(last)}"
    if first == last and number < count - 1:
        return f"at {wording.size(first)}"
    return f"from {wording.size(first)}" + ("" if number == count - 1 else f" to {wording.size(last)}")
