"""PatternText: a file's lines, and what its cells must be."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped

MOST_BYTES = 256 << 20
MOST_RANKS = 4096
LARGEST = 1 << 50
_SIZE = re.compile(r"([0-9]{1,16})(\.[0-9]{1,9})?([KMG]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class PatternText:
    """A file of at most ``MOST_BYTES``, in UTF-8."""

    path: Path
    text: str

    @staticmethod
    def of(path: Path) -> PatternText:
        """Raises LinkscopeError, one line, where it cannot be read or is no text."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise LinkscopeError(f"{path} is no file: name a matrix or a table")
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except OSError as error:
            raise LinkscopeError(f"cannot read {path}: {error.strerror or error}") from error
        if len(data) > MOST_BYTES:
            raise LinkscopeError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
        try:
            return PatternText(path, data.decode())
        except UnicodeDecodeError as error:
            raise LinkscopeError(f"{path} is no text: {error.reason}") from error

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

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

    def wrong(self, line: int, what: str) -> LinkscopeError:
        """The complaint about a line."""
        return LinkscopeError(f"{self.path}, line {line}: {what}")


def told(text: str | None) -> str:
    """A cell, fit for a complaint."""
    return "nothing" if text is None else repr(escaped(text)[:40])
