"""Claims: what a study says, held against the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import polars

from linkscope.analysis.figures import SCHEMA
from linkscope.errors import LinkscopeError
from linkscope.machine.paths import Paths
from linkscope.results.study import Claim, Where

Outcome = Literal["agrees", "differs", "untested"]
LINEAR = 0.5
"""Time grows with the size where doubling the size multiplies it by at least 2 to this."""
STEP = 2.0
"""Sizes are measured by factors of two: no closer can be told where growth sets in."""
_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_KINDS = frozenset({"source_memory", "destination_memory", "members_memory"})
_ODD = frozenset({"members", "from", "to", "parameters", "environments"})


@dataclass(frozen=True)
class FormerJudgement:
    """``here``: what this machine's figures say, in words. ``off``: by what they miss the claim, relative, 0.12 for
    12 % more; None where no number says it. ``why``: what keeps it untested. ``value``: of a claim about a figure.
    ``fitted``: the model was given the figure that the claim is about, so that it predicts nothing."""

    claim: Claim
    outcome: Outcome
    here: str = ""
    off: float | None = None
    why: str = ""
    value: float | None = None
    fitted: bool = False


class FormerUntestedError(Exception):
    """The figures do not say; the message is why."""


@dataclass(frozen=True)
class FormerGrounds:
    """``figures``: of the run (analysis/figures.py). ``paths``: of its node. ``studied``: the study's own machines."""

    figures: polars.DataFrame
    paths: Paths
    studied: tuple[str, ...] = ()


