"""Calibrate: how much a node's results vary between runs, and whether a run's intervals hold for the next one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.run_head import findings_of, run_head
from linkscope.displayed import Displayed
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, note, warning
from linkscope.results.calibration import FEWEST_KEPT, Intervals, NodeNoise, Noise, devices_of
from linkscope.results.noise_class import NoiseClass
from linkscope.results.row import origin_name
from linkscope.statistics.components import FEWEST_RUNS, Components, Replicates, components, drawn, lent
from linkscope.statistics.interval import Interval
from linkscope.statistics.ranks import percentile, t975

ALL = "all"
APART = 0.01
"""Values of disjoint intervals that differ by less mislead nobody."""
LEAST_COVERED, MOST_DISJOINT = 0.9, 0.02
"""Limits by which intervals hold from run to run; of very many runs 95% are covered and 0.6% disjoint."""
_HIGH = 0.9
"""Share of a class's cases that vary by no more than what counts for others of the class."""
_KEY = ("id", "place", "figure")
_OF_RESULT = ("value", "value_low", "value_high", "replicate_values", "of_samples", "n", "noise")
_LEVELS: tuple[Literal["runs", "replicates"], ...] = ("runs", "replicates")
Keep = Callable[[NodeNoise], Path | None]


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """Hold the result of `linkscope.calibrate`: the noise of the node, and the answer for a screen."""

    noise: NodeNoise
    answer: Answer


@dataclass(frozen=True)
class _NoisyResult:
    """One result in at least two runs. ``usual``: what its intervals hold of the noise between runs of healthy nodes, a
    relative half width. ``others``: the variance between the runs but the i-th, by i; empty where these are too few, or
    intervals hold a calibration's noise. ``calibrated``: ``values``, each with the noise that the other runs of all
    results of the class show in place of the usual one, or with that where it is more."""

    id: str
    values: tuple[Interval, ...]
    components: Components | None
    usual: float
    others: tuple[float, ...]
    calibrated: tuple[Interval, ...] = ()


def answer(*runs: Run) -> Answer:
    """Return how well the intervals of runs of the same suites on one node hold, by class.

    Raises LinkscopeError where the runs cannot be compared with one another or one is imported.
    """
    return calibration(runs).answer


def calibration(runs: Sequence[Run], keep: Keep | None = None) -> Calibration:
    """Return the noise of the node and its answer, as ``answer`` does.

    ``keep`` keeps the noise for later runs, where it is worth it, and returns the file, None where it cannot.
    """
    of_class = _by_class(runs)
    noise = _node_noise(runs, of_class)
    alone = [(one.key, _noise(result.id, [result], len(runs))) for one, held in of_class.items() for result in held]
    heads = tuple(map(run_head, runs))
    spoilers, repeated = findings_of(heads)
    cut = any(head.cut_short for head in heads)
    classes = _classes(noise)
    found = Answer(
        "calibrate",
        heads,
        _headline(noise, cut),
        Outcome.UNTESTED if cut else None,
        findings=(*spoilers, *([note("calibrate.marked")] if classes["bad"].any() else []), *_kept(noise, keep)),
        tables=(
            Table("calibrate.classes", classes, _COLUMNS),
            Table("calibrate.cases", polars.DataFrame([_row(*one) for one in alone]), _OF_CASES, detail=True),
        ),
        details=tuple(repeated),
        data={"calibration": noise.to_json()},
    )
    return Calibration(noise, found)


def _node_noise(runs: Sequence[Run], of_class: Mapping[NoiseClass, Sequence[_NoisyResult]]) -> NodeNoise:
    last = max(runs, key=_started)
    turns = len(runs)
    between, inside = ([_deviations(held, level, turns) for held in of_class.values()] for level in _LEVELS)
    everything = [result for held in of_class.values() for result in held]
    return NodeNoise(
        made=_started(last),
        version=str(last.header.get("version", "")),
        suites=_suites(last),
        turns=turns,
        freedom=min(turns - 1 + lent(len(cases)) for cases in between),
        host=str(last.header.get("host", "")),
        node=last.node.name,
        devices=devices_of(last.node),
        modelled=any(run.modelled or run.node.modelled for run in runs),
        classes=(
            *(_noise(one.key, held, turns) for one, held in of_class.items()),
            _noise(ALL, everything, turns),
        ),
        runs={case: deviation for cases in between for case, deviation in cases.items()},
        replicates={case: deviation for cases in inside for case, deviation in cases.items()},
    )


