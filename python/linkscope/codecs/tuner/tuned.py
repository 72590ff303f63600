"""Settings: which of several settings of a library is best for each of its collectives, by size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars

from linkscope.messages.catalog import problem
from linkscope.statistics.interval import Interval
from linkscope.statistics.ranges import borders, crossovers, size_ranges

Environment = Mapping[str, str]
Setting = Callable[[Environment, str], str | None]
"""Names what an environment sets for a collective; None: not one to choose."""
_GROUP = (
    *("collective", "members", "members_memory", "processes", "clock", "call", "calls_included", "both_ways"),
    "parameters",
)
_LETTERS, _DIGITS = 64, 4
_TIMES = ("seconds", "seconds_low", "seconds_high")


@dataclass(frozen=True)
class SettingRange:
    """From ``first`` to ``last`` bytes, both included, ``setting`` is best or ties with it; so are ``equals``.

    The first range begins at 0, the last has no end: None. Between measured sizes, ranges meet at the crossover.
    """

    first: int
    last: int | None
    setting: str
    equals: tuple[str, ...]


@dataclass(frozen=True)
class Tuned:
    """The best settings of ``collective`` between so many ``ranks``; sizes are those of the larger buffer, in bytes.

    ``times``: of every setting its seconds by size.
    """

    collective: str
    ranks: int
    ranges: tuple[SettingRange, ...]
    times: Mapping[str, Mapping[int, float]]


def tuned(results: polars.DataFrame, method: str, setting: Setting, effort: Callable[[str], int]) -> tuple[Tuned, ...]:
    """Return the best settings, within one node, for each collective and number of ranks that ``method`` was measured
    with in two settings or more. Where it was so under several conditions, those with most settings count.

    Of equals that of the least ``effort`` is taken, of these the fastest.
    """
    found: dict[tuple[str, int], Tuned] = {}
    timed = results.filter(polars.col("bytes") > 0, polars.col("seconds_low") > 0)
    usable = timed.filter(method=method, hosts="", flows=1, background=0)
    for (collective, members, *_), lines in usable.group_by(_GROUP, maintain_order=True):
        rivals = _rivals(lines, str(collective), setting)
        one = _tuned(str(collective), len(str(members).split()), rivals, effort)
        key = (one.collective, one.ranks)
        if one.ranges and (key not in found or len(one.times) > len(found[key].times)):
            found[key] = one
    return tuple(found.values())


def tuned_mpi(results: polars.DataFrame, setting: Setting, library: str, suite: str, standard: str = "") -> list[Tuned]:
    """Return the same of an MPI library's algorithms where others than its ``standard`` were measured, which is taken
    where it is as good as any. Raises LinkscopeError where there are none."""
    every = tuned(results, "mpi-collective", setting, lambda name: int(name != standard))
    found = [one for one in every if set(one.times) - {standard}]
    if not found:
        raise problem("tuner.not-tuned", library=library, suite=suite)
    return found


def plain_word(text: str) -> bool:
    """Return whether a text is a name that files can hold as it is."""
    return text.isascii() and text.replace("_", "").isalnum() and len(text) < _LETTERS


def few_digits(text: str) -> bool:
    """Return whether a text is a number that files can hold as it is."""
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS


def _rivals(lines: polars.DataFrame, collective: str, setting: Setting) -> dict[str, dict[float, Interval]]:
    rivals: dict[str, dict[float, Interval]] = {}
    for line in lines.select("environment", "bytes", *_TIMES).iter_rows(named=True):
        words = (word.partition("=") for word in line["environment"].split())
        name = setting({variable: value for variable, _, value in words}, collective)
        if name is not None:
            rivals.setdefault(name, {})[line["bytes"]] = Interval(*(line[time] for time in _TIMES))
    return rivals


def _tuned(
    collective: str, ranks: int, rivals: dict[str, dict[float, Interval]], effort: Callable[[str], int]
) -> Tuned:
    found = size_ranges(rivals)
    ends = list(borders(found, crossovers(rivals, found)))
    ranges = []
    for one, first, last in zip(found, [0, *(end + 1 for end in ends)], [*ends, None], strict=bool(found)):
        best = min(one.best, key=effort)
        ranges.append(SettingRange(first, last, best, tuple(name for name in one.best if name != best)))
    times = {name: {int(size): cost.value for size, cost in costs.items()} for name, costs in rivals.items()}
    return Tuned(collective, ranks, tuple(ranges), times)
