"""A run as one self-contained HTML page: no network, no library, readable without scripts, printable.

The pictures are SVG and HTML tables written here, brought to life by a small script: a plotting library would add
4.8 MB to every page, draw on a canvas of its own that neither prints nor follows the reader's colour scheme, and
give nothing that a heat map of a few dozen cells needs.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from linkscope.analysis.choose import choose
from linkscope.analysis.excerpt import Excerpt, all_of
from linkscope.analysis.explain import Diagnosis, explain
from linkscope.analysis.model_gaps import gaps_of
from linkscope.analysis.overview import overview
from linkscope.analysis.summary import Table
from linkscope.documents.whole_file import put_whole
from linkscope.errors import LinkscopeError
from linkscope.report import model_gaps_text, wording, workload_text
from linkscope.report.curve_svg import clocks, mark, styles
from linkscope.report.heat import style_sheet
from linkscope.report.html_answer import answer
from linkscope.report.html_glance import glance
from linkscope.report.html_limits import MOST_TABLES, fitted
from linkscope.report.html_records import Records
from linkscope.report.html_runs import side_by_side
from linkscope.report.html_sections import EVEN, chapters, sections_of
from linkscope.report.html_use import best_collectives, reading, use_maps
from linkscope.report.odd_text import odd_and_where
from linkscope.report.provenance import date, machine_state, precision, provenance, remarks
from linkscope.report.series_band import MOST_SERIES
from linkscope.report.workload_svg import parts_shown, workload_svg
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

MOST_BYTES = 5_000_000
MOST_CELLS = (4000, 1000, 250)
"""Figures on the page, the first number that keeps it below ``MOST_BYTES``."""
MOST_PACKED = 1_500_000
"""Bytes that the run file may add to the page."""
MOST_PACKED_ROWS = 5000
"""Of more rows it is not even tried."""
MANY = 30
"""Tables of a chapter of more are folded one by one."""
MOST_QUESTIONS = 10
"""Of what to use that are not folded."""
MOST_LINES = 30
"""A table at a glance of more is folded."""
MOST_LEADS = 6
"""Lines on who is best below a picture."""
NARROW = 4
"""A matrix of up to so many columns shares the page's width with another table."""
STYLE_SHEETS = ("base", "answer", "tables", "curves", "figures", "runs", "workloads", "small")
SCRIPTS = ("details", "curves", "switches", "figures", "download", "png")


def write_report(runs: Sequence[RunFile | Excerpt], path: Path) -> None:
    """Writes the page of a run, or of several side by side, whole or not at all.

    Raises LinkscopeError where there are no runs, ``path`` is one of theirs, or it cannot be written.
    """
    if not runs:
        raise LinkscopeError("there is nothing to report: name run files, or folders that hold some")
    if any(os.path.realpath(_whole(run).run.path) == os.path.realpath(path) for run in runs):
        raise LinkscopeError(f"{path} is the run file itself: name another one for the page, such as PAGE.html")
    page = render(runs[0]) if len(runs) == 1 else render_runs(runs)
    try:
        put_whole(Path(path), page.encode())
    except OSError as error:
        raise LinkscopeError(f"cannot write the report to {path}: {error.strerror or error}") from error


def render_runs(runs: Sequence[RunFile | Excerpt]) -> str:
    """The text of a page that sets runs side by side, the first as the base of the others."""
    whole = [_whole(run) for run in runs]
    template, version = environment().get_template("runs.html.j2"), whole[0].run.header.get("version", "?")
    return template.render(found=side_by_side(whole), version=version)


def _whole(run: RunFile | Excerpt) -> Excerpt:
    return all_of(run) if isinstance(run, RunFile) else run


