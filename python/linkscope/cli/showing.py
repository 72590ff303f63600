"""Showing: which part of a run `linkscope show` prints, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from linkscope.analysis.explain import explain
from linkscope.analysis.narrowed import Placed, by_share, involving, titled
from linkscope.analysis.overview import Overview, overview
from linkscope.cli.paging import paged
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown
from linkscope.report import brief_text, terminal
from linkscope.report.provenance import hosts, precision
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]

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
            raise unknown("order", self.sort, ORDERS)

    @property
    def narrow(self) -> bool:
        """Whether only a part is asked for, or another order."""
        return self.table is not None or self.where is not None or self.sort is not None

    def rows(self, run: RunFile) -> Sequence[Row]:
        """Those that involve the device. Raises LinkscopeError where there are none."""
        return run.rows if self.where is None else involving(run.rows, self.where, run.node)


def show(run: RunFile, wanted: ShowRequest, console: Console) -> None:
    """Prints what is wanted of ``run``. Raises LinkscopeError where it has nothing of the kind."""
    found = _found(run, wanted)
    placed = _placed(found, wanted)
    with paged(console) as shown:
        if wanted.sort is not None:
            terminal.show_by_share(run, placed, shown)
        elif wanted.narrow:
            terminal.show_tables(run, found.tables, shown)
        elif wanted.full:
            terminal.show(run, shown)
        else:
            brief_text.show(run, found, explain(run), shown)


def data(run: RunFile, wanted: ShowRequest) -> Json:
    """The same as JSON: tables and a summary of what is wanted, and with an order ``figures`` in it."""
    found = _found(run, wanted)
    placed = [{"table": one.heading.title, **one.cell.to_json()} for one in _placed(found, wanted)]
    return {
        "header": run.header,
        "hosts": hosts(run.states),
        "missing": list(run.missing),
        **found.to_json(),
        **({"figures": placed} if wanted.sort is not None else {}),
    }


def _found(run: RunFile, wanted: ShowRequest) -> Overview:
    """Of the cases and tables that are wanted."""
    rows, asked = wanted.rows(run), precision(run.header)
    found = overview(rows, run.node, asked)
    if wanted.table is None:
        return found
    ids = {entry.id for table in titled(found.tables, wanted.table) for entry in table.flat}
    part = overview([row for row in rows if row.id in ids], run.node, asked)
    return replace(part, tables=tuple(titled(part.tables, wanted.table)))


def _placed(found: Overview, wanted: ShowRequest) -> list[Placed]:
    placed = by_share(found.tables) if wanted.sort is not None else []
    if wanted.sort is not None and not placed:
        raise LinkscopeError("--sort of-peak: no figure here has a known peak: leave --sort out")
    return placed
