"""WorkloadRequest: the application whose communication a user asks for, in the command line's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from linkscope.documents.sizes import parse_counts
from linkscope.documents.typed_call import typed_fields
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown
from linkscope.plan.application import Application, PatternApplication, without_gaps
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite
from linkscope.plan.workload_fields import application
from linkscope.plan.workload_row import INTERFACES, MOST_RANKS, WorkloadRow
from linkscope.workload.moe import DTYPES
from linkscope.workload.pattern_file import read_pattern

Json = dict[str, Any]

APPLICATIONS = ("halo", "particles", "moe", "pattern")
_OPTIONS = {
    "halo": ("deck", "cells", "steps"),
    "particles": ("deck", "particles", "grid", "cycles", "termination"),
    "moe": ("tokens", "hidden", "topk", "experts", "skew", "dtype"),
    "pattern": ("gaps",),
}
"""Options that say what an application computes; the others say how its messages go, and are of all."""
STAGINGS = ("none", "full")
GAPS = ("recorded", "none")
TERMINATIONS = ("blocking", "non-blocking")


@typed_fields
@dataclass(frozen=True)
class WorkloadRequest:
    """None: as the packaged suite of that name has it. ``file``: of a pattern, its file."""

    application: str
    file: str | None = None
    ranks: str | None = None
    deck: str | None = None
    cells: str | None = None
    steps: int | None = None
    particles: int | None = None
    grid: str | None = None
    cycles: int | None = None
    termination: str | None = None
    tokens: int | None = None
    hidden: int | None = None
    topk: int | None = None
    experts: int | None = None
    skew: float | None = None
    dtype: str | None = None
    gaps: str | None = None
    interface: str | None = None
    memory: str | None = None
    staging: str | None = None
    order: str | None = None

    def suite(self) -> Suite:
        """Return the suite that is run; reads a pattern's file. Raises LinkscopeError for the first wrong word, and
        where the file is no pattern."""
        if self.application not in APPLICATIONS:
            raise unknown("application", self.application, APPLICATIONS)
        own = _OPTIONS[self.application]
        for other in sorted({name for names in _OPTIONS.values() for name in names}.difference(own)):
            if getattr(self, other) is not None:
                raise LinkscopeError(f"--{other} is not of {self.application}")
        if self.staging is not None and self.application != "halo":
            raise LinkscopeError(
                "--staging is of halo: no other application copies its messages through the host itself"
            )
        packaged = load_suite("halo" if self.application == "pattern" else self.application)
        row = self._narrowed(packaged.workloads[0])
        return Suite(self.application, packaged.answers, (), (row,))

    @property
    def command_line(self) -> list[str]:
        """The words that ask for the same."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        own = [str(given.pop(name)) for name in ("application", "file") if given[name] is not None]
        options = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
        return ["linkscope", "app", *own, *options]

    def _narrowed(self, row: WorkloadRow) -> WorkloadRow:
        if self.application == "pattern":
            row = replace(row, name="pattern", title="Messages", baseline=None, stagings=("none",))
        elif self.application == "moe":
            row = replace(row, name="moe", title="Dispatch and combine")
        return replace(
            row,
            suite=self.application,
            application=self._application(),
            interfaces=_chosen("interface", self.interface, tuple(INTERFACES)) or row.interfaces,
            memories=_words(self.memory) or row.memories,
            stagings=_chosen("staging", self.staging, STAGINGS) or row.stagings,
            counts=self._counts(),
            order=tuple(word.strip() for word in self.order.split(",")) if self.order else (),
        )

    def _counts(self) -> tuple[str, ...]:
        if self.ranks is None:
            return ()
        parse_counts(self.ranks, MOST_RANKS)  # raises where it is no range
        return (self.ranks,)

    def _application(self) -> Application:
        if self.application == "pattern":
            return self._pattern()
        _chosen("termination", self.termination, TERMINATIONS)
        _chosen("dtype", self.dtype, DTYPES)
        for name in ("steps", "particles", "cycles"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise LinkscopeError(f"--{name}: one at least, not {value}")
        given = {name: getattr(self, name) for name in _OPTIONS[self.application]}
        found = {name: value for name, value in given.items() if value is not None}
        return application({"application": self.application, **found})

    def _pattern(self) -> PatternApplication:
        if self.file is None:
            raise LinkscopeError("name the pattern's file")
        schedule = read_pattern(Path(self.file))
        gaps = _chosen("gaps", self.gaps, GAPS)
        return PatternApplication(without_gaps(schedule) if gaps == ("none",) else schedule)


def _words(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _chosen(option: str, text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """The words of ``text``; raises LinkscopeError for one that is none of ``known``."""
    words = _words(text)
    for word in words:
        if word not in known:
            raise unknown(option, word, known)
    return words
