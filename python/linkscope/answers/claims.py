"""Claims: what a study says, compared with the results of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars

from linkscope.answers.answer import Outcome
from linkscope.answers.expectation import Expectation, Relation
from linkscope.answers.expectation import judge as judge_results
from linkscope.figures.columns import SCHEMA
from linkscope.machine.paths import Paths
from linkscope.messages import numbers
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, note
from linkscope.results.study import Claim, Where
from linkscope.statistics.crossing import crossing
from linkscope.statistics.interval import Interval

LINEAR = 0.5
"""Time grows with the size where doubling the size multiplies it by at least 2 to this."""
STEP = 2.0
"""Sizes are measured by factors of two: where growth sets in is not known better."""
_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_MEMORIES = frozenset({"source_memory", "destination_memory", "members_memory"})
_ODD = frozenset({"members", "from", "to", "parameters", "environments"})
_EVEN = Interval(1.0, 1.0, 1.0)
_MEMBERS = polars.col("members").str.count_matches(" ") + 1
"""The number of members of a collective."""


@dataclass(frozen=True)
class Judgement:
    """Say whether results agree with a claim.

    ``here``: what they say, or why they say nothing. ``off``: the share by which they miss the claim, 0.12 for 12%
    more; None where no number says it. ``value``: of a claim about one number. ``fitted``: the model was given what
    the claim is about, so that it predicts nothing.
    """

    claim: Claim
    outcome: Outcome
    here: Finding
    off: float | None = None
    value: float | None = None
    fitted: bool = False


class UntestedError(Exception):
    """The results do not say; ``why`` tells what lacks."""

    def __init__(self, why: Finding) -> None:
        super().__init__(why.code)
        self.why = why


@dataclass(frozen=True)
class Grounds:
    """``results``: of the run (figures/columns.py). ``paths``: of its node. ``studied``: the study's machines."""

    results: polars.DataFrame
    paths: Paths
    studied: tuple[str, ...] = ()


def judge(claim: Claim, grounds: Grounds) -> Judgement:
    """Return whether the results agree with the claim."""
    (expected,) = claim.expects
    if expected == "needs":
        return Judgement(claim, Outcome.UNTESTED, note("reproduce.needs", why=claim.needs))
    if grounds.paths.node.name in grounds.studied and claim.of not in ("", grounds.paths.node.name):
        return Judgement(claim, Outcome.UNTESTED, note("reproduce.said-of", machine=claim.of))
    try:
        return _JUDGES.get(expected, _bounded)(claim, grounds)
    except UntestedError as error:
        return Judgement(claim, Outcome.UNTESTED, error.why)


def selected(results: polars.DataFrame, where: Where) -> polars.DataFrame:
    """Return the lines that ``where`` is about. Raises LinkscopeError for a column that results do not have."""
    unknown = set(where) - set(SCHEMA) - _ODD
    if unknown:
        raise problem("reproduce.no-column", column=min(unknown))
    return results.filter(*(_condition(name, _many(value)) for name, value in where.items()))


def _condition(name: str, wanted: list[str | int]) -> polars.Expr:
    words = [str(one) for one in wanted]
    if name in ("from", "to"):
        size = polars.col("bytes")
        return size >= int(wanted[0]) if name == "from" else size <= int(wanted[0])
    if name == "parameters":
        return polars.all_horizontal(polars.col(name).str.split(" ").list.contains(word) for word in words)
    if name == "members":
        return _MEMBERS.is_in([int(one) for one in wanted])
    text = polars.col("environment" if name == "environments" else name).cast(polars.String)
    if name in _MEMORIES:  # "device" is device memory, whoever touched it first
        return text.is_in(words) | text.str.replace(r" \(.*", "").is_in(words)
    return text.is_in(words)


def _many(value: object) -> list[str | int]:
    return list(value) if isinstance(value, list) else [value]  # type: ignore[list-item]


