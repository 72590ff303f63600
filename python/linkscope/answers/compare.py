"""Compare: what changed between runs beyond the noise between them, and what it is blamed on.

Statistics are those of statistics/variance.py. Every change is one of speed: a latency that grew by 25% lost 20%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import polars

from linkscope.answers import ab
from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.case_changes import GONE, CaseChanges, case_changes, nothing_common
from linkscope.answers.common_cause import Blame, causes, with_path_and_method
from linkscope.answers.run_head import RunHead, findings_of, run_head
from linkscope.answers.setup_changes import DEVICES, SetupChange, disturbances, setup_changes
from linkscope.answers.speeds import of_side
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.importers.counted import counted, differ
from linkscope.machine.node import Device
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, Level, error, note, warning
from linkscope.messages.methods import method_name
from linkscope.results.row import origin_name
from linkscope.results.same_machine import same_machine
from linkscope.results.usual_noise import usual_noise
from linkscope.statistics.variance import HIGHER, LOWER, SAME, UNCLEAR, differences, judged, of_results

Frame = polars.DataFrame
Facts = Mapping[str, Any]

ALPHA = 0.001
"""Share of false ones among all changes that are reported."""
THRESHOLD = 0.01
"""Smaller relative changes are none."""
KEY = ("id", "place", "figure", "unit")
_VERDICTS = {"slower": LOWER, "faster": HIGHER, "unchanged": SAME, "inconclusive": UNCLEAR}
_FEW_CAUSES, _FEW_ROWS, _FEW_SETTINGS, _FEW_LOST = 3, 4, 2, 2
"""Lines of a first screen."""
_MINOR = frozenset({"point_budget_s"})
"""Settings that differ with the budget alone: the intervals tell what they do."""
_SPREAD = 1.3
"""Ratio of the largest to the least change of a cause from which both are shown."""
_LEAST_SHOWN = 0.0005
"""Changes of less are written as 0%."""
_SHOWN = (
    *("base", "base_modes", "base_modes_in", "new", "new_modes", "new_modes_in"),
    *("speed", "speed_low", "speed_high", "p", "verdict"),
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def answer(base: Run, *new: Run, **options: float) -> Answer:
    """Return ``compare`` of one run with others."""
    return compare([base], new, **options)


def compare(base: Sequence[Run], new: Sequence[Run], alpha: float = ALPHA, threshold: float = THRESHOLD) -> Answer:
    """Return what changed from the base to the new runs.

    Of all changes at most the share ``alpha`` is false; changes below the relative ``threshold`` are none. Raises
    LinkscopeError where a side has no run or the sides have no result in common.
    """
    if not base or not new:
        raise problem("compare.no-run")
    if ab.side_names([*base, *new]):
        return ab.answer(*base, *new, alpha=alpha, threshold=threshold)
    heads = tuple(map(run_head, (*base, *new)))
    cases, results = case_changes(base, new), _results(base, new, alpha, threshold)
    if not results.height and not cases.lost and not any(head.cut_short for head in heads):
        raise nothing_common(base, new)
    setup, disturbed = setup_changes(base[-1], new[-1], cases.methods), disturbances(base[-1], new[-1])
    suspects = {end for one in (*setup, *disturbed) for end in one.device.split("<>") if end.startswith("gpu:")}
    found = causes(results, new[-1].paths, suspects)
    facts = _facts(results, threshold)
    library, lost = new[-1].library, list(_lost(cases))
    changed = [_of_cause(_CODES[one.slower], one, results.height, library) for one in found]
    outcome, headline = _verdict(heads, found, changed, lost, {**facts, **_shift(results, threshold)})
    shown = 1 if headline in changed else 0
    parts, of_others = (
        [_of_cause(_PARTS, part, results.height, library) for one in some for part in one.parts]
        for some in (found[:shown], found[shown:])
    )
    others = [one for one in changed if one is not headline]
    few = max(_FEW_CAUSES - len(parts), 1)
    likely = [one for one in (*setup, *disturbed) if set(one.device.split("<>")) & set(headline.where)]
    block = [note("compare.counts", **facts)] if found or lost else []
    block += [note("compare.likely", **asdict(one)) for one in likely]
    block += [*parts[:_FEW_CAUSES], *others[:few], *lost[:_FEW_LOST]]
    settings = [
        note("compare.setup-of" if one.device else "compare.setup", **asdict(one))
        for one in setup
        if one not in likely and one.setting not in _MINOR
    ]
    minor = [note("compare.setup", **asdict(one)) for one in setup if one.setting in _MINOR]
    if len(settings) > _FEW_SETTINGS:
        settings.insert(_FEW_SETTINGS, note("compare.more-setup", count=len(settings) - _FEW_SETTINGS))
    level = Level.ERROR if outcome is Outcome.FAILS else Level.NOTE
    spoilers, repeated = findings_of(heads)
    rest = (*parts[_FEW_CAUSES:], *others[few:], *of_others, *lost[_FEW_LOST:], *settings[_FEW_SETTINGS + 1 :], *minor)
    return Answer(
        "compare",
        heads,
        replace(headline, level=level),
        outcome,
        findings=(
            *spoilers,
            *(replace(one, level=level) for one in block),
            *_doubts(base, new, setup),
            *_counted_unlike(base[-1], new[-1]),
            *_of_one_side(cases),
            *(_detectable(results, threshold) if outcome in (Outcome.HOLDS, Outcome.UNCLEAR) else ()),
            *settings[: _FEW_SETTINGS + 1],
        ),
        tables=tuple(_tables(results, found, library)),
        next=tuple(_next(base, new, outcome, facts)),
        details=(*repeated, *rest, _noise(base, new)),
        data={
            "base": [str(run.path) for run in base],
            "new": [str(run.path) for run in new],
            **{"alpha": alpha, **facts, "detectable": _seen(results, threshold)},
        },
        base=len(base),
    )


def _results(base: Sequence[Run], new: Sequence[Run], alpha: float, threshold: float) -> Frame:
    """Return the results that both sides have, as the last new run has them, with ``base`` and ``new`` in their unit
    (both speeds of a side that has two between processes), ``speed`` (the relative change of speed with its interval)
    and the columns of ``judged``."""
    before, after = (polars.concat([speeds_of(run) for run in side]) for side in (base, new))
    pairs = judged(differences(before, after, KEY), alpha, threshold)
    lines = polars.concat([run.results for run in new]).unique(KEY, keep="last", maintain_order=True)
    if all(run.pasted for run in (*base, *new)):  # a tool's time and bandwidth are one result
        lines = lines.unique(("id", "place"), keep="last", maintain_order=True)
        pairs = pairs.join(lines, on=KEY, how="semi", maintain_order="left")
    sign = polars.when(polars.col("unit") == RATE).then(1.0).otherwise(-1.0)
    change, margin = polars.col("change"), polars.col("margin")
    shares = {"speed": change, "speed_low": change - margin, "speed_high": change + margin}
    for side, name in ((base, "base"), (new, "new")):
        pairs = pairs.join(of_side(side, KEY, name), on=KEY, how="left", maintain_order="left")
    return lines.join(pairs, on=KEY, maintain_order="left").with_columns(
        *((sign * polars.col(side)).exp().alias(side) for side in ("base", "new")),
        *((share.exp() - 1).alias(name) for name, share in shares.items()),
    )


def speeds_of(run: Run) -> Frame:
    """Return the results of a run above 0 with the logarithm of their speed and what is known of its noise: the
    columns that ``differences`` of statistics/variance.py needs."""
    said = run.header.get("noise") or {}
    freedom = float(said.get("freedom", int(said.get("turns", 2)) - 1))
    sign = polars.when(polars.col("unit") == RATE).then(1.0).otherwise(-1.0)
    positive = run.results.filter(polars.col("value") > 0, polars.col("value_low") > 0)
    columns = (*KEY, "class", "log", "replicates", "squares", "of_samples", "calibrated", "calibrated_freedom")
    results = of_results(positive, sign * polars.col("value").log(), freedom).select(columns)
    known = [(name, usual_noise(row)) for name, row in run.rows.items()]
    lines = [(name, usual.processes, usual.at_most or None) for name, usual in known]
    schema = {"id": polars.String, "usual": polars.Float64, "assumed": polars.Float64}
    return results.join(polars.DataFrame(lines, schema, orient="row"), on="id", how="left", maintain_order="left")


def _facts(results: Frame, threshold: float) -> dict[str, Any]:
    counted = dict(results["verdict"].value_counts().iter_rows())
    counts = {name: int(counted.get(verdict, 0)) for name, verdict in _VERDICTS.items()}
    return {"total": results.height, **counts, "untestable": results["margin"].null_count(), "threshold": threshold}


_CODES = {
    True: ("compare.slower", "compare.slower-by", "compare.slower-apart"),
    False: ("compare.faster", "compare.faster-by", "compare.faster-apart"),
}
"""Codes by whether it is slower: with a common thing, a thing by one method, nothing in common."""
_PARTS = ("compare.part", "compare.part-by", "compare.part-apart")


def _of_cause(codes: tuple[str, str, str], cause: Blame, total: int, library: str) -> Finding:
    thing, (plain, by_method, apart) = cause.thing, codes
    ends = abs(cause.least), abs(cause.most)
    shown = ends if ends[1] > _SPREAD * ends[0] else (abs(cause.change),) * 2
    facts: dict[str, Any] = {"change": abs(cause.change), "changes": shown, "total": total}
    facts |= {"count": cause.results.height, "unchanged": cause.unchanged, "unclear": cause.unclear}
    ids = tuple(cause.results["id"].unique(maintain_order=True))
    if thing is None:
        return Finding(apart, Level.NOTE, {**facts, "kind": "none"}, (), ids)
    what = {"memory": f"{thing.name} memory", "test": f"test {thing.name}", "all": "all results"}
    what |= dict.fromkeys(("method", "way"), method_name(thing.name, library))
    facts |= {"kind": thing.kind, "what": what.get(thing.kind, thing.name), "scope": thing.scope}
    facts |= {"method": method_name(thing.method, library)} if thing.method else {}
    return Finding(by_method if thing.method else plain, Level.NOTE, facts, thing.devices, ids)


def _verdict(
    heads: Sequence[RunHead], found: Sequence[Blame], changed: Sequence[Finding], lost: Sequence[Finding], facts: Facts
) -> tuple[Outcome, Finding]:
    if any(head.modelled for head in heads):
        return Outcome.UNTESTED, note("compare.modelled", changed=facts["slower"] + facts["faster"], **facts)
    if found and found[0].slower:
        return Outcome.FAILS, changed[0]
    if lost:
        return Outcome.FAILS, error("compare.broken", count=sum(one.facts["count"] for one in lost))
    if any(head.cut_short for head in heads):
        return Outcome.UNTESTED, note("compare.incomplete", **facts)
    if found:
        return Outcome.HOLDS, changed[0]
    if 2 * facts["unchanged"] >= facts["total"]:
        return Outcome.HOLDS, note("compare.same", **facts)
    if facts["unchanged"]:
        return Outcome.HOLDS, note("compare.no-change", **facts)
    untestable = facts["untestable"] == facts["total"]
    if untestable and all(head.origin for head in heads):
        return Outcome.UNCLEAR, note("compare.pasted", **facts)
    return Outcome.UNCLEAR, note("compare.untestable" if untestable else "compare.inconclusive", **facts)


def _shift(results: Frame, threshold: float) -> dict[str, Any]:
    """Return how many results differ which way, whether or not that is more than noise, and the median change."""
    speed = results["speed"].drop_nulls()
    return {
        "down": int((speed < -threshold).sum()),
        "up": int((speed > threshold).sum()),
        "shift": speed.median() or 0.0,
    }


def _counted_unlike(base: Run, new: Run) -> Iterator[Finding]:
    """Yield what two tools, or two versions of one, count differently in results that both sides have."""
    told: set[str] = set()
    for name in base.rows.keys() & new.rows.keys():
        one, other = base.rows[name].imported, new.rows[name].imported
        if one is None or other is None or (one.tool, one.version) == (other.tool, other.version):
            continue
        before, after = (counted(each.tool, str(each.test or ""), each.version) for each in (one, other))
        for unlike in differ(before, after) if before is not None and after is not None else ():
            if unlike.code not in told:
                told.add(unlike.code)
                yield unlike


def _lost(cases: CaseChanges) -> Iterator[Finding]:
    """Yield a finding for each reason for which cases are lost; reasons that differ in their numbers are one."""
    reasons: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, status, why in cases.lost:
        reasons.setdefault((status, why if status == GONE else _NUMBER.sub("", why)), []).append((name, why))
    for (status, _), group in reasons.items():
        facts = {"count": len(group), "status": status, "reason": group[0][1]}
        code = "compare.device-gone" if status == GONE else "compare.lost"
        yield Finding(code, Level.NOTE, facts, results=tuple(name for name, _ in group))


def _doubts(base: Sequence[Run], new: Sequence[Run], setup: Iterable[SetupChange]) -> Iterator[Finding]:
    """Yield what makes a comparison doubtful: a run on both sides, other machines, imports that name none."""
    paths = {run.path for run in base} & {run.path for run in new}
    yield from (warning("compare.both-sides", path=str(path)) for path in sorted(paths))
    if not any(one.setting == DEVICES for one in setup) or same_machine(base[-1], new[-1]):
        return
    unknown = [run for run in (*base, *new) if not _knows_machine(run)]
    if unknown:
        beside = next((str(run.path) for run in (*base, *new) if run not in unknown), "RUN")
        yield warning("compare.no-machine", paths=[str(run.path) for run in unknown], beside=beside)
    else:
        yield warning("compare.other-machine")


def _knows_machine(run: Run) -> bool:
    """Return whether a run says of which machine it is: an import without one has bare numbers of NUMA nodes."""
    return not origin_name(run.header) or any(node != Device(node.id, "numa") for node in run.node.of_kind("numa"))


def _of_one_side(cases: CaseChanges) -> Iterator[Finding]:
    """Yield what one side alone has, by why the other lacks it."""
    for code, ids in cases.alone.items():
        tests = list(dict.fromkeys("/".join(name.split("/")[:2]) for name in ids))
        if ids:
            yield Finding(code, Level.NOTE, {"count": len(ids), "tests": tests}, results=ids)


def _seen(results: Frame, threshold: float) -> dict[str, float]:
    """Return by class the relative change that would have shown in half of its results, the least first."""
    seen = polars.max_horizontal(2 * polars.col("margin").median(), polars.lit(math.log1p(threshold))).exp() - 1
    known = results.filter(polars.col("margin").is_not_null()).group_by("class").agg(seen.alias("seen"))
    return dict(sorted(known.iter_rows(), key=lambda one: (one[1], one[0])))


def _detectable(results: Frame, threshold: float) -> Iterator[Finding]:
    if seen := list(_seen(results, threshold).items()):
        (least_class, least), (most_class, most) = seen[0], seen[-1]
        code = "compare.detectable-range" if len(seen) > 1 else "compare.detectable"
        yield note(code, least=least, least_class=least_class, most=most, most_class=most_class)


def _noise(base: Sequence[Run], new: Sequence[Run]) -> Finding:
    """Return where the noise between runs is from."""
    if min(len(base), len(new)) > 1:
        return note("compare.noise-of-runs")
    return note("compare.noise-calibrated" if new[-1].header.get("noise") else "compare.noise-assumed")


def _next(base: Sequence[Run], new: Sequence[Run], outcome: Outcome, facts: Facts) -> Iterator[Finding]:
    if base[-1].modelled or new[-1].modelled:
        return
    if outcome is Outcome.FAILS and same_machine(base[-1], new[-1]):
        yield note("compare.explain", new=str(new[-1].path))
    elif facts["untestable"] and min(len(base), len(new)) < 2:
        yield note("compare.more-runs", base=str(base[0].path), new=str(new[0].path))
    elif outcome is Outcome.UNCLEAR:
        yield note("compare.calibrate")


def _tables(results: Frame, found: Sequence[Blame], library: str) -> Iterator[Table]:
    values = (Column("base", Kind.VALUE), Column("new", Kind.VALUE), Column("speed", Kind.CHANGE, interval=True))
    columns = (Column("between", Kind.PATH), Column("called"), Column("bytes", Kind.SIZE), *values)
    size = polars.col("change").abs()
    if found:
        downwards = [False, False, True]
        ordered = polars.concat([one.results.sort("flows", "p", size, descending=downwards) for one in found])
        yield Table("compare.changed", _named(ordered, library), columns, first=_FEW_ROWS)
    else:
        unclear = results.filter(polars.col("verdict") == UNCLEAR, size > _LEAST_SHOWN).sort(size, descending=True)
        if unclear.height:
            yield Table("compare.unclear", _named(unclear, library), columns, first=_FEW_ROWS)
    every = (Column("id"), *values, Column("verdict", Kind.NAME))
    yield Table("compare.results", results.select(*KEY, "title", *_SHOWN), every, detail=True)


def _named(results: Frame, library: str) -> Frame:
    return with_path_and_method(results, library).select(*KEY, "between", "called", "bytes", *_SHOWN)
