"""Answers on a terminal: of each question a sentence that concludes, and a short table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polars import DataFrame
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.analysis.questions import QUESTIONS
from linkscope.report import wording
from linkscope.report.answers.answer import Answer
from linkscope.report.answers.paths import ANISOTROPY, ENGINES, NUMA, PEAKS, TIERS
from linkscope.report.answers.sharing import INTERFERENCE, SCALING, THREADS
from linkscope.report.answers.sizes import COLLECTIVES, FITS, SATURATION
from linkscope.report.grid import empty_grid

ANSWERS: dict[str, Answer] = {
    **{"peaks": PEAKS, "tiers": TIERS, "fits": FITS, "saturation": SATURATION, "anisotropy": ANISOTROPY, "numa": NUMA},
    **{
        "engines": ENGINES,
        "scaling": SCALING,
        "threads": THREADS,
        "interference": INTERFERENCE,
        "collectives": COLLECTIVES,
    },
}
"""By the names of ``QUESTIONS``."""
LABEL_WIDTH = 18
"""At least, so that it is not broken into letters."""
MOST_LINES = 5
"""Of each table, where several questions are answered."""


def show(found: Mapping[str, DataFrame], node: str, console: Console) -> None:
    """Tables are whole where one question was asked."""
    title = Text(node, style="bold")
    if any(modelled(table) for table in found.values()):
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    if not found:
        console.print(Text("This run answers none of the questions: it has no figure that can be compared."))
    for name, table in found.items():
        console.print(Text(name, style="bold") + Text(f"  {QUESTIONS[name].asks}", style="dim"))
        console.print(Text(conclusion(name, table)))
        if len(table) and len(found) == 1:
            _print_table(ANSWERS[name], table, console)
        elif len(table):
            _print_short(name, table, console)


def conclusion(name: str, table: DataFrame) -> str:
    """One sentence."""
    if table.is_empty():
        return f"Cannot tell: this run lacks {QUESTIONS[name].needs}."
    return ANSWERS[name].conclude(table)


def to_json(found: Mapping[str, DataFrame]) -> dict[str, Any]:
    """By question: the sentence and the table's lines."""
    return {name: {"conclusion": conclusion(name, table), "lines": table.to_dicts()} for name, table in found.items()}


def modelled(table: DataFrame) -> bool:
    """Whether any figure in it was."""
    return bool(len(table) and table["modelled"].any())


def _print_table(answer: Answer, table: DataFrame, console: Console) -> None:
    console.print(_grid(answer, answer.order(table)))


def _print_short(name: str, table: DataFrame, console: Console) -> None:
    answer = ANSWERS[name]
    lines = answer.order(table)
    if answer.alike:
        lines = lines.unique(answer.alike, keep="first", maintain_order=True)
    lines = lines.head(MOST_LINES)
    console.print(_grid(answer, lines))
    if len(lines) < len(table):
        console.print(Text(f"{len(table) - len(lines)} more: linkscope analyze RUN {name}", style="dim"))


def _grid(answer: Answer, lines: DataFrame) -> Table:
    texts = [(answer.label(line), *(text(line) for text in answer.columns.values())) for line in lines.to_dicts()]
    kept = [index for index in range(len(answer.columns)) if any(text[index + 1] for text in texts)]
    headings = list(answer.columns)
    grid = empty_grid("", LABEL_WIDTH)
    for index in kept:
        number = all(not text[index + 1] or text[index + 1][0] in "-+<x0123456789" for text in texts)
        grid.add_column(Text(headings[index]), justify="right" if number else "left", no_wrap=number, overflow="fold")
    for label, *cells in texts:
        grid.add_row(Text(label), *(Text(cells[index]) for index in kept))
    return grid