def measured(grounds: Grounds, where: Where, unit: str) -> polars.DataFrame:
    """Return the selected lines that have a ``value`` in ``unit``. Raises UntestedError where there are none."""
    lines = selected(grounds.results, where)
    found = lines.filter(polars.col("status") == "ok", polars.col("unit").is_not_null())
    for setting in _many(where.get("environments", [])):
        if (own := selected(found, {"environment": setting})).height:
            found = own
            break
    if not found.height:
        raise UntestedError(_missing(grounds.results, lines, where))
    scale = _SCALES.get(unit)
    value = polars.col("seconds") * scale if scale else polars.col("of_peak" if unit == "of peak" else "gbps")
    valued = found.with_columns(value.alias("value")).drop_nulls("value")
    if not valued.height:
        raise UntestedError(note("reproduce.no-peak" if unit == "of peak" else "reproduce.no-result"))
    return valued


def typical(grounds: Grounds, where: Where, unit: str) -> float:
    """Return the median of the selected results in ``unit``. Raises UntestedError where there is none."""
    return float(measured(grounds, where, unit)["value"].median())  # type: ignore[arg-type]


def _missing(results: polars.DataFrame, lines: polars.DataFrame, where: Where) -> Finding:
    reasons = lines["reason"].drop_nulls()
    own = reasons.filter(~reasons.str.starts_with("for "))  # the other vendor's twin says only that it is one
    for found in (own, reasons):
        if len(found):
            return note("reproduce.needs", why=str(found.mode().sort()[0]))
    rows = selected(results, {"row": where["row"]}) if "row" in where else results
    if not rows.height:
        return note("reproduce.no-test", tests=[str(one) for one in _many(where["row"])])
    if "tier" in where and not selected(rows, {"tier": where["tier"]}).height:
        return note("reproduce.no-tier", tiers=[str(one) for one in _many(where["tier"])])
    return note("reproduce.no-result")


def _values(claim: Claim, grounds: Grounds) -> list[tuple[str, float]]:
    """Return the name and value of each group of results: in the claim's unit, or a ratio or difference."""
    value = _per_group(claim, grounds, claim.figure)
    for other, sign in ((claim.over, "/"), (claim.minus, "-")):
        if other is None:
            continue
        against = _per_group(claim, grounds, other)
        alone = [name for name in value if name not in against] if claim.each != ["bytes"] else []
        shared = [name for name in value if name in against]
        if alone or not shared:
            raise UntestedError(note("reproduce.no-other", group=alone[0] if alone else ""))
        value = {name: value[name] / against[name] if sign == "/" else value[name] - against[name] for name in shared}
    return list(value.items())


def _per_group(claim: Claim, grounds: Grounds, where: Where) -> dict[str, float]:
    lines = measured(grounds, where, claim.unit).with_columns(_MEMBERS.alias("members"))
    pick = {"median": polars.Expr.median, "least": polars.Expr.min, "most": polars.Expr.max}[claim.pick]
    for name in (name for name in claim.each if name != "row" and isinstance(where.get(name), list)):
        there = set(lines[name].cast(polars.String))
        lacking = [str(one) for one in _many(where[name]) if str(one) not in there]
        if lacking:
            raise UntestedError(note("reproduce.no-group", group=lacking[0]))
    sizes = {size: numbers.size(size) for size in lines["bytes"].drop_nulls().unique()}
    lines = lines.with_columns(polars.col("bytes").replace_strict(sizes, default=None, return_dtype=polars.String))
    names = [polars.col(name).cast(polars.String) for name in claim.each] or [polars.lit("")]
    group = polars.concat_str(names, separator=" ", ignore_nulls=True).alias("group")
    groups = lines.group_by(group, maintain_order=True).agg(pick(polars.col("value")))
    return {str(name): float(value) for name, value in groups.iter_rows()}


