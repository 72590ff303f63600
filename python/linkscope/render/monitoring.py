"""Monitoring: an answer for CI servers (JUnit) and for Prometheus' node exporter."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from linkscope.answers.answer import Answer, Outcome
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Level

_NUMBERS = {Outcome.HOLDS: 0, Outcome.FAILS: 1, Outcome.UNCLEAR: 2, Outcome.UNTESTED: 3, None: 3}


def junit(answer: Answer) -> str:
    """Return JUnit XML: a test case for each error, or one that passed; skipped where there is no verdict."""
    errors = answer.at(Level.ERROR) if answer.outcome is Outcome.FAILS else ()
    name = quoteattr(f"linkscope.{answer.question}")
    cases = [
        f"  <testcase classname={name} name={quoteattr(found.code)}>"
        f"<failure message={quoteattr(sentence(found))}/></testcase>"
        for found in errors
    ]
    if not cases:
        inner = "" if answer.outcome is Outcome.HOLDS else f"<skipped message={quoteattr(sentence(answer.headline))}/>"
        cases = [f"  <testcase classname={name} name={quoteattr(answer.headline.code)}>{inner}</testcase>"]
    skipped = int(answer.outcome not in (Outcome.HOLDS, Outcome.FAILS))
    head = f'<testsuite name={name} tests="{len(cases)}" failures="{len(errors)}" skipped="{skipped}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""])


def prometheus(answer: Answer) -> str:
    """Return a metric with the outcome (0 holds, 1 fails, 2 unclear, 3 untested) and one for each finding."""
    question = f'question="{answer.question}"'
    lines = [
        "# HELP linkscope_outcome 0 holds, 1 fails, 2 unclear, 3 untested",
        "# TYPE linkscope_outcome gauge",
        f"linkscope_outcome{{{question}}} {_NUMBERS[answer.outcome]}",
        "# TYPE linkscope_finding gauge",
    ]
    lines += [
        f'linkscope_finding{{{question},code="{found.code}",level="{found.level.value}"}} 1'
        for found in {found.code: found for found in answer.findings}.values()
    ]
    return "\n".join([*lines, ""])
