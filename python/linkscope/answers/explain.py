"""Explain: is a run's node as fast as it should be, and if not, where and why?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars

from linkscope.answers.answer import Answer, Outcome, Table
from linkscope.answers.causes import Line, RunSurroundings, checks, clocks
from linkscope.answers.checked_results import PEERS_SOURCE, checked_results
from linkscope.answers.expectation import missing
from linkscope.answers.explain_tables import of_problem, of_results, slowest, steps
from linkscope.answers.health import health_findings
from linkscope.answers.not_checked import (
    failed_cases,
    model_headline,
    model_next,
    no_verdict,
    not_checked,
    skipped_cases,
)
from linkscope.answers.pasted import of_paste
from linkscope.answers.problems import Slowdown, problems
from linkscope.answers.run_head import RunHead, run_head
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, Level, note
from linkscope.messages.names import named
from linkscope.results.note_codes import NVLS_FREE, says
from linkscope.results.remarks import interference

SHOWN = 3
"""Problems on the first screen."""


@dataclass(frozen=True)
class Explained:
    """Hold the checked results of a run.

    ``lines``: results with a reference (``known``) or with peers alone (``by_peers``: a fault of all of them does not
    show), in the run's order. ``problems``: the gravest first. ``failed``: why cases failed. ``unclear``: results whose
    interval reaches below the limit, the furthest first. ``unseen``: GPUs of which nothing was checked. ``left_out``:
    how many other results there are, by why they were not checked. ``health``: what failed or moved in GPUs and links
    while the run lasted.
    """

    run: Run
    head: RunHead
    lines: Sequence[Line]
    around: RunSurroundings
    problems: Sequence[Slowdown]
    failed: Sequence[Finding]
    known: Sequence[Line]
    by_peers: Sequence[Line]
    unclear: Sequence[Line]
    unseen: Sequence[str]
    left_out: Mapping[str, int]
    health: Sequence[Finding]


def answer(run: Run) -> Answer:
    """Return whether each large transfer, latency and collective of a run is as fast as it should be, and why not."""
    found = _explained(run)
    outcome, headline = _verdict(found)
    shown, hidden = _findings(found, headline)
    answer = Answer(
        question="explain",
        runs=(found.head,),
        headline=headline,
        outcome=outcome,
        findings=tuple(shown),
        tables=tuple(_tables(found)),
        next=tuple(_next(found, outcome)),
        details=tuple(hidden),
        data=_data(found),
    )
    return of_paste(run, answer, {line["id"] for line in found.lines}) if run.pasted else answer


def slow(run: Run) -> Finding | None:
    """Return where a run's node is slower than it should be, as the headline says it; None where nothing is."""
    known = run.answers.get("explain")
    if known is not None:
        return known.headline if known.outcome is Outcome.FAILS and known.data["problems"] else None
    found = None if run.modelled or run.missing else _explained(run)
    return _slow(found) if found and found.problems else None


def _explained(run: Run) -> Explained:
    lines = list(checked_results(run).filter(polars.col("outcome").is_not_null()).iter_rows(named=True))
    around = RunSurroundings(run, lines)
    unclear = [line for line in lines if line["outcome"] == Outcome.UNCLEAR.value]
    seen = {gpu for line in lines for gpu in line["gpus"]}
    return Explained(
        run=run,
        head=run_head(run),
        lines=lines,
        around=around,
        problems=problems(around),
        failed=list(failed_cases(run)),
        known=[line for line in lines if line["expected_source"] != PEERS_SOURCE],
        by_peers=[line for line in lines if line["expected_source"] == PEERS_SOURCE],
        unclear=sorted(unclear, key=missing, reverse=True),
        unseen=[gpu for gpu in around.gpus if gpu not in seen],
        left_out=not_checked(run, [line["key"] for line in lines]),
        health=health_findings(run),
    )


def _slow(found: Explained) -> Finding:
    """Return where the only problem is, or how many there are."""
    if len(found.problems) == 1:
        return place(found.problems[0], found.around.gpus)
    facts = _counts(found, [line for one in found.problems for line in one.lines])
    return note("explain.several", problems=len(found.problems), **facts)


