"""Sustained load: the suite ``sustained`` for as long as somebody asks, one random permutation after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from linkscope.plan.flows import ends_of
from linkscope.plan.planned_case import PlannedCase

SUITE = "sustained"
LEAST_S, MOST_S = 10.0, 24 * 3600.0
"""Between these a load can be judged, and its run file read."""
_KINDS = 3
"""Random patterns that take turns on GPUs."""
PERMUTATION_S = 1.2
"""A permutation is sampled for so long: six samples of 0.15 s, and what runs untimed behind them."""
_MOST_PERMUTATIONS = 3000
"""More would make a run file of eight GPUs larger than 20 MB: those of a load longer than an hour last longer."""


def permutation_s(seconds: float) -> float:
    """Return how long each permutation of a load of so many seconds is sampled, at most."""
    return max(PERMUTATION_S, seconds / _MOST_PERMUTATIONS)


def permutations_in(seconds: float) -> int:
    """Return how many permutations of each random pattern last for so many seconds, or longer."""
    return max(1, round(seconds / (_KINDS * permutation_s(seconds))))


def in_turns(planned: Sequence[PlannedCase], seconds: float) -> list[PlannedCase]:
    """Return the cases in the order of a load of so many seconds: each path alone, then a permutation of each pattern
    in turn, with samples as long as ``permutation_s`` wants.

    Where GPUs can run, cases of the host alone are left out.
    """
    planned = [_lasting(one, permutation_s(seconds) / PERMUTATION_S) for one in planned]
    on_gpus = [one for one in planned if not _of_host(one)]
    wanted = on_gpus if any(one.skip is None for one in on_gpus) else [one for one in planned if _of_host(one)]
    rows: dict[str, list[PlannedCase]] = {}
    for one in wanted or planned:
        rows.setdefault("" if one.case["load"] == "once" else str(one.case["name"]), []).append(one)
    alone = rows.pop("", [])
    return [*alone, *(one for one in chain.from_iterable(zip_longest(*rows.values())) if one is not None)]


def _lasting(planned: PlannedCase, times: float) -> PlannedCase:
    """Return a permutation with samples that are so many times as long."""
    sample_s = planned.case.get("min_sample_s")
    if sample_s is None or planned.case["load"] == "once" or times <= 1:
        return planned
    return replace(planned, case={**planned.case, "min_sample_s": sample_s * times})


def _of_host(planned: PlannedCase) -> bool:
    return all(end["device"].startswith("numa:") for flow in planned.case["flows"] for end in ends_of(flow))
