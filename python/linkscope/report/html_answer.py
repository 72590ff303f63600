"""The top of the page: the answer in a few sentences, the node's picture that shows it, and what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from linkscope.analysis.choose import Choices
from linkscope.analysis.explain import Diagnosis, Shortfall
from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.analysis.ledger import SIBLINGS, Ledger
from linkscope.analysis.summary import Summary
from linkscope.analysis.workloads import WorkloadTable
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.render.svg.node import draw
from linkscope.render.svg.node_colours import Checked, reached
from linkscope.report import choose_text, wording, workload_text
from linkscope.report.explain_text import grounds, headline
from linkscope.report.html_use import use_notes, uses

MOST_APPLICATIONS = 2
"""Whose answers stand at the top of the page; the section of applications has all."""
PHONE = 350
"""Pixels that a phone has for a picture."""
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
    moved, by what), the questions asked most, and ``use_notes`` what limits these; ``picture``: an SVG."""

    tone: str
    verdict: str
    sentences: tuple[str, ...]
    use: tuple[tuple[str, str], ...]
    use_notes: tuple[str, ...]
    findings: tuple[Shortfall, ...]
    judged: tuple[Judged, ...]
    picture: Markup

    @property
    def wide(self) -> bool:
        """Whether a phone does not show the whole picture as it is."""
        width = re.search(r' width="(\d+)"', self.picture)
        return width is not None and int(width[1]) > PHONE


def answer(
    node: Node,
    found: Diagnosis,
    choices: Choices,
    summary: Summary,
    asked: Sequence[WorkloadTable] = (),
    gaps: str = "",
) -> Opening:
    """Of what `explain` and `choose` say of a run, the summary of its rows, and the applications ``asked`` about, which
    are the answer where no path could be judged. ``gaps``: what a model has nothing for, a sentence."""
    of_paths = found.judged > 0 or bool(found.wrong)
    tone = "short" if found.wrong else "unknown" if not found.known or found.modelled else "fine"
    if of_paths:
        said = (headline(found), grounds(found))
    elif asked:
        said = (" ".join(map(workload_text.answer, asked[:MOST_APPLICATIONS])), "")
    elif choices.answers and not found.failed:
        said = (choose_text.verdict(choices), headline(found))
    else:
        said = (headline(found), grounds(found))
    return Opening(
        tone=tone,
        verdict=said[0],
        sentences=tuple(filter(None, [said[1], gaps, *_sentences(summary)])),
        use=tuple(uses(choices)),
        use_notes=tuple(use_notes(choices)),
        findings=found.shortfalls,
        judged=tuple(_judged(found)),
        picture=Markup(picture(node, found)),
    )


def picture(node: Node, found: Diagnosis) -> str:
    """The node, links coloured by measured over expected; by their peaks where nothing could be judged."""
    if not found.judged or len(found.collectives) == found.judged:
        return draw(node).svg
    blamed = {word for one in found.shortfalls for where in one.where for word in where.split(" > ")}
    checked = (
        Checked(one.source, one.destination, f"{one.way}/{one.method}", 1 - one.missing, one.short)
        for one in found.accounts
        if one.expected_gbps is not None
    )
    return draw(node, reached(checked, Paths(node), blamed)).svg


def _sentences(summary: Summary) -> list[str]:
    """What else a reader must know before he believes it."""
    done = wording.done(summary)
    failed, skipped = (sum(group.count for group in some) for some in (summary.failed, summary.skipped))
    if not summary.rows:
        return ["The run has no cases."]
    if not failed and not skipped:
        lines = [f"All {summary.rows} cases were {done}." if summary.rows > 1 else f"The one case was {done}."]
    else:
        left = [f"{failed} failed"] * bool(failed) + [f"{skipped} were skipped"] * bool(skipped)
        lines = [f"{summary.ok} of {summary.rows} cases were {done}, {' and '.join(left)}."]
    if summary.imprecise and not wording.mark(summary):
        within = f"the ±{summary.precision * 100:g} % that the run asked for"
        lines.append(f"{len(summary.imprecise)} of {summary.figures} figures have intervals wider than {within}.")
    return lines


def _judged(found: Diagnosis) -> list[Judged]:
    """A line for each way and engine, in the order of the run, and for each collective."""
    groups: dict[tuple[str, ...], list[Ledger | JudgedCollective]] = {}
    for one in found.accounts:
        if one.expected_gbps is not None:
            groups.setdefault((_WAYS.get(one.way, one.way), one.method, one.link), []).append(one)
    for each in found.collectives:
        groups.setdefault((f"{each.name}, bus bandwidth", each.method), []).append(each)
    return [_line(way, members) for (way, *_), members in groups.items()]


def _line(way: str, members: Sequence[Ledger | JudgedCollective]) -> Judged:
    one = members[0]
    shares = [1 - member.missing for member in members]
    sources = dict.fromkeys(member.held_against for member in members)
    return Judged(
        way=way,
        method=one.method,
        line=_rates(member.line_gbps for member in members),
        expected=_rates(member.expected_gbps for member in members),
        measured=_rates(member.measured.median for member in members),
        lowest=min(shares),
        highest=max(shares),
        figures=len(members),
        short=sum(member.short for member in members),
        source="siblings in this run" if set(sources) == {SIBLINGS} else "such nodes",
    )


def _rates(rates: Iterable[float | None]) -> str:
    known = [rate for rate in rates if rate is not None]
    return " – ".join(dict.fromkeys(wording.value(pick(known)) for pick in (min, max))) if known else "not known"
