"""Other sizes: which tests of a run are not at all the sizes that `--sizes` asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkscope.documents.sizes import parse_sizes
from linkscope.errors import LinkscopeError

Json = dict[str, Any]
Row = tuple[str, str]
"""Suite and test."""
ROUNDED = 2
"""Sizes that differ by less than this factor are one: a collective's are rounded to what its members share."""


def sizes_of_their_own(cases: Iterable[Json], asked: object) -> tuple[dict[Row, tuple[int, int]], set[Row]]:
    """Return the tests whose smallest or largest size is another than ``asked``, each with these two; and all tests.

    Cases without bytes (barriers, calls) have no size. ``asked`` is as `--sizes` takes it; what is no list of sizes, as
    a run file may hold, asks for nothing.
    """
    wanted = _wanted(asked)
    rows: dict[Row, tuple[int, int]] = {}
    for case in cases if wanted else ():
        size, row = int(case["flows"][0]["bytes"]), (str(case["suite"]), str(case["name"]))
        if size:
            low, high = rows.get(row, (size, size))
            rows[row] = min(low, size), max(high, size)
    others = {row: ends for row, ends in rows.items() if not all(map(_alike, ends, (wanted[0], wanted[-1])))}
    return others, set(rows)


def _wanted(asked: object) -> list[int]:
    try:
        return [size for size in parse_sizes(asked, least=0) if size] if isinstance(asked, str) and asked else []
    except LinkscopeError:
        return []


def _alike(one: int, other: int) -> bool:
    return max(one, other) < ROUNDED * max(min(one, other), 1)
