"""Pace: how long a run still takes, by what was expected of it and by how long its visits have taken so far."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping

PRIOR_S = 1.0
"""Seconds of expected work that count as if they had taken as long as expected: one short visit changes little."""


class Pace:
    """Follow a run whose visits of a case shall take ``expected`` seconds, by id, ``starts_s`` more in each round.

    ``alike``: the test of each case; its cases are slower or faster than expected by about the same factor.
    ``began``, ``deadline``: when the run began, and when it ends in any case; on the clock, in seconds, of the caller's
    ``now``.
    """

    def __init__(
        self,
        expected: Mapping[str, float],
        alike: Mapping[str, str],
        rounds: int,
        starts_s: float = 0.0,
        began: float = 0.0,
        deadline: float = math.inf,
    ) -> None:
        self._expected = expected
        self._alike = alike
        self._starts_s = starts_s
        self._began = began
        self._deadline = deadline
        self._starts_done_s = 0.0
        self._left = dict.fromkeys(expected, rounds)
        self._rounds = rounds
        self._taken: defaultdict[str, float] = defaultdict(float)
        self._done: defaultdict[str, float] = defaultdict(float)

    def begin_round(self, ids: Collection[str]) -> None:
        """A round visits these: of one beyond those expected, all that is left."""
        if self._rounds <= 0:
            self._left = dict.fromkeys(ids, 1)
        self._rounds -= 1
        self._starts_done_s += self._starts_s

    def take(self, case_id: str, seconds: float) -> None:
        """A visit has ended; it took so long."""
        if case_id not in self._expected:
            return
        self._left[case_id] = max(self._left.get(case_id, 0) - 1, 0)
        for kind in (self._alike.get(case_id, ""), ""):
            self._taken[kind] += seconds
            self._done[kind] += self._expected[case_id]

    def drop(self, case_id: str) -> None:
        """It is not visited again."""
        self._left[case_id] = 0

    @property
    def has_deadline(self) -> bool:
        """Return whether it ends at a certain time: until then it goes on with figures that are wide."""
        return self._deadline < math.inf

    def left_s(self, now: float) -> float:
        """Seconds until the rounds that are expected have visited all their cases; of a run with a deadline at most,
        until that."""
        if self.has_deadline:
            return max(self._deadline - now, 0.0)
        visits = sum(
            count * self._expected.get(case_id, 0.0) * self._factor(self._alike.get(case_id, ""))
            for case_id, count in self._left.items()
            if count
        )
        return (visits + max(self._rounds, 0) * self._starts_s) * self._beside(now)

    def _beside(self, now: float) -> float:
        """Return the factor of a run's time over its visits and starts."""
        known_s = self._taken[""] + self._starts_done_s
        return max((now - self._began + PRIOR_S) / (known_s + PRIOR_S), 1.0) if self._done[""] else 1.0

    def _factor(self, kind: str) -> float:
        """Return the factor of a test's visits over their expected time; of all visits where it has none."""
        everywhere = (self._taken[""] + PRIOR_S) / (self._done[""] + PRIOR_S)
        if kind not in self._done:
            return everywhere
        return (self._taken[kind] + PRIOR_S * everywhere) / (self._done[kind] + PRIOR_S)
