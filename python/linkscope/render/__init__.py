"""Render: answers as text, HTML, JSON and CSV, and as files that gates and monitoring read."""

from __future__ import annotations

from collections.abc import Callable

from linkscope.answers.answer import Answer
from linkscope.messages.near_names import unknown
from linkscope.render import data, monitoring, terminal
from linkscope.render.dcgm import dcgm
from linkscope.render.json_line import json_line

WRITERS: dict[str, Callable[[Answer], str]] = {
    "json": data.to_json,
    "csv": data.to_csv,
    "junit": monitoring.junit,
    "prometheus": monitoring.prometheus,
    "json-line": json_line,
    "dcgm": dcgm,
}
"""Forms that programs read."""
FORMS = ("text", *WRITERS)


def render(answer: Answer, form: str = "text", *, width: int = 80, full: bool = False) -> str:
    """Return an answer in a form of ``FORMS``; ``width`` and ``full`` are for text.

    Raises LinkscopeError for a form that there is not.
    """
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    return terminal.text(answer, width, full=full) if form == "text" else WRITERS[form](answer)