def judge(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    """Whether the figures agree with the claim."""
    (expected,) = claim.expects
    if expected == "needs":
        return FormerJudgement(claim, "untested", why=claim.needs)
    if grounds.paths.node.name in grounds.studied and claim.of not in ("", grounds.paths.node.name):
        return FormerJudgement(claim, "untested", why=f"said of {claim.of}")
    try:
        return _JUDGES.get(expected, _bounded)(claim, grounds)
    except FormerUntestedError as error:
        return FormerJudgement(claim, "untested", why=str(error))


def selected(figures: polars.DataFrame, where: Where) -> polars.DataFrame:
    """The lines that ``where`` is about. Raises LinkscopeError for a column that no frame of figures has."""
    unknown = set(where) - set(SCHEMA) - _ODD
    if unknown:
        raise LinkscopeError(f"figures have no column {sorted(unknown)[0]!r}")
    return figures.filter(*(_condition(name, _many(value)) for name, value in where.items()))


def _condition(name: str, wanted: list[str | int]) -> polars.Expr:
    words = [str(one) for one in wanted]
    if name == "from":
        return polars.col("bytes") >= int(wanted[0])
    if name == "to":
        return polars.col("bytes") <= int(wanted[0])
    if name == "parameters":
        said = polars.col(name).cast(polars.String).str.split(" ")
        return polars.all_horizontal(said.list.contains(word) for word in words)
    if name == "members":
        return count_of_members().is_in([int(one) for one in wanted])
    text = polars.col("environment" if name == "environments" else name).cast(polars.String)
    if name in _KINDS:  # "device" is device memory, whoever touched it first
        return text.is_in(words) | text.str.replace(r" \(.*", "").is_in(words)
    return text.is_in(words)


def count_of_members() -> polars.Expr:
    """How many members a collective has; null for what is none."""
    return polars.col("members").cast(polars.String).str.count_matches(" ") + 1


def _many(value: object) -> list[str | int]:
    return list(value) if isinstance(value, list) else [value]  # type: ignore[list-item]


def measured(grounds: FormerGrounds, where: Where) -> polars.DataFrame:
    """Those of ``selected`` that have a figure. Raises FormerUntestedError, saying why, where there are none."""
    lines = selected(grounds.figures, where)
    ok = lines.filter(polars.col("status").cast(polars.String) == "ok", polars.col("unit").is_not_null())
    for setting in _many(where.get("environments", [])):
        own = selected(ok, {"environment": setting})
        if own.height:
            return own
    if ok.height:
        return ok
    raise FormerUntestedError(_missing(grounds.figures, lines, where))


def _missing(figures: polars.DataFrame, lines: polars.DataFrame, where: Where) -> str:
    reasons = lines["reason"].drop_nulls().cast(polars.String)
    own = reasons.filter(~reasons.str.starts_with("for "))  # the other vendor's twin says only that it is one
    for found in (own, reasons):
        if len(found):
            return str(found.mode().sort()[0])
    rows = selected(figures, {"row": where["row"]}) if "row" in where else figures
    if not rows.height:
        return f"the run lacks {' and '.join(str(one) for one in _many(where['row']))}"
    if "tier" in where and not selected(rows, {"tier": where["tier"]}).height:
        return f"no path here is {' or '.join(str(one) for one in _many(where['tier']))}"
    return "the run has no such figure"


def typical(grounds: FormerGrounds, where: Where, unit: str) -> float:
    """The median of those that have a figure, in ``unit``. Raises FormerUntestedError where there is none."""
    return float(_in(unit, measured(grounds, where))["value"].median())  # type: ignore[arg-type]


def _values(claim: Claim, grounds: FormerGrounds) -> list[tuple[str, float]]:
    """Of each group of figures its name and value: in the claim's unit, or a ratio or difference."""
    value = _per_group(claim, grounds, claim.figure)
    for other, join in ((claim.over, _ratio), (claim.minus, _difference)):
        if other is None:
            continue
        against = _per_group(claim, grounds, other)
        pairs = {name: join(value[name], against[name]) for name in value if name in against}
        alone = [name for name in value if name not in against] if claim.each != ["bytes"] else []
        if alone or not pairs:
            raise FormerUntestedError(f"there is no figure to set beside {alone[0] if alone else 'another'}")
        value = pairs
    return list(value.items())


def _per_group(claim: Claim, grounds: FormerGrounds, where: Where) -> dict[str, float]:
    lines = _in(claim.unit, measured(grounds, where)).with_columns(count_of_members().alias("of"))
    if not claim.each:
        return {"": _picked(claim, lines["value"])}
    for name in (name for name in claim.each if name != "row" and isinstance(where.get(name), list)):
        there = set(lines["of" if name == "members" else name].cast(polars.String))
        lacking = [str(one) for one in _many(where[name]) if str(one) not in there]
        if lacking:
            raise FormerUntestedError(f"there is no figure of {lacking[0]}")
    names = [polars.col("of" if name == "members" else name).cast(polars.String) for name in claim.each]
    grouped = lines.with_columns(polars.concat_str(names, separator=" ", ignore_nulls=True).alias("group"))
    groups = grouped.group_by("group", maintain_order=True)
    return {str(name): _picked(claim, group["value"]) for (name,), group in groups}


def _picked(claim: Claim, values: polars.Series) -> float:
    found = {"median": values.median, "least": values.min, "most": values.max}[claim.pick]()
    return float(found)  # type: ignore[arg-type]


def _in(unit: str, lines: polars.DataFrame) -> polars.DataFrame:
    """The lines with ``value`` in ``unit``. Raises FormerUntestedError where none has one."""
    valued = lines.with_columns(_in_unit(unit).alias("value")).drop_nulls("value")
    if not valued.height:
        raise FormerUntestedError(
            "the peak of the path is not known" if unit == "of peak" else "the run has no such figure"
        )
    return valued


def _in_unit(unit: str) -> polars.Expr:
    if unit in _SCALES:
        return polars.col("seconds") * _SCALES[unit]
    return polars.col("of_peak" if unit == "of peak" else "gbps")


def _ratio(value: float, other: float) -> float:
    return value / other


def _difference(value: float, other: float) -> float:
    return value - other


def _bounded(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    low, high = _bounds(claim)
    values = _values(claim, grounds)
    if claim.across != "all":
        values = [(min if claim.across == "least" else max)(values, key=lambda one: one[1])]
    offs = [(_off(value, low, high), name, value) for name, value in values]
    off, name, value = max(offs, key=lambda one: abs(one[0]))
    outcome: Outcome = "agrees" if abs(off) <= claim.within + 1e-9 else "differs"
    missed = off if outcome == "differs" or claim.about is not None else None
    where = f" ({name})" if name and (len(values) > 1 or claim.across != "all") else ""
    here = (
        f"{in_words(value, _unit(claim))}{where}" if outcome == "differs" or len(values) == 1 else _range(claim, values)
    )
    return FormerJudgement(claim, outcome, here, missed, value=value)


def _range(claim: Claim, values: Sequence[tuple[str, float]]) -> str:
    ends = (min(value for _, value in values), max(value for _, value in values))
    return " to ".join(dict.fromkeys(in_words(value, _unit(claim)) for value in ends))


def _bounds(claim: Claim) -> tuple[float, float]:
    if claim.about is not None:
        return claim.about, claim.about
    if claim.between is not None:
        return claim.between
    return (-math.inf if claim.least is None else claim.least), (math.inf if claim.most is None else claim.most)


def _off(value: float, low: float, high: float) -> float:
    bound = low if value < low else high if value > high else None
    return 0.0 if bound is None else (value - bound) / abs(bound) if bound else math.copysign(math.inf, value)


def _unit(claim: Claim) -> str:
    return "times" if claim.over is not None else claim.unit


def in_words(value: float, unit: str) -> str:
    """Such as "51.2 GB/s", "0.25 of peak", "3.1 times"."""
    return f"{value:.3g} {unit}" if abs(value) < 1000 else f"{value:.0f} {unit}"


def _alike(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    assert claim.alike is not None
    found = _values(claim, grounds)
    values = [value for _, value in found]
    if len(values) < 2:
        raise FormerUntestedError("one figure alone: there is none to be like it")
    spread = max(values) / min(values) - 1
    here = _range(claim, found)
    return FormerJudgement(claim, "agrees" if spread <= claim.alike else "differs", here, spread)


def _by_size(grounds: FormerGrounds, where: Where, unit: str) -> dict[int, float]:
    lines = _in(unit, measured(grounds, where))
    found = lines.group_by("bytes").agg(polars.col("value").median()).sort("bytes")
    return {int(size): float(value) for size, value in found.iter_rows() if size > 0 and value > 0}


def _refuse_narrow(sizes: Sequence[int], at: tuple[int, int]) -> None:
    """Raises FormerUntestedError where there are not sizes below and above ``at``."""
    if not sizes or sizes[0] >= at[0] or sizes[-1] <= at[1]:
        raise FormerUntestedError(f"not measured at sizes around {bytes_in_words(at[0])}")


def _crossing(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    asked = claim.crossing
    assert asked is not None
    below, above = (_by_size(grounds, where, "s") for where in (asked.below, asked.above))
    sizes = sorted(below.keys() & above.keys())
    _refuse_narrow(sizes, asked.at)
    gains = [(size, math.log(below[size] / above[size])) for size in sizes]
    found = _crossed(gains)
    if found is None:
        first = "the first" if gains[-1][1] <= 0 else "the second"
        here = f"{first} is faster from {bytes_in_words(sizes[0])} to {bytes_in_words(sizes[-1])}"
        return FormerJudgement(claim, "differs", here)
    return _at_size(claim, found, asked.at, asked.factor)


def _crossed(gains: Sequence[tuple[int, float]]) -> float | None:
    """Where the values go above zero for good, interpolated on the logarithm of the size; None where they never do."""
    for (size, value), (larger, more) in reversed(list(pairwise(gains))):
        if value <= 0 < more:
            return math.exp(math.log(size) + math.log(larger / size) * value / (value - more))
    return None


def _at_size(claim: Claim, size: float, at: tuple[int, int], factor: float) -> FormerJudgement:
    low, high = at
    nearest = min(max(size, low), high)
    agrees = 1 / factor <= size / max(nearest, 1) <= factor
    off = size / max(nearest, 1) - 1
    return FormerJudgement(claim, "agrees" if agrees else "differs", f"at {bytes_in_words(size)}", off if off else None)


def bytes_in_words(size: float) -> str:
    """Such as "512 KiB", "1.3 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}"


def _reaching(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    asked = claim.reaching
    assert asked is not None
    values = _by_size(grounds, claim.figure, claim.unit)
    _refuse_narrow(sorted(values), asked.at)
    first = None
    for size in sorted(values, reverse=True):
        if values[size] < asked.value:
            break
        first = size
    if first is None:
        return FormerJudgement(claim, "differs", f"{in_words(max(values.values()), claim.unit)} at most")
    return _at_size(claim, first, asked.at, asked.factor)


def _linear(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    assert claim.linear_from is not None
    times = sorted(_by_size(grounds, claim.figure, "s").items())
    _refuse_narrow([size for size, _ in times], (claim.linear_from, claim.linear_from))
    first = times[-1][0]
    for (size, time), (larger, longer) in reversed(list(pairwise(times))):
        if math.log(longer / time) < LINEAR * math.log(larger / size):
            break
        first = size
    return _at_size(claim, first, (claim.linear_from, claim.linear_from), STEP)


def _below(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    asked = claim.below
    assert asked is not None
    lines = _in(claim.unit, measured(grounds, claim.figure))
    known = {device.id for device in grounds.paths.node.devices}
    wanted = {frozenset(f"gpu:{number}" for number in pair) for pair in asked.pairs}
    if not set().union(*wanted) <= known:
        raise FormerUntestedError("this node has fewer GPUs")
    quick = lines.filter(polars.col("value") < asked.value).select("source", "destination").cast(polars.String)
    found = {frozenset(pair) for pair in quick.iter_rows()}
    odd = len(found ^ wanted)
    here = f"{len(found)} pairs below {in_words(asked.value, claim.unit)}" + (f", {odd} of them others" if odd else "")
    return FormerJudgement(claim, "differs" if odd else "agrees", here)


def _widest(claim: Claim, grounds: FormerGrounds) -> FormerJudgement:
    asked, paths = claim.widest, grounds.paths
    assert asked is not None
    gpus = [device.id for device in paths.node.of_kind("gpu")]
    if asked.longest is not None:
        hops = [path.hops for a in gpus for b in gpus if a != b and (path := paths.between(a, b)) is not None]
        if not hops:
            raise FormerUntestedError("this node has fewer than two GPUs")
        return FormerJudgement(claim, "agrees" if max(hops) == asked.longest else "differs", f"{max(hops)} hops")
    route = [f"gpu:{number}" for number in asked.route]
    if not set(route) <= set(gpus):
        raise FormerUntestedError("this node has fewer GPUs")
    path = paths.between(route[0], route[-1])
    if path is None:
        raise FormerUntestedError("nothing is known of how these two are linked")
    return FormerJudgement(claim, "agrees" if list(path.widest) == route else "differs", " - ".join(path.widest))


_JUDGES: dict[str, Callable[[Claim, FormerGrounds], FormerJudgement]] = {
    "alike": _alike,
    "crossing": _crossing,
    "reaching": _reaching,
    "linear_from": _linear,
    "below": _below,
    "widest": _widest,
}
