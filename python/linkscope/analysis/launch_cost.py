"""Launch cost: where ways cross if every kernel copy had a launch of its own.

By the device's clock all repeats of a kernel copy are one launch, where a copy engine has a call for each. What a
launch adds is known where a run has a kernel copy from graphs of one (``graph=1``, each repeat is launched) and the
same within one launch, as the suite `calls` has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars

from linkscope.analysis.size_ranges import Cost, Crossover, Rivals, SizeRange, crossovers, size_ranges

KERNELS = ("kernel-", "bulk-copy")
"""How the methods begin whose repeats are one launch."""
_SAME = (
    *("method", "executor", "source", "source_memory", "destination", "destination_memory", "bytes"),
    *("cache", "environment", "load"),
)
_TIMES = ("seconds", "seconds_low", "seconds_high")
_EACH, _NONE = "graph=1", ("", "graph=0")


@dataclass(frozen=True)
class Launched:
    """An estimate: the answer by size with ``seconds`` added to each kernel copy for its launch."""

    seconds: float
    ranges: tuple[SizeRange, ...]
    crossovers: tuple[Crossover, ...]


def launch_seconds(figures: polars.DataFrame) -> float | None:
    """What a launch of its own adds to a kernel copy, by the device's clock: the median over the pairs of the run whose
    95 % intervals are apart; None where it has none, or a launch costs nothing."""
    regime, parameters = (polars.col(name).cast(polars.String) for name in ("regime", "parameters"))
    kernels = figures.filter(
        polars.col("status").cast(polars.String) == "ok",
        polars.any_horizontal(polars.col("method").cast(polars.String).str.starts_with(name) for name in KERNELS),
        (regime == "device clock") & (polars.col("flows") == 1) & polars.col("seconds").is_not_null(),
    ).select(*_SAME, *_TIMES, parameters)
    each = kernels.filter(polars.col("parameters") == _EACH)
    within = kernels.filter(polars.col("parameters").is_in(_NONE))
    pairs = each.join(within, on=_SAME, nulls_equal=True, suffix="_within").filter(
        (polars.col("seconds_low") > polars.col("seconds_high_within"))
        | (polars.col("seconds_high") < polars.col("seconds_low_within"))
    )
    added = [launched - without for launched, without in pairs.select("seconds", "seconds_within").iter_rows()]
    return median(added) if added and median(added) > 0 else None


def mixes_launches(conditions: Sequence[str], rivals: Mapping[str, object]) -> bool:
    """Whether kernels that are launched once stand beside copies that are called one by one; from a graph
    (``graph 1``) every kernel has a launch of its own. The clock is the first of the ``conditions``."""
    clock, *others = conditions
    graph = any(one.startswith("graph ") and one != "graph 0" for one in others)
    kernels = [name.startswith(KERNELS) for name in rivals]
    return clock.startswith("device clock") and not graph and any(kernels) and not all(kernels)


def with_launches(rivals: Rivals, seconds: float) -> Launched:
    """The answer of ``rivals`` with a launch for each transfer by a kernel."""
    shifted = {
        name: {size: _later(cost, seconds) for size, cost in costs.items()} if name.startswith(KERNELS) else costs
        for name, costs in rivals.items()
    }
    ranges = size_ranges(shifted)
    return Launched(seconds, ranges, crossovers(shifted, ranges))


def _later(cost: Cost, seconds: float) -> Cost:
    return Cost(cost.median + seconds, cost.low + seconds, cost.high + seconds)
