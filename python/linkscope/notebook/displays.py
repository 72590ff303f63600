"""Displays: how each result is shown in a notebook, said in a line, drawn, and written as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linkscope.answers.answer import Answer, Table
from linkscope.answers.app import workloads
from linkscope.answers.calibrate import Calibration
from linkscope.answers.questions import ask
from linkscope.answers.tables import tables
from linkscope.answers.topology import topology
from linkscope.displayed import Picture
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.messages.catalog import message, problem, sentence
from linkscope.messages.finding import note
from linkscope.messages.numbers import size
from linkscope.render import page
from linkscope.render.html import part
from linkscope.render.svg import bars, curve, matrix, node
from linkscope.results.run_file import RunFile

Shown = Answer | RunFile | Node | Calibration
_SAID = {"unit": "", "memories": "", "clock": " clock", "cache": " cache"}
"""Columns that the picture says where all its results share them, and what follows each."""


def html(found: Shown) -> str:
    """Return what a notebook shows of a result, self-contained."""
    return part(_answer(found))


def words(found: Shown) -> str:
    """Return a result in a line."""
    if isinstance(found, RunFile):
        return f"{len(found.rows)} cases on {found.node.name}, {found.path}"
    headline = _answer(found).headline
    return " ".join(filter(None, (message(headline.code).verdict, sentence(headline))))


def _answer(found: Shown) -> Answer:
    if isinstance(found, RunFile):
        return replace(ask("show", found), next=(note("page.python"),))
    if isinstance(found, Node):
        return topology(found)
    return found.answer if isinstance(found, Calibration) else found


def picture(found: RunFile | Node, table: str | None = None) -> Picture:
    """Return a result as a picture; of a run the first table whose title has the word ``table``.

    Raises LinkscopeError where there is nothing to draw.
    """
    if isinstance(found, Node):
        return node.draw(found)
    run = Run.of(found)
    timed = [one for one in workloads(run) if one.methods.height] if table is None else []
    return bars.draw(timed[0]) if timed else _plot(run, table)


def write_page(found: RunFile | Answer, path: Path, *beside: RunFile) -> None:
    """Write a result as a page; a run side by side with those ``beside``. Raises LinkscopeError."""
    if isinstance(found, Answer):
        page.write(page.page_of(found), path)
    else:
        page.write_page([Run.of(run) for run in (found, *beside)], path)


def _plot(run: Run, word: str | None) -> Picture:
    """Return the first matrix or curves with several results whose title has ``word``; without a word of GPUs first.

    Of tables that differ in their size alone the largest is drawn. Raises LinkscopeError where there is none.
    """
    named = [table for table in tables(run.results) if word is None or word.lower() in table.facts["title"].lower()]
    if word is not None and not named:
        raise problem("plot.no-table", word=word)
    drawable = [one for one in named if one.layout != "list" and one.frame["value"].drop_nulls().len() > 1]
    if not drawable:
        raise problem("plot.nothing", path=run.path)
    pairs = [one for one in drawable if one.layout == "matrix" and one.frame["movement"][0] == "gpu>gpu"]
    first = (pairs or drawable)[0] if word is None else drawable[0]
    return table_picture(max((one for one in drawable if _test(one) == _test(first)), key=_size), run)


def table_picture(table: Table, run: Run) -> Picture:
    """Return a matrix or curves as a picture."""
    frame = table.frame.drop_nulls("value")
    where = run.node.name if run.modelled else f"{run.node.name} on {run.header.get('host', '?')}"
    sizes = frame["bytes"].unique().to_list()
    facts = [where, *([size(sizes[0])] if len(sizes) == 1 and sizes[0] else [])]
    facts += [
        f"{frame[name][0]}{noun}" for name, noun in _SAID.items() if frame[name].n_unique() == 1 and frame[name][0]
    ]
    title = table.facts["title"]
    mark = "modelled, not measured" if frame["modelled"].any() else ""
    drawing = matrix.draw if table.layout == "matrix" else curve.draw
    return drawing(table, title, mark, " · ".join(facts))


def _test(table: Table) -> list[str]:
    """Return what tables share that differ in size alone."""
    return [*(str(table.frame[name][0]) for name in ("suite", "row", "way", "figure")), table.layout]


def _size(table: Table) -> int:
    return max(table.frame["bytes"].fill_null(0), default=0)
