"""Common cause: results that changed for the same reason, blamed on the smallest thing that they share.

A thing is a path, a part of a GPU (its links to other GPUs, its link to the host, its memory), a GPU, a NUMA node, a
kind of transfer, a method, a kind of memory or a test. The thing that best tells changed results from others (F measure
of precision and recall) is the cause of all changed results that have it; then the next among what is left.

A result that did not change counts against a thing where its interval shows that it did not: a method whose copies
between other GPUs are as fast as before is not to blame, even if their intervals are too wide to call them the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars

from linkscope.machine.paths import Paths
from linkscope.messages.methods import method_name
from linkscope.statistics.variance import HIGHER, LOWER, UNCLEAR

Line = Mapping[str, Any]
Frame = polars.DataFrame

MOST_UNCHANGED = 0.34
"""Share of the results that have a thing and yet did not change, from which it is not the cause."""
MOST_CAUSES = 8
"""Causes in one direction; what is left has none in common."""
MOST_ALONE = 3
"""Changed results without a common cause that are reported one by one."""
SUSPECT = 1.1
"""Weight of a GPU whose setup or state differs between the runs, against things that explain as much."""
_HALF = 0.5
"""Share of a thing's change that an unchanged result must exclude to count against the thing."""
_MEMORIES = ("source_memory", "destination_memory", "members_memory")
_KIND = ("row", "method", "way", "movement", "executor", "path", "members", "paths", "together", "flows", *_MEMORIES)
"""Columns that decide which things a result has."""
_OF_DEVICES = ("path", "pair", "link", "own", "one-way", "side", "any", "host-path", "host-pair")
_WIDE = ("transfer", "at-once", "numa", "method", "way", "movement", "memory", "test", "all")
_RANKS = {name: rank for rank, name in enumerate((*_OF_DEVICES, *(f"{name}-by" for name in _OF_DEVICES), *_WIDE))}
"""The earlier of two things that explain as much is blamed: what is smaller, a device before a method ("-by": a
device with one method alone), a method before a test."""
_SIDES = {True: ("to-peers", "from-peers", "peers"), False: ("to-host", "from-host", "host")}
"""Parts of a GPU's traffic, by whether it is with other GPUs: out, in, both."""


@dataclass(frozen=True, order=True)
class Thing:
    """Name what results may have in common. ``rank``: of two things that explain as much the lower rank is blamed.

    ``kind``: path, pair, link, gpu, numa, kind (a movement), method, way, memory, test or all. ``scope``: which part of
    a device, such as "peers". ``method``: only transfers by it. ``devices``: for `where` of a finding.
    """

    rank: int
    kind: str
    name: str
    scope: str = ""
    method: str = ""
    devices: tuple[str, ...] = ()


def _thing(rank: str, kind: str, name: str, scope: str = "", method: str = "", devices: tuple[str, ...] = ()) -> Thing:
    return Thing(_RANKS[f"{rank}-by" if method else rank], kind, name, scope, method, devices)


@dataclass(frozen=True, eq=False)
class Blame:
    """Results that changed in one direction, as lines of the frame. ``thing``: None where they have none in common.

    ``change``: the median relative change of speed, -0.2 for 20% slower; ``least`` and ``most``: between which four of
    five changes lie, by size. ``unchanged``: how many other results have the thing and did not change, ``unclear``: how
    many nobody can tell of. ``parts``: what was blamed before it was one GPU's.
    """

    thing: Thing | None
    change: float
    least: float
    most: float
    results: Frame
    unchanged: int = 0
    unclear: int = 0
    parts: tuple[Blame, ...] = ()

    @property
    def slower(self) -> bool:
        """Return whether the results lost speed."""
        return self.change < 0


def causes(results: Frame, paths: Paths, suspects: Collection[str] = ()) -> list[Blame]:
    """Return what is behind all results that changed, what got slower first, then by weight.

    ``results``: lines of the results frame with ``change`` (logarithm of the speed of new over base), ``margin`` and
    ``verdict`` (statistics/variance.py). ``suspects``: GPUs whose setup or state differs between the runs.
    """
    known = results.filter(polars.col("margin").is_not_null())
    if not known["verdict"].is_in((LOWER, HIGHER)).any():
        return []
    kinds = known.select(_KIND).unique(maintain_order=True).with_row_index("kind_number")
    known = known.join(kinds, on=_KIND, nulls_equal=True, maintain_order="left")
    things = _Things(kinds, paths, suspects)
    found = [cause for verdict in (LOWER, HIGHER) for cause in _of_direction(verdict, known, things)]
    return sorted(found, key=lambda one: (not one.slower, -abs(math.log1p(one.change)) * one.results.height**0.5))


