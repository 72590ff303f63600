"""Pattern files: what somebody else's application sends, as a table or a matrix.

``.csv``: columns ``source``, ``destination``, ``bytes`` and, if there are several, ``phase``; a phase's lines are under
way together. Any other: a matrix as NIXL's kvbench has it (ct-perftest.md): cell [i][j] is what rank i sends to rank
j, a number with K, M or G (binary) or none, cells between blanks or commas.
"""

from __future__ import annotations

import csv
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped
from linkscope.workload.schedule import Message, Phase, Schedule

MOST_BYTES = 16 << 20
MOST_RANKS = 4096
LARGEST = 1 << 50
_SIZE = re.compile(r"([0-9]{1,16})(\.[0-9]{1,9})?([KMG]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_pattern(path: Path) -> Schedule:
    """Raises LinkscopeError, one line that names file and line, where it cannot be read or is no pattern."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise LinkscopeError(f"{path} is no file: name a matrix or a .csv")
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise LinkscopeError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise LinkscopeError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise LinkscopeError(f"{path} is no text: {error.reason}") from error
    phases = tuple(_table(path, lines) if path.suffix == ".csv" else _matrix(path, lines))
    ranks = 1 + max((max(pair) for phase in phases for pair in phase.pairs), default=-1)
    if ranks < 2:
        raise LinkscopeError(f"{path} holds no message between two ranks")
    return Schedule(path.name, ranks, phases)


def _table(path: Path, lines: list[str]) -> Iterator[Phase]:
    table = csv.DictReader(lines)
    lacking = {"source", "destination", "bytes"} - set(table.fieldnames or ())
    if lacking:
        raise LinkscopeError(f"{path}: there is no column {sorted(lacking)[0]!r}; it needs source, destination, bytes")
    phases: dict[str, list[Message]] = {}
    try:
        for line in table:
            where = f"{path}, line {table.line_num}"
            ends = [_rank(where, line["source"]), _rank(where, line["destination"])]
            size = _size(where, line["bytes"])
            if size and ends[0] != ends[1]:
                phases.setdefault(line.get("phase") or "", []).append(Message(ends[0], ends[1], size))
    except csv.Error as error:
        raise LinkscopeError(f"{path}, line {table.line_num}: {error}") from error
    for name, messages in phases.items():
        yield Phase(escaped(name)[:80] or path.name, tuple(messages))


def _matrix(path: Path, lines: list[str]) -> Iterator[Phase]:
    rows = [
        (number, re.split(r"[\s,]+", line.strip(" \t,"))) for number, line in enumerate(lines, start=1) if line.strip()
    ]
    if len(rows) > MOST_RANKS:
        raise LinkscopeError(f"{path} has {len(rows)} ranks, more than {MOST_RANKS}")
    messages = []
    for source, (number, cells) in enumerate(rows):
        if len(cells) != len(rows):
            raise LinkscopeError(f"{path}, line {number}: {len(cells)} cells in a matrix of {len(rows)} lines")
        for destination, cell in enumerate(cells):
            size = _size(f"{path}, line {number}", cell)
            if size and source != destination:
                messages.append(Message(source, destination, size))
    yield Phase(path.name, tuple(messages))


def _rank(where: str, text: str | None) -> int:
    if text is None or not re.fullmatch(r"[0-9]{1,6}", text.strip()) or int(text) >= MOST_RANKS:
        raise LinkscopeError(f"{where}: {_told(text)} is no rank, 0 to {MOST_RANKS - 1}")
    return int(text)


def _size(where: str, text: str | None) -> int:
    found = _SIZE.fullmatch((text or "").strip())
    size = int(float(found[1] + (found[2] or "")) * _FACTORS[found[3].upper()]) if found else -1
    if not 0 <= size <= LARGEST:
        raise LinkscopeError(f"{where}: {_told(text)} is no number of bytes, such as 4096, 64K, 1.5M or 2G")
    return size


def _told(text: str | None) -> str:
    return "nothing" if text is None else repr(escaped(text)[:40])
