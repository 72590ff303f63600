"""Time: what a plan may take, and how it is shared out among the cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any

from linkscope.machine.traits import method_traits
from linkscope.plan.axes import region_bytes
from linkscope.plan.case_groups import case_groups
from linkscope.plan.flows import ends_of
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.schedule_cost import state_bytes, transfer_s

Json = dict[str, Any]

DEFAULT_POINT_BUDGET_S = 0.3
"""Seconds for all visits of a case. Longer sampling of one visit does not show how visits differ."""
LEAST_POINT_BUDGET_S = 0.005
_START_S = 0.008  # bookkeeping of one case, as small copies between four H200 showed
_HOST_START_S = 0.05  # more for each flow with an end in host memory: small copies scatter and need more samples
_START_ON_HOST_S, _START_ON_GPUS_S = 0.1, 2.0  # until an engine begins its first case
_JOIN_S = 0.2  # more for each further process: a launcher starts it, and it joins the others
_TOGETHER_S = 0.02  # more where several processes agree on every step
_TUNING_S, _TUNING_OF_COLLECTIVE_S = 0.05, 0.3  # as four H200 showed: tries some launch shapes of a kernel
_LARGE_BYTES = 1 << 20  # more than a CPU's own cache
_SAMPLES = 12  # warm-ups and samples until the interval is narrow
_SAMPLE_S = 0.001  # the shortest
_HALVINGS = 40
# Typical rates in GB/s for estimates, where a method states none: filling, copying and checking bytes of a GPU, and of
# the host.
_GPU_GBPS, _HOST_GBPS = 300.0, 20.0
_COLLECTIVE_GBPS = 100.0  # algorithm bandwidth among GPUs
_WINDOW = 64  # messages under way where a call has many and its flow names no number
_MODELLED_S = 0.005  # a case of a machine model: a virtual clock, 64 KiB really moved
_LEAST_REPEATS = 6  # warm-ups and samples of long messages, below which nothing is told, whatever the budget


@dataclass(frozen=True)
class RoundLimits:
    """Bound the visits of a run: each case ``least`` times, up to ``most`` times those that this may bring
    to the precision asked for.
    """

    least: int = 1
    most: int = 1

    def to_json(self) -> Json:
        return {"least": self.least, "most": self.most}


DEFAULT_ROUNDS = RoundLimits(3, 6)
"""Three replicates are the fewest that show a scatter."""


@dataclass(frozen=True)
class Costs:
    """Hold what earlier visits took on this machine while it was idle; estimates stand where there are none.

    ``visits``: seconds of a visit of a case beyond its sampling, by id. ``ratios``: these over the estimate, by suite
    and row ("" for all), for cases that were not visited. ``starts``: seconds until so many processes begin a case,
    whatever is set in their environment and whoever starts them.
    """

    visits: Mapping[str, float] = field(default_factory=dict)
    ratios: Mapping[str, float] = field(default_factory=dict)
    starts: Mapping[int, float] = field(default_factory=dict)

    def times(self, factor: float) -> Costs:
        """All that is known, so many times as long; estimates stay as they are."""
        return Costs(
            {case_id: seconds * factor for case_id, seconds in self.visits.items()},
            {row: ratio * factor for row, ratio in self.ratios.items()},
            {processes: seconds * factor for processes, seconds in self.starts.items()},
        )

    def setup_s(self, case: Json) -> float:
        """Seconds of a visit beyond its sampling."""
        known = self.visits.get(str(case.get("id")))
        return known if known is not None else setup_s(case) * self.ratios.get(row_of(case), self.ratios.get("", 1.0))

    def starts_s(self, cases: Sequence[Json]) -> float:
        """Seconds that the starts of all processes of a round take."""
        gpus = any(
            end["device"].startswith("gpu:") for case in cases for flow in case["flows"] for end in ends_of(flow)
        )
        one = _START_ON_GPUS_S if gpus else _START_ON_HOST_S
        processes = [group.processes for group in case_groups(map(PlannedCase, cases))]
        return sum(self.starts.get(number, one + _JOIN_S * (number - 1)) for number in processes)


def row_of(case: Json) -> str:
    """Suite and row, such as "default/d2d"."""
    return f"{case.get('suite', '')}/{case.get('name', '')}"


@dataclass(frozen=True)
class SamplingOptions:
    """Set precision and time of one visit of each case (plan.options)."""

    precision: float = 0.01
    point_budget_s: float = DEFAULT_POINT_BUDGET_S
    needs: float | None = None
    """Factor on the expected sampling time that a case may use; None: up to ``point_budget_s`` each."""
    visits: int = 1
    """Over so many visits a case's own point_budget_s is spread."""
    costs: Costs = field(default_factory=Costs)

    def to_json(self) -> Json:
        return {"precision": self.precision, "point_budget_s": round(self.point_budget_s, 6)}


