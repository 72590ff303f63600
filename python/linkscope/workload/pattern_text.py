"""PatternText: what a file holds, its lines, and what its cells must be."""

from __future__ import annotations

import re
import stat
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError

MOST_BYTES = 256 << 20
MOST_LINES = 4_000_000
MOST_RANKS = 4096
MOST_MESSAGES = 1_000_000
"""Messages of all phases, each counted once."""
LARGEST = 1 << 50
"""Bytes of a message."""
LONGEST_S = 3600.0
"""Longest time that an application computes between phases."""
_SIZE = re.compile(r"([0-9]{1,16})(\.[0-9]{1,9})?([KMG]?)(?:i?B)?", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{0,15})?([eE][+-]?[0-9]{1,2})?")
_GZIP = b"\x1f\x8b\x08"
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class PatternText:
    """A file of at most ``MOST_BYTES``, unpacked where gzip has packed it."""

    path: Path
    data: bytes

    @staticmethod
    def of(path: Path) -> PatternText:
        """Raises LinkscopeError, one line, where it cannot be read."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise LinkscopeError(f"{path} is no file: name a matrix, a table or a trace")
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            raise LinkscopeError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
        if data.startswith(_GZIP):
            data = _unpacked(path, data)
        if len(data) > MOST_BYTES:
            raise LinkscopeError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
        return PatternText(path, data)

    @cached_property
    def text(self) -> str:
        """In UTF-8. Raises LinkscopeError, one line, where it is no text."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise LinkscopeError(f"{self.path} is no text: {error.reason}") from error

    @cached_property
    def lines(self) -> list[str]:
        """Raises LinkscopeError where there are more than ``MOST_LINES``."""
        if self.text.count("\n") >= MOST_LINES:
            raise LinkscopeError(f"{self.path} has more than {MOST_LINES} lines")
        return [line.removesuffix("\r") for line in self.text.split("\n")]

    def rank(self, line: int, text: str | None) -> int:
        """Raises LinkscopeError, naming the line, where it is none."""
        if text is None or not re.fullmatch(r"[0-9]{1,6}", text.strip()) or int(text) >= MOST_RANKS:
            raise self.wrong(line, f"{told(text)} is no rank, 0 to {MOST_RANKS - 1}")
        return int(text)

    def size(self, line: int, text: str | None) -> int:
        """Bytes of "4096", "64K", "1.5M" or "2G", binary. Raises LinkscopeError, naming the line."""
        found = _SIZE.fullmatch((text or "").strip())
        size = int(float(found[1] + (found[2] or "")) * _FACTORS[found[3].upper()]) if found else -1
        if not 0 <= size <= LARGEST:
            raise self.wrong(line, f"{told(text)} is no number of bytes, such as 4096, 64K, 1.5M or 2G")
        return size

    def gap(self, line: int, text: str | None) -> float:
        """Seconds that the application computes; an empty cell is 0. Raises LinkscopeError, naming the line."""
        if text is None or not text.strip():
            return 0.0
        found = float(text) if _SECONDS.fullmatch(text.strip()) else -1.0
        if not 0 <= found <= LONGEST_S:
            raise self.wrong(line, f"{told(text)} is no number of seconds, 0 to {LONGEST_S:g}")
        return found

    def bounded(self, messages: int) -> None:
        """Raises LinkscopeError where they are more than ``MOST_MESSAGES``."""
        if messages > MOST_MESSAGES:
            raise LinkscopeError(f"{self.path} holds more than {MOST_MESSAGES} messages")

    def wrong(self, line: int, what: str) -> LinkscopeError:
        """The complaint about a line."""
        return LinkscopeError(f"{self.path}, line {line}: {what}")


def _unpacked(path: Path, data: bytes) -> bytes:
    """At most one byte more than ``MOST_BYTES``. Raises LinkscopeError."""
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        found = unpack.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise LinkscopeError(f"{path} is no whole gzip file: {error}") from error
    if len(found) <= MOST_BYTES and not unpack.eof:
        raise LinkscopeError(f"{path} is no whole gzip file: it ends too soon")
    return found


def told(text: str | None) -> str:
    """A cell, fit for a complaint."""
    return "nothing" if text is None else repr(escaped(text)[:40])