class _Things:
    """Things by number, and a frame that says which kinds of results have which: kind_number, thing, share."""

    def __init__(self, kinds: Frame, paths: Paths, suspects: Collection[str]) -> None:
        numbers: dict[Thing, int] = {}

        def number(thing: Thing) -> int:
            return numbers.setdefault(thing, len(numbers))

        @cache
        def of_leg(leg: tuple[str, str], method: str) -> list[int]:
            return [number(thing) for thing in _of_leg(leg, paths, method)]

        rows: list[tuple[int, int, float]] = []
        for line in kinds.iter_rows(named=True):
            legs, kind = _legs(line), line["kind_number"]
            shares = Counter(one for leg in legs for one in of_leg(leg, line["method"]))
            rows += [(kind, thing, count / len(legs)) for thing, count in shares.items()]
            rows += [(kind, number(thing), 1.0) for thing in _wide(line, legs)]
        self.numbers, self.all = numbers, list(numbers)
        schema = {"kind_number": polars.UInt32, "thing": polars.UInt32, "share": polars.Float64}
        self.frame = Frame(rows, schema=schema, orient="row")
        gpus = {device for thing in self.all for device in thing.devices if device.startswith("gpu:")}
        self.suspects = set(suspects) if set(suspects) < gpus else set()

    def has(self, number: int) -> polars.Expr:
        """Return whether a result has a thing."""
        return polars.col("kind_number").is_in(self.frame.filter(thing=number)["kind_number"].implode())

    def weight(self, number: int) -> float:
        """Return how much more than others a thing is to be suspected."""
        thing = self.all[number]
        return SUSPECT if thing.kind == "gpu" and thing.name in self.suspects else 1.0


def _of_direction(verdict: str, known: Frame, things: _Things) -> Iterator[Blame]:
    sign = -1 if verdict == LOWER else 1
    size = sign * polars.col("change")
    known = known.with_columns(size.alias("size"), (size + polars.col("margin")).alias("most"))
    left, others = (known.filter(test) for test in (polars.col("verdict") == verdict, polars.col("verdict") != verdict))
    every = things.frame.join(known.select("kind_number"), on="kind_number").group_by("thing").len()
    shared_by_all = set(every.filter(polars.col("len") == known.height)["thing"]) if others.height else set()
    found: list[Blame] = []
    while len(found) < MOST_CAUSES and (number := _best(left, others, things, shared_by_all)) is not None:
        has = things.has(number)
        found.append(_blamed(number, left.filter(has), others, things))
        left = left.filter(~has)
    if left.height > MOST_ALONE and (shared := _shared(left, things, shared_by_all)) is not None:
        found.append(_blamed(shared, left, others, things))
        left = left.clear()
    alone = [_cause(_alone(left[row]), left[row]) for row in range(left.height)] if left.height <= MOST_ALONE else []
    if left.height and len({one.thing for one in alone}) < left.height:
        alone = [_cause(None, left)]
    return _of_gpus([*found, *alone], others, things)


def _best(left: Frame, others: Frame, things: _Things, excluded: set[int]) -> int | None:
    """Return the thing that explains best what is ``left``."""
    pairs = things.frame.filter(~polars.col("thing").is_in(list(excluded)))
    explained = (
        left.select("kind_number", "size")
        .join(pairs, on="kind_number")
        .group_by("thing")
        .agg(polars.len().alias("count"), polars.col("size").median().alias("typical"))
        .filter(polars.col("count") >= min(2, left.height))
    )
    against = _against(others, pairs.join(explained, on="thing")).group_by("thing").agg(polars.len().alias("against"))
    scored = explained.join(against, on="thing", how="left").with_columns(polars.col("against").fill_null(0))
    eligible = scored.filter(polars.col("against") <= MOST_UNCHANGED * (polars.col("count") + polars.col("against")))
    f_measure = 2 * polars.col("count") / (polars.col("count") + polars.col("against") + left.height)
    ranked = [
        (-round(things.weight(number) * score, 3), things.all[number], number)
        for number, score in eligible.select("thing", f_measure.alias("score")).iter_rows()
    ]
    return min(ranked)[2] if ranked else None


