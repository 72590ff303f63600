"""Case changes: cases that one side of a comparison lacks, or that no longer work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars

from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.results.same_machine import same_machine

Frame = polars.DataFrame

GONE = "gone"
"""Status of a case whose device the machine no longer has."""
FEWEST_SHARED = 2
"""Words that the ids of two cases share where one is near the other."""
_ENDS = ("source", "destination", "executor", "members")


@dataclass(frozen=True)
class CaseChanges:
    """Cases by id. ``lost``: id, status and reason of those that were ok in the base and are in no new run that tried
    them, or whose device is gone. ``alone``: the other cases that one side alone has, by the code that says why.
    ``methods``: of all cases that any run tried."""

    lost: tuple[tuple[str, str, str], ...]
    alone: Mapping[str, tuple[str, ...]]
    methods: frozenset[str]


def case_changes(base: Sequence[Run], new: Sequence[Run]) -> CaseChanges:
    """Return what became of the cases of both sides."""
    before, after = _outcomes(base), _outcomes(new)
    gone = _only_in(before, after)
    good = before.filter("good").select("id")
    broken = after.filter(~polars.col("good")).join(good, on="id", how="semi", maintain_order="left")
    lost = (*broken.select("id", "status", polars.col("reason").fill_null("")).rows(), *_with_device(base, new, gone))
    rest = [name for name in gone if name not in {id_ for id_, _, _ in lost}]
    skipped = {name for run in new for name in run.results.filter("left_out")["id"]}
    planned = {name for run in new for name in run.header["plan"]["ids"]}
    alone = {
        "compare.left-out": tuple(name for name in rest if name in skipped),
        "compare.not-reached": tuple(name for name in rest if name in planned - skipped),
        "compare.not-planned": tuple(name for name in rest if name not in planned | skipped),
        "compare.added": _only_in(after, before),
    }
    tried = polars.col("status") != "skipped"
    methods = polars.concat([run.results.filter(tried)["method"] for run in (*base, *new)])
    return CaseChanges(lost, alone, frozenset(methods.drop_nulls()))


def nothing_common(base: Sequence[Run], new: Sequence[Run]) -> LinkscopeError:
    """Return the error of two sides without a common result, which says in what the nearest cases differ."""
    files = {"base": str(base[0].path), "new": str(new[0].path)}
    if len({bool(run.results["modelled"].any()) for run in (*base, *new)}) > 1:
        return problem("compare.nothing-modelled", **files)
    for side in (base, new):
        if not any((run.results["status"] == "ok").any() for run in side):
            return problem("compare.nothing-measured", path=str(side[0].path))
    sides = [dict.fromkeys(tuple(name.split("/")[:-1]) for name in _outcomes(side)["id"]) for side in (base, new)]
    pairs = [(a, b) for a in sides[0] for b in sides[1] if len({*a} & {*b}) >= FEWEST_SHARED]
    if not pairs:
        return problem("compare.nothing", **files)
    one, other = max(pairs, key=lambda pair: len({*pair[0]} & {*pair[1]}) / len({*pair[0]} | {*pair[1]}))
    if {*one} == {*other}:
        return problem("compare.nothing-sizes", **files)
    alone = ["/".join(word for word in a if word not in b) or "-" for a, b in ((one, other), (other, one))]
    return problem("compare.nothing-near", **files, before=alone[0], after=alone[1])


def _outcomes(runs: Sequence[Run]) -> Frame:
    """Return for each case that a side tried whether it was ok in any run, and else what became of it in the last.

    A case that a budget left out was not tried.
    """
    cases = [run.results.unique("id", maintain_order=True).select("id", "status", "reason", "left_out") for run in runs]
    good = polars.col("status") == "ok"
    tried = polars.concat(cases).filter(~polars.col("left_out"))
    return tried.group_by("id", maintain_order=True).agg(
        good.any().alias("good"), *(polars.col(name).filter(~good).last() for name in ("status", "reason"))
    )


def _only_in(one: Frame, other: Frame) -> tuple[str, ...]:
    return tuple(one.join(other, on="id", how="anti")["id"].sort())


def _with_device(base: Sequence[Run], new: Sequence[Run], gone: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Yield those of ``gone`` that were ok and use a device that one and the same machine no longer has."""
    if not all(same_machine(base[-1], run) for run in new):
        return
    there = {device.id for run in new for device in run.node.devices}
    missing = [device.id for device in base[-1].node.devices if device.id not in there]
    ends = polars.concat_str(_ENDS, separator=" ", ignore_nulls=True).alias("ends")
    ok = (polars.col("status") == "ok") & polars.col("id").is_in(list(gone))
    used = polars.concat([run.results.filter(ok).select("id", ends) for run in base])
    for name, ends_used in used.group_by("id", maintain_order=True).agg(polars.col("ends").str.join(" ")).iter_rows():
        lacking = [device for device in missing if device in ends_used.split()]
        if lacking:
            yield name, GONE, ", ".join(lacking)
