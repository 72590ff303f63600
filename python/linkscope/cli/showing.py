"""Showing: which part of a run `linkscope show` prints, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from linkscope.analysis.explain import explain
from linkscope.analysis.narrowed import by_share, involving, titled
from linkscope.analysis.overview import overview
from linkscope.cli.paging import paged
from linkscope.errors import LinkscopeError
from linkscope.report import brief_text, terminal
from linkscope.report.provenance import precision
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

ORDERS = ("of-peak",)


@dataclass(frozen=True)
class ShowRequest:
    """What the command line asks for: everything (``full``), tables with the word ``table``, cases that involve the
    device ``where``, figures in the order ``sort``. Raises LinkscopeError for an unknown order."""

    full: bool = False
    table: str | None = None
    where: str | None = None
    sort: str | None = None

    def __post_init__(self) -> None:
        if self.sort is not None and self.sort not in ORDERS:
            raise LinkscopeError(f"--sort: {self.sort} is no order; there is {', '.join(ORDERS)}")

    @property
    def narrow(self) -> bool:
        """Whether only a part is asked for, or another order."""
        return self.table is not None or self.where is not None or self.sort is not None

    def rows(self, run: RunFile) -> Sequence[Row]:
        """Those that involve the device. Raises LinkscopeError where there are none."""
        return run.rows if self.where is None else involving(run.rows, self.where, run.node)


def show(run: RunFile, wanted: ShowRequest, console: Console) -> None:
    """Prints what is wanted of ``run``. Raises LinkscopeError where it has nothing of the kind."""
    asked = precision(run.header)
    found = overview(wanted.rows(run), run.node, asked)
    tables = found.tables if wanted.table is None else titled(found.tables, wanted.table)
    placed = by_share(tables) if wanted.sort is not None else []
    if wanted.sort is not None and not placed:
        raise LinkscopeError("--sort: none of these figures has a known peak")
    with paged(console) as shown:
        if wanted.sort is not None:
            terminal.show_by_share(run, placed, shown)
        elif wanted.narrow:
            terminal.show_tables(run, tables, shown)
        elif wanted.full:
            terminal.show(run, shown)
        else:
            brief_text.show(run, found, explain(run), shown)
