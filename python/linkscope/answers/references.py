"""References: what healthy paths and collectives of a run's devices are known to reach, result by result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import polars

from linkscope.answers.stand_out import groups_of
from linkscope.figures.columns import PLAIN_COLLECTIVE, RATE, TIME
from linkscope.figures.run import Run
from linkscope.importers.peer_output import WITHOUT_PEER_ACCESS
from linkscope.machine.expected import (
    ExpectedCollective,
    expected,
    expected_collective,
    expected_latency,
    expected_of_any,
)
from linkscope.machine.gpu_models import links_gbps
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.results.note_codes import NVLS_FREE, NVLS_NONE, NVLS_OFF, says

Line = dict[str, Any]

SATURATED = 256 << 20
"""Bytes from which a rate is checked: smaller transfers are slow by design."""
SATURATED_ELSEWHERE = 32 << 20
"""The same of another tool's results, whose sizes are the tool's choice; 0 stands for a size that it does not say."""
ELSEWHERE = 0.08
"""Least tolerance of other tools' healthy results: p2pBandwidthLatencyTest is 6% below nvbandwidth on H100."""
SENT = 4 << 20
"""Bytes from which a message between two GPUs is checked: the largest that OSU sends."""
SENT_SHARE, SENT_TOLERANCE = 0.9, 0.3
"""Least share of a copy's rate that a message reaches: MPICH and Open MPI on two GPUs kept 0.77 to 0.93."""
LEAST_GBPS = 1e-3
"""Line rate below which a topology says nothing."""
_ON_GPUS = ("gpu-large", "gpu", "flag")
SCHEMA: dict[str, Any] = {
    "key": polars.UInt32,
    **dict.fromkeys(("kind", "link", "known_source"), polars.String),
    **dict.fromkeys(("lanes", "hops"), polars.Int64),
    **dict.fromkeys(("line_gbps", "engine_gbps", "known", "known_tolerance"), polars.Float64),
    "gpus": polars.List(polars.String),
    "maybe_faster": polars.Boolean,
}
"""Columns that ``with_references`` adds.

``kind``: peer (two GPUs), host, local (within a GPU) or collective. ``link``, ``lanes``, ``line_gbps``: of the
narrowest link on the path as it was built, all directions together; "memory" within a GPU. ``engine_gbps``: what
packets and the engine's ceiling leave of the line rate. ``known``: what a healthy path reaches, at this size.
``maybe_faster``: what is known is without reductions in the GPU switch (NVLS), which may have been on.
"""


def with_references(run: Run) -> polars.DataFrame:
    """Return the results that could be checked, with the columns of ``SCHEMA``; ``key`` is their place in the frame.

    These are large transfers along one path, alone or both ways, latencies of GPUs to their own or another GPU's
    memory, and a library's collectives. All others depend on more than a path: load, caches, pages, other flows.
    """
    frame = (
        run.results.with_row_index("key")
        .drop("replicate_values", "parts_s", "title", "series", "reason")
        .filter(polars.col("status") == "ok", polars.col("value").is_not_null(), polars.col("hosts") == "")
        .filter(~polars.col("id").is_in(_without_peer_access(run)))
    )
    found = [*_transfers(run, frame), *_latencies(run, frame), *_collectives(run, frame), *_messages(run, frame)]
    return frame.join(polars.DataFrame(found, SCHEMA, orient="row"), on="key", maintain_order="left")


def _without_peer_access(run: Run) -> list[str]:
    """Return the cases that another tool was told to send through the host."""
    moves = ((row.id, row.imported.moves) for row in run.file.rows if row.imported is not None)
    return [name for name, one in moves if isinstance(one, dict) and one.get("varies") == WITHOUT_PEER_ACCESS]


def _otherwise_counted(run: Run) -> set[str]:
    """Return the cases of another tool whose rates are of other bytes than the payload once: no reference is of
    these."""
    moves = ((row.id, row.imported.moves) for row in run.file.rows if row.imported is not None)
    return {name for name, one in moves if isinstance(one, dict) and one.get("counts") != "payload"}


