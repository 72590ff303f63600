"""Run streams: run files of a million rows, whose rows are decoded when they are asked for and not kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.results.records import checked_row, checked_state, decoded
from linkscope.results.row import Row
from linkscope.results.run_file import MOST_LINE, RunFile, checked_first, fold, unreadable

Json = dict[str, Any]

LARGE = 32 << 20
"""Bytes of a run file from which its rows are worth no keeping."""


@dataclass(frozen=True)
class RunStream:
    """A run file of which only the header is kept. ``first`` is where its second line begins, ``size`` its end."""

    path: Path
    header: Json
    first: int
    size: int
    notices: tuple[str, ...] = ()

    @property
    def node(self) -> Node:
        """The machine the run was made on."""
        return Node.from_json(self.header["node"])

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """Ids of all cases that the run was to hold."""
        return tuple(self.header["plan"]["ids"])

    def row_at(self, places: Sequence[int]) -> Row:
        """The row, as ``RunFile.rows`` has it, of the case whose replicates' lines begin at ``places``, in order.

        Raises LinkscopeError where one is no row.
        """
        with self.path.open("rb") as stream:
            return fold(self.header, [self._line_at(stream, place) for place in places])

    def rows_at(self, places: Sequence[Sequence[int]]) -> Iterator[Row]:
        """``row_at`` of several cases."""
        with self.path.open("rb") as stream:
            for of_case in places:
                yield fold(self.header, [self._line_at(stream, place) for place in of_case])

    def _line_at(self, stream: BinaryIO, place: int) -> Row:
        stream.seek(place)
        record = decoded(stream.readline(MOST_LINE))
        try:
            checked_row(record or {})
        except ValueError as error:
            raise self.damage(place) from error
        return Row.from_json(record or {})

    def damage(self, place: int) -> LinkscopeError:
        """What is wrong with the line that begins at ``place``, in the words of ``RunFile.read``."""
        with self.path.open("rb") as stream:
            number = 1 + sum(block.count(b"\n") for block in _blocks(stream, place))
            stream.seek(place)
            record = decoded(stream.readline(MOST_LINE))
        if record is None:
            return LinkscopeError(f"{self.path} is damaged: line {number} is no JSON object; take that line out")
        kind = record.get("record")
        if kind not in ("row", "state"):
            return LinkscopeError(f"{self.path}, line {number}: unknown record {str(kind)[:40]!r}")
        try:
            (checked_row if kind == "row" else checked_state)(record)
        except ValueError as error:
            return LinkscopeError(f"{self.path} is damaged: line {number}: {error}")
        return LinkscopeError(f"{self.path}, line {number}: this file has changed while it was read")


Run = RunFile | RunStream


def open_run(path: Path) -> Run:
    """The run at ``path``, as a stream where it is large. Raises LinkscopeError where it is none."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return stream_of(path) if size >= LARGE and stat.S_ISREG(path.stat().st_mode) else RunFile.read(path)


def stream_of(path: Path) -> RunStream:
    """The run file as a stream, without the rest of a last line that is cut short. Raises LinkscopeError where it
    does not begin with a header."""
    try:
        with path.open("rb") as stream:
            line = stream.readline(MOST_LINE)
            header = checked_first(path, decoded(line) or {})
            size = stream.seek(0, os.SEEK_END)
            end = _end(stream, len(line), size)
    except OSError as error:
        raise unreadable(path, error) from error
    cut = f"{path}: the last line is cut short (the run was killed); that case is left out"
    return RunStream(path, header, len(line), end, () if end == size else (cut,))


def _end(stream: BinaryIO, first: int, size: int) -> int:
    """Where the last whole line ends."""
    at = max(first, size - MOST_LINE)
    stream.seek(at)
    last = stream.read()
    begin = last.rfind(b"\n") + 1
    return size if decoded(last[begin:]) is not None or not last[begin:].strip() else at + begin


def _blocks(stream: BinaryIO, end: int) -> Iterator[bytes]:
    """All before ``end``."""
    while left := end - stream.tell():
        yield stream.read(min(left, 1 << 20))
