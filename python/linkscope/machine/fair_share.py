"""Max-min fair sharing: what flows get that run at the same time over shared capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    two). Names without a capacity do not limit. Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2.
    """
    names = sorted(capacities)
    weights = np.array([[use.get(name, 0.0) for name in names] for use in uses], dtype=float).reshape(len(uses), -1)
    left = np.array([capacities[name] for name in names], dtype=float)
    tolerance = 1e-9 * left
    rates = np.zeros(len(uses))
    limited: NDArray[np.bool_] = np.asarray((weights > 0).any(axis=1))
    growing = limited.copy()
    binding: set[str] = set()
    while growing.any():
        load = weights[growing].sum(axis=0)
        loaded = load > 0
        step = (left[loaded] / load[loaded]).min()
        rates[growing] += step
        left = left - step * load
        full = loaded & (left <= tolerance)
        binding |= {name for name, is_full in zip(names, full.tolist(), strict=True) if is_full}
        growing &= ~(weights[:, full] > 0).any(axis=1)
    return Share(
        rates=tuple(float(rate) if known else None for rate, known in zip(rates, limited, strict=True)),
        binding=tuple(sorted(binding)),
    )