def _verdict(found: Explained) -> tuple[Outcome, Finding]:
    if found.run.modelled:
        return Outcome.UNTESTED, model_headline(found.run, found.known)
    if found.head.cut_short:
        return Outcome.UNTESTED, note("run.incomplete")
    if found.failed:
        return Outcome.FAILS, note("explain.failed", failed=found.head.failed, cases=found.head.cases)
    if found.problems:
        return Outcome.FAILS, _slow(found)
    if found.health and found.health[0].level is Level.ERROR:
        return Outcome.FAILS, found.health[0]
    checked = len(found.known)
    if not checked:
        return Outcome.UNTESTED, no_verdict(found.run, found.by_peers, found.left_out)
    if found.unclear:
        first = found.unclear[0]
        if all(line["maybe_faster"] for line in found.unclear):
            unsaid = first["origin"] and not says(NVLS_FREE, first["notes"])
            code = "explain.maybe-nvls-import" if unsaid else "explain.maybe-nvls"
            return Outcome.UNCLEAR, note(code, collective=first["collective"])
        return Outcome.UNCLEAR, note("explain.unclear", unclear=len(found.unclear), checked=len(found.lines))
    links = any(line["kind"] == "peer" for line in found.known)
    whole = links and not found.unseen
    return Outcome.HOLDS, note("explain.ok" if whole else "explain.ok-partly", checked=checked)


def place(problem: Slowdown, gpus: Sequence[str]) -> Finding:
    """Return where a problem is and what it costs; ``gpus``: all of the node."""
    everywhere = len(gpus) > 2 and set(problem.where) == set(gpus) and problem.arrow == "<->"
    facts: dict[str, Any] = {"cost": problem.cost, "arrow": problem.arrow, "kinds": list(problem.kinds)}
    if problem.at_once:
        code = "explain.slow-at-once"
    elif problem.kinds == ("collective",):
        code = "explain.slow-collective"
        facts |= {"collective": problem.lines[0]["collective"], "members": len(problem.where)}
    elif not problem.lines:
        code = "explain.unreachable"
    elif everywhere:
        code = "explain.late-everywhere" if problem.late else "explain.slow-everywhere"
    elif problem.arrow and "pairs" not in problem.cause.facts:
        code = "explain.late" if problem.late else "explain.slow"
    else:
        code = "explain.late-path" if problem.late else "explain.slow-path"
        facts["where"] = problem.cause.facts.get("pairs", problem.where)
    return Finding(code, Level.NOTE, facts, problem.where, problem.cause.results)


def _findings(found: Explained, headline: Finding) -> tuple[list[Finding], list[Finding]]:
    """Return what the first screen says, and what --full says besides."""
    causes = {one.cause.code.partition(".")[2] for one in found.problems} | {"failed"}
    said = (headline.code, headline.where)
    shown = [
        one for one in found.head.findings if one.code.partition(".")[2] not in causes and (one.code, one.where) != said
    ]
    hidden = [one for one in found.health if one.level is Level.NOTE]
    shown += found.failed
    if not found.lines:
        shown += skipped_cases(found.run)
    for number, problem in enumerate(found.problems):
        into = shown if number < SHOWN else hidden
        where = place(problem, found.around.gpus)
        if headline.code != where.code:
            into.append(where)
        into.append(problem.cause)
        (shown if number == 0 else hidden).extend(_grounds(found, problem))
        slow = [found.run.rows[name] for name in problem.cause.results]
        hidden += interference([one for row in slow for one in row.measured])
    if len(found.problems) > SHOWN:
        shown.append(note("explain.more-problems", more=len(found.problems) - SHOWN))
    for line in found.unclear if not found.problems else ():
        into = shown if line in found.unclear[:2] and not line["maybe_faster"] else hidden
        into.append(_said("explain.unclear-rate", "explain.unclear-time", line))
    if headline.code in ("explain.no-cpus", "explain.no-messages"):
        shown.append(note("explain.two-runs"))
    rest = hidden if found.problems else shown
    if found.unseen and found.lines:
        shown.append(note("explain.unseen", gpus=found.unseen))
    if found.left_out and found.lines:
        rest.append(note("explain.not-checked", counts=found.left_out))
    if found.by_peers and found.known and not found.problems and not found.run.modelled:
        spread = max(abs(missing(line)) for line in found.by_peers)
        rest.append(note("explain.peers-agree", results=len(found.by_peers), spread=spread))
    hidden += _sources(found)
    return shown, hidden