def share_out(
    cases: Sequence[Json], precision: float, budget_s: float | None, visits: int = 1, costs: Costs | None = None
) -> SamplingOptions:
    """Options under which so many visits of all ``cases`` fit ``budget_s`` seconds in total, set-up included.

    Cases share by need, so that all come to about as many samples: a large copy gets more time than a small one. Each
    gets at least ``LEAST_POINT_BUDGET_S``: a budget too small for that is exceeded rather than answered with figures
    nobody should use.
    """
    known = costs or Costs()
    each = SamplingOptions(precision, DEFAULT_POINT_BUDGET_S / visits, visits=visits, costs=known)
    if budget_s is None or not cases:
        return each
    left = budget_s / visits - known.starts_s(cases) - sum(known.setup_s(case) for case in cases)
    needs = [(_most_s(case, each), _sampling_s(case)) for case in cases]
    low, high = 0.0, DEFAULT_POINT_BUDGET_S / (_SAMPLES * _SAMPLE_S)  # all at their least; all at their most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = sum(_share_s(most, middle * sampling) for most, sampling in needs) <= left
        low, high = (middle, high) if fits else (low, middle)
    options = replace(each, needs=low)
    return replace(options, point_budget_s=max(_point_budget_s(case, options) for case in cases))


def fit(cases: Sequence[Json], budget_s: float, visits: int, costs: Costs) -> tuple[int, frozenset[str]]:
    """Return how often all may be visited in ``budget_s`` seconds, ``visits`` times or once, and the ids of cases that
    are left out where even once is too often: those that come last in ``most_telling_first``, so that more time never
    loses a case.
    """
    if visits * least_s(cases, costs) <= budget_s:
        return visits, frozenset()
    ordered = most_telling_first(cases, costs)
    spent = accumulate((_least_visit_s(case, costs) for case in ordered), initial=costs.starts_s(cases))
    return 1, frozenset(
        case["id"] for case, until in zip(ordered, islice(spent, 1, None), strict=True) if until > budget_s
    )


def least_s(cases: Sequence[Json], costs: Costs) -> float:
    """Seconds below which not all cases have a figure."""
    return costs.starts_s(cases) + sum(_least_visit_s(case, costs) for case in cases)


def _least_visit_s(case: Json, costs: Costs) -> float:
    """Return the seconds of a visit that samples as little as it may."""
    return costs.setup_s(case) + max(LEAST_POINT_BUDGET_S, _LEAST_REPEATS * _repeat_s(case))


def most_telling_first(cases: Sequence[Json], costs: Costs) -> list[Json]:
    """Sort cases by what they tell for their time: the ends of each curve, then halfway between those before, each next
    one worth less; what takes long comes later.
    """
    curves: dict[str, list[Json]] = {}
    for case in cases:
        labels = {name: value for name, value in case.get("labels", {}).items() if name not in ("x", "traits")}
        curves.setdefault(f"{row_of(case)} {case.get('environment')} {sorted(map(str, labels.items()))}", []).append(
            case
        )
    ranked = [
        (_least_visit_s(case, costs) * (rank + 1), place, case)
        for place, curve in enumerate(curves.values())
        for rank, case in zip(_halvings(len(curve)), curve, strict=True)
    ]
    return [case for _, _, case in sorted(ranked, key=lambda one: one[:2])]


