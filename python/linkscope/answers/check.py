"""Check: does a run keep the limits of healthy nodes, and its speed under load? Which limits do good runs suggest?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from os import PathLike
from pathlib import Path
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.checked_results import models
from linkscope.answers.expectation import Expectation, judge
from linkscope.answers.health import health_findings
from linkscope.answers.not_checked import failed_cases
from linkscope.answers.run_head import RunHead, run_head
from linkscope.answers.sustained import UnderLoad, under_load
from linkscope.figures.columns import RATE, TIME
from linkscope.figures.run import Run
from linkscope.machine.identity import Identity
from linkscope.machine.node import Node
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, Level, error, note
from linkscope.results.limits import SCHEMA, Limit, Limits, load_limits

MATCHED = (
    *("row", "figure", "models", "tier", "method", "source_memory", "destination_memory", "members_memory"),
    *("collective", "parameters", "bytes", "together", "flows", "clock", "environment"),
)
"""Columns by which results of nodes of one kind are the same thing."""
LEAST_MARGIN = {"gpu-large": 0.03, "gpu": 0.05, "pinned": 0.05, "waited": 0.25, "flag": 0.25}
"""Least margin of a healthy node beyond what good runs showed, by class of results."""
OTHERS_MARGIN = 1.0
"""Margin of host memory and processes: one run in ten has results of a half."""
SHOWN = 8
_IN_OTHER_WORDS = frozenset({"run.failed"})
"""Findings of a run that a check says as errors of its own."""
_NOT_OF_LOADS = _IN_OTHER_WORDS | {"run.cut-short", "run.budget-ended"}
"""A load lasts until its time is up, or until somebody stops it."""
_NO_LIMITS = Limits(SCHEMA, [])


def answer(run: Run, limits: Limits | str | PathLike[str] | None = None) -> Answer:
    """Return whether a run keeps limits, given or named, and whether what its GPUs and links count is in order. A
    result is compared with every limit that it matches. A run under load is compared with itself, and needs no limits.

    Raises LinkscopeError where ``limits`` names a column that results do not have, or there are none and no load.
    """
    load = under_load(run)
    if limits is None and load is None:
        raise problem("check.no-limits", path=str(run.path))
    known = limits if isinstance(limits, Limits) else _NO_LIMITS if limits is None else load_limits(Path(limits))
    frame = run.results.with_columns(models(run.node).alias("models"))
    chosen = [frame.filter(_matches(number, limit, frame)) for number, limit in enumerate(known.limits)]
    judged = [_judged(lines, limit) for lines, limit in zip(chosen, known.limits, strict=True)]
    checked = polars.concat(judged or [_judged(frame.clear(), Limit({}, least_gbps=1.0))])
    head = run_head(run)
    sick = [one for one in head.findings if one.level is Level.ERROR and one.code.startswith("health.")]
    lacking = [
        *(load.findings if load is not None else ()),
        *_devices_lacking(run.node, known),
        *_paths_lacking(known.limits, chosen, judged),
        *failed_cases(run),
    ]
    counts = Counter(checked["outcome"].to_list())
    outcome, headline = _verdict(head, counts, lacking, sick, load, limited=limits is not None)
    held = [one for one in health_findings(run) if one.level is Level.NOTE]
    slows_down = load is not None and bool(load.slow)
    warned = [] if load is None or slows_down else _most_held(held)
    unmatched = [limit.words for limit, lines in zip(known.limits, judged, strict=True) if lines.is_empty()]
    return Answer(
        question="check",
        runs=(head,),
        headline=headline,
        outcome=outcome,
        findings=(
            *(one for one in head.findings if one.code not in (_IN_OTHER_WORDS if load is None else _NOT_OF_LOADS)),
            *(replace(one, level=Level.WARNING) for one in warned),
            *lacking,
            *(held if slows_down else ()),
            *_notes(counts, unmatched, load, headline),
        ),
        tables=(
            *(load.tables if load is not None else ()),
            *(_tables(checked, unmatched) if limits is not None else ()),
        ),
        details=() if slows_down else tuple(one for one in held if one not in warned),
        next=tuple(_next(run, slows_down=slows_down)) if outcome is Outcome.FAILS else (),
        data={
            "passed": outcome is Outcome.HOLDS,
            "identity": Identity.from_json(run.header.get("identity", {})).to_json(),
            "checked": checked.height,
            **{word.value: counts[word.value] for word in (Outcome.FAILS, Outcome.UNCLEAR)},
            **({"load": load.to_json()} if load is not None else {}),
        },
    )


def _most_held(held: Sequence[Finding]) -> list[Finding]:
    """Return the finding of the GPU whose clock was held down most; none where no clock was."""
    clocks = [one for one in held if one.code == "health.held-down"]
    return [max(clocks, key=lambda one: float(one.facts["share"]))] if clocks else []


def _matches(number: int, limit: Limit, frame: polars.DataFrame) -> polars.Expr:
    unknown = sorted(set(limit.match) - set(frame.columns))
    if unknown:
        raise problem("check.no-column", number=number, column=unknown[0])
    return reduce(and_, (polars.col(name) == value for name, value in limit.match.items()), polars.lit(value=True))


def _judged(lines: polars.DataFrame, limit: Limit) -> polars.DataFrame:
    """Return the measured ones of the results that match a limit, with its judgement, in its unit."""
    rate = limit.least_gbps is not None
    name, unit = ("gbps", RATE) if rate else ("seconds", TIME)
    values = lines.filter(polars.col("status") == "ok").with_columns(
        polars.lit(unit).alias("unit"),
        *(polars.col(f"{name}{end}").alias(f"value{end}") for end in ("", "_low", "_high")),
    )
    bound = float(limit.least_gbps or limit.most_seconds or 0.0)
    expected = Expectation(polars.lit(value=True), bound, "at-least" if rate else "at-most")
    return judge(values.with_columns(polars.lit(0.0).alias("noise")), expected).with_columns(
        (1 - polars.col("ratio") if rate else polars.col("ratio") - 1).alias("beyond")
    )


def _verdict(
    head: RunHead,
    counts: Counter[str],
    lacking: Sequence[Finding],
    sick: Sequence[Finding],
    load: UnderLoad | None,
    *,
    limited: bool,
) -> tuple[Outcome, Finding]:
    checked, broken = counts.total(), counts[Outcome.FAILS.value]
    if head.modelled and load is not None:
        return Outcome.UNTESTED, replace(load.headline, code="sustained.model")
    if head.modelled:
        return Outcome.UNTESTED, note("check.model", checked=checked, broken=broken)
    if head.cut_short and load is None:
        return Outcome.UNTESTED, note("run.incomplete")
    if broken:
        return Outcome.FAILS, note("check.broken", checked=checked, broken=broken)
    if load is not None and load.slow:
        return Outcome.FAILS, load.headline
    if lacking:
        return Outcome.FAILS, note("check.lacking", checked=checked, lacking=len(lacking))
    if sick:
        return Outcome.FAILS, note("check.sick")
    if load is not None and load.too_short:
        return Outcome.UNTESTED, _as_stopped(load, "sustained.too-short") if load.judged else load.headline
    if load is not None and not limited:
        return Outcome.HOLDS if load.judged else Outcome.UNTESTED, load.headline
    if not checked:
        return Outcome.UNTESTED, note("check.nothing")
    if counts[Outcome.UNCLEAR.value] == checked:
        return Outcome.UNCLEAR, note("check.unclear", checked=checked)
    return Outcome.HOLDS, note("check.passed", checked=checked)


def _as_stopped(load: UnderLoad, code: str) -> Finding:
    """Return what a load that was stopped has measured."""
    return note(code, **load.headline.facts, share=load.share)


def _notes(
    counts: Counter[str], unmatched: Sequence[str], load: UnderLoad | None, headline: Finding
) -> Iterator[Finding]:
    if load is not None and load.stopped and headline.code != "sustained.too-short":
        yield _as_stopped(load, "sustained.stopped")
    if load is not None and load.judged and not load.slow and not load.too_short and counts:
        yield replace(load.headline, code="sustained.steady")
    if unclear := counts[Outcome.UNCLEAR.value]:
        yield note("check.some-unclear", unclear=unclear)
    if unmatched:
        yield note("check.not-measured", limits=len(unmatched))


def _next(run: Run, *, slows_down: bool) -> Iterator[Finding]:
    """Yield what to type of a node that fails: what is slow under load alone, no reference is of."""
    yield note("sustained.next-full" if slows_down else "check.next-explain", path=str(run.path))
    if slows_down:
        yield note("sustained.next-doctor")


def _tables(checked: polars.DataFrame, unmatched: Sequence[str]) -> Iterator[Table]:
    columns = (
        *(Column("row", head="test"), Column("path", Kind.PATH), Column("method"), Column("bytes", Kind.SIZE)),
        *(Column("value", Kind.VALUE, head="measured", interval=True), Column("expected", Kind.VALUE, head="limit")),
        Column("beyond", Kind.PERCENT),
    )
    kept = ("id", "place", "figure", *(column.name for column in columns), "value_low", "value_high", "unit", "outcome")
    frame = checked.with_columns(_path()).select(kept)
    broken = frame.filter(polars.col("outcome") == Outcome.FAILS.value).sort("beyond", descending=True)
    if broken.height:
        yield Table("check.worst", broken, columns, first=SHOWN)
    yield Table("check.checked", frame, columns, detail=True)
    if unmatched:
        lines = polars.DataFrame({"id": unmatched, "outcome": [Outcome.UNTESTED.value] * len(unmatched)})
        yield Table("check.unmatched", lines, (Column("id", head="limit"),), detail=True)


def _path() -> polars.Expr:
    """Return the path of a result of one flow or two opposite ones; null of others, which the test's name tells."""
    both = polars.col("path").str.replace(">", "<>", literal=True)
    one = polars.when(polars.col("together") == "both").then(both).otherwise("path")
    return polars.when(polars.col("flows") <= 2).then(one).alias("path")