def _without_peers(run: Run, large: polars.DataFrame) -> set[str]:
    """Return another tool's results that no healthy path and no peer is like: one direction while the other is busy,
    and copies between a GPU and the NUMA nodes that it reaches slower than its own, which no tool names."""
    moves = ((row.id, row.imported.moves) for row in run.file.rows if row.imported is not None)
    opposed = {name for name, one in moves if isinstance(one, dict) and one.get("opposed")}
    ends = polars.concat_list("source", "destination")
    host = large.filter(
        polars.col("origin") != "", ends.list.eval(polars.element().str.starts_with("numa:")).list.any()
    )
    gpu, node = (ends.list.eval(polars.element().filter(polars.element().str.starts_with(kind))).list.first()
                 for kind in ("gpu:", "numa:"))  # fmt: skip
    into = polars.col("destination").str.starts_with("gpu:")
    best = host.with_columns(gpu.alias("gpu"), node.alias("node"), into.alias("into")).filter(
        polars.col("gpu").is_not_null()
    )
    by = ("gpu", "into", "flows", "method", "bytes", "row")
    near = polars.col("node").sort_by("value").last().over(by)
    return opposed | set(best.filter(polars.col("node") != near)["id"])


def _across_groups(large: polars.DataFrame) -> set[str]:
    """Return another tool's results between two groups of GPUs, each of which reaches its own faster than all others:
    over PCIe that is how far apart they are built, of which a paste of rates says nothing else."""
    elsewhere = large.filter(
        polars.col("origin") != "", polars.all_horizontal(polars.col("source", "destination").str.starts_with("gpu:"))
    ).filter(polars.col("source") != polars.col("destination"))
    found: set[str] = set()
    for _, some in elsewhere.group_by("row", "method", "flows", "bytes"):
        pairs = list(zip(some["source"], some["destination"], strict=True))
        groups = groups_of(dict(zip(pairs, some["value"], strict=True)))
        group = {gpu: members for members in groups.members for gpu in members} if groups else {}
        ids = zip(some["id"], pairs, strict=True)
        found |= {name for name, (one, other) in ids if group and group[one] != group[other]}
    return found


