"""Curves: a figure over a size, a thread count or another number, one curve per series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from linkscope.analysis.cell import Cell, Heading, Json, cells_of, heading, shown_as, table_of
from linkscope.analysis.leaders import Leader, leaders_of
from linkscope.machine.paths import Paths
from linkscope.results.row import Row


@dataclass(frozen=True)
class Curve:
    """One series. ``points`` ascend in x; those that are skipped or failed have no headline. ``beside``: where
    several runs stand side by side, what the series is called in each and its run's number."""

    series: str
    points: tuple[Cell, ...]
    beside: tuple[str, int] | None = None

    @property
    def peak_gbps(self) -> float | None:
        """The hardware's limit where it is one and the same for all points that have a figure; None otherwise."""
        measured = [point for point in self.points if point.headline is not None]
        limits = {point.peak.gbps for point in measured if point.peak is not None}
        between_hosts = any(point.hosts for point in measured)
        return limits.pop() if len(limits) == 1 and not between_hosts else None

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        points = [point.to_json() for point in self.points]
        return {"series": self.series, "peak_gbps": self.peak_gbps, "points": points}


@dataclass(frozen=True)
class CurveSet:
    """Curves that share a picture; ``heading.x_name`` is ``bytes``, ``threads`` or what the suite says."""

    heading: Heading
    curves: tuple[Curve, ...]

    @property
    def flat(self) -> list[Cell]:
        """All points, series by series."""
        return [point for curve in self.curves for point in curve.points]

    @property
    def place(self) -> str:
        """What the names of several series begin with alike, such as "pcie5-x16: numa:0 > gpu:0"; may be empty."""
        named = [curve.series.partition(", ") for curve in self.curves]
        places = {place for place, _, _ in named}
        return places.pop() if len(self.curves) > 1 and len(places) == 1 and all(way for _, _, way in named) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """What tells the series apart: their names without ``place``."""
        skip = len(self.place) + len(", ") if self.place else 0
        return tuple(curve.series[skip:] for curve in self.curves)

    @property
    def xs(self) -> tuple[float, ...]:
        """Every x of any series, ascending."""
        return tuple(sorted({point.x for point in self.flat if point.x is not None}))

    @property
    def leads(self) -> tuple[Leader, ...]:
        """Which curve is best at which sizes; empty where x counts no bytes."""
        return leaders_of(self.curves) if self.heading.x_name == "bytes" else ()

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {
            "kind": "curve",
            "heading": asdict(self.heading),
            "leads": [asdict(lead) for lead in self.leads],
            "curves": [curve.to_json() for curve in self.curves],
        }


def curves(rows: Iterable[Row], paths: Paths) -> list[CurveSet]:
    """A CurveSet per (suite, table, title) among the rows shown as a curve, in order of appearance."""
    tables: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if shown_as(row, "curve"):
            tables.setdefault(table_of(row), []).append(row)
    return [_curve_set(members, paths) for members in tables.values()]


def _curve_set(rows: Sequence[Row], paths: Paths) -> CurveSet:
    cells = cells_of(rows, paths)
    series: dict[str, list[Cell]] = {}
    for point in cells:
        series.setdefault(point.series, []).append(point)
    return CurveSet(
        heading=heading(rows, cells),
        curves=tuple(Curve(name, tuple(sorted(points, key=_x))) for name, points in series.items()),
    )


def _x(point: Cell) -> float:
    return point.x if point.x is not None else float("-inf")
