"""Max-min fair sharing: what flows get that run at the same time over shared capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Share:
    """``rates``: one per flow, in the capacities' unit, None where nothing known limits the flow.

    ``binding``: names of the capacities that are used up and hold a flow back, sorted.
    """

    rates: tuple[float | None, ...]
    binding: tuple[str, ...]


def max_min(uses: Sequence[Mapping[str, float]], capacities: Mapping[str, float]) -> Share:
    """Progressive filling: all rates grow together; a flow stops when a capacity it uses is full.

    ``uses[i][name]`` is how much of capacity ``name`` flow i takes per unit of its rate (a copy inside one memory takes
    two). Names without a capacity, or with one that is no finite number, do not limit. Bertsekas and Gallager, Data
    Networks, 2nd ed., section 6.5.2.
    """
    left = {name: capacity for name, capacity in capacities.items() if -inf < capacity < inf}
    rates = [0.0] * len(uses)
    weights = [{name: weight for name, weight in use.items() if 0 < weight < inf and name in left} for use in uses]
    growing = {flow for flow, weight in enumerate(weights) if weight}
    binding: set[str] = set()
    while growing:
        load: dict[str, float] = {}
        for flow in growing:
            for name, weight in weights[flow].items():
                load[name] = load.get(name, 0.0) + weight
        step = min(left[name] / taken for name, taken in load.items())
        full = {name for name, taken in load.items() if left[name] / taken <= step * (1 + 1e-9)}
        for flow in growing:
            rates[flow] += step
        for name, taken in load.items():
            left[name] -= step * taken
        full |= {name for name in load if left[name] <= 1e-9 * capacities[name]}
        binding |= full
        growing = {flow for flow in growing if full.isdisjoint(weights[flow])}
    return Share(
        rates=tuple(rate if weight else None for rate, weight in zip(rates, weights, strict=True)),
        binding=tuple(sorted(binding)),
    )
