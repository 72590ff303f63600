"""Time: what a plan may take, and how it is shared out among the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.plan.axes import region_bytes

Json = dict[str, Any]

DEFAULT_POINT_BUDGET_S = 2.0
LEAST_POINT_BUDGET_S = 0.005
_START_S = 0.008  # bookkeeping of one case, as small copies between four H200 showed
_HOST_START_S = 0.05  # more for each flow with an end in host memory: small copies scatter and need more samples
_SAMPLES = 12  # warm-ups and samples until the interval is narrow
_SAMPLE_S = 0.001  # the shortest
# Typical rates in GB/s for estimates: filling, copying and checking bytes of a GPU, and of the host.
_GPU_GBPS, _HOST_GBPS = 300.0, 20.0
# Methods that are slower than the memory they work on: their bytes go page by page, or through the driver.
_METHOD_GBPS = {"page-fault": 5.0, "fault-chase": 5.0, "prefetch": 15.0, "first-touch": 3.0}
_METHOD_GBPS |= {"allocate": 5.0, "free": 5.0, "register": 5.0}


@dataclass(frozen=True)
class Options:
    """What the engine is told of precision and time (plan.options)."""

    precision: float = 0.01
    point_budget_s: float = DEFAULT_POINT_BUDGET_S

    def to_json(self) -> Json:
        return {"precision": self.precision, "point_budget_s": round(self.point_budget_s, 6)}


def share_out(cases: Sequence[Json], precision: float, budget_s: float | None) -> Options:
    """Options under which the sampling of all ``cases`` fits ``budget_s`` seconds in total, set-up included.

    Every case gets the same sampling time, at least ``LEAST_POINT_BUDGET_S``: a budget too small for that is
    exceeded rather than answered with figures nobody should use.
    """
    if budget_s is None or not cases:
        return Options(precision)
    left = budget_s - sum(_setup_s(case) for case in cases)
    return Options(precision, min(max(left / len(cases), LEAST_POINT_BUDGET_S), DEFAULT_POINT_BUDGET_S))


def estimate_s(case: Json, options: Options) -> float:
    """Seconds the case will roughly take: for progress and --dry-run, never for a figure."""
    shortest = max(float(case.get("min_sample_s", 0)), _SAMPLE_S)
    sampling = _SAMPLES * max(shortest, *(_moving_s(flow, flow["bytes"]) for flow in case["flows"]))
    return _setup_s(case) + min(sampling, _point_budget_s(case, options))


def timeout_s(case: Json, options: Options) -> float:
    """Silence after which a case is given up: generous, since it only ever ends a hang."""
    return round(30 + 10 * options.point_budget_s + 40 * _setup_s(case), 1)


def _point_budget_s(case: Json, options: Options) -> float:
    return min(options.point_budget_s, float(case.get("point_budget_s", options.point_budget_s)))


def _setup_s(case: Json) -> float:
    """Filling and checking: the whole allocation, of which a region may be a small part."""
    return _START_S + sum(2 * _moving_s(flow, _footprint(flow)) + _scatter_s(flow) for flow in case["flows"])


def _scatter_s(flow: Json) -> float:
    return 0.0 if _on_gpus(flow) else _HOST_START_S


def _on_gpus(flow: Json) -> bool:
    ends = [flow.get("source"), flow.get("destination")]
    return all(end["device"].startswith("gpu:") for end in ends if end is not None)


def _footprint(flow: Json) -> int:
    """Bytes of memory that the flow's region lies in, or those it moves."""
    inside = flow.get("parameters", {}).get("in")
    return max(int(flow["bytes"]), region_bytes(inside) if inside else 0)


def _moving_s(flow: Json, size: int) -> float:
    gbps = _METHOD_GBPS.get(flow["method"], _GPU_GBPS if _on_gpus(flow) else _HOST_GBPS)
    return size / (gbps * 1e9)