def _shared(left: Frame, things: _Things, excluded: set[int]) -> int | None:
    """Return the smallest pair of devices or GPU that all of ``left`` have, though many others that have it did not
    change; None where they have neither. A pair that is slow alone is named, even if all GPUs at once are not slower.
    """
    held = things.frame.join(left.select("kind_number").unique(), on="kind_number")
    every = held.group_by("thing").agg(polars.len().alias("count"), polars.col("share").min())
    whole = every.filter(polars.col("count") == left["kind_number"].n_unique(), polars.col("share") == 1.0)["thing"]
    shared = [one for one in whole if one not in excluded and things.all[one].kind in ("path", "pair", "gpu")]
    return min(shared, key=lambda one: things.all[one], default=None)


def _against(others: Frame, pairs: Frame) -> Frame:
    """Return the results that count against things; ``pairs``: things of kinds, each with its ``typical`` change."""
    lines = others.select("kind_number", "most").join(pairs, on="kind_number")
    return lines.filter(polars.col("most") < _HALF * polars.col("typical") * polars.col("share"))


def _of_gpus(found: Sequence[Blame], others: Frame, things: _Things) -> Iterator[Blame]:
    """Yield the causes. A GPU that is to blame in two of its memory, its path to the host and its paths to other GPUs
    is one cause with all that touches it; of several such GPUs the one that explains most comes first."""
    legs = {one: [_legs(line) for line in one.results.unique("kind_number").iter_rows(named=True)] for one in found}
    sides: dict[str, set[str]] = {}
    for one in found:
        gpus = [end for end in one.thing.devices if end.startswith("gpu:")] if one.thing else []
        if len(gpus) == 1:
            sides.setdefault(gpus[0], set()).update(_transfer(leg) for some in legs[one] for leg in some)
    touched = {
        gpu: [one for one in found if all(any(gpu in leg for leg in some) for some in legs[one])]
        for gpu, of_gpu in sides.items()
        if len(of_gpu) > 1
    }
    parts = max(touched.values(), key=lambda some: sum(one.results.height for one in some), default=[])
    if len(parts) < 2:
        yield from found
        return
    gpu = next(gpu for gpu, some in touched.items() if some is parts)
    number = things.numbers[_thing("any", "gpu", gpu, "any", devices=(gpu,))]
    results = polars.concat([one.results for one in parts])
    yield replace(_blamed(number, results, others, things), parts=tuple(parts))
    yield from _of_gpus([one for one in found if one not in parts], others, things)


def _blamed(number: int, results: Frame, others: Frame, things: _Things) -> Blame:
    kinds = things.frame.filter(thing=number).with_columns(polars.lit(results["size"].median()).alias("typical"))
    unclear = others.filter(things.has(number), polars.col("verdict") == UNCLEAR).height
    return replace(_cause(things.all[number], results), unchanged=_against(others, kinds).height, unclear=unclear)


def _cause(thing: Thing | None, results: Frame) -> Blame:
    low, median, high = (math.expm1(results["change"].quantile(share, "linear") or 0.0) for share in (0.1, 0.5, 0.9))
    least, most = sorted((low, high), key=abs)
    return Blame(thing, median, least, most, results)


def _alone(result: Frame) -> Thing:
    """Return what one changed result is blamed on: its path, by its method."""
    line = result.row(0, named=True)
    devices = tuple(dict.fromkeys(end for leg in _legs(line) for end in leg if end))
    few = devices if len(devices) <= 2 else ()
    return _thing("path", "path", result_path(line), method=str(line["method"]), devices=few)


def _legs(line: Line) -> list[tuple[str, str]]:
    """Return the pairs of devices that a result's bytes go between; ("gpu:0", "") of one device."""
    members = (line["members"] or "").split()
    legs = [(a, b) for a, _, b in (path.partition(">") for path in (line["paths"] or "").split())]
    legs += [(a, b) for a in members for b in members if a != b]
    return list(dict.fromkeys(legs)) or [(line["executor"] or "", "")]


