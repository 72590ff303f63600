"""Problems: slow results grouped by what they have in common, each group with where it is and its likely cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

import polars

from linkscope.answers.answer import Outcome
from linkscope.answers.causes import Line, RunSurroundings, causes, gpus_of, no_peer_access
from linkscope.answers.expectation import missing
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.machine.nominal import NVSWITCH
from linkscope.machine.paths import Traffic
from linkscope.messages.finding import Finding, error, note
from linkscope.results.row import Row

Arrow = Literal["<->", "->", "<-", ""]
_LOCATED = 0.8
"""Share of a GPU's paths that must be slow for the GPU to be the place."""
_EVERYWHERE = 0.95
"""Share of all paths of a kind from which no single GPU is the place."""
_WHOLE = 0.2
"""Greatest distance of the missing links from a whole number."""
_HALVED = 0.06
"""Greatest distance from a half, a quarter or an eighth of a PCIe link that is explained by its width."""
_CROWDED = 0.7
"""Share of what the least hindered GPU keeps: recorded and modelled nodes keep alike within 4%."""


@dataclass(frozen=True)
class Slowdown:
    """One thing that makes results slow.

    ``cause``: an error; its message says whether it is certain, likely or unknown. Its ``where`` are devices, or one
    path such as "gpu:0>gpu:1", to which ``kinds`` of paths are slow, in the direction of ``arrow``. ``lines``: the slow
    results. ``cost``: the median share by which they are below what is expected or, where ``late``, longer.
    ``at_once``: only flows at once show it.
    """

    cause: Finding
    lines: tuple[Line, ...]
    cost: float
    kinds: tuple[str, ...]
    arrow: Arrow = "<->"
    at_once: bool = False
    evidence: tuple[Finding, ...] = ()

    @property
    def where(self) -> tuple[str, ...]:
        """Return the devices or the path."""
        return self.cause.where

    @property
    def late(self) -> bool:
        """Return whether latencies alone are slow."""
        return bool(self.lines) and _late(self.lines)


def problems(around: RunSurroundings) -> list[Slowdown]:
    """Return what is wrong, the gravest first; what only flows at once show comes after what a path alone shows."""
    checked = [line for line in around.checked if line["kind"] != "collective"]
    left = [line for line in checked if line["outcome"] == Outcome.FAILS.value]
    found = list(_known(around, left))
    left = _without(left, [line for one in found for line in one.lines])
    found += _slow_methods(_open(checked, left))
    left = _without(left, [line for one in found for line in one.lines])
    for rates in (True, False):
        for kind in ("peer", "host", "local"):
            alike = [line for line in checked if line["kind"] == kind and (line["unit"] == RATE) == rates]
            keys = {line["key"] for line in alike}
            still = [line for line in left if line["key"] in keys and not _is_told(line, found)]
            found += _unknown(around, kind, still, _open(alike, left))
    found += _crowds(around.run, checked)
    found += _unreachable(around, found)
    found += _slow_collectives(around, found)
    return sorted(found, key=lambda one: (one.at_once, -one.cost))


def _known(around: RunSurroundings, slow: Sequence[Line]) -> Iterator[Slowdown]:
    """Yield the causes that something besides the results shows, those of several GPUs that are equal as one.

    The GPU with most slow results comes first: the results that others share with it are put down to it. A GPU with an
    equal cause and the same results is named beside it. A GPU whose own paths are as they should be explains nothing if
    each of its slow results involves a GPU whose own paths are slow.
    """
    alone = {gpu: [line for line in around.checked if line["gpus"] == [gpu]] for gpu in around.gpus}
    disturbed = {gpu for gpu, lines in alone.items() if any(map(_fails, lines))}
    groups: dict[str, list[tuple[Finding, list[Line]]]] = {}
    left = {line["key"] for line in slow}
    for gpu in sorted(around.gpus, key=lambda name: -sum(name in line["gpus"] for line in slow)):
        for cause, explains in causes(around, gpu):
            touched = [line for line in slow if gpu in line["gpus"] and explains(line)]
            unharmed = gpu not in disturbed and any(map(explains, alone[gpu]))
            if not touched or (unharmed and all(disturbed & {*line["gpus"]} for line in touched)):
                continue
            equal = groups.setdefault(repr((cause.code, cause.facts)), [])
            explained = [line for line in touched if line["key"] in left]
            if explained or any(lines == touched for _, lines in equal):
                equal.append((cause, explained))
                left -= {line["key"] for line in explained}
    for sharing in filter(None, groups.values()):
        named = {gpu for cause, _ in sharing for gpu in cause.where}
        lines = [line for _, explained in sharing for line in explained]
        yield _problem([gpu for gpu in around.gpus if gpu in named], sharing[0][0], lines)