def _bounded(claim: Claim, grounds: Grounds) -> Judgement:
    values = _values(claim, grounds)
    if claim.across != "all":
        values = [(min if claim.across == "least" else max)(values, key=lambda one: one[1])]
    groups = polars.DataFrame(values, schema={"group": polars.String, "value": polars.Float64}, orient="row")
    groups = groups.with_columns(value_low="value", value_high="value", noise=0.0, unit=polars.lit(claim.unit))
    judged = polars.concat(
        judge_results(groups, Expectation(polars.lit(True), bound, relation, claim.within + 1e-9)).with_columns(
            off=_MISSES[relation](polars.col("ratio").fill_nan(1.0) - 1)
        )
        for relation, bound in _bounds(claim)
    )
    worst = judged.row(judged["off"].abs().arg_max() or 0, named=True)
    holds = Outcome.FAILS.value not in judged["outcome"]
    group = worst["group"] if len(values) > 1 or claim.across != "all" else ""
    here = said(worst["value"], claim, group) if not holds or len(values) == 1 else _range(values, claim)
    off = worst["off"] if not holds or claim.about is not None else None
    return Judgement(claim, _outcome(holds), here, off, worst["value"])


_MISSES: dict[str, Callable[[polars.Expr], polars.Expr]] = {
    "about": lambda off: off,
    "at-least": lambda off: polars.min_horizontal(off, 0.0),
    "at-most": lambda off: polars.max_horizontal(off, 0.0),
}
"""The share by which a result misses a bound, by relation."""


def _outcome(holds: bool) -> Outcome:
    return Outcome.HOLDS if holds else Outcome.FAILS


def _bounds(claim: Claim) -> list[tuple[Relation, float]]:
    least, most = claim.between or (claim.least, claim.most)
    bounds: list[tuple[Relation, float | None]] = [("about", claim.about), ("at-least", least), ("at-most", most)]
    return [(relation, bound) for relation, bound in bounds if bound is not None]


def said(value: float | list[float], claim: Claim, group: str = "") -> Finding:
    """Return a value, or both ends of a range, in the claim's unit; ``group``: the results that it is of."""
    facts = {"value": value, "unit": claim.unit, "group": group}
    if claim.over is not None:
        return note("reproduce.factor-of" if group else "reproduce.factor", **facts)
    if claim.unit == "of peak":
        return note("reproduce.share-of" if group else "reproduce.share", **facts)
    return note("reproduce.value-of" if group else "reproduce.value", **facts)


def _range(values: Sequence[tuple[str, float]], claim: Claim) -> Finding:
    return said([min(value for _, value in values), max(value for _, value in values)], claim)


def _alike(claim: Claim, grounds: Grounds) -> Judgement:
    assert claim.alike is not None
    found = _values(claim, grounds)
    values = [value for _, value in found]
    if len(values) < 2:
        raise UntestedError(note("reproduce.one-alone"))
    spread = max(values) / min(values) - 1
    return Judgement(claim, _outcome(spread <= claim.alike), _range(found, claim), spread)


def _by_size(grounds: Grounds, where: Where, unit: str, at: tuple[int, int]) -> dict[int, float]:
    """Return the median at each size. Raises UntestedError where there are not sizes below and above ``at``."""
    lines = measured(grounds, where, unit).filter(polars.col("bytes") > 0, polars.col("value") > 0)
    found = lines.group_by("bytes").agg(polars.col("value").median()).sort("bytes")
    _refuse_narrow(found["bytes"].to_list(), at)
    return dict(found.iter_rows())


def _refuse_narrow(sizes: Sequence[int], at: tuple[int, int]) -> None:
    if not sizes or sizes[0] >= at[0] or sizes[-1] <= at[1]:
        raise UntestedError(note("reproduce.not-around", size=at[0]))


