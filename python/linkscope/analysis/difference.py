"""Difference: one figure on two sides, each of one or several runs of a node, and what its uncertainty is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import place_of
from linkscope.analysis.headline import headline
from linkscope.order_statistics import t975
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Key = tuple[str, str, str, str]
"""Id, table row, table column and figure: see ``place_of``."""

ASSUMED = {FigureClass.GPU_LARGE: 0.001, FigureClass.GPU: 0.005, FigureClass.PINNED: 0.01}
"""What a figure of a node varies from run to run, as a standard deviation, where nobody knows it of that node: above
what eight runs on two H200 showed in all but a few cases. Other classes, those of host memory and of processes, have no
such number: a figure that kept within 3 % in nine runs is at a fourth of it in the tenth, when a neighbour takes the
cache. No one run tells that from a change, not even on a calibrated node."""
_ASSUMED_FREEDOM = 4
_PRIOR = 4
"""As many degrees of freedom the variance in the middle of a class counts beside a figure's own (Smyth, Linear models
and empirical Bayes methods for assessing differential expression, 2004)."""
_NORMAL = 1.96
_MANY = 1e6


@dataclass(frozen=True)
class OneRun:
    """A figure in one run: the logarithm of it, its replicates' logarithms, and the variance of its mean that samples
    alone leave. ``between``: variance from run to run as calibrated, with its degrees of freedom; None where it is not.
    """

    log: float
    replicates: tuple[float, ...]
    of_samples: float
    between: tuple[float, int] | None


@dataclass(frozen=True)
class Figure:
    """One figure of a side: ``part`` is the row it is of (of the last run), ``unit`` GB/s or ns. ``several``: whether
    its case has more than one."""

    part: Row
    several: bool
    unit: str
    figure_class: FigureClass
    runs: tuple[OneRun, ...]

    @property
    def value(self) -> float:
        """Geometric mean of its runs."""
        return math.exp(fmean(run.log for run in self.runs))

    @property
    def higher_is_better(self) -> bool:
        return self.unit == "GB/s"


def figures_of(runs: Sequence[RunFile]) -> dict[Key, Figure]:
    """Every figure that any of the runs of one side has."""
    parts: dict[Key, Row] = {}
    found: dict[Key, list[OneRun]] = {}
    units: dict[Key, str] = {}
    several: dict[Key, bool] = {}
    for run in runs:
        said = run.header.get("noise") or {}
        freedom = int(said.get("freedom", int(said.get("turns", 2)) - 1))
        for row in run.rows:
            lines = [apart([one]) for one in row.measured]
            whole = apart([row])
            for index, part in enumerate(whole):
                value = _value(part)
                if value is None:
                    continue
                key = place_of(part)
                log, unit = value
                units[key], parts[key], several[key] = unit, part, len(whole) > 1
                logs = [one[0] for line in lines if (one := _value(line[index])) is not None]
                between = (_square(row.noise / t975(freedom)), freedom) if row.noise else None
                found.setdefault(key, []).append(OneRun(log, tuple(logs), _of_samples(lines, index), between))
    return {
        key: Figure(parts[key], several[key], units[key], figure_class(parts[key].case), tuple(runs_))
        for key, runs_ in found.items()
    }


Pair = tuple[Figure, Figure]
Middles = Mapping[FigureClass, float]


@dataclass(frozen=True)
class Difference:
    """Logarithm of new over base, and the parts of its variance, each with its degrees of freedom; None where nothing
    says how much the figure varies from run to run on that node."""

    log: float
    variances: tuple[tuple[float, float], ...] | None

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the sum of its variances by Welch and Satterthwaite; of no variance at all, many."""
        parts = self.variances or ()
        weight = sum(_square(part) / freedom for part, freedom in parts)
        return _square(sum(part for part, _ in parts)) / weight if weight > 0 else _MANY


