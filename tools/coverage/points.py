"""Points: how many a suite has on a node, and what another tool's rule of time would make of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkscope.machine.recording import from_recording
from linkscope.plan.budget import SamplingOptions, estimate_s
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite

PEER_SECONDS, PEER_REPEATS = 1.0, 5
"""Comm|Scope: at least one second a point, repeated five times (Pearson et al. 2019, section 4)."""


@dataclass(frozen=True)
class Points:
    """Cases that are not skipped beforehand; ``seconds``: linkscope's own estimate."""

    node: str
    count: int
    seconds: float

    @property
    def peer_hours(self) -> float:
        """Least time of as many points by Comm|Scope's rule."""
        return self.count * PEER_SECONDS * PEER_REPEATS / 3600

    def __str__(self) -> str:
        return (
            f"{self.node}: {self.count} points, about {self.seconds / 60:.0f} min here; "
            f"{self.peer_hours:.1f} h at a second and five repeats a point"
        )


def points_of(suite: str, recording: Path) -> Points:
    """Of a packaged suite on a recorded node, with an engine that has every method and memory the suite names."""
    loaded, node = load_suite(suite), from_recording(recording)
    planned = expand([loaded], node, whole_catalog(loaded), Selection())
    cases = [one.case for one in planned if one.skip is None]
    return Points(node.name, len(cases), sum(estimate_s(case, SamplingOptions()) for case in cases))
