"""Answer: what a question gives, as codes, numbers and tables. render/ makes screens, pages and files of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import polars

from linkscope.answers.run_head import RunHead
from linkscope.displayed import Displayed, displays
from linkscope.documents.typed_call import typed_call
from linkscope.messages.finding import Facts, Finding, Level


class Outcome(str, Enum):
    """Say whether what was asked for holds. UNTESTED: nothing could be checked; UNCLEAR: intervals leave it open."""

    HOLDS = "holds"
    FAILS = "fails"
    UNCLEAR = "unclear"
    UNTESTED = "untested"

    @property
    def exit_code(self) -> int:
        """Return 0 for yes, 1 for no, 3 where there is no verdict; 2 is bad input's."""
        return {Outcome.HOLDS: 0, Outcome.FAILS: 1}.get(self, 3)


class Kind(str, Enum):
    """Select how the cells of a column are written (messages/numbers.py). A cell with two numbers is a range."""

    WORD = "word"
    NAME = "name"
    """A code that names.toml names; ``Column.of`` says which section."""
    PATH = "path"
    """A path or a list of paths, "gpu:0>gpu:1"."""
    COUNT = "count"
    NUMBER = "number"
    """A rate in GB/s, or another measured number."""
    TIME = "time"
    """Seconds."""
    VALUE = "value"
    """A rate or a time, by the frame's column ``unit``: "GB/s" or "s"."""
    SIZE = "size"
    """Bytes."""
    PERCENT = "percent"
    """A share, 0.88 for 88%."""
    CHANGE = "change"
    """A relative change, 0.09 for +9%."""
    FACTOR = "factor"
    DURATION = "duration"
    """Seconds that work takes."""


@dataclass(frozen=True)
class Column:
    """A column of a frame that is shown. ``head``: an identifier as heading, such as a method; "" stands for what
    names.toml calls the column. ``of``: the section of names.toml for ``Kind.NAME``. ``mark``: a column with a word,
    or true for "!", that follows the cell. ``interval``: the frame has ``NAME_low`` and ``NAME_high``, which --full
    shows. A frame with ``NAME_modes`` and ``NAME_modes_in`` shows both values of results that have two. ``detail``:
    only --full shows the column. ``once``: a cell that says the same as the one above is left blank.
    """

    name: str
    kind: Kind = Kind.WORD
    head: str = ""
    of: str = ""
    mark: str = ""
    interval: bool = False
    detail: bool = False
    once: bool = False


@dataclass(frozen=True)
class Table:
    """Rows to show, one a line of ``frame``.

    ``key``: its message has title and note, templates over ``facts``. ``layout``: a list shows ``columns``; a matrix
    has its row, column and cell as three columns in this order; a curve its series, x and y; a line names its group
    first, and what its other columns say stands behind it. ``group``: a column whose
    value stands once above the rows that share it. ``first``: how many rows the first screen shows, None for all.
    ``detail``: only --full shows it.
    """

    key: str
    frame: polars.DataFrame
    columns: tuple[Column, ...]
    layout: Literal["list", "matrix", "curve", "line"] = "list"
    group: str = ""
    facts: Facts = field(default_factory=dict)
    first: int | None = None
    detail: bool = False


@dataclass(frozen=True, repr=False)
class Answer(Displayed):
    """Hold what one question gives of one run or several.

    ``outcome``: None where no verdict was asked for. ``headline``: its message has the verdict word. ``findings``:
    errors stand below the headline, warnings before the tables, notes after them. ``details``: findings for --full
    alone. ``next``: what to type next. ``data``: whatever else programs want, JSON-ready. ``base``: how many of the
    first runs the others are compared with.
    """

    question: str
    runs: tuple[RunHead, ...]
    headline: Finding
    outcome: Outcome | None = None
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    next: tuple[Finding, ...] = ()
    details: tuple[Finding, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    base: int = 0

    @property
    def run(self) -> RunHead:
        """Return the first run."""
        return self.runs[0]

    @property
    def exit_code(self) -> int:
        """Return what a command exits with: by the outcome, 0 where no verdict was asked for."""
        return 0 if self.outcome is None else self.outcome.exit_code

    @typed_call()
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the answer as a page. Raises LinkscopeError."""
        displays().write_page(self, Path(path))

    def at(self, level: Level) -> tuple[Finding, ...]:
        """Return the findings of a level, in order."""
        return tuple(found for found in self.findings if found.level is level)

    def table(self, key: str) -> Table:
        """Return the table of a key. Raises KeyError."""
        for table in self.tables:
            if table.key == key:
                return table
        raise KeyError(key)