def differences(base: Mapping[Key, Figure], new: Mapping[Key, Figure]) -> dict[Key, Difference]:
    """Of every figure of both sides, in one unit; variances are drawn towards those of their class."""
    pairs = {key: (base[key], new[key]) for key in new if key in base and base[key].unit == new[key].unit}
    within, between = _middles(pairs.values(), _within), _middles(pairs.values(), _between)
    return {key: _difference(pair, within, between) for key, pair in pairs.items()}


def _difference(pair: Pair, within: Middles, between: Middles) -> Difference:
    one = pair[1].figure_class
    means = [fmean(run.log for run in figure.runs) for figure in pair]
    log, fewest = means[1] - means[0], min(len(figure.runs) for figure in pair)
    if one not in ASSUMED and fewest < 2:
        return Difference(log, None)
    own = _drawn(_within(pair), within.get(one), one)
    inside = [fmean(_inside(run, own[0] if own else 0.0) for run in figure.runs) for figure in pair]
    across = _drawn(_between(pair), between.get(one), one)
    if across is not None:
        variance_, freedom = across
        each = [max(variance_, least) / len(figure.runs) for least, figure in zip(inside, pair, strict=True)]
        return Difference(log, ((sum(each), freedom),))
    assumed = (_square(ASSUMED[one]), _ASSUMED_FREEDOM)
    known = [figure.runs[0].between or assumed for figure in pair]
    return Difference(log, ((sum(inside), own[1] if own else _ASSUMED_FREEDOM), *known))


def _inside(run: OneRun, replicates: float) -> float:
    """Variance of a run's figure that its replicates leave, and no less than its samples do."""
    return max(replicates / max(len(run.replicates), 1), run.of_samples)


def _within(pair: Pair) -> tuple[float, float] | None:
    """Variance between the replicates of a run, with its degrees of freedom."""
    return _pooled(run.replicates for figure in pair for run in figure.runs)


def _between(pair: Pair) -> tuple[float, float] | None:
    """Variance between the runs of a side, what replicates leave included."""
    return _pooled([run.log for run in figure.runs] for figure in pair)


def _pooled(groups: Iterable[Sequence[float]]) -> tuple[float, float] | None:
    several = [logs for logs in groups if len(logs) > 1]
    freedom = sum(len(logs) - 1 for logs in several)
    return (sum(variance(logs) * (len(logs) - 1) for logs in several) / freedom, freedom) if several else None


def _middles(pairs: Iterable[Pair], of: Callable[[Pair], tuple[float, float] | None]) -> Middles:
    found: dict[FigureClass, list[float]] = {}
    for pair in pairs:
        known = of(pair)
        if known is not None:
            found.setdefault(pair[1].figure_class, []).append(known[0])
    return {one: median(values) for one, values in found.items()}


def _drawn(known: tuple[float, float] | None, middle: float | None, one: FigureClass) -> tuple[float, float] | None:
    """A variance drawn towards the one in the middle of its class, which counts ``_PRIOR`` degrees of freedom; upwards
    only in a class whose figures do not vary alike."""
    if known is None or middle is None:
        return known
    own, freedom = known
    if one not in ASSUMED and own > middle:
        return known
    return (_PRIOR * middle + freedom * own) / (_PRIOR + freedom), freedom + _PRIOR


def _value(part: Row) -> tuple[float, str] | None:
    """Logarithm of its figure in GB/s or ns, and that unit; None where it has none above 0."""
    found = headline(part)
    if found is None or found.value.median <= 0 or found.value.low <= 0:
        return None
    told = found if found.higher_is_better else found.in_unit("ns")
    return math.log(told.value.median), told.unit


def _of_samples(lines: Sequence[Sequence[Row]], index: int) -> float:
    """Variance of the run's figure that its samples leave open."""
    found = [headline(line[index]) for line in lines]
    shares = [(one.value.high - one.value.low) / 2 / one.value.median for one in found if one and one.value.median]
    return _square(median(shares) / _NORMAL) / len(shares) if shares else 0.0


def _square(number: float) -> float:
    return number * number