def _devices_lacking(node: Node, limits: Limits) -> Iterator[Finding]:
    there = _devices(node)
    for model, count in limits.devices.items():
        if there[model] < count:
            yield error("check.too-few-devices", model=model, count=there[model], of=count)


def _devices(node: Node) -> Counter[str]:
    """Return how many of each model there are."""
    return Counter(device.name or device.kind for device in node.devices)


def _paths_lacking(
    limits: Sequence[Limit], chosen: Sequence[polars.DataFrame], judged: Sequence[polars.DataFrame]
) -> Iterator[Finding]:
    """Yield paths that good nodes have and this one skipped; what a budget left out was not refused by the node."""
    for limit, lines, measured in zip(limits, chosen, judged, strict=True):
        refused = lines.filter(polars.col("status") == "skipped", ~polars.col("left_out"))
        count = measured["path"].n_unique()
        if refused.height and limit.paths is not None and count < limit.paths:
            reason = str(refused["reason"][0])
            yield error("check.too-few-paths", what=limit.words, count=count, of=limit.paths, reason=reason)


def limits_of(runs: Sequence[Run], made: str) -> Limits:
    """Return limits that all of these good runs keep: beyond the worst result by as much as they differ, and at least
    by ``LEAST_MARGIN``. There is one for each kind of result, over all devices of a model and all paths of a tier.

    Raises LinkscopeError where there are fewer than two runs, or one is modelled or cut short, or nothing was measured.
    """
    if len(runs) < 2:
        raise problem("check.one-run")
    if any(run.modelled for run in runs):
        raise problem("check.modelled-limits")
    if cut := next((run for run in runs if run.missing), None):
        raise problem("check.cut-limits", path=str(cut.path))
    if len({(run.header.get("host"), run.header.get("started")) for run in runs}) < len(runs):
        raise problem("check.run-twice")
    frames = [
        run.results.filter(polars.col("status") == "ok", polars.col("value").is_not_null()).with_columns(
            models(run.node).alias("models"), polars.lit(number).alias("run")
        )
        for number, run in enumerate(runs)
    ]
    grouped = polars.concat(frames).group_by(MATCHED, maintain_order=True)
    found = [_limit(dict(zip(MATCHED, keys, strict=True)), lines) for keys, lines in grouped]
    if not found:
        raise problem("check.no-results")
    every = [_devices(run.node) for run in runs]
    devices = {model: least for model in every[0] if (least := min(one[model] for one in every))}
    return Limits(SCHEMA, found, devices, made=made, runs=[str(run.path) for run in runs])


def _limit(keys: dict[str, Any], lines: polars.DataFrame) -> Limit:
    match = {name: value for name, value in keys.items() if value not in (None, "") and (name, value) != ("flows", 1)}
    least, most = float(str(lines["value"].min())), float(str(lines["value"].max()))
    margin = 1 + max(most / least - 1, LEAST_MARGIN.get(str(lines["class"][0]), OTHERS_MARGIN))
    seen = (_short(least), _short(most))
    paths = min(own["path"].n_unique() for _, own in lines.group_by("run"))
    if lines["unit"][0] == RATE:
        return Limit(match, least_gbps=_short(least / margin), seen=seen, paths=paths)
    return Limit(match, most_seconds=_short(most * margin), seen=seen, paths=paths)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