def _halvings(count: int) -> list[int]:
    """The rank of each of so many points in a row: the last, the first, the middle, those of the halves, and on."""
    order = [count - 1, 0]
    gaps = [(0, count - 1)]
    while gaps:
        gaps = [
            gap for low, high in gaps if high - low > 1 for gap in ((low, (low + high) // 2), ((low + high) // 2, high))
        ]
        order += [high for _, high in gaps[::2]]
    ranks = {point: rank for rank, point in enumerate(dict.fromkeys(order))}
    return [ranks[point] for point in range(count)]


def limits(case: Json, options: SamplingOptions) -> Json:
    """Return the plan's limits of a case: the silence after which it is given up, and its share of a budget."""
    own = options.needs is not None or "point_budget_s" in case
    shared = {} if not own else {"point_budget_s": round(_point_budget_s(case, options), 6)}
    return {"timeout_s": timeout_s(case, options), **shared}


def estimate_s(case: Json, options: SamplingOptions) -> float:
    """Seconds the case will roughly take: for progress and --dry-run, never for a figure."""
    return visit_s(case, options).likely_s


@dataclass(frozen=True)
class VisitSeconds:
    """Estimate one visit of a case: ``likely_s`` it will roughly take, of which ``setup_s`` are no sampling; ``most_s``
    if it samples for as long as it may, because its figure scatters.
    """

    setup_s: float
    likely_s: float
    most_s: float


def visit_s(case: Json, options: SamplingOptions) -> VisitSeconds:
    """Return what a visit is expected to take."""
    setup = options.costs.setup_s(case)
    least = _LEAST_REPEATS * _repeat_s(case) if int(case.get("processes", 1)) > 1 else 0.0
    budget = _point_budget_s(case, options)
    restless = any(_scatters(case, flow) for flow in case["flows"])
    likely = setup + max(least, budget if restless else min(_sampling_s(case), budget))
    return VisitSeconds(setup, likely, max(setup + budget, likely))


def _scatters(case: Json, flow: Json) -> bool:
    """Return whether most such cases spend all their time because samples scatter: pages migrate, or CPUs move the
    bytes.
    """
    traits = method_traits(case, flow["method"])
    by_cpus = str(flow.get("executor", "")).startswith("numa:") and flow["bytes"] >= _LARGE_BYTES
    return traits.migrates or (by_cpus and not traits.dependent and int(case.get("processes", 1)) == 1)


def tuning_s(cases: Sequence[Json]) -> float:
    """Seconds in which a run finds the launch shapes of its kernels, once for each group of flows that share one."""
    groups = {
        str(flow["tuning_group"]): _TUNING_OF_COLLECTIVE_S if "members" in flow else _TUNING_S
        for case in cases
        for flow in case["flows"]
        if flow.get("tuning_group") and _on_gpus(flow)
    }
    return sum(groups.values())


def modelled_s(cases: int) -> float:
    """Seconds that so many cases of a machine model will roughly take, whatever they model."""
    return _MODELLED_S * cases


def timeout_s(case: Json, options: SamplingOptions) -> float:
    """Silence after which a case is given up: generous, since it only ever ends a hang."""
    return round(30 + 10 * options.point_budget_s + 40 * (setup_s(case) + _repeat_s(case)), 1)


def _sampling_s(case: Json) -> float:
    """Until the interval is narrow, where nothing disturbs."""
    shortest = max(float(case.get("min_sample_s", 0)), _SAMPLE_S)
    return _SAMPLES * max(shortest, _repeat_s(case))


def _repeat_s(case: Json) -> float:
    """The longest of its flows, once; of calls with many messages under way all of these."""
    return max(_once_s(case, flow) for flow in case["flows"])


def _once_s(case: Json, flow: Json) -> float:
    if "schedule" in flow:
        return transfer_s(flow["schedule"], _rate_gbps(case, flow))
    return _moving_s(case, flow, flow["bytes"] * _messages(flow))


def _messages(flow: Json) -> int:
    parameters = flow.get("parameters", {})
    ways = {"window": 1, "both-ways": 2}.get(str(parameters.get("call")), 0)
    return ways * int(parameters.get("window", _WINDOW)) if ways else 1


def _point_budget_s(case: Json, options: SamplingOptions) -> float:
    most = _most_s(case, options)
    return most if options.needs is None else _share_s(most, options.needs * _sampling_s(case))


def _most_s(case: Json, options: SamplingOptions) -> float:
    """Return what the case may spend where no budget is shared."""
    own = case.get("point_budget_s")
    return options.point_budget_s if own is None else min(options.point_budget_s, float(own) / options.visits)


def _share_s(most: float, wanted: float) -> float:
    """Return a case's share of a budget, in seconds."""
    return min(most, max(wanted, LEAST_POINT_BUDGET_S))


def setup_s(case: Json) -> float:
    """An estimate of filling and checking: the whole allocation, of which a region may be a small part."""
    together = _TOGETHER_S * (int(case.get("processes", 1)) - 1)
    filling = sum(2 * _filling_s(case, flow) + _scatter_s(flow) for flow in case["flows"])
    return _START_S + together + filling


def _scatter_s(flow: Json) -> float:
    staged = flow.get("parameters", {}).get("peer_access") == "off"
    return 0.0 if _on_gpus(flow) and not staged else _HOST_START_S


def _on_gpus(flow: Json) -> bool:
    return all(end["device"].startswith("gpu:") for end in ends_of(flow))


def _filling_s(case: Json, flow: Json) -> float:
    """Return the seconds that filling takes: GPUs fill their memory at the same time, members on a host share one
    memory.
    """
    traits = method_traits(case, flow["method"])
    if "schedule" in flow:
        return _schedule_filling_s(flow)
    if traits.cpu_fill_gbps and str(flow.get("executor", "")).startswith("numa:"):
        return int(flow["bytes"]) / (traits.cpu_fill_gbps * 1e9)
    if not traits.fill_gbps and "members" not in flow:
        return _moving_s(case, flow, _footprint(flow))
    at_once = len(flow.get("members", ())) if not _on_gpus(flow) else 1
    host = traits.fill_gbps or _HOST_GBPS
    return max(at_once, 1) * int(flow["bytes"]) / ((_GPU_GBPS if _on_gpus(flow) else host) * 1e9)


def _schedule_filling_s(flow: Json) -> float:
    """Return the seconds that filling fields or particles takes, as ``_filling_s``."""
    ends = flow.get("state") or flow["members"]
    gpus = {end["device"] for end in ends if end["device"].startswith("gpu:")}
    return state_bytes(flow["schedule"]) / ((_GPU_GBPS * len(gpus) if gpus else _HOST_GBPS) * 1e9)


def _footprint(flow: Json) -> int:
    """Bytes of the memory that holds the flow's region, or those it moves."""
    inside = flow.get("parameters", {}).get("in")
    return max(int(flow["bytes"]), region_bytes(inside) if inside else 0)


def _moving_s(case: Json, flow: Json, size: int) -> float:
    return size / (_rate_gbps(case, flow) * 1e9)


def _rate_gbps(case: Json, flow: Json) -> float:
    traits = method_traits(case, flow["method"])
    if _on_gpus(flow):
        return traits.gpu_gbps or (_COLLECTIVE_GBPS if "members" in flow else _GPU_GBPS)
    return traits.host_gbps or _HOST_GBPS
