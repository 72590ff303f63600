"""A matrix as NIXL's kvbench has it (its ct-perftest.md): cell [i][j] is what rank i sends to rank j in bytes, a number
with K, M or G (binary) or none, cells between blanks or commas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import MOST_RANKS, PatternText
from linkscope.workload.schedule import Message, Phase


def recognises(source: PatternText) -> bool:
    """Return whether it begins with a number."""
    return re.match(r"\s*[0-9]", source.text) is not None


def read(source: PatternText) -> Iterator[Phase]:
    """One phase. Raises LinkscopeError."""
    if len(source.lines) > 2 * MOST_RANKS:
        raise LinkscopeError(f"{source.path} has more lines than a matrix of {MOST_RANKS} ranks")
    rows = [
        (number, re.split(r"[\s,]+", line.strip(" \t,")))
        for number, line in enumerate(source.lines, start=1)
        if line.strip()
    ]
    if len(rows) > MOST_RANKS:
        raise LinkscopeError(f"{source.path} has {len(rows)} ranks, more than {MOST_RANKS}")
    messages = []
    for rank, (number, cells) in enumerate(rows):
        if len(cells) != len(rows):
            raise source.wrong(number, f"{len(cells)} cells in a matrix of {len(rows)} lines")
        for other, cell in enumerate(cells):
            size = source.size(number, cell)
            if size and rank != other:
                messages.append(Message(rank, other, size))
        source.bounded(len(messages))
    yield Phase(source.path.name, tuple(messages))
