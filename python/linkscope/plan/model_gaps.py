"""Model gaps: which tests of a plan a machine model has no data for, and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from linkscope.messages.finding import Finding, note


def model_gaps(cases: Iterable[tuple[str, str, str | None]], node: str, machine: str) -> list[Finding]:
    """Return how many tests the model of ``node`` covers, what lacks by reason, and where to look; [] where all are
    modelled.

    ``cases``: suite, test and why there is no model, None where there is one. A test lacks where none of its cases is
    modelled, for the reason of its first one. Suites are named where there are several. ``machine``: the name of the
    machine model, or its file.
    """
    asked = list(cases)
    several = len({suite for suite, _, _ in asked}) > 1
    reasons: dict[str, list[str | None]] = {}
    for suite, test, reason in asked:
        reasons.setdefault(f"{suite}/{test}" if several else test, []).append(reason)
    lacking: dict[str, list[str]] = {}
    for test, said in reasons.items():
        if None not in said:
            lacking.setdefault(str(said[0]), []).append(test)
    if not lacking:
        return []
    modelled = sum(None in said for said in reasons.values())
    return [
        note("model.tests", node=node, modelled=modelled, tests=len(reasons)),
        *(_lacking(tests, why) for why, tests in lacking.items()),
        note("model.card", machine=shlex.quote(machine)),
    ]


def _lacking(tests: list[str], reason: str) -> Finding:
    if len(tests) == 1:
        return note("model.lacking", test=tests[0], reason=reason)
    return note("model.lacking-several", test=tests[0], more=len(tests) - 1, tests=tests, reason=reason)
