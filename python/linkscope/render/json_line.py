"""JSON line: the verdict on a node as one line with fields that stay, for gates before a job and for log collectors."""

from __future__ import annotations

import json
from typing import Any

from linkscope.answers.answer import Answer, Outcome
from linkscope.messages.catalog import sentence, verdict
from linkscope.messages.finding import Finding, Level
from linkscope.render.checked_lines import Line, findings, limit_of, lines
from linkscope.version import __version__

SCHEMA = 1
"""It changes with the meaning of any field; new fields may come without."""
_COUNTERS = "health."
"""Begins the codes of what the machine's own counters say (messages/health.toml)."""
_RESULT = ("id", "path", "value", "unit", "beyond")


def json_line(answer: Answer) -> str:
    """Return one line of JSON (docs/fleet.md has the fields). ``overall_severity`` has the words of NVIDIA Health
    Validation's node verdict."""
    decided = answer.outcome in (Outcome.HOLDS, Outcome.FAILS)
    warned = [*findings(answer, Level.WARNING)]
    checked = [line for line in lines(answer) if line["outcome"] != Outcome.UNTESTED.value]
    failed = [line for line in checked if line["outcome"] == Outcome.FAILS.value]
    passed = answer.outcome is Outcome.HOLDS
    found = {
        "schema": SCHEMA,
        "tool": "linkscope",
        "version": __version__,
        "question": answer.question,
        "host": answer.run.host or answer.run.node,
        "time": answer.run.started,
        "verdict": verdict(answer.headline),
        "overall_severity": ("WARNING" if warned else "PASS") if passed else "CRITICAL" if decided else "UNKNOWN",
        "passed": passed,
        "exit_code": answer.exit_code,
        "reason": sentence(answer.headline),
        "modelled": answer.run.modelled,
        "load": answer.data.get("load"),
        "checked": len(checked),
        "failed": [_result(line) for line in failed],
        "errors": [_finding(one) for one in findings(answer, Level.ERROR)],
        "warnings": [_finding(one) for one in warned],
        "counters": [_finding(one) for one in findings(answer, *Level) if one.code.startswith(_COUNTERS)],
        "run": str(answer.run.path),
    }
    return json.dumps(found, allow_nan=False, default=str) + "\n"


def _result(line: Line) -> dict[str, Any]:
    return {**{name: line.get(name) for name in _RESULT}, "limit": limit_of(line)}


def _finding(found: Finding) -> dict[str, Any]:
    facts = {name: value for name, value in found.facts.items() if name != "run"}
    return {"code": found.code, "where": list(found.where), "text": sentence(found), "facts": facts}
