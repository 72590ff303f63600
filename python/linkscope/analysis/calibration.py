"""Do intervals hold from run to run? Several runs of the same suites on one node, held against one another by class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, median

from linkscope.analysis.by_flow import by_flow
from linkscope.analysis.components import FEWEST_RUNS, Components, Replicate, components
from linkscope.analysis.headline import OF_ALL, Headline, headline, summed_rates
from linkscope.errors import LinkscopeError
from linkscope.results.calibration import Calibration, Intervals, Noise, devices_of
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.replicates import with_noise
from linkscope.results.row import Row, Stats, origin_name
from linkscope.results.run_file import RunFile
from linkscope.statistics.ranks import percentile, t975

ALL = "all"
APART = 0.01
"""Medians of disjoint intervals that differ by less mislead nobody."""
_CLASS_RUNS = 4
"""As many runs more a case's class counts for what is known of the case, where it has one case more than that."""
_HIGH = 0.9
"""Share of a class's cases that vary by no more than what counts for others of the class."""


@dataclass(frozen=True)
class _Figure:
    """One run's figure of a case."""

    headline: Headline
    noise: float
    replicates: tuple[Replicate, ...]


@dataclass(frozen=True)
class _Compared:
    """Intervals of one case held against one another. ``covered``, ``margins``: by run; ``disjoint``, ``apart``: by
    pair.
    """

    covered: tuple[bool, ...]
    disjoint: tuple[bool, ...]
    apart: tuple[bool, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True)
class _CaseNoise:
    """One case's figure in at least two runs. ``others``: the variance between the runs but the i-th, by i; empty where
    these are too few, or intervals hold a calibration's noise already.
    """

    id: str
    figure_class: FigureClass
    values: tuple[Stats, ...]
    components: Components | None
    others: tuple[float, ...]
    calibrated: tuple[Stats, ...] = ()
    """``values``, each with the noise that the other runs of all cases of the class show."""


def calibrate(runs: Sequence[RunFile]) -> Calibration:
    """The table by class. Raises LinkscopeError where the runs cannot be held against one another, or one holds
    another tool's figures."""
    for run in runs:
        if tool := origin_name(run.header):
            raise LinkscopeError(f"{run.path} is imported from {tool}: its figures say nothing of linkscope's noise")
    of_class = _by_class(runs)
    last = max(runs, key=_started)
    known = [_Deviations.of(held, len(runs)) for held in of_class.values()]
    by_class = [_noise(one.key, held, sds) for (one, held), sds in zip(of_class.items(), known, strict=True)]
    everything = [case for held in of_class.values() for case in held]
    return Calibration(
        made=_started(last),
        version=str(last.header.get("version", "")),
        suites=_suites(last),
        turns=len(runs),
        freedom=min(len(runs) - 1 + _lent(len(sds.runs)) for sds in known),
        host=str(last.header.get("host", "")),
        node=last.node.name,
        devices=devices_of(last.node),
        modelled=any(run.modelled or run.node.modelled for run in runs),
        classes=(*by_class, _noise(ALL, everything, _Deviations.of(everything, len(runs)))),
        runs={case: sd for sds in known for case, sd in sds.runs.items()},
        replicates={case: sd for sds in known for case, sd in sds.replicates.items()},
    )


def by_case(runs: Sequence[RunFile]) -> dict[str, list[Noise]]:
    """The same of each case alone, by class: ``name`` is its id. Raises LinkscopeError likewise."""
    return {
        one.key: [_noise(case.id, [case], _Deviations({}, {})) for case in held]
        for one, held in _by_class(runs).items()
    }


def _by_class(runs: Sequence[RunFile]) -> dict[FigureClass, list[_CaseNoise]]:
    cases = _cases(runs)
    of_class = {one: [case for case in cases if case.figure_class == one] for one in FigureClass}
    return {one: _calibrated(held) for one, held in of_class.items() if held}


@dataclass(frozen=True)
class _Deviations:
    """Standard deviations of the cases of a class by id, relative; of a case with several figures the largest."""

    runs: dict[str, float]
    replicates: dict[str, float]

    @staticmethod
    def of(cases: Sequence[_CaseNoise], runs: int) -> _Deviations:
        """Of a class's cases in so many runs."""
        known = [(case.id, case.components) for case in cases if case.components is not None]
        inside = [(case, found.replicates) for case, found in known if found.replicates is not None]
        return _Deviations(
            _largest([(case, found.runs) for case, found in known], runs - 1),
            _largest(inside, runs),  # at least so many, from two replicates
        )


