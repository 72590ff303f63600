"""Common cause: figures that changed for the same reason told as one finding, by the smallest thing they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import polars

from linkscope.machine.paths import Paths

if TYPE_CHECKING:
    from linkscope.analysis.compare import Change

Json = dict[str, Any]
Thing: TypeAlias = tuple[str, str]
"""Something figures have in common: its kind and its name."""

DIRECTIONS = ("worse", "better")
UNCLEAR = "unclear"
FEWEST = 2
"""Figures that make a common cause."""
MOST_UNCHANGED = 0.34
"""Share of the figures that have a thing in common and yet did not change, from which it is not the cause."""
_ORDER = ("link", "path", "memory of", "GPU", "NUMA node", "method", "memory", "row", "class", "all")
"""Of two things that explain the same figures the earlier one is told."""
_ALL = ("all", "figures")

_MEMORIES = ("source_memory", "destination_memory", "members_memory")
_KIND = ("row", "method", "executor", "source", "destination", "members", "paths", *_MEMORIES)


@dataclass(frozen=True, eq=False)
class CommonCause:
    """Changes of one direction. ``what``: what they share, "GPU gpu:1", "link gpu:1>switch:nvswitch", "method
    copy-engine"; a table's title and place where a change stands alone. ``ratio``: the median of new over base.
    ``unchanged``: how many comparable figures share it, too, and did not change; ``unclear``: of how many others that
    share it nobody can tell."""

    what: str
    worse: bool
    ratio: float
    unchanged: int
    unclear: int
    changes: tuple[Change, ...]

    def to_json(self) -> Json:
        """A JSON-ready dict; changes by their ids."""
        ids = list(dict.fromkeys(change.key[0] for change in self.changes))
        counts = {"unchanged": self.unchanged, "unclear": self.unclear}
        return {"what": self.what, "worse": self.worse, "ratio": self.ratio, **counts, "ids": ids}


def findings(
    figures: polars.DataFrame, told: Callable[[polars.DataFrame], Iterable[Change]], paths: Paths
) -> tuple[CommonCause, ...]:
    """Of all figures of ``compare.judged`` that are worse or better, the gravest first; ``told`` makes changes of them.

    Greedily: the thing whose figures are best told by "changed" (F measure of precision and recall) explains all that
    have it; then the next among what is left. A link or GPU counts before a method, a method before a suite's row. What
    every figure of the run has is no cause unless every one of them changed so: where that alone is left, figures are
    counted.
    """
    known = figures.filter(polars.col("margin").is_not_null())
    if not known["verdict"].is_in(DIRECTIONS).any():
        return ()
    kinds = known.select(_KIND).unique(maintain_order=True).with_row_index("kind")
    known = known.join(kinds, on=_KIND, nulls_equal=True, maintain_order="left")
    things = {kind: frozenset(_things(line, paths)) for kind, line in enumerate(kinds.iter_rows(named=True))}
    found = [one for verdict in DIRECTIONS for one in _of_direction(verdict, known, things, told)]
    return tuple(sorted(found, key=lambda one: (not one.worse, -abs(math.log(one.ratio)) * len(one.changes) ** 0.5)))


def _of_direction(
    verdict: str,
    known: polars.DataFrame,
    things: Mapping[int, frozenset[Thing]],
    told: Callable[[polars.DataFrame], Iterable[Change]],
) -> Iterator[CommonCause]:
    left = known.filter(polars.col("verdict") == verdict)
    others, unchanged, unclear, every = Counter[Thing](), Counter[Thing](), Counter[Thing](), Counter[Thing]()
    for kind, other, count in known.group_by("kind", "verdict").len().iter_rows():
        for thing in things[kind]:
            every[thing] += count
            others[thing] += count if other not in (verdict, UNCLEAR) else 0
            unchanged[thing] += count if other not in (*DIRECTIONS, UNCLEAR) else 0
            unclear[thing] += count if other == UNCLEAR else 0
    common = {thing for thing, count in every.items() if count == len(known) > len(left) and thing != _ALL}
    while len(left) >= FEWEST:
        counts = dict(left.group_by("kind", maintain_order=True).len().iter_rows())
        cause = _best(counts, {kind: found - common for kind, found in things.items()}, others)
        if cause is None:
            break
        explained = polars.col("kind").is_in([kind for kind in counts if cause in things[kind]])
        changes = tuple(told(left.filter(explained)))
        what = (
            _named(cause) if cause != _ALL or len(changes) == len(known) else f"{len(changes)} of {len(known)} figures"
        )
        yield _finding(what, changes, unchanged[cause], unclear[cause])
        left = left.filter(~explained)
    for change in told(left):
        yield _finding(_alone(change), (change,), 0, 0)


def _best(
    counts: Mapping[int, int], things: Mapping[int, frozenset[Thing]], others: Mapping[Thing, int]
) -> Thing | None:
    """Of the things of what is left, ``counts`` by kind."""
    explained = Counter[Thing]()
    for kind, count in counts.items():
        for thing in sorted(things[kind]):
            explained[thing] += count
    best: tuple[tuple[float, int], Thing] | None = None
    for thing, count in explained.items():
        if count < FEWEST or others.get(thing, 0) > MOST_UNCHANGED * (count + others.get(thing, 0)):
            continue
        precision, recall = count / (count + others.get(thing, 0)), count / sum(counts.values())
        score = (round(2 * precision * recall / (precision + recall), 3), -_ORDER.index(thing[0]))
        if best is None or score > best[0]:
            best = score, thing
    return best[1] if best else None


def _things(kind: Json, paths: Paths) -> Iterator[Thing]:
    """Whatever figures of a kind have: kind of thing and name."""
    yield _ALL
    yield "row", kind["row"]
    yield "method", kind["method"]
    yield from (("memory", name.split(" (")[0]) for name in (kind[end] for end in _MEMORIES) if name)
    legs = [way.partition(">")[::2] for way in kind["paths"].split()]
    members = (kind["members"] or "").split()
    legs += [(a, b) for a in members for b in members if a != b]
    named = (kind["executor"], kind["source"], kind["destination"], *members, *(end for leg in legs for end in leg))
    devices = [device for device in dict.fromkeys(named) if device]
    for device in devices:
        yield ("GPU" if device.startswith("gpu:") else "NUMA node"), device
    for alone in devices if len(devices) == 1 else [a for a, b in legs if not b]:
        yield "memory of", alone
    for source, destination in legs:
        if destination:
            yield "path", f"{source} > {destination}"
            yield from (("link", link) for link in _route(paths, source, destination))


def _route(paths: Paths, source: str, destination: str) -> Sequence[str]:
    try:
        path = paths.between(source, destination)
    except KeyError:  # a device that the recorded topology lacks
        return ()
    return path.route if path is not None else ()


def _named(thing: Thing) -> str:
    """Such as "GPU gpu:1", "device memory", "suite row d2d"."""
    kind, name = thing
    if kind == "memory":
        return f"{name} memory"
    return f"{'suite row' if kind == 'row' else kind} {name}".strip()


def _finding(what: str, changes: Sequence[Change], unchanged: int, unclear: int) -> CommonCause:
    ratio = median(change.ratio for change in changes)
    return CommonCause(what, changes[0].verdict == "worse", ratio, unchanged, unclear, tuple(changes))


def _alone(change: Change) -> str:
    _, row, column, _ = change.key
    where = " > ".join(word for word in (row, column) if word)
    return f"{change.table}: {where}" if where else change.table
