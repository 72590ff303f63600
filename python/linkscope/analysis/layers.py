"""Layers: what PyTorch adds to the copy, message or collective that it calls, and MPI to copies by shared memory,
measured in the same run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.analysis.size_ranges import Cost
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.results.row import Row

Json = dict[str, Any]

_PLAIN = {
    "form": "eager",
    "recorded": 1,
    "call": "send",
    "staging": "none",
    "type": "float32",
    "non_blocking": "yes",
    "in_place": "no",
}
"""Parameters as they are where a flow names none: only flows alike in all of them are set against one another."""
_LAUNCHES_INSIDE = "not held back"
"""Begins the note of a row by the device's clock that holds launches."""
_HUGE_PAGES = "in transparent huge pages"
"""In the note of a row whose memory the system gave such pages."""
_LAYER_ALONE = ("backend", "non_blocking", "launch")
"""Parameters that one of the two interfaces alone has, and that make neither's work another."""


@dataclass(frozen=True)
class Added:
    """At one size: seconds by either way, and between what bounds lies what the layer adds, by the two 95 % intervals.
    ``clear``: the two are told apart, as `linkscope choose` tells ways apart."""

    bytes: int
    layer_s: float
    raw_s: float
    low_s: float
    high_s: float
    clear: bool

    @property
    def added_s(self) -> float:
        """Below zero where the layer's way was the faster."""
        return self.layer_s - self.raw_s

    @property
    def ratio(self) -> float:
        """2.0 where the layer doubles the time."""
        return self.layer_s / self.raw_s


@dataclass(frozen=True)
class Layer:
    """A method beside the one that is below it, on the same devices, by the same clock; ``points`` ascend in size."""

    method: str
    raw: str
    what: str
    clock: str
    modelled: bool
    points: tuple[Added, ...]

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        points = [{**asdict(p), "added_s": p.added_s, "ratio": p.ratio} for p in self.points]
        return {**asdict(self), "points": points}


def layers(rows: Iterable[Row]) -> tuple[Layer, ...]:
    """Of a run's ok rows, in order of appearance; empty where none has its raw counterpart."""
    single = [row for row in rows if row.status == "ok" and len(row.case["flows"]) == 1]
    raw: dict[str, Row] = {}
    for row in single:
        raw.setdefault(_likeness(row, row.case["flows"][0]["method"]), row)
    found: dict[tuple[str, str, str, str], dict[int, Added]] = {}
    modelled: dict[tuple[str, str, str, str], bool] = {}
    for row in single:
        flow = row.case["flows"][0]
        called = method_traits(row.case, flow["method"]).calls
        other = raw.get(_likeness(row, called)) if called else None
        if other is None or not _comparable(row, other) or not _took_time(row, other):
            continue
        key = (flow["method"], called, _where(flow), row.case["clock"])
        found.setdefault(key, {}).setdefault(flow["bytes"], _added(flow["bytes"], row, other))
        modelled[key] = row.modelled or other.modelled
    return tuple(
        Layer(*key, modelled[key], tuple(points[size] for size in sorted(points))) for key, points in found.items()
    )


def _added(size: int, layer: Row, raw: Row) -> Added:
    """The bounds of the difference are those of the ratio, and no further than the two intervals' ends."""
    above, below = Cost.of_row(layer), Cost.of_row(raw)
    low, high = (below.median * (math.exp(bound) - 1) for bound in above.over(below)[1:])
    clear = above.dearer_than(below) or below.dearer_than(above)
    ends = max(low, above.low - below.high), min(high, above.high - below.low)
    return Added(size, above.median, below.median, *ends, clear)


def _took_time(*rows: Row) -> bool:
    """Whether the clock could tell how long each took."""
    return all(row.flows[0].seconds.median > 0 for row in rows)


def _likeness(row: Row, method: str) -> str:
    """What a row and its counterpart by ``method`` have in common, in one string."""
    flow = row.case["flows"][0]
    parameters = {**_PLAIN, **flow.get("parameters", {})}
    shared = sorted((name, str(text)) for name, text in parameters.items() if name not in _LAYER_ALONE)
    case = row.case
    regime = (case["clock"], case.get("cache"), case.get("processes", 1), sorted(row.environment.items()), row.hosts)
    return repr((method, flow["bytes"], _ends(case, flow), regime, shared))


def _comparable(layer: Row, raw: Row) -> bool:
    """Whether the one can have called the other: by the same MPI, as far as both say by which, and both until arrival,
    which by the host's clock a message of ``xccl`` does not wait for; and whether both hold launches, or neither, and
    lie in huge pages, or neither.
    """
    for told in (_LAUNCHES_INSIDE, _HUGE_PAGES):
        if len({any(told in note for note in row.notes) for row in (layer, raw)}) > 1:
            return False
    said = [set(row.libraries) for row in (layer, raw)]
    above, below = (method_traits(row.case, row.case["flows"][0]["method"]) for row in (layer, raw))
    if above.by_mpi and all(said) and said[0] != said[1]:
        return False
    return not (above.answered and not below.answered and layer.case["clock"] == "host")


def _ends(case: Json, flow: Json) -> list[tuple[str, str, int]]:
    """Ordinary pages are as fast whoever may map them."""
    ends = [*(flow[end] for end in ("source", "destination") if end in flow), *flow.get("members", ())]

    def memory_of(end: Json) -> str:
        return "ordinary" if memory_traits(case, end["memory"]).ordinary else str(end["memory"])

    return [(end["device"], memory_of(end), int(end.get("rank", 0))) for end in ends]


def _where(flow: Json) -> str:
    """Such as "gpu:0 > gpu:1", "all-reduce of 4, in place, graph of 20"."""
    parameters = {**_PLAIN, **flow.get("parameters", {})}
    form = f", graph of {parameters['recorded']}" if parameters["form"] == "graph" else ""
    if "members" in flow:
        place = ", in place" if parameters["in_place"] == "yes" else ""
        return f"{parameters.get('collective', 'all-reduce')} of {len(flow['members'])}{place}{form}"
    call = f", {parameters['call']}" if parameters["call"] != "send" else ""
    return " > ".join(flow[end]["device"] for end in ("source", "destination") if end in flow) + call + form
