"""Page: runs as one self-contained HTML page, made of the answers to the questions that are asked of them.

It loads nothing, prints, and can be read without scripts. Pictures are SVG and tables are HTML: a library of plots
would add megabytes to each page and draw what neither prints nor follows the reader's colours.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars
from markupsafe import Markup

from linkscope.answers.answer import Answer, Outcome, Table
from linkscope.answers.app import workloads
from linkscope.answers.questions import QUESTIONS, ask
from linkscope.answers.side_by_side import curves, names, side_by_side
from linkscope.answers.tables import TEST, tables
from linkscope.answers.tiles import Tile, tiles
from linkscope.documents.whole_file import put_whole
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.messages import numbers
from linkscope.messages.catalog import message, problem, sentence
from linkscope.messages.finding import Finding, Level, note
from linkscope.messages.methods import method_name
from linkscope.messages.names import named
from linkscope.render.html import packed, packed_frame, template
from linkscope.render.svg.bars import draw as draw_bars
from linkscope.render.svg.node import draw
from linkscope.render.svg.node_colours import Checked, reached
from linkscope.render.terminal import node_name, notes
from linkscope.version import __version__

MOST_TABLES = 60
"""Tables of a chapter; the list of all results has what the others hold."""
MOST_ANALYZED = 5000
"""Results up to which the page has the analyses; `linkscope analyze` has them of any run."""
MOST_RUNS = 12
"""Runs side by side on one page."""
MOST_RAW = 1_500_000
"""Bytes of the run file up to which the page holds it."""
_KEY = ("id", "place", "figure")
"""Columns that tell results apart."""
_DEVICE = re.compile(r"(?:gpu|numa):\d+")
_QUESTIONS = ("explain", "app", "show", "choose")
"""Questions whose first screens are the page's, in this order."""
_TITLES = {"choose": "Fastest method", "app": "Methods", "compare": "Changes"}
"""Titles of tables that have none, on the first screen."""
_DETAILS = {"explain": "Checked results", "app": "Applications", "choose": "Methods by size", "analyze": "Analyses"}
_DETAILS |= {"show": "Run"}
_SAYS_HEADLINE = "choose.slow"
"""A warning that a page whose headline says SLOW need not repeat."""
_LAYOUTS = {"matrix": "Matrices", "curve": "Curves", "list": "Lists"}
_EXPORTED = (
    *("id", "title", "movement", "path", "way", "memories", "bytes", "value", "value_low", "value_high", "unit"),
    *("peak_gbps", "of_peak", "n", "replicates", "clock", "cache", "load", "status", "reason"),
)
_TERMS = ("page.clock", "page.bytes", "page.cache", "page.interval", "page.peak", "page.verified", "page.collective")


@dataclass(frozen=True)
class PageChapter:
    """Hold what can be unfolded below the answers. ``left_out``: tables that only the list of all results holds."""

    anchor: str
    title: str
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...] = ()
    brief: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Page:
    """Hold what the template shows. ``mark``: that nothing was measured; ``bars``: pictures of applications; ``runs``:
    name, answer and picture of several runs.
    """

    title: str
    opening: Answer
    answers: tuple[Answer, ...]
    chapters: tuple[PageChapter, ...]
    mark: str = ""
    picture: str = ""
    bars: tuple[str, ...] = ()
    tiles: tuple[dict[str, str], ...] = ()
    runs: tuple[dict[str, Any], ...] = ()
    state: tuple[tuple[str, str], ...] = ()
    results: str = ""
    raw: str = ""
    file: str = ""
    version: str = ""

    @property
    def screens(self) -> Iterator[tuple[str, list[Table], list[Finding]]]:
        """Yield each answer's first screen: a title for tables without one, tables, and notes; each of them once.

        Checked results are on it only where some are slow.
        """
        said = {sentence(found) for found in (self.opening.headline, *notes(self.opening))}
        seen: list[polars.DataFrame] = []
        for one in self.answers:
            shown = [] if one.question == "explain" and one.outcome is not Outcome.FAILS else one.tables
            found = [table for table in shown if not table.detail and table.frame.height]
            found = [table for table in found if not any(table.frame.equals(frame) for frame in seen)]
            lines = [one.headline, *notes(one)] if found and one.question in _TITLES else notes(one)
            below = [line for line in lines if sentence(line) not in said]
            seen += [table.frame for table in found]
            said |= {sentence(line) for line in below}
            yield _TITLES.get(one.question, "Results"), found, below

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Return the warnings of all answers, each once, without what the headline says."""
        every = {sentence(found): found for one in (self.opening, *self.answers) for found in one.at(Level.WARNING)}
        every.pop(sentence(self.opening.headline), None)
        fails = self.opening.outcome is Outcome.FAILS
        return tuple(found for found in every.values() if not (fails and found.code == _SAYS_HEADLINE))

    @property
    def glossary(self) -> list[tuple[str, str]]:
        """Return what the codes and columns of the page mean, by their name."""
        said = [found.code for one in self.answers for found in (one.headline, *one.findings, *one.details)]
        keys = [table.key for one in self.answers for table in one.tables]
        longs = {code: message(code).long.strip() for code in dict.fromkeys((*said, *keys, *_TERMS))}
        return [(code.partition(".")[2].replace("-", " "), text) for code, text in longs.items() if text]


def write_page(runs: Sequence[Run], path: Path) -> None:
    """Write the page of a run, or of several side by side, whole or not at all. Raises LinkscopeError."""
    if not runs:
        raise problem("page.nothing")
    if len(runs) > MOST_RUNS:
        raise problem("page.too-many", runs=len(runs), most=MOST_RUNS)
    if any(os.path.realpath(run.path) == os.path.realpath(path) for run in runs):
        raise problem("page.is-run", path=path)
    write(page(runs), path)


def write(text: str, path: Path) -> None:
    """Write a page whole or not at all. Raises LinkscopeError."""
    try:
        put_whole(path, text.encode())
    except OSError as error:
        raise problem("page.unwritable", path=path, why=error.strerror or str(error)) from error


def page_of(answer: Answer) -> str:
    """Return the page of one answer, such as a study's."""
    details = tuple(table for table in answer.tables if table.detail)
    return text_of(
        Page(
            title=f"{sentence(answer.headline)} · linkscope",
            opening=answer,
            answers=(answer,),
            chapters=(PageChapter("details", "Details", details, answer.details),) if details or answer.details else (),
            mark=_mark(answer),
            file=answer.question,
            version=__version__,
        )
    )


