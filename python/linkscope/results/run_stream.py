"""Run streams: run files of a million rows, whose rows are decoded when they are asked for and not kept."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped
from linkscope.machine.node import Node
from linkscope.results.records import Case, Count, Text, Word, check_case, decoded, may_control
from linkscope.results.row import FlowResult, Row, Stats
from linkscope.results.run_file import MOST_LINE, RunFile, checked_first, fold

Json = dict[str, Any]

LARGE = 32 << 20
"""Bytes of a run file from which its rows are worth no keeping."""


class _Together(msgspec.Struct, gc=False):
    gbps: Stats


class _Named(msgspec.Struct, gc=False):
    record: str
    id: str = ""


class _RowLine(msgspec.Struct, gc=False):
    id: str
    status: Literal["ok", "skipped", "failed"]
    modelled: bool
    case: msgspec.Raw
    replicate: Count = 0
    reason: Text | None = None
    hosts: tuple[Word, ...] = ()
    flows: tuple[FlowResult, ...] = ()
    aggregate: _Together | None = None
    stopped: Word | None = None


_NAMES = msgspec.json.Decoder(_Named)
_ROWS = msgspec.json.Decoder(_RowLine)
_CASES = msgspec.json.Decoder(Case)


@dataclass(frozen=True)
class RunStream:
    """What ``RunFile`` is, but that each pass over ``rows`` reads the file again, and fields nobody asks for unchecked.

    ``places``: where in the file the lines of each case begin, in the plan's order.
    """

    path: Path
    header: Json
    places: dict[str, list[int]]
    notices: tuple[str, ...] = ()

    @property
    def node(self) -> Node:
        """The machine the run was made on."""
        return Node.from_json(self.header["node"])

    @property
    def rows(self) -> Iterator[Row]:
        """A row for each case, as ``RunFile.rows``; ``raw`` holds only which replicate it is, and its hosts.

        Raises LinkscopeError where a line is no row.
        """
        with self.path.open("rb") as stream:
            for at in self.places.values():
                try:
                    found = _replicates(stream, at)
                except (ValueError, RecursionError) as error:
                    RunFile.read(self.path)  # says what is wrong, and in which line
                    raise LinkscopeError(f"{self.path} has changed while it was read") from error
                if found:
                    yield fold(self.header, [found[number] for number in sorted(found)])


def open_run(path: Path) -> RunFile | RunStream:
    """The run at ``path``, as a stream where it is large and in order. Raises LinkscopeError where it is none."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return (stream_of(path) if size >= LARGE else None) or RunFile.read(path)


def stream_of(path: Path) -> RunStream | None:
    """None where the file is no run file, or has anything odd about it: ``RunFile.read`` says what."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    with path.open("rb") as stream:
        header = decoded(first := stream.readline(MOST_LINE))
        if header is None or not first.endswith(b"\n"):
            return None
        checked_first(path, header)
        places: dict[str, list[int]] = {case_id: [] for case_id in header["plan"]["ids"]}
        at = len(first)
        while line := stream.readline(MOST_LINE):
            try:
                named = _NAMES.decode(line)
            except (ValueError, RecursionError):
                return None
            if named.record not in ("row", "state") or not line.endswith(b"\n"):
                return None
            if named.record == "row":
                places.setdefault(escaped(named.id), []).append(at)
            at += len(line)
    return RunStream(path, header, places)


def _replicates(stream: BinaryIO, places: Sequence[int]) -> dict[int, Row]:
    """By number; of several with one number the last counts. Raises ValueError."""
    found: dict[int, Row] = {}
    last, case = b"", None
    for at in places:
        stream.seek(at)
        line = stream.readline(MOST_LINE)
        if may_control(line):
            line = msgspec.json.encode(decoded(line))
        row = _ROWS.decode(line)
        text = bytes(row.case)
        if case is None or text != last:  # replicates have one case
            last, case = text, _CASES.decode(text)
        found[row.replicate] = _row(row, case)
    return found


def _row(line: _RowLine, case: Case) -> Row:
    check_case(line.id, line.status, case, len(line.flows))
    rates = [line.aggregate.gbps] if line.aggregate else []
    times = [one for flow in line.flows for one in (flow.seconds, flow.gbps) if one is not None]
    if any(not one.low <= one.median <= one.high for one in (*rates, *times)):
        raise ValueError("a median lies outside its interval")
    hosts = {"hosts": list(line.hosts)} if line.hosts else {}
    return Row(
        id=line.id,
        status=line.status,
        modelled=line.modelled,
        case=dict(case),
        reason=line.reason,
        flows=line.flows,
        aggregate=rates[0] if rates else None,
        stopped=line.stopped,
        raw={"replicate": line.replicate, **hosts},
    )
