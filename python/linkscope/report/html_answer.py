"""The top of the page: the answer in a few sentences, the node's picture that shows it, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from linkscope.analysis.choose import ANY, Choice, Choices
from linkscope.analysis.explain import Diagnosis, Shortfall
from linkscope.analysis.ledger import SIBLINGS, Ledger
from linkscope.analysis.link_shares import link_shares
from linkscope.analysis.summary import Summary
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.report import wording
from linkscope.report.choose_text import best, by_ranges
from linkscope.report.explain_text import verdict
from linkscope.report.link_styles import JudgedStyles
from linkscope.report.topology_svg import draw

MOST_USES = 3
"""Sentences on what to use."""
_ASKED_FIRST = ("GPU to GPU", "host to GPU", "GPU to host", "within a GPU")
_WAYS = {
    "peer-write": "GPU to GPU, push",
    "peer-read": "GPU to GPU, pull",
    "peer-write+both": "GPU and GPU, both ways, push",
    "peer-read+both": "GPU and GPU, both ways, pull",
    "host-to-gpu": "host to GPU",
    "gpu-to-host": "GPU to host",
    "host-to-gpu+both": "GPU and host, both ways",
    "gpu-to-host+both": "GPU and host, both ways",
    "local": "within a GPU",
}


@dataclass(frozen=True)
class Judged:
    """All figures of one way and engine against what is expected of them; rates in GB/s as people read them.

    ``lowest``, ``highest``: measured over expected; ``short`` counts those that are slower than they should be.
    """

    way: str
    method: str
    line: str
    expected: str
    measured: str
    lowest: float
    highest: float
    figures: int
    short: int
    source: str


@dataclass(frozen=True)
class Opening:
    """``tone``: "fine", "short" or "unknown"; ``verdict`` and ``sentences`` are whole sentences; ``use``: (what is
    moved, by what), the questions asked most; ``picture``: an SVG."""

    tone: str
    verdict: str
    sentences: tuple[str, ...]
    use: tuple[tuple[str, str], ...]
    findings: tuple[Shortfall, ...]
    judged: tuple[Judged, ...]
    picture: Markup


def answer(node: Node, found: Diagnosis, choices: Choices, summary: Summary) -> Opening:
    """Of what `explain` and `choose` say of a run, and the summary of its rows."""
    tone = "unknown" if not found.judged else "short" if found.shortfalls else "fine"
    return Opening(
        tone=tone,
        verdict=verdict(found),
        sentences=tuple(_sentences(summary)),
        use=tuple(uses(choices)),
        findings=found.shortfalls,
        judged=tuple(_judged(found.accounts)),
        picture=Markup(picture(node, found)),
    )


def picture(node: Node, found: Diagnosis) -> str:
    """The node, links coloured by measured over expected; by their peaks where nothing could be judged."""
    if not found.judged:
        return draw(node)
    blamed = {word for one in found.shortfalls for where in one.where for word in where.split(" > ")}
    return draw(node, JudgedStyles(node.links, link_shares(found.accounts, Paths(node)), blamed))


def uses(choices: Choices) -> list[tuple[str, str]]:
    """What to use for what, such as ("GPU to GPU", "kernel-copy push up to 16 MiB, copy-engine push from 64 MiB")."""
    plain = [one for one in choices.answers if len(one.question.conditions) == 1]
    whatever = {_moved(one) for one in plain if one.question.memory == ANY}
    open_ = [one for one in plain if one.question.memory == ANY or _moved(one) not in whatever]
    open_.sort(key=_rank)
    lines: dict[str, str] = {}
    for _, some in groupby(open_, key=lambda one: one.question.movement):
        (first, *others), *_ = by_ranges(some)
        tiers = dict.fromkeys(one.question.tier for one in (first, *others) if one.question.tier)
        where = f" ({' or '.join(tiers)})" if 0 < len(tiers) < 3 else ""
        memory = "" if first.question.memory == ANY else f", {first.question.memory}"
        lines.setdefault(f"{first.question.movement}{where}{memory}", _use(first))
    return list(lines.items())[:MOST_USES]


def _moved(one: Choice) -> tuple[str, str, tuple[str, ...]]:
    return one.question.movement, one.question.tier, one.question.conditions


def _rank(one: Choice) -> tuple[int, str]:
    """What is asked most comes first; collectives before all that stays within a device."""
    movement = one.question.movement
    if movement in _ASKED_FIRST[:-1]:
        return _ASKED_FIRST.index(movement), movement
    return (len(_ASKED_FIRST) - 1 if " on " in movement else len(_ASKED_FIRST)), movement


def _use(one: Choice) -> str:
    if one.equals:
        return f"{wording.either(one.rivals)}, all equals"
    spans = [
        f"{best(span)} {_span(span.first, span.last, number, len(one.ranges))}"
        for number, span in enumerate(one.ranges)
    ]
    return ", ".join(spans)


def _span(first: float, last: float, number: int, count: int) -> str:
    if first == last and count == 1:
        return f"at {wording.size(first)}"
    if count == 1:
        return "at all sizes"
    if number == 0:
        return f"up to {wording.size(last)}"
    return f"from {wording.size(first)}" + ("" if number == count - 1 else f" to {wording.size(last)}")


def _sentences(summary: Summary) -> list[str]:
    """What else a reader must know before he believes it."""
    done = "modelled" if summary.modelled else "measured and verified"
    failed, skipped = (sum(group.count for group in some) for some in (summary.failed, summary.skipped))
    if not summary.rows:
        return ["The run has no cases."]
    if not failed and not skipped:
        lines = [f"All {summary.rows} cases were {done}."]
    else:
        left = [f"{failed} failed"] * bool(failed) + [f"{skipped} were skipped"] * bool(skipped)
        lines = [f"{summary.ok} of {summary.rows} cases were {done}, {' and '.join(left)}."]
    if summary.imprecise and not summary.modelled:
        within = f"the ±{summary.precision * 100:g} % that the run asked for"
        lines.append(f"{len(summary.imprecise)} of {summary.figures} figures have intervals wider than {within}.")
    return lines


def _judged(accounts: Iterable[Ledger]) -> list[Judged]:
    """A line for each way and engine, in the order of the run."""
    groups: dict[tuple[str, str, str], list[Ledger]] = {}
    for one in accounts:
        if one.expected_gbps is not None:
            groups.setdefault((one.way, one.method, one.link), []).append(one)
    return [_line(members) for members in groups.values()]


def _line(members: Sequence[Ledger]) -> Judged:
    one = members[0]
    shares = [1 - member.missing for member in members]
    sources = dict.fromkeys(member.held_against for member in members)
    return Judged(
        way=_WAYS.get(one.way, one.way),
        method=one.method,
        line=_rates(member.line_gbps for member in members),
        expected=_rates(member.expected_gbps for member in members),
        measured=_rates(member.measured.median for member in members),
        lowest=min(shares),
        highest=max(shares),
        figures=len(members),
        short=sum(member.short for member in members),
        source="siblings" if set(sources) == {SIBLINGS} else "published",
    )


def _rates(rates: Iterable[float | None]) -> str:
    known = [rate for rate in rates if rate is not None]
    return " – ".join(dict.fromkeys(wording.value(pick(known)) for pick in (min, max))) if known else "not known"
