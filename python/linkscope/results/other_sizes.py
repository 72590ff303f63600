"""Other sizes: which suite rows of a run are not of all the sizes that `--sizes` asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkscope.documents.sizes import format_bytes, parse_sizes
from linkscope.errors import LinkscopeError
from linkscope.messages.listed import listed

Json = dict[str, Any]
Row = tuple[str, str]
"""Suite and name of a suite row."""
MOST_NAMED = 4
"""Suite rows; more are counted."""
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


def other_sizes(cases: Iterable[Json], asked: object) -> list[str]:
    """Return in words which tests are at sizes of their own: "at sizes of their own: chase-gpu and chase-host (2 MiB)",
    and those "at fewer sizes than --sizes named, as the suite goes no further"."""
    others, rows = sizes_of_their_own(cases, asked)
    wanted = _wanted(asked)
    some = {row: ends for row, ends in others.items() if all(any(_alike(end, one) for one in wanted) for end in ends)}
    own = {row: ends for row, ends in others.items() if row not in some}
    kinds = (("at sizes of their own", own), ("at fewer sizes than --sizes named, as the suite goes no further", some))
    return [f"{kind}: {_named(found, rows)}" for kind, found in kinds if found]


def _wanted(asked: object) -> list[int]:
    try:
        return [size for size in parse_sizes(asked, least=0) if size] if isinstance(asked, str) and asked else []
    except LinkscopeError:
        return []


def _named(others: Mapping[Row, tuple[int, int]], rows: set[Row]) -> str:
    several = len({suite for suite, _ in rows}) > 1
    spans: dict[str, list[str]] = {}
    for (suite, name), ends in list(others.items())[:MOST_NAMED]:
        span = " to ".join(dict.fromkeys(map(format_bytes, ends)))
        spans.setdefault(span, []).append(f"{suite}/{name}" if several else name)
    whole = len(rows) > 1 and {len(names) for names in spans.values()} == {len(rows)}
    told = [f"{'all suite rows' if whole else listed(names)} ({span})" for span, names in spans.items()]
    told += [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return ", ".join(told)


def _alike(one: int, other: int) -> bool:
    return max(one, other) < ROUNDED * max(min(one, other), 1)