def _deviations(results: Sequence[_NoisyResult], level: Literal["runs", "replicates"], turns: int) -> dict[str, float]:
    """Return what a level of components adds to the cases of a class by id, as relative standard deviations; of a case
    with several results the largest."""
    freedom = turns - 1 if level == "runs" else turns  # at least so many, from two replicates
    known = [(one.id, getattr(one.components, level)) for one in results if one.components is not None]
    known = [(id_, variance) for id_, variance in known if variance is not None]
    found: dict[str, float] = {}
    for (id_, _), variance in zip(known, drawn([one for _, one in known], freedom), strict=True):
        found[id_] = max(found.get(id_, 0.0), math.sqrt(variance))
    return found


def _by_class(runs: Sequence[Run]) -> dict[NoiseClass, list[_NoisyResult]]:
    _check_same(runs)
    lines = polars.concat([run.results.filter(polars.col("value").is_not_null()) for run in runs])
    grouped = lines.group_by(_KEY, maintain_order=True).agg(polars.col("class").first(), *_OF_RESULT)
    grouped = grouped.filter(polars.col("value").list.len() >= FEWEST_RUNS)
    if not grouped.height:
        raise problem("calibrate.nothing", least=FEWEST_RUNS)
    by_class = {one: grouped.filter(polars.col("class") == one.key) for one in NoiseClass}
    usual = {row.id: row.usual.margin for run in runs for row in run.file.rows}
    found = {
        one: [_result(line, usual[line["id"]]) for line in of.iter_rows(named=True)] for one, of in by_class.items()
    }
    return {one: _calibrated(results) for one, results in found.items() if results}


