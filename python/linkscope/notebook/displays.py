"""Displays: how each result is shown in a notebook, drawn, and written as a page. `import linkscope` registers them.

A notebook gets what the terminal prints, by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscope.analysis.check import CheckResult
from linkscope.analysis.choose import Choices
from linkscope.analysis.compare import Comparison
from linkscope.analysis.explain import Diagnosis, explain
from linkscope.analysis.overview import overview
from linkscope.analysis.reproduce import Reproduction
from linkscope.analysis.workloads import WorkloadTable
from linkscope.displayed import html_of, picture_of, words_of, write_page
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.notebook.recorded_html import recorded_html
from linkscope.picture import Picture
from linkscope.report import (
    brief_text,
    calibration_text,
    check_text,
    choose_text,
    compare_text,
    explain_text,
    reproduce_text,
    topology_text,
    wording,
    workload_text,
)
from linkscope.report.provenance import precision
from linkscope.results.calibration import Calibration
from linkscope.results.run_file import RunFile
from linkscope.whole_file import put_whole

FURTHER = (
    ("run.plot()", 'a matrix or a curve; run.plot("WORD"): one with that word in its title'),
    ('run.report("page.html")', "all of it as one page"),
    ("linkscope.explain(run)", "what is slow, and why"),
    ("linkscope.choose(run)", "what to use"),
    ("linkscope.figures(run)", "every figure, as a data frame"),
)
"""What to do next with a run, in Python."""


@html_of.register
def _(found: RunFile) -> str:
    tables = overview(found.rows, found.node, precision(found.header))
    return recorded_html(lambda console: brief_text.show(found, tables, explain(found), console, FURTHER))


_PRINTED: dict[type, Callable[[Any, Console], None]] = {
    Diagnosis: explain_text.show,
    Choices: lambda found, console: choose_text.show(found, "What to use", console),
    CheckResult: check_text.show,
    Comparison: lambda found, console: compare_text.show(found, "New against base", console),
    Reproduction: reproduce_text.show,
    Calibration: calibration_text.show,
    WorkloadTable: workload_text.print_workload,
    Node: topology_text.show,
}
"""What a terminal prints of a result, and so a notebook."""


def _shown(printed: Callable[[Any, Console], None], found: object) -> str:
    return recorded_html(partial(printed, found))


for _kind, _printed in _PRINTED.items():
    html_of.register(_kind, partial(_shown, _printed))


@words_of.register
def _(found: RunFile) -> str:
    return f"{wording.cases_on(len(found.rows), found.node)}, {found.path}"


@words_of.register
def _(found: Node) -> str:
    return f"{found.name}, {wording.count(len(found.of_kind('gpu')), 'GPU')}"


@words_of.register
def _(found: Calibration) -> str:
    return f"{found.turns} runs of {', '.join(found.suites)} on {found.node}"


words_of.register(Diagnosis, explain_text.verdict)
words_of.register(CheckResult, check_text.verdict)
words_of.register(Choices, choose_text.verdict)
words_of.register(Comparison, compare_text.verdict)
words_of.register(Reproduction, reproduce_text.verdict)
words_of.register(WorkloadTable, workload_text.verdict)


@picture_of.register
def _(found: RunFile, table: str | None) -> Picture:
    from linkscope.report.table_picture import table_picture

    return table_picture(found, table)


@picture_of.register
def _(found: WorkloadTable, table: str | None) -> Picture:
    from linkscope.report.ways_picture import ways_picture

    del table
    return ways_picture(found)


@picture_of.register
def _(found: Node, table: str | None) -> Picture:
    from linkscope.report.topology_svg import draw

    del table
    return Picture(found.name, draw(found))


@write_page.register
def _(found: RunFile, path: Path, beside: Sequence[RunFile]) -> None:
    from linkscope.report.html import write_report

    write_report([found, *beside], path)


@write_page.register
def _(found: Reproduction, path: Path, beside: Sequence[object]) -> None:
    from linkscope.report.html_study import render_study

    del beside
    try:
        put_whole(path, render_study(found).encode())
    except OSError as error:
        raise LinkscopeError(f"cannot write the page to {path}: {error.strerror or error}") from error