def _crossing(claim: Claim, grounds: Grounds) -> Judgement:
    asked = claim.crossing
    assert asked is not None
    below, above = (_by_size(grounds, where, "s", asked.at) for where in (asked.below, asked.above))
    sizes = sorted(below.keys() & above.keys())
    _refuse_narrow(sizes, asked.at)
    ratios = [below[size] / above[size] for size in sizes]
    crossed = crossing(
        [(size, Interval(ratio, ratio, ratio)) for size, ratio in zip(sizes, ratios, strict=True)], _EVEN
    )
    if crossed is not None and ratios[-1] > 1:
        return _at_size(claim, crossed.value, asked.at, asked.factor)
    code = "reproduce.second-faster" if ratios[-1] > 1 else "reproduce.first-faster"
    return Judgement(claim, Outcome.FAILS, note(code, sizes=[sizes[0], sizes[-1]]))


def _at_size(claim: Claim, size: float, at: tuple[int, int], factor: float) -> Judgement:
    off = size / max(min(max(size, at[0]), at[1]), 1)
    return Judgement(claim, _outcome(1 / factor <= off <= factor), note("reproduce.at", size=size), (off - 1) or None)


def _reaching(claim: Claim, grounds: Grounds) -> Judgement:
    asked = claim.reaching
    assert asked is not None
    values = _by_size(grounds, claim.figure, claim.unit, asked.at)
    short = [size for size, value in values.items() if value < asked.value]
    reached = [size for size in values if size > max(short, default=-1)]
    if not reached:
        most = max(values.values())
        return Judgement(claim, Outcome.FAILS, note("reproduce.at-most", value=most, unit=claim.unit))
    return _at_size(claim, reached[0], asked.at, asked.factor)


def _linear(claim: Claim, grounds: Grounds) -> Judgement:
    assert claim.linear_from is not None
    at = (claim.linear_from, claim.linear_from)
    times = list(_by_size(grounds, claim.figure, "s", at).items())
    first = times[-1][0]
    for (size, time), (larger, longer) in reversed(list(pairwise(times))):
        if math.log(longer / time) < LINEAR * math.log(larger / size):
            break
        first = size
    return _at_size(claim, first, at, STEP)


def _below(claim: Claim, grounds: Grounds) -> Judgement:
    asked = claim.below
    assert asked is not None
    lines = measured(grounds, claim.figure, claim.unit)
    wanted = {frozenset(f"gpu:{number}" for number in pair) for pair in asked.pairs}
    if not set().union(*wanted) <= {device.id for device in grounds.paths.node.devices}:
        raise UntestedError(note("reproduce.fewer-gpus"))
    ends = lines.filter(polars.col("value") < asked.value).select("source", "destination").iter_rows()
    found = {frozenset(pair) for pair in ends}
    facts = {"pairs": len(found), "value": asked.value, "unit": claim.unit, "others": len(found ^ wanted)}
    return Judgement(claim, _outcome(found == wanted), note("reproduce.pairs", **facts))


def _widest(claim: Claim, grounds: Grounds) -> Judgement:
    asked, paths = claim.widest, grounds.paths
    assert asked is not None
    gpus = [device.id for device in paths.node.of_kind("gpu")]
    if asked.longest is not None:
        hops = [path.hops for a in gpus for b in gpus if a != b and (path := paths.between(a, b)) is not None]
        if not hops:
            raise UntestedError(note("reproduce.fewer-gpus"))
        return Judgement(claim, _outcome(max(hops) == asked.longest), note("reproduce.hops", hops=max(hops)))
    route = [f"gpu:{number}" for number in asked.route]
    path = paths.between(route[0], route[-1]) if set(route) <= set(gpus) else None
    if path is None:
        raise UntestedError(note("reproduce.fewer-gpus"))
    return Judgement(claim, _outcome(list(path.widest) == route), note("reproduce.route", route=">".join(path.widest)))


_JUDGES: dict[str, Callable[[Claim, Grounds], Judgement]] = {
    "alike": _alike,
    "crossing": _crossing,
    "reaching": _reaching,
    "linear_from": _linear,
    "below": _below,
    "widest": _widest,
}
