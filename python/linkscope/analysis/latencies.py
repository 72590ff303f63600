"""Latencies: how long a GPU waits for one answer from memory or from another GPU, held against what is known of such
GPUs, else against its siblings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

from linkscope.analysis.conditions import conditions
from linkscope.analysis.headline import headline
from linkscope.analysis.ledger import SIBLINGS
from linkscope.machine.expected import expected_latency
from linkscope.machine.paths import Path, Paths
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.row import Row, Stats

Json = dict[str, Any]

TOLERANCE = 0.15
"""How much later healthy siblings may answer: recorded nodes show up to 11 % (flags between GPUs, relaxed order)."""
_QUICK = 0.25
"""Rank of the sibling that others are held against: one slow GPU of four slows half of all pairs."""


@dataclass(frozen=True, eq=False)
class JudgedLatency:
    """One latency, equal to itself only, in ns. ``source``: whose memory answers; ``destination``: who waits.

    ``expected_ns``: published for such a path, else what quick siblings need, else None; ``held_against``: which of
    them. ``short``: it is later than that by more than its interval, the node's noise and the tolerance. ``kind``,
    ``link``, ``conditions``: as in a ledger.
    """

    id: str
    suite_row: str
    source: str
    destination: str
    kind: str
    method: str
    bytes: int
    link: str
    measured: Stats
    noise: float
    modelled: bool
    conditions: dict[str, str]
    expected_ns: float | None = None
    held_against: str = ""
    short: bool = False
    both: bool = False
    lanes: None = None

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs at its ends, each once."""
        return tuple(dict.fromkeys((self.source, self.destination)))

    @property
    def missing(self) -> float:
        """By what share it is longer than expected; 0 where nothing is expected."""
        return self.measured.median / self.expected_ns - 1 if self.expected_ns else 0.0

    @property
    def told(self) -> str:
        """Measured and expected, with the interval."""
        value = self.measured
        return f"{value.median:.0f} instead of {self.expected_ns:.0f} ns (95 %: {value.low:.0f} to {value.high:.0f})"

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {**asdict(self), "missing": self.missing}


def latencies(rows: Iterable[Row], paths: Paths) -> list[JudgedLatency]:
    """Of every row (taken apart) in which a GPU waits for its own or another GPU's memory, nothing else running.

    What waits for the host has none: the host's load sets it, and one run cannot tell.
    """
    families: dict[tuple[Any, ...], list[JudgedLatency]] = {}
    for row in rows:
        found = _of(row, paths)
        if found is not None:
            one, path = found
            families.setdefault(_family(row, one, path), []).append(one)
    return [_judged(one, quick) for family in families.values() for quick in [_quick(family)] for one in family]


def _of(row: Row, paths: Paths) -> tuple[JudgedLatency, Path] | None:
    figure, flows = headline(row), row.case["flows"]
    flow = flows[0]
    if figure is None or figure.higher_is_better or len(flows) > 1 or row.between or "source" not in flow:
        return None
    if figure_class(row.case) not in (FigureClass.GPU_LARGE, FigureClass.GPU):
        return None
    ends = [flow[end] for end in ("source", "destination") if end in flow]
    moves = any(memory_traits(row.case, end["memory"]).migrates for end in ends)
    if moves or not method_traits(row.case, flow["method"]).dependent:
        return None
    source, waits = flow["source"]["device"], flow.get("destination", {}).get("device", flow["executor"])
    try:
        path = paths.between(source, waits)
    except KeyError:
        return None
    if path is None:
        return None
    kind, link = ("local", "memory") if source == waits else ("peer", paths.links[path.route[0]].link.kind)
    value = figure.in_unit("ns").value
    size = flow["bytes"]
    found = JudgedLatency(
        *(row.id, row.name, source, waits, kind, flow["method"], size, link, value, row.noise, row.modelled),
        conditions(row),
    )
    known = expected_latency(paths.node.device(waits).name, link, _asked(row))
    if known is not None and path.widest_hops <= 1:
        found = replace(found, expected_ns=known.ns, held_against=known.source, short=_late(found, known.ns))
    return found, path


def _asked(row: Row) -> Json:
    """What a published latency is of."""
    flow = row.case["flows"][0]
    return {
        **{"method": flow["method"], "bytes": flow["bytes"], "parameters": flow.get("parameters") or {}},
        **{"cache": row.case.get("cache"), "memory": flow["source"].get("memory"), "load": row.load},
    }


def _family(row: Row, one: JudgedLatency, path: Path) -> tuple[Any, ...]:
    """What siblings share: everything but which devices of one model they connect."""
    flow = row.case["flows"][0]
    memories = tuple(flow[end].get("memory") for end in ("source", "destination") if end in flow)
    fixed = (row.suite, row.name, one.kind, one.method, flow["bytes"], path.tier)
    kept = (str(flow.get("parameters")), str(sorted(row.environment.items())), row.load, str(row.case.get("cache")))
    return (*fixed, path.widest_hops, len(path.route), memories, *kept)


def _quick(family: Sequence[JudgedLatency]) -> float | None:
    """The latency that all of a family are held against, in ns; None where there is but one."""
    if len(family) < 2:
        return None
    ranked = sorted(sibling.measured.median for sibling in family)
    return ranked[0] if len(ranked) < 4 else ranked[ceil(_QUICK * (len(ranked) - 1))]


def _judged(one: JudgedLatency, quick: float | None) -> JudgedLatency:
    """Held against its siblings, too; that expectation counts where none is published or theirs is the shorter."""
    if quick is None:
        return one
    late = _late(one, quick)
    if one.expected_ns is not None and (one.short or not late):
        return one
    return replace(one, expected_ns=quick, held_against=SIBLINGS, short=late)


def _late(one: JudgedLatency, expected_ns: float) -> bool:
    surely = min(one.measured.low, one.measured.median * (1 - one.noise))
    return surely > expected_ns * (1 + TOLERANCE)
