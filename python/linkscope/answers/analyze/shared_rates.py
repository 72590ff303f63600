"""Shared rates: what simultaneous flows should reach, by what each reaches alone and what they share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars

from linkscope.answers.analyze.comparing import alone, usable, with_cost
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.figures.movement import movement
from linkscope.figures.run import Run
from linkscope.machine.paths import Ask, Traffic
from linkscope.results.case_traffic import traffic_of

Json = dict[str, Any]

_NOT_THE_WORK = ("role", "bytes", "tuning_group", "route")
"""Fields in which two flows may differ and be the same transfer of another size."""
_ENDS = ("source", "destination", "members")
_TIMING = ("clock", "call", "calls_included", "both_ways", "environment", "processes")


@dataclass(frozen=True)
class SharedRates:
    """Hold the rates of a case's flows, in its order. ``alone``: the result's line where it was measured alone, with
    its cost.

    ``predicted``: GB/s by max-min fair sharing while all run; None where nothing known limits it. ``shared``: the links
    and memories that hold it back and that another flow uses, too. ``met``: all that it uses beside others.
    """

    alone: Sequence[Json | None]
    predicted: Sequence[float | None]
    shared: Sequence[list[str]]
    met: Sequence[list[str]]


class AloneRates:
    """Look up what each transfer of a run reaches alone."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lines: dict[tuple[Any, ...], dict[int, Json]] = {}
        self._efficiency: dict[tuple[str, str], float] = {}
        aggregate = polars.col("figure") == "aggregate"  # counts where a flow has no other
        single = with_cost(alone(usable(run)).filter(aggregate | polars.col("figure").is_in(("first", "latency"))))
        for line in single.sort(aggregate, maintain_order=True).iter_rows(named=True):
            flow = self.flows(line)[0]
            self._lines.setdefault(_key(flow, line), {}).setdefault(line["bytes"], line)
            if line["of_peak"] is not None and line["of_peak"] <= ABOVE_PEAK:
                kind = line["method"], _movement(flow, line)
                self._efficiency[kind] = max(self._efficiency.get(kind, 0.0), min(line["of_peak"], 1.0))

    def of(self, flow: Json, together: Json) -> Json | None:
        """Return the line of a flow of the result ``together`` alone: of its size, else of the largest."""
        sizes = self._lines.get(_key(flow, together))
        return None if sizes is None else sizes.get(flow["bytes"], sizes[max(sizes)])

    def of_its_size(self, flow: Json, together: Json) -> Json | None:
        """Return the line of a flow alone, of its size; a flow without ends moves no bytes, so any size is its own."""
        found = self.of(flow, together)
        moves = any(end in flow for end in _ENDS)
        return None if found is not None and moves and found["bytes"] != flow["bytes"] else found

    def shared(self, together: Json) -> SharedRates | None:
        """Return what all flows of the case of a result should reach.

        None where one moves bytes both ways or over a device that the topology lacks. Every flow takes 1 / efficiency
        of links and memories for each byte, by the best share of peak that its method reaches alone on any path of the
        kind (where that is not known, that of the other flows), and no more than it reaches alone, where that is known.
        """
        single = [self.of(flow, together) for flow in self.flows(together)]
        traffic, asks = self._asked(together)
        if len(traffic) != len(single):
            return None
        try:
            share = self._run.paths.fair_rates(traffic, asks)
            uses = [set(self._run.paths.uses(one)) for one in traffic]
        except KeyError:
            return None
        others = [set().union(*(uses[:number] + uses[number + 1 :])) for number in range(len(uses))]
        met = [sorted(use & beside) for use, beside in zip(uses, others, strict=True)]
        return SharedRates(single, share.flows, [[name for name in one if name in share.binding] for one in met], met)

    def aggregate(self, together: Json) -> float | None:
        """Return GB/s of all bytes from the common start to the last end, each flow at its fair rate of the moment.

        None where one is not known. To be asked where ``shared`` has an answer.
        """
        traffic, asks = self._asked(together)
        left = self.moved(together)
        total, time, active = sum(left), 0.0, list(range(len(left)))
        while active:  # each time at least one ends
            share = self._run.paths.fair_rates([traffic[one] for one in active], [asks[one] for one in active]).flows
            rates = {one: rate * 1e9 for one, rate in zip(active, share, strict=True) if rate}
            if len(rates) < len(active):
                return None
            step = min(left[one] / rates[one] for one in active)
            time += step
            left = [size - step * rates.get(one, 0.0) for one, size in enumerate(left)]
            active = [one for one in active if left[one] > 1e-6 * total]
        return total / time * 1e-9

    def moved(self, together: Json) -> list[float]:
        """Return the bytes of each flow from the common start to its end: flows are repeated so that all last alike."""
        results = self._run.rows[together["id"]].flows
        return [float(flow["bytes"] * one.repeats) for flow, one in zip(self.flows(together), results, strict=True)]

    def flows(self, line: Json) -> list[Json]:
        """Return the flows of the case of a result."""
        flows: list[Json] = self._run.rows[line["id"]].case["flows"]
        return flows

    def _asked(self, together: Json) -> tuple[list[Traffic], list[Ask]]:
        flows = self.flows(together)
        known = [self._efficiency.get((flow["method"], _movement(flow, together))) for flow in flows]
        usual = fmean(found) if (found := [one for one in known if one]) else 1.0
        rates = [line["gbps"] if (line := self.of(flow, together)) else None for flow in flows]
        asks = [Ask(efficiency or usual, rate) for efficiency, rate in zip(known, rates, strict=True)]
        return traffic_of(self._run.rows[together["id"]].case, self._run.paths.node)[0], asks


def _key(flow: Json, line: Json) -> tuple[Any, ...]:
    work = {name: value for name, value in flow.items() if name not in _NOT_THE_WORK}
    return json.dumps(work, sort_keys=True), *(line[name] for name in _TIMING)


def _movement(flow: Json, line: Json) -> str:
    """Return the movement of one flow, alone."""
    ends = {end: flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")}
    single = {"executor": flow["executor"], "members": None, "together": "", "both_ways": False}
    return movement({**ends, **single, "processes": line["processes"]})