def _result(line: Mapping[str, Any], usual: float) -> _NoisyResult:
    """Return a result by what each run has of it."""
    values = tuple(map(Interval, line["value"], line["value_low"], line["value_high"]))
    runs = [
        Replicates(of_run, width or 0.0, count // len(of_run))
        for of_run, width, count in zip(line["replicate_values"], line["of_samples"], line["n"], strict=True)
    ]
    others: tuple[float, ...] = ()
    if len(runs) > FEWEST_RUNS and not any(line["noise"]):
        rest = [_components([*runs[:i], *runs[i + 1 :]]) for i in range(len(runs))]
        others = tuple(one.runs for one in rest if one is not None) if all(rest) else ()
    return _NoisyResult(line["id"], values, _components(runs), usual, others)


def _components(runs: Sequence[Replicates]) -> Components | None:
    """Return None where a value has no logarithm: a time of 0."""
    try:
        return components(runs)
    except ValueError:
        return None


def _calibrated(results: Sequence[_NoisyResult]) -> list[_NoisyResult]:
    """Return the results of one class, each with ``calibrated``."""
    widened: list[list[Interval]] = [[] for _ in results]
    for turn in range(max(len(one.others) for one in results)):
        here = [i for i, one in enumerate(results) if turn < len(one.others)]
        freedom = min(len(results[i].others) for i in here) - 2
        factor = t975(freedom + lent(len(here)))
        for i, variance in zip(here, drawn([results[i].others[turn] for i in here], freedom), strict=True):
            more = max((factor**2) * variance - results[i].usual ** 2, 0.0)
            widened[i].append(results[i].values[turn].widened(math.sqrt(more)))
    return [replace(one, calibrated=tuple(values)) for one, values in zip(results, widened, strict=True)]


def _check_same(runs: Sequence[Run]) -> None:
    """Raise LinkscopeError unless there are several runs of linkscope's own, of the same suites on one node."""
    for run in runs:
        if tool := origin_name(run.header):
            raise problem("calibrate.imported", path=str(run.path), tool=tool)
    if len(runs) < FEWEST_RUNS:
        raise problem("calibrate.few-runs", runs=len(runs), least=FEWEST_RUNS)
    first, *others = runs
    clocks = dict(first.results.select("id", "clock").iter_rows())
    for run in others:
        files = {"path": str(run.path), "first": str(first.path)}
        if _machine(run) != _machine(first):
            raise problem("calibrate.other-machine", **files)
        if _suites(run) != _suites(first):
            raise problem("calibrate.other-suites", **files)
        for id_, clock in run.results.select("id", "clock").iter_rows():
            if clock != clocks.get(id_, clock):
                raise problem("calibrate.other-clock", **files, id=id_, before=clocks[id_], after=clock)


def _machine(run: Run) -> tuple[object, ...]:
    return (run.header.get("host", ""), run.node.modelled, *devices_of(run.node))


def _suites(run: Run) -> tuple[str, ...]:
    return tuple(str(suite) for suite in run.header["plan"].get("suites", ()))


def _started(run: Run) -> str:
    return str(run.header.get("started", ""))


def _noise(name: str, results: Sequence[_NoisyResult], turns: int) -> Noise:
    found = [one.components for one in results if one.components is not None]
    known = [one.calibrated for one in results if one.calibrated]
    return Noise(
        name=name,
        cases=len(results),
        intervals=_intervals([one.values for one in results]),
        calibrated=_intervals(known) if known else None,
        samples=_deviation(one.samples for one in found),
        replicates=_deviation(one.replicates for one in found),
        runs=_deviation(one.runs for one in found),
        other_runs=_high(_deviations(results, "runs", turns).values()),
        other_replicates=_high(_deviations(results, "replicates", turns).values()),
    )


def _intervals(results: Sequence[Sequence[Interval]]) -> Intervals:
    """Return how intervals of results, by run, hold against one another."""
    covered, disjoint, apart = [], [], []
    for values in results:
        for i, one in enumerate(values):
            others = median(other.value for j, other in enumerate(values) if j != i)
            covered.append(one.low <= others <= one.high)
        for a, b in combinations(values, 2):
            disjoint.append(a.high < b.low or b.high < a.low)
            apart.append(disjoint[-1] and abs(a.value - b.value) > APART * min(a.value, b.value))
    margin = median(value.margin for values in results for value in values)
    return Intervals(fmean(covered), fmean(disjoint), fmean(apart), margin)


def _high(deviations: Iterable[float]) -> float | None:
    ordered = sorted(deviations)
    return percentile(ordered, _HIGH) if ordered else None


def _deviation(variances: Iterable[float | None]) -> float | None:
    """Return that of the median result; its variance may be below 0, by chance, where the level adds nothing."""
    known = [one for one in variances if one is not None]
    return math.sqrt(max(median(known), 0.0)) if known else None


_COLUMNS = (
    *(Column("class", Kind.NAME), Column("results", Kind.COUNT), Column("between_runs", Kind.PERCENT)),
    *(Column("between_replicates", Kind.PERCENT), Column("margin", Kind.PERCENT)),
    *(Column("covered", Kind.PERCENT, mark="bad"), Column("disjoint", Kind.PERCENT)),
)
_OF_CASES = (
    *(Column("id"), Column("between_runs", Kind.PERCENT), Column("between_replicates", Kind.PERCENT)),
    *(Column("between_samples", Kind.PERCENT), Column("margin", Kind.PERCENT), Column("covered", Kind.PERCENT)),
)


def _good(one: Intervals) -> bool:
    return round(one.covered, 2) >= LEAST_COVERED and round(one.disjoint, 3) <= MOST_DISJOINT


def _row(class_: str, noise: Noise) -> dict[str, Any]:
    """Return a line of a table: intervals as calibrated where that is known, else as of the runs."""
    shown = noise.calibrated or noise.intervals
    spread = {"between_runs": noise.runs, "between_replicates": noise.replicates, "between_samples": noise.samples}
    measured = {f"{name}_measured": value for name, value in asdict(noise.intervals).items()}
    found = {"class": class_, "id": noise.name, "results": noise.cases, "bad": not _good(shown)}
    return {**found, **spread, **asdict(shown), **measured}


def _classes(noise: NodeNoise) -> polars.DataFrame:
    """Return a line for each class, and one for all where there are several."""
    shown = noise.classes if len(noise.classes) > 2 else noise.classes[:-1]
    return polars.DataFrame([_row(one.name, one) for one in shown])


def _headline(noise: NodeNoise, cut: bool) -> Finding:
    everything = noise.classes[-1]
    held = {one.name: one.calibrated or one.intervals for one in noise.classes[:-1]}
    bad = [name for name, one in held.items() if not _good(one)]
    shown = everything.calibrated or everything.intervals
    facts = {"covered": shown.covered, "turns": noise.turns, "classes": bad, "suites": list(noise.suites)}
    if noise.modelled:
        return note("calibrate.modelled", **facts)
    if cut or bad:
        return note("calibrate.incomplete" if cut else "calibrate.too-narrow", **facts)
    return note("calibrate.calibrated" if everything.calibrated else "calibrate.holds", **facts)


def _kept(noise: NodeNoise, keep: Keep | None) -> Iterator[Finding]:
    """Keep the noise, and yield where that is or why it is not."""
    everything = noise.classes[-1]
    if keep is None:
        yield note("calibrate.not-measured")
    elif noise.worth_keeping and (path := keep(noise)) is not None:
        yield note("calibrate.kept", path=str(path))
        if everything.calibrated is not None:
            yield note("calibrate.wider", before=everything.intervals.margin, after=everything.calibrated.margin)
    elif not noise.modelled and noise.turns < FEWEST_KEPT:
        yield warning("calibrate.few-turns", turns=noise.turns, least=FEWEST_KEPT)
    elif not noise.modelled and not noise.replicates:
        yield warning("calibrate.one-replicate")
