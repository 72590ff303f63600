"""Plot: a table of a run as a picture of its own, with what a reader must know of its results."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.answers.answer import Table
from linkscope.answers.tables import tables
from linkscope.displayed import Picture
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.messages.numbers import size
from linkscope.render.svg import curve, matrix

_SAID = {"unit": "", "memories": "", "clock": " clock", "cache": " cache"}
"""Columns that the picture says where all its results share them, and what follows each."""


def plot(run: Run, word: str | None = None) -> Picture:
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
    return draw(max((one for one in drawable if _test(one) == _test(first)), key=_size), run)


def draw(table: Table, run: Run) -> Picture:
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


def _test(table: Table) -> Sequence[str]:
    """Return what tables share that differ in size alone."""
    return [str(table.frame[name][0]) for name in ("suite", "row", "way", "figure")] + [table.layout]


def _size(table: Table) -> int:
    return int(table.frame["bytes"].max() or 0)  # type: ignore[arg-type]