def page(runs: Sequence[Run]) -> str:
    """Return the text of the page."""
    return text_of(_of_run(runs[0]) if len(runs) == 1 else _of_runs(runs))


def text_of(found: Page) -> str:
    """Return a page as text."""
    return template("page.jinja").render(page=found)


def _of_run(run: Run) -> Page:
    answers = [answer for question in _QUESTIONS if (answer := _asked(question, run)) is not None]
    asked = [one for one in answers if one.question == "app"]
    opening = asked[0] if asked and answers[0].outcome is Outcome.UNTESTED else answers[0]
    results = _checked(run, answers[0])
    return Page(
        title=f"{node_name(answers[0].run)} · linkscope",
        opening=opening,
        answers=tuple(answers),
        chapters=tuple(_chapters(run, answers, results)),
        mark=_mark(answers[0]),
        picture=_picture(run, answers[0]),
        bars=tuple(Markup(draw_bars(one).svg) for one in workloads(run) if asked and one.methods.height),
        tiles=tuple(_tile(one, run) for one in tiles(results)),
        state=tuple(_flat(run.header.get("state", {}), "")),
        results=packed_frame(run.results.select(_EXPORTED)),
        raw=_raw(run),
        file=run.path.stem,
        version=str(run.header.get("version", "?")),
    )


def _of_runs(runs: Sequence[Run]) -> Page:
    """Return the page of several runs; changes are from the first."""
    each = [ask(_QUESTIONS[0], run) for run in runs]
    compared = _asked("compare", *runs)
    tests, every = side_by_side(runs)
    pictures = tuple(curves(runs))
    chapters = [
        PageChapter(
            "compare", "Changes", _detailed(compared) if compared else (), compared.details if compared else ()
        ),
        PageChapter("curve", "Curves", pictures, brief=numbers.count(len(pictures), "table")),
        PageChapter("every", "Every result", (every,)),
    ]
    opening = compared or Answer("report", tuple(one.run for one in each), note("page.runs", runs=len(runs)))
    beside = Answer("report", opening.runs, note("page.runs", runs=len(runs)), tables=(tests,))
    above = {sentence(found) for found in opening.at(Level.WARNING)}
    return Page(
        title=f"{', '.join(names(runs))} · linkscope",
        opening=opening,
        answers=(opening, beside),
        chapters=tuple(one for one in chapters if one.tables or one.findings),
        mark=next(filter(None, map(_mark, each)), ""),
        runs=tuple(
            {
                "name": name,
                "answer": one,
                "warnings": [found for found in one.at(Level.WARNING) if sentence(found) not in above],
                "picture": _picture(run, one),
            }
            for name, one, run in zip(names(runs), each, runs, strict=True)
        ),
        file="-".join(run.path.stem for run in runs[:3]),
        version=str(runs[0].header.get("version", "?")),
    )


def _mark(answer: Answer) -> str:
    """Return that a model, or another tool, gave the results; "" where linkscope measured."""
    if any(run.modelled for run in answer.runs):
        return "MODEL, nothing measured"
    tools = dict.fromkeys(run.origin for run in answer.runs if run.origin)
    return sentence(note("run.imported", tool=", ".join(tools))) if tools else ""