def _largest(variances: Sequence[tuple[str, float]], freedom: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for (case, _), variance in zip(variances, _drawn([one for _, one in variances], freedom), strict=True):
        found[case] = max(found.get(case, 0.0), math.sqrt(variance))
    return found


def _drawn(variances: Sequence[float], freedom: int) -> list[float]:
    """Variances of so many degrees of freedom, each drawn towards the one in the middle, which counts ``_CLASS_RUNS``
    more (as Smyth, Linear models and empirical Bayes methods, 2004, does with those of genes).
    """
    if not variances:
        return []
    middle, lent = max(median(variances), 0.0), _lent(len(variances))
    return [(lent * middle + freedom * max(one, 0.0)) / (lent + freedom) for one in variances]


def _lent(cases: int) -> int:
    """Degrees of freedom that the other cases of a class of so many lend to each."""
    return max(min(_CLASS_RUNS, cases - 1), 0)


def _calibrated(cases: Sequence[_CaseNoise]) -> list[_CaseNoise]:
    """The cases of one class, each with ``calibrated``."""
    widened: list[list[Stats]] = [[] for _ in cases]
    for turn in range(max(len(case.others) for case in cases)):
        here = [i for i, case in enumerate(cases) if turn < len(case.others)]
        freedom = min(len(cases[i].others) for i in here) - 2
        factor = t975(freedom + _lent(len(here)))
        for i, variance in zip(here, _drawn([cases[i].others[turn] for i in here], freedom), strict=True):
            widened[i].append(with_noise(cases[i].values[turn], factor * math.sqrt(variance)))
    return [replace(case, calibrated=tuple(values)) for case, values in zip(cases, widened, strict=True)]


def _cases(runs: Sequence[RunFile]) -> list[_CaseNoise]:
    _check_same(runs)
    rows: dict[tuple[str, int], Row] = {}
    figures: dict[tuple[str, int], list[_Figure]] = {}
    for run in runs:
        for row in run.rows:
            for index, figure in enumerate(_figures(row)):
                rows[row.id, index] = row
                figures.setdefault((row.id, index), []).append(figure)
    cases = [_case(rows[key], found) for key, found in figures.items() if len(found) >= FEWEST_RUNS]
    if not cases:
        raise LinkscopeError(f"no case has a figure in {FEWEST_RUNS} of the runs: nothing to calibrate by")
    return cases


def _check_same(runs: Sequence[RunFile]) -> None:
    """Raises LinkscopeError unless there are several runs of the same suites on one node."""
    if len(runs) < FEWEST_RUNS:
        raise LinkscopeError(f"{len(runs)} run is too few to calibrate by: at least {FEWEST_RUNS}")
    first = runs[0]
    for run in runs[1:]:
        if _machine(run) != _machine(first):
            raise LinkscopeError(f"{run.path} and {first.path} are of different machines: name runs of one")
        if _suites(run) != _suites(first):
            raise LinkscopeError(f"{run.path} and {first.path} are of different suites: name runs of the same")
        clocks = _clocks(first)
        other = next(
            (row for row in run.rows if row.case.get("clock") != clocks.get(row.id, row.case.get("clock"))), None
        )
        if other is not None:
            both = f"{clocks[other.id]} and {other.case.get('clock')}"
            raise LinkscopeError(f"{first.path} and {run.path} time {other.id} by two clocks, {both}: name runs by one")


def _machine(run: RunFile) -> tuple[object, ...]:
    return (run.header.get("host", ""), run.node.modelled, *devices_of(run.node))


def _clocks(run: RunFile) -> dict[str, object]:
    return {row.id: row.case.get("clock") for row in run.rows}


def _suites(run: RunFile) -> tuple[str, ...]:
    return tuple(str(suite) for suite in run.header["plan"].get("suites", ()))


def _started(run: RunFile) -> str:
    return str(run.header.get("started", ""))


def _figures(row: Row) -> list[_Figure]:
    """Those of a row: one, or one for each flow that has its own; empty where it has none."""
    replicates = [by_flow(one) for one in row.measured]
    return [
        _Figure(found, row.noise, _replicates(parts[index] for parts in replicates))
        for index, part in enumerate(by_flow(row))
        if (found := _in_fixed_unit(part)) is not None
    ]


def _in_fixed_unit(part: Row) -> Headline | None:
    """Its headline; a time in ns, so that runs agree on the unit."""
    found = headline(part)
    return found if found is None or found.higher_is_better else found.in_unit("ns")


def _case(row: Row, figures: Sequence[_Figure]) -> _CaseNoise:
    return _CaseNoise(
        id=row.id,
        figure_class=figure_class(row.case),
        values=tuple(figure.headline.value for figure in figures),
        components=_components(figures),
        others=_others(figures) if not any(figure.noise for figure in figures) else (),
    )


def _others(figures: Sequence[_Figure]) -> tuple[float, ...]:
    """The variance between all runs but the i-th, for each i; empty where these are too few."""
    if len(figures) <= FEWEST_RUNS:
        return ()
    found = [_components([*figures[:i], *figures[i + 1 :]]) for i in range(len(figures))]
    return tuple(one.runs for one in found if one is not None) if all(found) else ()


def _compared(values: Sequence[Stats]) -> _Compared:
    others = [median(one.median for j, one in enumerate(values) if j != i) for i in range(len(values))]
    pairs = list(combinations(values, 2))
    disjoint = [a.high < b.low or b.high < a.low for a, b in pairs]
    far = [abs(a.median - b.median) > APART * min(a.median, b.median) for a, b in pairs]
    return _Compared(
        covered=tuple(one.low <= other <= one.high for one, other in zip(values, others, strict=True)),
        disjoint=tuple(disjoint),
        apart=tuple(one and other for one, other in zip(disjoint, far, strict=True)),
        margins=tuple(_margin(value) for value in values),
    )


def _replicates(parts: Iterable[Row]) -> tuple[Replicate, ...]:
    found = ((_in_fixed_unit(part), part) for part in parts)
    return tuple(Replicate(figure.value, _samples(part)) for figure, part in found if figure is not None)


def _samples(part: Row) -> Sequence[float]:
    """What its figure is the median of, up to a factor."""
    measured = part.measured_flows
    several = part.labels.get("figure") in OF_ALL and len(measured) > 1
    return summed_rates(measured) if several else measured[0][1].samples_s


def _components(figures: Sequence[_Figure]) -> Components | None:
    """None where a figure has no logarithm: a time of 0."""
    try:
        return components([figure.replicates for figure in figures])
    except ValueError:
        return None


def _noise(name: str, cases: Sequence[_CaseNoise], deviations: _Deviations) -> Noise:
    found = [case.components for case in cases if case.components is not None]
    known = [case.calibrated for case in cases if case.calibrated]
    return Noise(
        name=name,
        cases=len(cases),
        intervals=_intervals([case.values for case in cases]),
        calibrated=_intervals(known) if known else None,
        samples=_deviation(one.samples for one in found),
        replicates=_deviation(one.replicates for one in found),
        runs=_deviation(one.runs for one in found),
        other_runs=_high(deviations.runs.values()),
        other_replicates=_high(deviations.replicates.values()),
    )


def _intervals(values: Sequence[Sequence[Stats]]) -> Intervals:
    """Of cases, by run."""
    compared = [_compared(of_case) for of_case in values]
    return Intervals(
        covered=_share(case.covered for case in compared),
        disjoint=_share(case.disjoint for case in compared),
        apart=_share(case.apart for case in compared),
        margin=median(margin for case in compared for margin in case.margins),
    )


def _margin(value: Stats) -> float:
    return max(value.high - value.median, value.median - value.low) / value.median if value.median else 0.0


def _share(answers: Iterable[tuple[bool, ...]]) -> float:
    return fmean(float(answer) for of_case in answers for answer in of_case)


def _high(deviations: Iterable[float]) -> float | None:
    ordered = sorted(deviations)
    return percentile(ordered, _HIGH) if ordered else None


def _deviation(variances: Iterable[float | None]) -> float | None:
    """Of the case in the middle; its variance may be below 0, by chance, where the level adds nothing."""
    known = [one for one in variances if one is not None]
    return math.sqrt(max(median(known), 0.0)) if known else None