def _transfers(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield rates of one flow, or of two opposite ones."""
    both = (polars.col("figure") == "sum") & (polars.col("together") == "both") & (polars.col("flows") == 2)
    touched = (polars.col("figure") == "touched") & (polars.col("origin") != "")
    alone = ((polars.col("figure") == "first") | touched) & (polars.col("flows") == 1)
    large = frame.filter(
        both | alone,
        polars.col("unit") == RATE,
        polars.col("background") == 0,
        _large(),
        polars.col("class").is_in([*_ON_GPUS, "pinned", "waited"]),
        polars.all_horizontal(polars.col("source", "destination").is_not_null()),
    )
    other, apart, across = _otherwise_counted(run), _without_peers(run, large), _across_groups(large)
    columns = ("key", "id", "source", "destination", "executor", "method", "bytes", "flows", "parameters", "origin")
    rows = large.select(columns).iter_rows()
    for key, name, source, destination, executor, method, size, directions, parameters, origin in rows:
        way = _way(run, source, destination) if name not in apart else None
        if way is None or (name in across and (way["line_gbps"] is None or way["link"].startswith("pcie"))):
            continue
        gpu = next(iter(way["gpus"]), source)
        plain = way["hops"] <= 1 and (not parameters or bool(origin)) and name not in other
        entry = f"{_entry(way['kind'], source, destination, executor)}{'+both' if directions == 2 else ''}"
        known = _expected(run.node.device(gpu).name, way["link"], entry, method) if plain else None
        line = {**way, "key": key}
        if way["line_gbps"] is not None:
            line["line_gbps"] *= directions
            if known is not None:
                share = min(way["line_gbps"] * known.share, known.ceiling_gbps or float("inf")) * directions
                filled = size / (size + known.half_bytes) if size else 1.0
                line |= {"engine_gbps": share, "known": share * filled}
                tolerance = max(known.tolerance, ELSEWHERE) if origin else known.tolerance
                line |= {"known_tolerance": tolerance, "known_source": known.source}
        yield line


def _large() -> polars.Expr:
    """Return whether a transfer is large enough to be checked."""
    elsewhere = (polars.col("origin") != "") & (
        (polars.col("bytes") >= SATURATED_ELSEWHERE) | (polars.col("bytes") == 0)
    )
    return (polars.col("bytes") >= SATURATED) | elsewhere


def _messages(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield the largest messages that another tool sent between two GPUs of one host; linkscope's own are compared with
    its own copies (`linkscope analyze layers`)."""
    sent = frame.filter(
        polars.col("origin") != "",
        polars.col("unit") == RATE,
        polars.col("processes") > 1,
        polars.col("flows") == 1,
        polars.col("bytes") >= SENT,
        polars.all_horizontal(polars.col("source", "destination").str.starts_with("gpu:")),
        polars.col("source") != polars.col("destination"),
    ).filter(polars.col("bytes") == polars.col("bytes").max().over("row", "way", "path"))
    for key, source, destination in sent.select("key", "source", "destination").iter_rows():
        way = _way(run, source, destination)
        known = way and _of_any(run.node.device(source).name, way["link"], "peer-write")
        if way and known and way["line_gbps"]:
            reached = min(way["line_gbps"] * known.share, known.ceiling_gbps or float("inf"))
            yield {
                **{**way, "key": key, "known": reached * SENT_SHARE},
                **{"known_tolerance": SENT_TOLERANCE, "known_source": known.source},
            }


def _entry(kind: str, source: str, destination: str, executor: str) -> str:
    """Return one direction of the way as machines/expected/links.yaml names it."""
    if kind == "peer":
        return "peer-write" if executor == source else "peer-read"
    if kind == "host":
        return "host-to-gpu" if destination.startswith("gpu:") else "gpu-to-host"
    return "local"


def _latencies(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield what a GPU waits for one answer of its own or another GPU's memory. The host's answers depend on load."""
    waits = frame.filter(
        polars.col("unit") == TIME,
        (polars.col("flows") == 1) & (polars.col("background") == 0),
        polars.col("class").is_in(_ON_GPUS),
        polars.col("source").is_not_null(),
    )
    for key, name in waits.select("key", "id").iter_rows():
        case = run.rows[name].case
        flow = case["flows"][0]
        ends = [flow[end] for end in ("source", "destination") if end in flow]
        moves = any(memory_traits(case, end["memory"]).migrates for end in ends)
        if moves or not method_traits(case, flow["method"]).dependent:
            continue
        source, waiting = flow["source"]["device"], flow.get("destination", {}).get("device", flow["executor"])
        way = _way(run, source, waiting)
        if way is None:
            continue
        line = {**way, "key": key, "line_gbps": None, "lanes": None}
        asked = {
            **{"method": flow["method"], "bytes": flow["bytes"], "parameters": flow.get("parameters") or {}},
            **{"cache": case.get("cache"), "memory": flow["source"].get("memory"), "load": run.rows[name].load},
        }
        near = way["hops"] <= 1
        if near and (known := expected_latency(run.node.device(waiting).name, way["link"], asked)):
            line |= {"known": known.ns * 1e-9, "known_source": known.source}
        yield line


def _collectives(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield bus bandwidths of collectives in plain conditions; what the user set otherwise is no fault."""
    plain = frame.filter(
        polars.col("figure") == "bus",
        ~polars.col("modelled"),
        (polars.col("load") == "once") & (polars.col("environment") == "") & PLAIN_COLLECTIVE,
        ~polars.col("parameters").str.contains(r"\btype=") | polars.col("parameters").str.contains(r"\btype=float32\b"),
    )
    columns = ("key", "id", "members", "method", "collective", "bytes", "notes", "value", "origin")
    for key, name, named, method, collective, size, notes, value, origin in plain.select(columns).iter_rows():
        members, case = named.split(), run.rows[name].case
        on_gpus = all(memory_traits(case, end["memory"]).lies_on == "gpu" for end in case["flows"][0]["members"])
        way = _between_members(run, members) if on_gpus else None
        if way is None or not way["line_gbps"] or way["line_gbps"] < LEAST_GBPS:
            continue
        by_links, by_switch = (
            one if one and size >= one.from_bytes else None
            for one in _of_collective(run, members, way["link"], method, collective)
        )
        off = says(NVLS_OFF, notes) or says(NVLS_NONE, notes)
        free = says(NVLS_FREE, notes) or (not off and _reaches(by_switch, way, value, origin))
        known = by_switch if by_switch and free else by_links
        if known is None:
            continue
        off = off or bool(origin and by_switch is None and not says(NVLS_FREE, notes))
        yield {
            **{**way, "key": key, "kind": "collective", "gpus": members, "known": known.share * way["line_gbps"]},
            **{"known_tolerance": known.tolerance, "known_source": known.source},
            "maybe_faster": known is by_links and not off,
        }


def _reaches(known: ExpectedCollective | None, way: Line, gbps: float, origin: str) -> bool:
    """Return whether another tool's collective, of which nobody says whether it was reduced in the GPU switch, is as
    fast as only such reductions make it."""
    return bool(origin) and known is not None and gbps >= known.share * way["line_gbps"] * (1 - known.tolerance)


def _of_collective(
    run: Run, members: Sequence[str], link: str, method: str, collective: str
) -> Iterator[ExpectedCollective | None]:
    """Yield what is known of a collective without reductions in the GPU switch, then with them."""
    device = run.node.device(members[0]).name
    for nvls in (False, True):
        yield _collective(device, link, method, collective, len(members), nvls)


def copy_gbps(run: Run) -> float | None:
    """Return what a large copy from the first GPU to the second is known to reach; None where nothing is known."""
    gpus = [gpu.id for gpu in run.node.of_kind("gpu")][:2]
    way = _way(run, *gpus) if len(gpus) == 2 else None
    known = _of_any(run.node.device(gpus[0]).name, way["link"], "peer-write") if way else None
    return way["line_gbps"] * known.share if way and known and way["line_gbps"] else None


def collectives_known_from(run: Run) -> int | None:
    """Return the bytes from which on it is known what any of the run's collectives reaches; None where nothing is."""
    bus = run.results.filter(polars.col("members").is_not_null(), polars.col("status") == "ok")
    known = []
    for named, method, collective in bus.select("members", "method", "collective").unique().iter_rows():
        members = named.split()
        way = _between_members(run, members)
        if way is not None and way["line_gbps"] and collective:
            found = _of_collective(run, members, way["link"], method, collective)
            known += [one.from_bytes for one in found if one]
    return min(known, default=None)


def _between_members(run: Run, members: Sequence[str]) -> Line | None:
    """Return the way between the first two members, with the rate of all links of the GPU that has least; if all are
    GPUs, each once, which links to a GPU switch or to one another join."""
    if len(members) < 2 or len(set(members)) < len(members):
        return None
    known = links_gbps(run.paths.node, members)
    way = _way(run, *members[:2]) if known is not None else None
    return {**way, "link": known[0], "line_gbps": known[1]} if way is not None and known is not None else None


def of_collective_on_one_host(run: Run, method: str, collective: str, gpus: int) -> float | None:
    """Return the least bus bandwidth, GB/s, that a collective of large size is known to have on the GPUs of one host,
    with reductions in the GPU switch where figures of these are known; None where nothing is known."""
    members = [gpu.id for gpu in run.node.of_kind("gpu")][:gpus]
    way = _between_members(run, members)
    if way is None or len(members) < gpus:
        return None
    device = run.node.device(members[0]).name
    figures = (_collective(device, way["link"], method, collective, gpus, nvls) for nvls in (True, False))
    known = next(filter(None, figures), None)
    return known.share * (1 - known.tolerance) * way["line_gbps"] if known is not None else None


def _way(run: Run, source: str, destination: str) -> Line | None:
    """Return how bytes get there in one direction, as columns of ``SCHEMA``; None where nothing joins the devices, or
    the topology lacks one."""
    try:
        path = run.paths.between(source, destination)
    except KeyError:
        return None
    if path is None:
        return None
    gpus = [end for end in dict.fromkeys((source, destination)) if end.startswith("gpu:")]
    if source == destination:
        rate = path.peak_gbps / 2 if path.peak_gbps else None
        return {"kind": "local", "link": "memory", "lanes": None, "hops": 0, "line_gbps": rate, "gpus": gpus}
    links = [run.paths.links[name].link for name in path.route]
    known = [link for link in links if link.peak_gbps is not None]
    narrowest = min(known or links, key=lambda link: link.peak_gbps or 0.0)
    return {
        **{"kind": "peer" if len(gpus) == 2 else "host", "link": narrowest.kind, "lanes": narrowest.lanes},
        **{"hops": path.widest_hops, "line_gbps": path.peak_gbps, "gpus": gpus},
    }


_expected = cache(expected)
_of_any = cache(expected_of_any)
_collective = cache(expected_collective)
