"""Ledger: from a path's line rate, loss by loss, to what it should reach here, and what it reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

from linkscope.analysis.conditions import conditions
from linkscope.analysis.headline import headline
from linkscope.machine.expected import Expected, expected
from linkscope.machine.paths import Path, Paths
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.row import Row, Stats

Json = dict[str, Any]

SATURATED = 256 << 20
"""Bytes from which a figure is judged; smaller transfers are slow by design."""
SIBLING_TOLERANCE = {"peer": 0.03, "host": 0.05, "local": 0.04}
"""How far healthy siblings on one node may be apart: three times what recorded nodes show, and below one NVLink of 18
(5.6 %)."""
NVSWITCH = "switch:nvswitch"
SIZE = "size"
"""The step of what transfers lose for not being larger."""
SIBLINGS = "its best siblings in this run"
BEST = {"peer": 0.9, "host": 0.5, "local": 0.5}
"""Rank of the sibling that others are held against: one slow GPU of four slows half of all pairs, but one host path of
four. Not the very best, which is the luckiest, or no sibling at all (a GPU that is nearer than the topology says)."""


@dataclass(frozen=True)
class Step:
    """What is left in GB/s after a loss, and who says so."""

    what: str
    gbps: float
    source: str


@dataclass(frozen=True, eq=False)
class Ledger:
    """One figure's account, equal to itself only.

    ``kind``: peer, host or local; ``way`` as in machines/expected/links.yaml.
    ``line_gbps``: of all directions together, the links as they were built (None: not known). ``expected_gbps``:
    published for such a path, else what its best sibling reaches, else None. ``short``: the figure is below that by
    more than its interval, the node's noise and ``tolerance``. ``conditions``: what else its case says, by name.
    """

    id: str
    suite_row: str
    source: str
    destination: str
    kind: str
    way: str
    method: str
    bytes: int
    link: str
    lanes: int | None
    measured: Stats
    noise: float
    line_gbps: float | None
    steps: tuple[Step, ...]
    expected_gbps: float | None
    held_against: str
    tolerance: float
    short: bool
    modelled: bool
    conditions: dict[str, str]

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs at its ends, each once."""
        return tuple(dict.fromkeys(end for end in (self.source, self.destination) if end.startswith("gpu:")))

    @property
    def both(self) -> bool:
        """Whether it is of both directions at once."""
        return self.way.endswith("+both")

    @property
    def missing(self) -> float:
        """Share of the expectation that is not there; 0 where nothing is expected."""
        return 1 - self.measured.median / self.expected_gbps if self.expected_gbps else 0.0

    @property
    def may_miss(self) -> float:
        """The same by the lower end of its interval."""
        return 1 - self.measured.low / self.expected_gbps if self.expected_gbps else 0.0

    @property
    def told(self) -> str:
        """Measured and expected, with the interval, and below what it is short."""
        value, expected = self.measured, self.expected_gbps or 0.0
        limit = expected * (1 - self.tolerance)
        interval = f"95 %: {value.low:.1f} to {value.high:.1f}; short below {limit:.1f}"
        return f"{value.median:.1f} of {expected:.1f} GB/s ({interval})"

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {**asdict(self), "missing": self.missing}


def ledgers(rows: Iterable[Row], paths: Paths) -> list[Ledger]:
    """Of every row with one figure of large transfers along one path, alone or both ways; others have none.

    Sustained or simultaneous flows, pageable and migrating memory, small sizes and figures of several processes are
    slow by design, by how much nobody can say in advance.
    """
    families: dict[tuple[Any, ...], list[Ledger]] = {}
    for row in rows:
        found = _of(row, paths)
        if found is not None:
            families.setdefault(_family(row, found), []).append(found)
    return [_judged(one, best) for family in families.values() for best in [_best(family)] for one in family]


def designed_lanes(paths: Paths, path: Path) -> tuple[float | None, int | None, str]:
    """Line rate, lanes and kind of the narrowest link of a path, as it was built.

    A link to a GPU switch has as many lanes as the best of its kind on the node: whether all have fewer than the model
    could have is a choice of the builder's (12 of 18 on some clouds), one that differs is not.
    """
    best: tuple[float | None, int | None, str] = (None, None, "")
    for name in path.route:
        link = paths.links[name].link
        gbps, lanes = link.peak_gbps, link.lanes
        if NVSWITCH in (link.a, link.b) and gbps and lanes:
            alike = (one for one in paths.node.links if one.kind == link.kind and NVSWITCH in (one.a, one.b))
            most = max(one.lanes or 0 for one in alike)
            gbps, lanes = gbps * most / lanes, most
        if gbps is not None and (best[0] is None or gbps < best[0]):
            best = (gbps, lanes, link.kind)
    return best


def _of(row: Row, paths: Paths) -> Ledger | None:
    figure = headline(row)
    flows = row.case["flows"]
    flow = flows[0]
    both = len(flows) == 2 and str(row.labels.get("figure")) == "sum" and _opposite(*flows)
    alone = len(flows) == 1 and str(row.labels.get("figure", "first")) == "first"
    if figure is None or not figure.higher_is_better or not (alone or both) or row.between:
        return None
    if flow.get("bytes", 0) < SATURATED or "source" not in flow or "destination" not in flow or "members" in flow:
        return None
    if figure_class(row.case) not in (FigureClass.GPU_LARGE, FigureClass.GPU, FigureClass.PINNED):
        return None
    source, destination = flow["source"]["device"], flow["destination"]["device"]
    try:
        path = paths.between(source, destination)
    except KeyError:
        return None
    if path is None:
        return None
    kind, way = _way(source, destination, flow["executor"])
    way += "+both" if both else ""
    return _account(row, figure.value, paths, path, kind, way)


