"""Usual noise: how far results differ between processes and between runs of a healthy node that nobody calibrated.

Three processes that agree by chance say less than all others of their kind, and what a run keeps from its first process
to its last shows in none of them. The numbers are relative standard deviations: medians over the results of nine
default runs on four nodes of two H200 (2026-11-27), five of them one after the other.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from linkscope.results.noise_class import LARGE, Json, NoiseClass, noise_class

if TYPE_CHECKING:
    from linkscope.results.row import FlowResult, Row

FREEDOM = 4
"""Degrees of freedom that the usual variance between processes counts beside a result's own (Smyth 2004)."""
_DEVIATIONS = NormalDist().inv_cdf(0.975)
_PROCESSES = {
    NoiseClass.GPU_LARGE: 0.0003,
    NoiseClass.GPU: 0.0015,
    NoiseClass.FLAG: 0.005,
    NoiseClass.PINNED: 0.0025,
    NoiseClass.PAGEABLE: 0.09,
    NoiseClass.CPU: 0.07,
}
_RUNS = {NoiseClass.FLAG: 0.01, NoiseClass.PAGEABLE: 0.05, NoiseClass.CPU: 0.03}
"""Between runs: where flags lie, what others take of caches and memory, and which pages the kernel has left, lasts."""
_START = 0.003
"""Between runs, of copies of less than ``LARGE``: how long a copy takes to start."""
_TUNED, _TUNED_PUSH, _TUNED_SMALL = 0.0025, 0.001, 0.03
"""Between runs, of kernels whose launch shape was sought: the first round's choice among shapes that tie holds for all
rounds (377.2 or 375.6 GB/s of a pull, 368.8 or 370.1 of a push). Of less than ``LARGE`` the worse of two costs 6%
(28.74 for 30.55 GB/s at 16 KiB, with 1 block for 2), which all but a few stay below."""
_WAIT_S, _WAIT_SHARE = 0.6e-6, 0.003
"""Between processes: how far waits of the host differ, at any size from 4 KiB to 16 MiB, and a share of the time."""
_WAIT_RUNS_S, _WAIT_RUNS_SHARE = 0.35e-6, 0.001
"""Likewise between runs."""
_AT_MOST = {NoiseClass.GPU_LARGE: 0.001, NoiseClass.GPU: 0.005, NoiseClass.FLAG: 0.02, NoiseClass.PINNED: 0.01}
"""Between runs, what all but a few results stay below. Of flags one process in five has the shorter of two times, 20%
apart. Host memory and processes have no such number: what kept within 3% in nine runs is at a fourth in the tenth, when
a neighbour takes the cache. No single run tells that from a change, even on a calibrated node."""


class UsualNoise(Struct, frozen=True, gc=False):
    """Relative standard deviations between the processes of a run, and between runs beyond that; 0 where unknown.

    ``at_most``: between runs, what all but a few results stay below; 0 where one run tells nothing.
    """

    processes: float = 0.0
    runs: float = 0.0
    at_most: float = 0.0

    @property
    def margin(self) -> float:
        """Return the half width of the 95% interval of what varies between runs."""
        return _DEVIATIONS * self.runs


NONE = UsualNoise()


def usual_noise(row: Row) -> UsualNoise:
    """Return that of a row with results, the largest of its measured flows."""
    of_class = noise_class(row.case)
    each = [_of_flow(of_class, flow, result) for flow, result in row.measured_flows]
    return UsualNoise(*map(max, zip(*map(astuple, each), strict=True))) if each else NONE


def _of_flow(of_class: NoiseClass, flow: Json, result: FlowResult) -> UsualNoise:
    processes, runs = _PROCESSES.get(of_class, 0.0), _RUNS.get(of_class, 0.0)
    if of_class is NoiseClass.WAITED and result.seconds.median > 0:
        processes = math.hypot(_WAIT_S / result.seconds.median, _WAIT_SHARE)
        runs = math.hypot(_WAIT_RUNS_S / result.seconds.median, _WAIT_RUNS_SHARE)
    elif of_class in (NoiseClass.GPU, NoiseClass.PINNED) and flow["bytes"] < LARGE:
        runs = _START
    sought = "blocks" in result.setting and "tuning_group" in flow and "blocks" not in flow.get("parameters", {})
    at_most = runs if of_class is NoiseClass.WAITED else _AT_MOST.get(of_class, 0.0)
    if sought:
        runs = math.hypot(runs, _TUNED_PUSH if of_class is NoiseClass.GPU_LARGE else _TUNED)
        at_most = math.hypot(at_most, _TUNED_SMALL) if at_most and flow["bytes"] < LARGE else at_most
    return UsualNoise(processes, runs, at_most)