def _asked(question: str, *runs: Run) -> Answer | None:
    """Return the answer; None for a question that does not fit the runs."""
    try:
        found = ask(question, *runs) if question in QUESTIONS else None
    except LinkscopeError:
        return None
    return found if found is None or found.tables or question != "app" else None


def _checked(run: Run, explained: Answer) -> polars.DataFrame:
    """Return the results with ``ratio`` and ``slow`` of those that were checked; of none where there is no verdict."""
    known = next((table.frame for table in explained.tables if table.key == "explain.checked"), None)
    if known is None or explained.outcome is Outcome.UNTESTED:
        return run.results.with_columns(ratio=polars.lit(None, polars.Float64), slow=polars.lit(None, polars.Boolean))
    known = known.unique(_KEY).select(*_KEY, "ratio", slow=polars.col("outcome") == Outcome.FAILS.value)
    found = run.results.select(_KEY).join(known, on=_KEY, how="left", maintain_order="left")
    return run.results.with_columns(found["ratio"], found["slow"])


def _picture(run: Run, explained: Answer) -> Markup:
    """Return the node, its links coloured by what was checked, or by their peaks where there is no verdict."""
    rates = _checked(run, explained).filter(
        polars.col("ratio").is_not_null(), polars.col("unit") == RATE, polars.col("members").fill_null("") == ""
    )
    kind = polars.concat_str("movement", "way", separator=" ")
    compared = [Checked(*line) for line in rates.select("source", "destination", kind, "ratio", "slow").iter_rows()]
    found = reached(compared, run.paths, _named(explained)) if compared else None
    return Markup(draw(run.node, found, titled=False).svg)


def _named(answer: Answer) -> frozenset[str]:
    """Return the devices that the headline and the causes below it name."""
    found = [answer.headline, *answer.at(Level.ERROR)] if answer.outcome is Outcome.FAILS else []
    return frozenset(_DEVICE.findall(" ".join(word for one in found for word in one.where)))


def _chapters(run: Run, answers: Sequence[Answer], results: polars.DataFrame) -> Iterator[PageChapter]:
    analyze = _asked("analyze", run) if results.height <= MOST_ANALYZED else None
    for one in (*answers, *([analyze] if analyze is not None else [])):
        found = one.tables if one.question == "analyze" else _detailed(one)
        if one.question == "explain" and one.outcome is not Outcome.FAILS:
            found = one.tables
        if one.question in _DETAILS and (found or one.details):
            yield PageChapter(one.question, _DETAILS[one.question], found, one.details)
    for layout, title in _LAYOUTS.items():
        of_layout = results.filter(polars.col("layout") == layout)
        tests = of_layout.select(TEST).unique(maintain_order=True)
        if not tests.height:
            continue
        shown = tuple(tables(of_layout.join(tests.head(MOST_TABLES), on=TEST, how="semi", maintain_order="left")))
        shares = layout == "matrix" and of_layout["of_peak"].is_not_null().any()
        brief = numbers.count(tests.height, "table") + ("; small numbers: % of peak" if shares else "")
        yield PageChapter(layout, title, shown, brief=brief, left_out=max(tests.height - MOST_TABLES, 0))


def _detailed(answer: Answer) -> tuple[Table, ...]:
    """Return the tables that --full adds, without those of all results, which have their own chapters."""
    return tuple(table for table in answer.tables if table.detail and not table.key.startswith("tables."))


def _tile(one: Tile, run: Run) -> dict[str, str]:
    name = ", ".join(filter(None, (named("movement", one.movement), named("cache", one.where))))
    low, high = one.values
    value = f"{numbers.number_range(low, high)} GB/s" if one.unit == "GB/s" else numbers.time(low)
    span = one.ratios or one.shares
    share = f"{numbers.percent_range(*span)} of {'expected' if one.ratios else 'peak'}" if span else ""
    return {
        "title": name,
        "value": value,
        "share": share,
        "how": ", ".join(filter(None, (method_name(one.way, run.library), numbers.size(one.bytes)))),
    }


def _flat(data: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield nested data as dotted names and texts."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _flat(value, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(data, list) and any(isinstance(value, (dict, list)) for value in data):
        for number, value in enumerate(data):
            yield from _flat(value, f"{prefix}.{number}")
    elif isinstance(data, list):
        yield from [(prefix, ", ".join(map(str, data)))] if data else []
    elif data is not None:
        yield prefix, str(data)


def _raw(run: Run) -> str:
    """Return the lines of the run file, packed; "" where they are too much for a page."""
    if len(run.rows) * 2000 > 8 * MOST_RAW:
        return ""
    lines = [run.header, *(line for row in run.rows.values() for line in row.lines)]
    found = packed("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return found if len(found) <= MOST_RAW else ""
