"""Curves of runs side by side: of a table over sizes that several runs have, the series of all of them as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import Curve, CurveSet
from linkscope.analysis.summary import Table
from linkscope.report.curve_svg import curve_svg
from linkscope.report.series_band import MOST_SERIES, best_of, collapsed

LEAST_POINTS = 2


@dataclass(frozen=True)
class RunsCurves:
    """``table``: series that end with their run's name; ``svg``: their picture."""

    table: CurveSet
    svg: Markup


def runs_curves(names: Sequence[str], tables: Sequence[Table | None]) -> RunsCurves | None:
    """Of one table in each run, None where a run has none. A series is drawn if another run has cases of it; where all
    are too many for one picture, the best points of each run. None where fewer than two runs share two cases."""
    found = [(number, table) for number, table in enumerate(tables) if isinstance(table, CurveSet)]
    if not found:
        return None
    shared = [_shared(table, [other for _, other in found if other is not table]) for _, table in found]
    if sum(map(bool, shared)) < 2:
        return None
    crowded = sum(map(len, shared)) > MOST_SERIES
    if crowded:
        shared = [[best_of(series)] if series else [] for series in shared]
    heading = found[0][1].heading
    every = [table.heading for _, table in found]
    together = replace(
        heading,
        modelled=any(one.modelled for one in every),
        imported=heading.imported if all(one.imported == heading.imported for one in every) else (),
        bounds=(),
    )
    named = [
        Curve(
            f"{curve.series}, {names[number]}" if curve.series else names[number],
            tuple(_in_unit(curve.points, heading.unit)),
            ("best" if crowded else curve.series, number),
        )
        for (number, _), series in zip(found, shared, strict=True)
        for curve in series
        if curve.points
    ]
    table, _ = collapsed(CurveSet(together, tuple(named)))
    return RunsCurves(table, Markup(curve_svg(table, table.flat.index)))


def _shared(table: CurveSet, others: Sequence[CurveSet]) -> list[Curve]:
    """Its series of which another table has at least ``LEAST_POINTS`` figures."""
    theirs = {point.key for other in others for point in other.flat if point.headline is not None}
    return [
        curve
        for curve in table.curves
        if sum(point.headline is not None and point.key in theirs for point in curve.points) >= LEAST_POINTS
    ]


def _in_unit(points: Sequence[Cell], unit: str) -> Iterator[Cell]:
    """Times may stand in another unit in each run."""
    for point in points:
        figure = point.headline
        is_time = figure is not None and not figure.higher_is_better
        yield replace(point, headline=figure.in_unit(unit)) if figure is not None and is_time else point
