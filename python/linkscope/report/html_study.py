"""A study beside this machine as one self-contained HTML page, its figures drawn from this machine's figures."""

from __future__ import annotations

from markupsafe import Markup

from linkscope.analysis.reproduce import Reproduction
from linkscope.report import reproduce_text
from linkscope.report.html import environment, script_json
from linkscope.report.html_limits import fitted
from linkscope.report.html_records import Records
from linkscope.report.html_sections import sections_of
from linkscope.report.provenance import date

MOST_CELLS = 6000
"""Figures on the page, which stays below 5 MB with them."""


def render_study(found: Reproduction) -> str:
    """The page's text."""
    tables = fitted([table for one in found.shown for table in one.tables], MOST_CELLS)
    rows = [row for one in found.shown for row in one.rows]
    records = Records(rows, [one.listed for one in tables], ())
    sections = iter(sections_of(tables, records))
    exhibits = [(one, [next(sections) for _ in one.tables]) for one in found.shown]
    return (
        environment()
        .get_template("study.html.j2")
        .render(
            found=found,
            text=reproduce_text,
            verdict=reproduce_text.verdict(found),
            exhibits=exhibits,
            started=date(str(found.run.header.get("started", ""))),
            titles=Markup(script_json([one.table.heading.title for one in tables])),
            records=Markup(script_json(records.lines)),
            raw="",
            file_name=f"{found.study.name}-{found.run.path.stem}",
            left_out="",
        )
    )