def _slow_methods(lines: Sequence[Line]) -> Iterator[Slowdown]:
    """Yield each method that is slow wherever it was checked, on paths where another is not."""
    of_methods: dict[str, list[Line]] = {}
    for line in lines:
        if line["outcome"] and line["unit"] == RATE:
            of_methods.setdefault(line["method"], []).append(line)
    slow = {
        name
        for name, some in of_methods.items()
        if len({line["kind"] for line in some}) > 1 and sum(map(_fails, some)) >= _EVERYWHERE * len(some)
    }
    others = (line for name, some in of_methods.items() if name not in slow for line in some)
    fine = {tuple(line["gpus"]) for line in others if not _fails(line)}
    for name, some in of_methods.items():
        if name in slow and all(tuple(line["gpus"]) in fine for line in some):
            hit = [line for line in some if _fails(line)]
            yield _problem(_gpus(hit), error("explain.slow-method", method=name), hit)


def _is_told(line: Line, found: Iterable[Slowdown]) -> bool:
    """Return whether it is a latency of a place where transfers are slow: the one problem is enough."""
    return line["unit"] != RATE and any(
        line["kind"] in one.kinds and set(line["gpus"]) & set(gpus_of(one.where)) for one in found if not one.late
    )


def _unknown(around: RunSurroundings, kind: str, slow: Sequence[Line], lines: Sequence[Line]) -> list[Slowdown]:
    """Return the places of results that no state explains: everywhere, else GPUs, else path by path."""
    if not slow:
        return []
    gpus = _gpus(lines)
    if len(gpus) > 2 and len(slow) >= _EVERYWHERE * len(lines):
        return [_problem(tuple(gpus), _likely_pcie(slow) or error("explain.unknown-everywhere"), slow)]
    if kind == "peer":
        return _unknown_peers(around, slow, lines)
    of_gpus = [(gpu, [line for line in slow if gpu in line["gpus"]]) for gpu in _gpus(slow)]
    return [_problem((gpu,), _likely_pcie(mine) or error("explain.unknown"), mine) for gpu, mine in of_gpus]


def _unknown_peers(around: RunSurroundings, slow: Sequence[Line], lines: Sequence[Line]) -> list[Slowdown]:
    """Return GPUs of which most paths are slow, the worst first, then what is left path by path.

    Transfers one way find the place; those both ways are put down to the first place that they touch.
    """
    alone = [line for line in lines if not _both(line)]
    seen = alone if any(map(_fails, alone)) else list(lines)
    keys = {line["key"] for line in seen}
    left, found = list(slow), list[Slowdown]()
    while place := _place([line for line in left if line["key"] in keys], _open(seen, left)):
        gpu, arrow = place
        hit = [line for line in left if _touches(line, gpu, arrow) or (_both(line) and gpu in line["gpus"])]
        found.append(_problem((gpu,), _likely_links(hit) or error("explain.unknown"), hit, arrow))
        left = _without(left, hit)
    while left:
        pairs = list(dict.fromkeys(_ends(line) for line in left if line["key"] in keys))
        pair = pairs[0] if pairs else _ends(left[0])
        back = pair[::-1] in pairs
        hit = [line for line in left if set(line["gpus"]) == set(pair) and (back or _both(line) or _ends(line) == pair)]
        # A link to a GPU switch that is down slows more than one pair.
        direct = len(_gpus(lines)) == 2 or not set(pair) & _switched(around)
        cause = (_likely_links(hit) if direct else None) or _likely_pcie(hit) or error("explain.unknown")
        found.append(_problem((("<>" if back else ">").join(pair),), cause, hit, ""))
        left = _without(left, hit)
    return found


def _switched(around: RunSurroundings) -> set[str]:
    return {end for link in around.run.node.links if NVSWITCH in (link.a, link.b) for end in (link.a, link.b)}


