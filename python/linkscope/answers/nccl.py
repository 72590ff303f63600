"""NCCL: what NCCL's own check of the paths between GPUs found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkscope.answers.answer import Answer, Outcome
from linkscope.documents.escaped import escaped
from linkscope.machine.nccl_diagnostics import SINCE, Diagnosis
from linkscope.messages.finding import Finding, error, note, warning


def nccl(library: str, version: str, report: Diagnosis | None, reason: str = "") -> Answer:
    """Return what a report says. ``library``: NCCL or RCCL; ``report`` None: it printed none, for that ``reason``."""
    facts = {"library": library, "version": escaped(version)}
    if report is None:
        return Answer("nccl", (), warning("nccl.silent", **facts, reason=escaped(reason)), Outcome.UNCLEAR)
    findings = (*_failed(report), *(warning("nccl.said", text=escaped(text)) for text in report.others))
    found = {"passed": report.passed, "tested": report.tested, "ranks": report.ranks, "seconds": report.seconds}
    bad = bool(report.failed) or report.passed != report.tested
    if bad:
        headline = error("nccl.failed", **facts, passed=report.passed or 0, tested=report.tested or len(report.failed))
    elif report.passed is None or report.ranks is None:
        headline = warning("nccl.unfinished", **facts)
    else:
        headline = note("nccl.passed", **facts, accesses=report.passed)
    outcome = Outcome.FAILS if bad else Outcome.UNCLEAR if headline.code == "nccl.unfinished" else Outcome.HOLDS
    return Answer("nccl", (), headline, outcome, findings, data={"diagnostics": found})


def older(library: str, version: str) -> Answer:
    """Return that the library is older than its own diagnostics."""
    since = ".".join(map(str, SINCE))
    return Answer("nccl", (), note("nccl.older", library=library, version=version, since=since), Outcome.UNTESTED)


def unavailable(reason: str) -> Answer:
    """Return why nothing could be run."""
    return Answer("nccl", (), note("nccl.unavailable", reason=escaped(reason)), Outcome.UNTESTED)


def _failed(report: Diagnosis) -> Iterator[Finding]:
    """Yield one finding for all pairs that fail in one way."""
    pairs: dict[tuple[str, str, str], list[str]] = {}
    for one in report.failed:
        pairs.setdefault((one.what, one.path, one.handle), []).append(f"gpu:{one.source}>gpu:{one.destination}")
    for (what, path, handle), where in pairs.items():
        code = "nccl.over-pcie" if path in ("PIX", "PXB", "PHB", "SYS") else "nccl.over-links"
        found = error(code, what=escaped(what), path=escaped(path), handle=escaped(handle))
        yield replace(found, where=tuple(where))