def _wide(line: Line, legs: Sequence[tuple[str, str]]) -> Iterator[Thing]:
    """Yield the things of a kind of result that are no part of the node."""
    transfers = {_transfer(leg) for leg in legs}
    if len(transfers) == 1 and (transfer := transfers.pop()):
        yield _thing("transfer", "kind", transfer)
        if (line["flows"] or 1) > 2:
            yield _thing("at-once", "kind", transfer.replace("gpu", "gpus"))
    yield _thing("movement", "kind", line["movement"])
    for memory in {line[end].split(" (")[0] for end in _MEMORIES if line[end]}:
        yield _thing("memory", "memory", memory)
    for name, value in (("method", line["method"]), ("way", line["way"]), ("test", line["row"]), ("all", "")):
        yield _thing(name, name, value)


def _of_leg(leg: tuple[str, str], paths: Paths, method: str) -> Iterator[Thing]:
    """Yield the things of one leg: path, pair, links on the way, and parts of the devices at its ends."""
    a, b = leg
    if not b:
        yield from _of_device(a, {"own": "own", "any": "any"}, method)
        return
    ends = (a, b) if a < b else (b, a)
    gpus = [end for end in leg if end.startswith("gpu:")]
    prefix = "host-" if len(gpus) == 1 else ""
    for used in ("", method):
        yield _thing(f"{prefix}path", "path", f"{a}>{b}", method=used, devices=leg)
        yield _thing(f"{prefix}pair", "pair", "<>".join(ends), method=used, devices=ends)
    for link in _links(paths, a, b):
        yield _thing("link", "link", link, devices=tuple(end for end in link.split(">") if end.startswith("gpu:")))
    out, into, side = _SIDES[len(gpus) == 2]
    yield from _of_device(a, {out: "one-way", side: "side", "any": "any"}, method)
    yield from _of_device(b, {into: "one-way", side: "side", "any": "any"}, method)


def _of_device(device: str, scopes: Mapping[str, str], method: str) -> Iterator[Thing]:
    """Yield the parts of a device that a leg is of; ``scopes``: each with the name of its rank."""
    if device.startswith("gpu:"):
        for used in ("", method):
            yield from (_thing(rank, "gpu", device, scope, used, (device,)) for scope, rank in scopes.items())
    elif device:
        yield _thing("numa", "numa", device, "any", devices=(device,))
        if "own" in scopes:
            yield _thing("own", "numa", device, "own", devices=(device,))


def _links(paths: Paths, source: str, destination: str) -> list[str]:
    """Return the links on the way that several paths may share: those that no part of a GPU stands for."""
    try:
        path = paths.between(source, destination)
    except KeyError:  # a device that the recorded topology lacks
        return []
    route = path.route if path is not None else ()
    links = [link.partition("/")[0] for link in route]
    return [link for link in links if len({end.startswith("gpu:") for end in link.split(">")}) == 1]


def _transfer(leg: tuple[str, str]) -> str:
    """Return between what a leg leads, as a code of movements: "gpu<>gpu", "gpu<>host", "host<>host"; "" of one."""
    a, b = leg
    if not b:
        return ""
    return "<>".join(sorted("gpu" if end.startswith("gpu:") else "host" for end in (a, b)))


def with_path_and_method(results: Frame, library: str) -> Frame:
    """Return results with what a screen shows of each: ``between``, its path, and ``called``, its method."""
    lines = list(results.iter_rows(named=True))
    between = polars.Series("between", [result_path(line) for line in lines], polars.String)
    called = polars.Series("called", [method_name(line["way"], library) for line in lines], polars.String)
    return results.with_columns(between, called)


def result_path(line: Line) -> str:
    """Return between what a result's bytes go: "gpu:0>gpu:1", "gpu:0<>gpu:1", "gpu:0>3 GPUs", or its movement."""
    source, _, destination = (line["path"] or "").partition(">")
    if line["members"] or line["together"] in ("many", "many-both"):
        return str(line["movement"])
    if line["together"] == "one-to-many":
        return f"{source}>{line['flows']} GPUs"
    if line["together"] == "many-to-one":
        return f"{line['flows']} GPUs>{destination}"
    if source == destination or not destination:
        return source
    return f"{source}<>{destination}" if line["together"] == "both" else f"{source}>{destination}"