def render(shown: RunFile | Excerpt) -> str:
    """The page's text, in UTF-8 at most about ``MOST_BYTES``: of large runs it says what it leaves out."""
    whole = _whole(shown)
    run = whole.run
    header, rows, node = run.header, run.rows, run.node
    found = overview(rows, node, precision(header))
    diagnosis, choices = explain(run), choose(whole.figures)
    maps = use_maps(choices)
    gaps = model_gaps_text.sentence(gaps_of(rows), node.name) if node.modelled else ""
    template = environment().get_template("report.html.j2")
    told = {
        "header": header,
        "node": node,
        "answer": answer(node, diagnosis, choices, found.summary, found.workloads, gaps),
        "odd": [one.plain for one in odd_and_where(found, diagnosis)[len(diagnosis.shortfalls) :]],
        "maps": maps,
        "unmapped": len(choices.answers) - len(maps),
        "read_as": reading(choices),
        "provenance": provenance(header, node, run.states, run.rows),
        "state": machine_state(header),
        "remarks": remarks(run),
        "started": date(str(header.get("started", ""))),
        "summary": found.summary,
        "missing": run.missing,
        "layers": found.layers,
        "workloads": found.workloads,
        "raw": Markup(_packed(header, rows)),
        "elapsed_s": sum(row.elapsed_s for row in rows),
        "file_name": run.path.stem,
    }
    best = best_collectives(choices)
    page = ""
    for most in MOST_CELLS:
        page = template.render(**told, **_tables(rows, found.tables, diagnosis, best, most))
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _tables(
    rows: Sequence[Row], tables: Sequence[Table], diagnosis: Diagnosis, best: Mapping[str, str], most: int
) -> dict[str, Any]:
    """What the template wants of the tables, with about ``most`` figures; ``best``: way of each collective."""
    shown = fitted(tables, most)
    records = Records(rows, [one.listed for one in shown], diagnosis.accounts)
    sections = sections_of(shown, records)
    return {
        "glance": glance(sections),
        "chapters": chapters(sections, best),
        "collectives": any(section.collectives for section in sections),
        "titles": Markup(script_json([one.table.heading.title for one in shown])),
        "records": Markup(script_json(records.lines)),
        "left_out": _left_out(tables, records),
    }


def _left_out(tables: Sequence[Table], records: Records) -> str:
    """What the page does not hold of a large run; empty where it holds all."""
    cells = sum(len(table.flat) for table in tables)
    if len(records.lines) == cells:
        return ""
    more = f", {len(tables) - MOST_TABLES} tables not at all" if len(tables) > MOST_TABLES else ""
    return f"This page holds {len(records.lines)} of {cells} figures{more}: `linkscope export` writes all of them."


def commands(text: str) -> Markup:
    """Text as HTML, what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


@cache
def environment() -> Environment:
    """The templates, each of which is compiled once in a process."""
    environment = Environment(
        loader=PackageLoader("linkscope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["commands"] = commands
    environment.globals.update(
        wording=wording,
        NARROW=NARROW,
        EVEN=EVEN,
        MANY=MANY,
        MOST_LEADS=MOST_LEADS,
        MOST_QUESTIONS=MOST_QUESTIONS,
        MOST_LINES=MOST_LINES,
        MOST_SERIES=MOST_SERIES,
        styles=styles,
        clocks=clocks,
    )
    environment.globals.update(style_sheets=STYLE_SHEETS, scripts=SCRIPTS, heat_styles=Markup(style_sheet()))
    environment.globals.update(workload_text=workload_text, parts_shown=parts_shown)
    environment.globals["workload_svg"] = lambda one: Markup(workload_svg(one))
    environment.globals["mark"] = lambda regime, x, y: Markup(mark(regime, x, y))
    return environment


def script_json(data: Any) -> str:
    """JSON that may stand inside a script element; null for what is no finite number."""
    text = msgspec.json.encode(data).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _packed(header: dict[str, Any], rows: Sequence[Row]) -> str:
    """The run file's lines, gzip in base64, which the page's script unpacks; empty where that is too much."""
    if len(rows) > MOST_PACKED_ROWS:
        return ""
    lines = [header, *(line for row in rows for line in row.lines)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return packed if len(packed) <= MOST_PACKED else ""