def _place(slow: Sequence[Line], lines: Sequence[Line]) -> tuple[str, Arrow] | None:
    """Return a GPU with slow paths to several others, and in which direction."""
    arrows: tuple[Arrow, ...] = ("<->", "->", "<-")
    for gpu in sorted(_gpus(slow), key=lambda name: -sum(name in line["gpus"] for line in slow)):
        for arrow in arrows:
            mine = [line for line in lines if _touches(line, gpu, arrow)]
            hit = [line for line in slow if _touches(line, gpu, arrow)]
            if len({frozenset(line["gpus"]) for line in hit}) > 1 and len(hit) >= _LOCATED * len(mine):
                return gpu, arrow
    return None


def _touches(line: Line, gpu: str, arrow: Arrow) -> bool:
    if arrow == "<->":
        return gpu in line["gpus"]
    return not _both(line) and _ends(line)[0 if arrow == "->" else 1] == gpu


def _likely_links(slow: Sequence[Line]) -> Finding | None:
    """Return the links of a bundle that would explain what is missing: all methods lose the same whole number of
    them; None where they do not."""
    alone = [line for line in slow if not _both(line)] or slow
    losses = [
        median(missing(line) for line in alone if line["method"] == name) for name in {one["method"] for one in alone}
    ]
    bundles = {(line["lanes"], line["link"]) for line in slow if line["kind"] == "peer" and line["unit"] == RATE}
    built, link = bundles.pop() if len(bundles) == 1 else (None, "")
    if not built or built < 2 or link.startswith("pcie") or _late(slow):
        return None
    down = [share * built for share in losses]
    whole = round(down[0])
    if not 0 < whole < built or any(abs(one - whole) >= _WHOLE * max(1, whole) for one in down):
        return None
    return error("explain.likely-links-down", down=whole, built=built, link=link)


def _likely_pcie(slow: Sequence[Line]) -> Finding | None:
    """Return the width of PCIe that would explain a half, a quarter or an eighth of the rate; None for other rates."""
    alone = [line for line in slow if not _both(line)] or slow
    if _late(slow) or any(not str(line["link"]).startswith("pcie") for line in slow):
        return None
    lanes = {line["lanes"] for line in slow}
    built = lanes.pop() if len(lanes) == 1 else None
    for halvings in (1, 2, 3):
        if built and all(abs(line["ratio"] * 2**halvings - 1) < _HALVED * halvings for line in alone):
            return error("explain.likely-pcie", lanes=built >> halvings, built=built, generations=halvings)
    return None


def _crowds(run: Run, checked: Iterable[Line]) -> list[Slowdown]:
    """Return GPUs that slow one another down on the way to the host more than other GPUs of the same case do: one
    problem for each set of GPUs, of the case that shows it best.

    Cases have one flow for each GPU, all one way. GPUs that are slow alone are left out, unless all are.
    """
    alone = {
        (line["source"], line["destination"], line["method"]): line
        for line in checked
        if line["kind"] == "host" and line["flows"] == 1 and line["line_gbps"]
    }
    several = run.results.filter(
        polars.col("status") == "ok", polars.col("flows") >= 3, polars.col("background") == 0, polars.col("hosts") == ""
    )
    found: dict[tuple[str, ...], Slowdown] = {}
    for name in several["id"].unique(maintain_order=True):
        one = _crowd(run, run.rows[name], alone)
        if one is not None and (one.where not in found or found[one.where].cost < one.cost):
            found[one.where] = one
    return list(found.values())


