"""RunEstimate: how long a run will take before anything of it has been measured, part by part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.plan.budget import RoundLimits, SamplingOptions, modelled_s, tuning_s, visit_s

Json = dict[str, Any]


@dataclass(frozen=True)
class RunEstimate:
    """Seconds of one round that visits all cases, on a machine that does nothing else; never for a figure.

    ``starts_s``: until all processes have begun a case. ``setup_s``: allocating, filling and verifying. ``sampling_s``:
    warm-up and samples, until intervals are narrow where nothing disturbs; ``most_sampling_s``: all the time that
    cases have for it. ``tuning_s``: of all kernels, in the first round alone. ``crowd``: how many want each CPU, at
    least 1: so much longer everything takes. ``limit_s``: of a budget, beyond which nothing goes on.
    """

    starts_s: float
    setup_s: float
    sampling_s: float
    most_sampling_s: float
    rounds: RoundLimits
    tuning_s: float = 0.0
    crowd: float = 1.0
    limit_s: float | None = None

    @property
    def likely_s(self) -> float:
        """Return the seconds of the rounds that visit all cases, or of as many rounds as a budget lasts for."""
        once = (self.starts_s + self.setup_s + self.sampling_s) * self.crowd
        if self.limit_s is None:
            return self.rounds.least * once + self._first_s
        return min(self.limit_s, self.rounds.most * once + self._first_s)

    @property
    def most_s(self) -> float:
        """Return the seconds where every figure scatters: each case is visited and sampled as long as it may be."""
        once = (self.starts_s + self.setup_s + self.most_sampling_s) * self.crowd
        whole = self.rounds.most * once + self._first_s
        return whole if self.limit_s is None else min(self.limit_s, whole)

    @property
    def _first_s(self) -> float:
        return self.tuning_s * self.crowd


def run_estimate(
    cases: Sequence[Json],
    options: SamplingOptions,
    rounds: RoundLimits,
    crowd: float = 1.0,
    limit_s: float | None = None,
) -> RunEstimate:
    """Estimate a run of all ``cases`` that are not skipped, where ``crowd`` processes want each CPU."""
    visits = [visit_s(case, options) for case in cases]
    setup_s = sum(visit.setup_s for visit in visits)
    return RunEstimate(
        starts_s=options.costs.starts_s(cases) if cases else 0.0,
        setup_s=setup_s,
        sampling_s=sum(visit.likely_s for visit in visits) - setup_s,
        most_sampling_s=sum(visit.most_s for visit in visits) - setup_s,
        rounds=rounds,
        tuning_s=tuning_s(cases),
        crowd=crowd,
        limit_s=limit_s,
    )


def modelled_estimate(cases: int) -> RunEstimate:
    """Estimate a run of so many modelled cases."""
    return RunEstimate(0.0, modelled_s(cases), 0.0, 0.0, RoundLimits())


def crowd_now() -> float:
    """Return how many want each CPU of this machine, with what is to be started: 1 where there are enough for all."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return 1.0
    return max(1.0, (load + 1) / (os.cpu_count() or 1))
