"""Shared rates: what simultaneous flows should reach, by what each reaches alone and what they share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars

from linkscope.analysis.beyond_noise import with_cost
from linkscope.analysis.movement import movement
from linkscope.analysis.peak import ABOVE
from linkscope.machine.paths import Ask, Paths, Traffic
from linkscope.results.case_traffic import traffic_of
from linkscope.results.row import Row

Json = dict[str, Any]

_NOT_THE_WORK = ("role", "bytes", "tuning_group", "route")
"""Of a flow in a plan: what it may differ in and yet be the same transfer of another size."""


@dataclass(frozen=True)
class SharedRates:
    """By flow of a case, in its order. ``alone``: the figure's line where it was measured alone.

    Lines have the columns of ``with_cost``. ``predicted``: GB/s by max-min fair sharing while all run; None where
    nothing known limits it. ``shared``: the links and memories that hold it back and that another flow uses, too.
    ``met``: all that it uses beside others.
    """

    alone: tuple[Json | None, ...]
    predicted: tuple[float | None, ...]
    shared: tuple[tuple[str, ...], ...]
    met: tuple[tuple[str, ...], ...]


_OF_ONE = ("first", "latency", "aggregate")
"""Figures of a single flow, of which "aggregate" counts where there is no other."""


class AloneFigures:
    """What each transfer of a run reaches with nothing else at work."""

    def __init__(self, figures: polars.DataFrame, rows: Mapping[str, Row], paths: Paths) -> None:
        self._rows = rows
        self._paths = paths
        self._lines: dict[tuple[Any, ...], dict[int, Json]] = {}
        self._efficiency: dict[tuple[str, str], float] = {}
        alone = with_cost(
            figures.filter(
                polars.col("status").cast(polars.String) == "ok",
                (polars.col("flows") == 1) & (polars.col("background") == 0),
                polars.col("figure").cast(polars.String).is_in(_OF_ONE),
            )
        ).sort(polars.col("figure").cast(polars.String) == "aggregate", maintain_order=True)
        for line in alone.iter_rows(named=True):
            self._lines.setdefault(_key(rows[line["id"]].case["flows"][0], line), {}).setdefault(line["bytes"], line)
            share = line["of_peak"]
            if share is not None and share <= ABOVE:
                kind = line["method"], movement(line)
                self._efficiency[kind] = max(self._efficiency.get(kind, 0.0), min(share, 1.0))

    def of(self, flow: Json, together: Json) -> Json | None:
        """The line of a flow of the figure ``together`` alone: of its size, else of the largest."""
        sizes = self._lines.get(_key(flow, together))
        return None if sizes is None else sizes.get(flow["bytes"], sizes[max(sizes)])

    def shared(self, together: Json) -> SharedRates | None:
        """Of all flows of the case whose figure is ``together``; None where one moves bytes both ways or over a device
        that the topology lacks.

        Every flow takes 1 / efficiency of links and memories for each byte, by the best share of peak that its method
        reaches alone on any path of the kind (where that is not known, that of the other flows), and no more than it
        reaches alone, where that is known.
        """
        alone = tuple(self.of(flow, together) for flow in self._flows(together))
        traffic, asks = self._asked(together)
        if len(traffic) != len(alone):
            return None
        try:
            share = self._paths.fair_rates(traffic, asks)
            uses = [set(self._paths.uses(one)) for one in traffic]
        except KeyError:
            return None
        met = []
        for number, use in enumerate(uses):
            others = set().union(*(other for place, other in enumerate(uses) if place != number))
            met.append(tuple(sorted(use & others)))
        held = tuple(tuple(name for name in names if name in share.binding) for names in met)
        return SharedRates(alone, share.flows, held, tuple(met))

    def aggregate(self, together: Json) -> float | None:
        """GB/s of all bytes from the common start to the last end, each flow at its fair rate of the moment; None where
        one is not known. To be asked where ``shared`` has an answer."""
        traffic, asks = self._asked(together)
        left = self.moved(together)
        total, time = sum(left), 0.0
        active = list(range(len(left)))
        for _ in left:  # each time at least one ends
            share = self._paths.fair_rates([traffic[one] for one in active], [asks[one] for one in active]).flows
            rates = {one: rate * 1e9 for one, rate in zip(active, share, strict=True) if rate}
            if len(rates) < len(active):
                return None
            step = min(left[one] / rates[one] for one in active)
            time += step
            for one in active:
                left[one] -= step * rates[one]
            active = [one for one in active if left[one] > 1e-6 * total]
            if not active:
                break
        return total / time * 1e-9

    def moved(self, together: Json) -> list[float]:
        """Bytes of each flow from the common start to its end: a flow is repeated so that all last alike."""
        results = self._rows[together["id"]].flows
        flows = self._flows(together)
        return [float(flow["bytes"] * result.repeats) for flow, result in zip(flows, results, strict=True)]

    def _flows(self, together: Json) -> list[Json]:
        flows: list[Json] = self._rows[together["id"]].case["flows"]
        return flows

    def _asked(self, together: Json) -> tuple[list[Traffic], list[Ask]]:
        flows = self._flows(together)
        known = [self._efficiency.get((flow["method"], _movement(flow, together))) for flow in flows]
        usual = fmean(found) if (found := [one for one in known if one]) else 1.0
        asks = []
        for efficiency, flow in zip(known, flows, strict=True):
            line = self.of(flow, together)
            asks.append(Ask(efficiency or usual, line["gbps"] if line else None))
        return traffic_of(self._rows[together["id"]].case, self._paths.node)[0], asks


def _key(flow: Json, line: Json) -> tuple[Any, ...]:
    work = {name: value for name, value in flow.items() if name not in _NOT_THE_WORK}
    return json.dumps(work, sort_keys=True), line["regime"], line["environment"], line["processes"]


def _movement(flow: Json, line: Json) -> str:
    ends = {end: flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")}
    return movement({**ends, "executor": flow["executor"], "members": None, "processes": line["processes"]})