def _crowd(run: Run, row: Row, alone: Mapping[tuple[str, str, str], Line]) -> Slowdown | None:
    """Return the GPUs that keep less than ``_CROWDED``, with what the worst loses beyond what the topology and the
    least hindered GPU of the case lose."""
    flows, results = row.case["flows"], [result for _, result in row.measured_flows]
    if len(results) < len(flows):
        return None
    ends = [tuple(flow.get(end, {}).get("device", "") for end in ("source", "destination")) for flow in flows]
    singles = [single for pair, flow in zip(ends, flows, strict=True) if (single := alone.get((*pair, flow["method"])))]
    if len({single["gpus"][0] for single in singles}) < len(flows):
        return None
    together = run.paths.concurrent_peak([Traffic.of(flow) for flow in flows]).flows
    rates: dict[str, tuple[float, float]] = {}
    kept: dict[str, float] = {}
    for single, result, share in zip(singles, results, together, strict=True):
        if result.gbps is None or not single["value"]:
            return None
        if not _fails(single) or all(map(_fails, singles)):
            gpu = single["gpus"][0]
            goal = single["value"] * min(1.0, (share or single["line_gbps"]) / single["line_gbps"])
            rates[gpu], kept[gpu] = (result.gbps.median, goal), result.gbps.high / goal
    best, worst = max(kept, key=lambda gpu: kept[gpu]), min(kept, key=lambda gpu: kept[gpu])
    slow = tuple(gpu for gpu in kept if kept[gpu] < _CROWDED * kept[best])
    if len(slow) < 2:
        return None
    (rate, goal), (other, its_goal) = rates[worst], rates[best]
    facts = {"gpu": worst, "rate": rate, "alone": goal, "other": best, "other_rate": other, "other_alone": its_goal}
    evidence = note("explain.evidence-crowd", test=row.name, **facts)
    cause = replace(error("explain.shared-link"), where=slow, results=(row.id,))
    lost = 1 - kept[worst] / kept[best]
    return Slowdown(cause, (), lost, ("host",), at_once=True, evidence=(evidence,))


def _unreachable(around: RunSurroundings, found: Sequence[Slowdown]) -> list[Slowdown]:
    """Return GPUs on one fabric that cannot reach each other, unless slow copies between them say so already."""
    if any(one.cause.code == "explain.no-peer-access" for one in found):
        return []
    cut = {pair: ids for pair, ids in around.cut.items() if around.on_one_fabric(pair)}
    if not cut:
        return []
    ids = tuple(name for some in cut.values() for name in some)
    return [Slowdown(replace(no_peer_access(list(cut)), results=ids), (), 1.0, ("peer",))]


def _slow_collectives(around: RunSurroundings, found: Sequence[Slowdown]) -> list[Slowdown]:
    """Return one problem for each slow collective and its GPUs, unless slow links of these explain it."""
    slow = {
        gpu for one in found if "peer" in one.kinds and not one.late for place in one.where for gpu in place.split(">")
    }
    links = any(line["kind"] == "peer" and line["outcome"] for line in around.checked)
    groups: dict[tuple[str, ...], list[Line]] = {}
    for line in around.checked:
        if line["kind"] == "collective" and _fails(line) and not {*line["gpus"]} & slow:
            groups.setdefault((line["collective"], *line["gpus"]), []).append(line)
    cause = error("explain.slow-library" if links else "explain.unchecked-links")
    return [_problem(gpus, cause, lines, "") for (_, *gpus), lines in groups.items()]


def _problem(where: Sequence[str], cause: Finding, slow: Sequence[Line], arrow: Arrow = "<->") -> Slowdown:
    rates = [line for line in slow if line["unit"] == RATE] or slow
    one_way = [line for line in rates if not _both(line)] or rates
    ids = tuple(dict.fromkeys(line["id"] for line in slow))
    kinds = tuple(dict.fromkeys(line["kind"] for line in slow))
    cost = median(map(missing, one_way))
    return Slowdown(replace(cause, where=tuple(where), results=ids), tuple(slow), cost, kinds, arrow)


def _ends(line: Line) -> tuple[str, str]:
    """Return where bytes come from and where they go; an answer comes from the memory that is read."""
    source, destination = line["path"].split(">")
    return source, destination


def _fails(line: Line) -> bool:
    return bool(line["outcome"] == Outcome.FAILS.value)


def _both(line: Line) -> bool:
    return bool(line["flows"] == 2)


def _late(slow: Iterable[Line]) -> bool:
    return all(line["unit"] != RATE for line in slow)


def _gpus(lines: Iterable[Line]) -> list[str]:
    return list(dict.fromkeys(gpu for line in lines for gpu in line["gpus"]))


def _without(lines: Iterable[Line], gone: Iterable[Line]) -> list[Line]:
    taken = {line["key"] for line in gone}
    return [line for line in lines if line["key"] not in taken]


def _open(lines: Iterable[Line], left: Iterable[Line]) -> list[Line]:
    """Return the results that are as they should be, or slow and not explained yet."""
    still = {line["key"] for line in left}
    return [line for line in lines if not _fails(line) or line["key"] in still]
