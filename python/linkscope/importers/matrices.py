"""Matrices: tables with the numbers of devices at the top and at the left, as several tools print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from linkscope.importers.peer_output import LARGEST, MOST_GPUS, plain_number

NOTHING = ("N/A", "NA", "-")
"""Words of tools where there is no result."""
_LEAST = 1e-12
_NOISE = re.compile(r"[\s.…\d-]{0,200}")
"""A blank line, one that marks what was cut, or the number of a line."""


@dataclass(frozen=True)
class Cell:
    """A result above 0. ``line``: where it stands, from 1."""

    line: int
    row: int
    column: int
    value: float


@dataclass
class Matrix:
    """The rows of a table. ``columns``: the devices at its top; none where the head is cut off. ``rows``: by device,
    the line and the words. ``broken``: short rows in the middle, of which nothing tells which results they lack.
    ``tall``: whether there are rows of other devices than the columns'."""

    line: int
    columns: list[int] = field(default_factory=list)
    rows: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    torn: bool = False
    tall: bool = False

    def take(self, number: int, line: str) -> bool:
        """Take a line as the next row and return True, where it is one. Other text may stand between rows; after it,
        only a whole row is taken."""
        words = line.replace("\t", " ").split()
        if len(words) < 2 or not words[0].isdigit() or len(words[0]) > 3 or not all(map(is_cell, words[1:])):
            self.torn = self.torn or _NOISE.fullmatch(line) is None
            return False
        row, width, wide = int(words[0]), self.width, len(words) - 1
        if row > (self.columns[-1] if self.columns and not self.tall else MOST_GPUS - 1):
            return False
        if (self.rows and row <= next(reversed(self.rows))) or (width and wide > width):
            return False
        if self.torn and wide < (width or 2):
            return False
        if self.rows:
            last = next(reversed(self.rows))
            self.broken += [last] if len(self.rows[last][1]) < max(width, wide) else []
        self.rows[row] = (number, words[1:])
        return True

    @property
    def width(self) -> int:
        """Return how many results a row has."""
        return len(self.columns) or max((len(words) for _, words in self.rows.values()), default=0)

    def cells(self) -> Iterator[Cell]:
        """Yield the results, without those that are none or 0."""
        columns = self.columns or range(self.width)
        for row, (line, words) in self.rows.items():
            if row not in self.broken:
                for column, word in zip(columns, words, strict=False):
                    value = plain_number(word)
                    if value:
                        yield Cell(line, row, column, value)

    def missing(self, rows: Sequence[int] | None = None) -> str:
        """Return which of ``rows``, by default as many as columns, are not there or are short: "rows 2, 3", or ""."""
        wanted = (self.columns or range(self.width)) if rows is None else rows
        lacking = [str(row) for row in wanted if len(self.rows.get(row, (0, []))[1]) < self.width]
        return f"row{'s' * (len(lacking) > 1)} {', '.join(lacking[:8])}" if lacking else ""


def head_of(words: Sequence[str]) -> list[int]:
    """Return the devices of a head "0 1 2 3"; none where the words are no head."""
    if not words or len(words) > MOST_GPUS or not all(word.isdigit() and len(word) < 4 for word in words):
        return []
    numbers = [int(word) for word in words]
    return numbers if numbers == sorted(set(numbers)) else []


def is_cell(word: str) -> bool:
    """Return whether a word is a result, or says that there is none."""
    value = plain_number(word)
    return word in NOTHING or (value is not None and (value == 0 or _LEAST < value < LARGEST))