def _opposite(there: Json, back: Json) -> bool:
    return bool(there.get("source") == back.get("destination") and there.get("destination") == back.get("source"))


def _way(source: str, destination: str, executor: str) -> tuple[str, str]:
    if source == destination:
        return "local", "local"
    if source.startswith("gpu:") and destination.startswith("gpu:"):
        return "peer", "peer-write" if executor == source else "peer-read"
    return "host", "host-to-gpu" if destination.startswith("gpu:") else "gpu-to-host"


def _account(row: Row, measured: Stats, paths: Paths, path: Path, kind: str, way: str) -> Ledger:
    flow = row.case["flows"][0]
    line, lanes, link = designed_lanes(paths, path)
    if kind == "local":
        line, link = (path.peak_gbps / 2 if path.peak_gbps else None), "memory"
    gpu = next((end for end in (path.source, path.destination) if end.startswith("gpu:")), path.source)
    plain = path.widest_hops <= 1 and not flow.get("parameters")
    known = expected(paths.node.device(gpu).name, link, way, flow["method"]) if plain else None
    directions = 2 if way.endswith("+both") else 1
    steps = _steps(line, directions, known, flow, link, lanes) if line is not None else ()
    goal = steps[-1].gbps if known and steps else None
    return Ledger(
        id=row.id,
        suite_row=row.name,
        source=path.source,
        destination=path.destination,
        kind=kind,
        way=way,
        method=flow["method"],
        bytes=flow["bytes"],
        link=link,
        lanes=lanes,
        measured=measured,
        noise=row.noise,
        line_gbps=line * directions if line is not None else None,
        steps=steps,
        expected_gbps=goal,
        held_against=known.source if known and goal is not None else "",
        tolerance=known.tolerance if known and goal is not None else SIBLING_TOLERANCE[kind],
        short=known is not None and goal is not None and is_short(measured, row.noise, goal, known.tolerance),
        modelled=row.modelled,
        conditions=conditions(row),
    )


def _steps(
    line: float, directions: int, known: Expected | None, flow: Json, link: str, lanes: int | None
) -> tuple[Step, ...]:
    of = f"{lanes} lanes of {link}" if lanes else link
    steps = [Step("line rate" if directions == 1 else "line rate, both directions", line * directions, of)]
    if known is None:
        return tuple(steps)
    gbps = line * known.share
    losses = "packets" if directions == 1 else "packets, both at once"
    what = losses if link != "memory" else "what copies reach"
    steps.append(Step(f"{what}, {flow['method']}", gbps * directions, known.source))
    if known.ceiling_gbps is not None and known.ceiling_gbps < gbps:
        gbps = known.ceiling_gbps
        steps.append(Step(f"ceiling of the {flow['method']}", gbps * directions, known.source))
    sized = gbps * directions * flow["bytes"] / (flow["bytes"] + known.half_bytes)
    if known.half_bytes:
        steps.append(Step(SIZE, sized, "rate halves at the size given there"))
    return tuple(steps)


def is_short(measured: Stats, noise: float, goal: float, tolerance: float) -> bool:
    """Whether all of its interval, and its median widened by the noise, are below ``goal`` by more than that."""
    return max(measured.high, measured.median * (1 + noise)) < goal * (1 - tolerance)


def _family(row: Row, one: Ledger) -> tuple[Any, ...]:
    """What siblings share: everything but which devices of one model they connect."""
    flow = row.case["flows"][0]
    memories = tuple(_memory(flow[end]) for end in ("source", "destination"))
    fixed = (
        row.suite,
        row.name,
        one.kind,
        one.way,
        one.method,
        one.bytes,
        one.link,
        one.line_gbps,
        one.lanes,
        memories,
    )
    kept = (str(flow.get("parameters")), str(sorted(row.environment.items())), row.load, str(row.case.get("cache")))
    return (*fixed, *kept, str(row.labels.get("series")) if row.labels.get("show") == "curve" else "")


def _memory(end: dict[str, Any]) -> tuple[str, str]:
    """Its kind, and the kind of device that touched it first: on an APU that alone makes a factor of two."""
    return end.get("memory", ""), end.get("first_touch", "").partition(":")[0]


def _best(family: Sequence[Ledger]) -> Ledger | None:
    """The sibling that all of a family are held against; None where there is but one."""
    if len(family) < 2:
        return None
    ranked = sorted(family, key=lambda sibling: sibling.measured.low)
    return ranked[-1] if len(ranked) < 4 else ranked[ceil(BEST[ranked[0].kind] * (len(ranked) - 1))]


def _judged(one: Ledger, best: Ledger | None) -> Ledger:
    """Held against its siblings, too; that expectation counts where none is published or theirs is the higher."""
    if best is None:
        return one
    short = is_short(one.measured, one.noise, best.measured.low, SIBLING_TOLERANCE[one.kind])
    if one.expected_gbps is not None and not (short and not one.short):
        return one
    if one.expected_gbps is None:
        steps = (*one.steps, Step("best siblings", best.measured.median, SIBLINGS))
        return replace(
            one, steps=steps, expected_gbps=best.measured.median, held_against=SIBLINGS, short=one.short or short
        )
    tolerance = SIBLING_TOLERANCE[one.kind]
    return replace(one, expected_gbps=best.measured.median, held_against=SIBLINGS, tolerance=tolerance, short=True)
