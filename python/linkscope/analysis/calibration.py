"""Do intervals hold from run to run? Several runs of the same suites on one node, held against one another by class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from linkscope.analysis.by_flow import by_flow
from linkscope.analysis.components import FEWEST_RUNS, Components, Replicate, components
from linkscope.analysis.headline import Headline, headline, summed_rates
from linkscope.errors import LinkscopeError
from linkscope.results.calibration import Calibration, Noise, devices_of
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

ALL = "all"
APART = 0.01
"""Medians of disjoint intervals that differ by less mislead nobody."""
_TOGETHER = ("sum", "aggregate")
"""Figures of all measured flows of a case."""


@dataclass(frozen=True)
class _Figure:
    """One run's figure of a case."""

    headline: Headline
    replicates: tuple[Replicate, ...]


@dataclass(frozen=True)
class _CaseNoise:
    """One case's figure in at least two runs. ``covered``, ``margins``: by run; ``disjoint``, ``apart``: by pair."""

    id: str
    figure_class: FigureClass
    covered: tuple[bool, ...]
    disjoint: tuple[bool, ...]
    apart: tuple[bool, ...]
    margins: tuple[float, ...]
    components: Components | None


def calibrate(runs: Sequence[RunFile]) -> Calibration:
    """The table by class. Raises LinkscopeError where the runs cannot be held against one another."""
    cases = _cases(runs)
    of_class = {one: [case for case in cases if case.figure_class == one] for one in FigureClass}
    classes = [_noise(one.key, held) for one, held in of_class.items() if held]
    last = max(runs, key=_started)
    return Calibration(
        made=_started(last),
        version=str(last.header.get("version", "")),
        suites=_suites(last),
        turns=len(runs),
        host=str(last.header.get("host", "")),
        node=last.node.name,
        devices=devices_of(last.node),
        modelled=any(run.modelled or run.node.modelled for run in runs),
        classes=(*classes, _noise(ALL, cases)),
    )


def by_case(runs: Sequence[RunFile]) -> dict[str, list[Noise]]:
    """The same of each case alone, by class: ``name`` is its id. Raises LinkscopeError likewise."""
    found: dict[str, list[Noise]] = {}
    for case in _cases(runs):
        found.setdefault(case.figure_class.key, []).append(_noise(case.id, [case]))
    return found


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


def _machine(run: RunFile) -> tuple[object, ...]:
    return (run.header.get("host", ""), run.node.modelled, *devices_of(run.node))


def _suites(run: RunFile) -> tuple[str, ...]:
    return tuple(str(suite) for suite in run.header["plan"].get("suites", ()))


def _started(run: RunFile) -> str:
    return str(run.header.get("started", ""))


def _figures(row: Row) -> list[_Figure]:
    """Those of a row: one, or one for each flow that has its own; empty where it has none."""
    replicates = [by_flow(one) for one in row.measured]
    return [
        _Figure(found, _replicates(parts[index] for parts in replicates))
        for index, part in enumerate(by_flow(row))
        if (found := _in_fixed_unit(part)) is not None
    ]


def _in_fixed_unit(part: Row) -> Headline | None:
    """Its headline; a time in ns, so that runs agree on the unit."""
    found = headline(part)
    return found if found is None or found.higher_is_better else found.in_unit("ns")


def _case(row: Row, figures: Sequence[_Figure]) -> _CaseNoise:
    values = [figure.headline.value for figure in figures]
    others = [median(one.median for j, one in enumerate(values) if j != i) for i in range(len(values))]
    pairs = list(combinations(values, 2))
    disjoint = [a.high < b.low or b.high < a.low for a, b in pairs]
    far = [abs(a.median - b.median) > APART * min(a.median, b.median) for a, b in pairs]
    return _CaseNoise(
        id=row.id,
        figure_class=figure_class(row.case),
        covered=tuple(one.low <= other <= one.high for one, other in zip(values, others, strict=True)),
        disjoint=tuple(disjoint),
        apart=tuple(one and other for one, other in zip(disjoint, far, strict=True)),
        margins=tuple(figure.headline.margin for figure in figures),
        components=_components(figures),
    )


def _replicates(parts: Iterable[Row]) -> tuple[Replicate, ...]:
    found = ((_in_fixed_unit(part), part) for part in parts)
    return tuple(Replicate(figure.value, _samples(part)) for figure, part in found if figure is not None)


def _samples(part: Row) -> Sequence[float]:
    """What its figure is the median of, up to a factor."""
    measured = part.measured_flows
    several = part.labels.get("figure") in _TOGETHER and len(measured) > 1
    return summed_rates(measured) if several else measured[0][1].samples_s


def _components(figures: Sequence[_Figure]) -> Components | None:
    """None where a figure has no logarithm: a time of 0."""
    try:
        return components([figure.replicates for figure in figures])
    except ValueError:
        return None


def _noise(name: str, cases: Sequence[_CaseNoise]) -> Noise:
    found = [case.components for case in cases if case.components is not None]
    return Noise(
        name=name,
        cases=len(cases),
        covered=_share(case.covered for case in cases),
        disjoint=_share(case.disjoint for case in cases),
        apart=_share(case.apart for case in cases),
        margin=median(margin for case in cases for margin in case.margins),
        samples=_deviation(one.samples for one in found),
        replicates=_deviation(one.replicates for one in found),
        runs=_deviation(one.runs for one in found),
    )


def _share(answers: Iterable[tuple[bool, ...]]) -> float:
    return fmean(float(answer) for of_case in answers for answer in of_case)


def _deviation(variances: Iterable[float | None]) -> float | None:
    """Of the case in the middle; its variance may be below 0, by chance, where the level adds nothing."""
    known = [one for one in variances if one is not None]
    return math.sqrt(max(median(known), 0.0)) if known else None