def _grounds(found: Explained, problem: Slowdown) -> Iterator[Finding]:
    """Yield what shows a problem, what is not slow beside it, and what to look at."""
    yield from (*problem.evidence, *clocks(found.around, problem.cause))
    if problem.lines:
        worst = max((line for line in problem.lines if problem.late or line["unit"] == RATE), key=missing)
        said = _said("explain.evidence-rate", "explain.evidence-time", worst)
        yield replace(said, facts={**said.facts, **_counts(found, problem.lines)})
    elif problem.cause.results and not problem.evidence:
        yield note("explain.evidence-skipped", skipped=len(problem.cause.results))
    if len(found.problems) == 1 and len(problem.where) == 1 and problem.where[0] in found.around.gpus:
        yield from _not_it(found, problem.where[0], problem.kinds)
    over_pcie = bool(problem.lines) and all(str(line["link"]).startswith("pcie") for line in problem.lines)
    yield from checks(
        found.around, problem.cause, "peer-pcie" if over_pcie and "peer" in problem.kinds else problem.kinds[0]
    )


def _counts(found: Explained, slow: Sequence[Line]) -> dict[str, int]:
    """Return how many results are slow, and of how many: of those with a reference, unless peers alone show any."""
    by_known = all(line["expected_source"] != PEERS_SOURCE for line in slow)
    return {"slow": len(slow), "checked": len(found.known if by_known else found.lines)}


def _not_it(found: Explained, gpu: str, kinds: Sequence[str]) -> Iterator[Finding]:
    """Yield what was checked and is as it should be: other paths of the GPU, and the same paths of other GPUs."""
    checked = {line["kind"] for line in found.lines if gpu in line["gpus"]}
    parts = [kind for kind in ("host", "local", "peer") if kind in checked and kind not in kinds]
    others = [one for one in found.around.gpus if one != gpu]
    seen = {one for line in found.lines if line["kind"] in kinds and gpu not in line["gpus"] for one in line["gpus"]}
    if parts:
        code = "explain.not-it" if set(others) <= seen else "explain.not-it-here"
        yield note(code, parts=parts, gpu=gpu, others=others)


def _said(rate: str, time: str, line: Line) -> Finding:
    facts: dict[str, Any] = {name: line[name] for name in ("path", "method", "value", "expected", "limit", "bytes")}
    flag = f"{line['method']} {line['parameters']}"
    facts["called"] = name if (name := named("called", flag)) != flag else line["method"]
    low, high = line["value_low"], line["value_high"]
    if line["value_modes"] and rate == "explain.unclear-rate":
        low, high = line["value_modes"]
        facts |= {"in_low": line["value_modes_in"][0], "of": sum(line["value_modes_in"])}
        rate, time = "explain.two-speeds-rate", "explain.two-speeds-time"
    return note(rate if line["unit"] == RATE else time, **facts, low=low, high=high, between=(low, high))


def _sources(found: Explained) -> Iterator[Finding]:
    """Yield who says what was expected, with the limit, in the numbers of the table of all results."""
    for number, source in enumerate(dict.fromkeys(line["expected_source"] for line in found.lines), start=1):
        held = [line for line in found.lines if line["expected_source"] == source]
        limits = sorted({1 + line["tolerance"] * (-1 if line["unit"] == RATE else 1) for line in held})
        code = "explain.source-peers" if source == PEERS_SOURCE else "explain.source"
        yield note(code, number=number, citation=source, limits=limits)


def _tables(found: Explained) -> Iterator[Table]:
    library = found.run.library
    if found.problems and found.problems[0].lines:
        yield of_problem(found.problems[0], library)
    if found.lines:
        yield slowest(found.known or found.by_peers, library, shown=not found.problems)
        if any(line["engine_gbps"] for line in found.lines):
            yield steps(found.lines, library)
        yield of_results(found.lines, library)


def _next(found: Explained, outcome: Outcome) -> Iterator[Finding]:
    path = str(found.run.path)
    if found.run.modelled:
        yield from model_next(found.run)
    elif outcome is Outcome.FAILS:
        yield note("explain.next-compare", path=path)
        yield note("explain.next-full", path=path)
    elif outcome is Outcome.UNCLEAR and not all(line["maybe_faster"] for line in found.unclear):
        two = any(line["value_modes"] for line in found.unclear)
        yield note("explain.next-rerun", path=path) if two else note("explain.next-rounds")
    elif outcome is Outcome.HOLDS:
        yield note("explain.next-full", path=path)


def _data(found: Explained) -> dict[str, Any]:
    return {
        "checked": len(found.lines),
        "by_reference": len(found.known),
        "unclear": len(found.unclear),
        "not_checked": dict(found.left_out),
        "problems": [
            {
                **{"where": list(one.where), "arrow": one.arrow, "kinds": list(one.kinds), "cause": one.cause.code},
                **{"facts": dict(one.cause.facts), "results": list(one.cause.results)},
                **{"cost": one.cost, "late": one.late},
            }
            for one in found.problems
        ],
    }
