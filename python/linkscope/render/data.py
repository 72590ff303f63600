"""Data: an answer for programs, with everything that its screen warns of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars

from linkscope.answers.answer import Answer, Table
from linkscope.messages.catalog import commands, sentence, verdict
from linkscope.messages.finding import Finding


def to_json(answer: Answer) -> str:
    """Return one JSON object: outcome, exit code, findings by code with their facts, and all rows of all tables."""
    return json.dumps(as_json(answer), indent=1, allow_nan=False, default=_plain) + "\n"


def as_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as a JSON-ready dict."""
    return {
        "question": answer.question,
        "verdict": verdict(answer.headline),
        "outcome": answer.outcome.value if answer.outcome else None,
        "exit_code": answer.exit_code,
        "runs": [run.to_json() for run in answer.runs],
        "headline": _finding(answer.headline),
        "findings": [_finding(found) for found in (*answer.findings, *answer.details)],
        "tables": _tables(answer.tables),
        "next": [command for found in answer.next for command in commands(found)],
        **answer.data,
    }


def to_csv(answer: Answer) -> str:
    """Return the first table as CSV; lists are joined with spaces."""
    return frame_csv(answer.tables[0].frame) if answer.tables else ""


def frame_csv(frame: polars.DataFrame) -> str:
    """Return a frame as CSV; lists are joined with spaces."""
    flat = [
        polars.col(name).list.eval(polars.element().cast(polars.String)).list.join(" ")
        for name, kind in frame.schema.items()
        if isinstance(kind, polars.List)
    ]
    return frame.with_columns(flat).write_csv()


def _finding(found: Finding) -> dict[str, Any]:
    return {**found.to_json(), "text": sentence(found)}


def _tables(tables: Sequence[Table]) -> dict[str, list[dict[str, Any]]]:
    """Return all rows by the key of their table; those of tables with one key follow one another."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in tables:
        found.setdefault(table.key, []).extend(table.frame.iter_rows(named=True))
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return value.value if hasattr(value, "value") else str(value)
