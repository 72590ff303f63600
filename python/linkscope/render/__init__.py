"""Render: answers as text, HTML, JSON, CSV, JUnit and Prometheus."""

from __future__ import annotations

from linkscope.answers.answer import Answer
from linkscope.messages.near_names import unknown
from linkscope.render import data, monitoring, terminal

FORMS = ("text", "json", "csv", "junit", "prometheus")


def render(answer: Answer, form: str = "text", *, width: int = 80, full: bool = False) -> str:
    """Return an answer in a form of ``FORMS``; ``width`` and ``full`` are for text.

    Raises LinkscopeError for a form that there is not.
    """
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    if form == "text":
        return terminal.text(answer, width, full=full)
    return {"json": data.to_json, "csv": data.to_csv, "junit": monitoring.junit, "prometheus": monitoring.prometheus}[
        form
    ](answer)
