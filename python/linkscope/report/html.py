"""A run as one self-contained HTML page: no network, no library, readable without scripts, printable.

The pictures are SVG and HTML tables written here, brought to life by a small script: a plotting library would add
4.8 MB to every page, draw on a canvas of its own that neither prints nor follows the reader's colour scheme, and
give nothing that a heat map of a few dozen cells needs.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from linkscope.analysis.choose import choose
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.errors import LinkscopeError
from linkscope.report import wording
from linkscope.report.choose_text import WORDS
from linkscope.report.curve_svg import clocks, mark, styles
from linkscope.report.heat import style_sheet
from linkscope.report.html_answer import answer
from linkscope.report.html_glance import glance
from linkscope.report.html_records import Records
from linkscope.report.html_sections import chapters, sections_of
from linkscope.report.html_use import use_maps
from linkscope.report.provenance import machine_state, precision, provenance, remarks
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.whole_file import put_whole

NARROW = 4
"""A matrix of up to so many columns shares the page's width with another table."""
STYLE_SHEETS = ("base", "answer", "tables", "curves", "figures", "small")
SCRIPTS = ("details", "curves", "figures", "download")


def write_report(run: RunFile, path: Path) -> None:
    """Writes the page, whole or not at all. Raises LinkscopeError where ``path`` cannot be written."""
    page = render(run)
    try:
        put_whole(Path(path), page.encode())
    except OSError as error:
        raise LinkscopeError(f"cannot write the report to {path}: {error.strerror or error}") from error


def render(run: RunFile) -> str:
    """The page's text."""
    header, rows, node = run.header, run.rows, run.node
    found = overview(rows, node, precision(header))
    diagnosis, choices = explain(run), choose(figures(run))
    records = Records(rows, found, diagnosis.accounts)
    sections = sections_of(found.tables, records)
    maps = use_maps(choices)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            header=header,
            node=node,
            answer=answer(node, diagnosis, choices, found.summary),
            maps=maps,
            unmapped=len(choices.answers) - len(maps),
            equals_are=WORDS,
            glance=glance(sections),
            chapters=chapters(sections),
            provenance=provenance(header, node, run.states),
            state=machine_state(header),
            remarks=remarks(run),
            started=_date(str(header.get("started", ""))),
            summary=found.summary,
            missing=run.missing,
            layers=found.layers,
            collectives=any(section.collective for section in sections),
            titles=Markup(_script_json([table.heading.title for table in found.tables])),
            records=Markup(_script_json(records.lines)),
            raw=Markup(_packed(header, rows)),
            elapsed_s=sum(row.elapsed_s for row in rows),
            file_name=f"{run.path.stem}.jsonl",
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("linkscope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(wording=wording, NARROW=NARROW, styles=styles, clocks=clocks)
    environment.globals.update(style_sheets=STYLE_SHEETS, scripts=SCRIPTS, heat_styles=Markup(style_sheet()))
    environment.globals["mark"] = lambda regime, x, y: Markup(mark(regime, x, y))
    return environment


def _script_json(data: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _packed(header: dict[str, Any], rows: Sequence[Row]) -> str:
    """The run file's lines, gzip in base64: the page's script unpacks them for the download."""
    lines = [header, *(line for row in rows for line in row.lines)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _date(text: str) -> str:
    """Such as "19 November 2025, 14:02 UTC" of an RFC 3339 time in UTC; the text itself where it is none."""
    try:
        return f"{datetime.fromisoformat(text.replace('Z', '+00:00')):%-d %B %Y, %H:%M} UTC"
    except ValueError:
        return text
