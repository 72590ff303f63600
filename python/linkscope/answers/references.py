"""References: what healthy paths and collectives of a run's devices are known to reach, result by result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars

from linkscope.figures.columns import RATE, TIME
from linkscope.figures.run import Run
from linkscope.machine.expected import expected, expected_collective, expected_latency
from linkscope.machine.nominal import NVSWITCH
from linkscope.machine.paths import Path
from linkscope.machine.traits import memory_traits, method_traits

Line = dict[str, Any]

SATURATED = 256 << 20
"""Bytes from which a rate is checked: smaller transfers are slow by design."""
LEAST_GBPS = 1e-3
"""Line rate below which a topology says nothing."""
_ON_GPUS = ("gpu-large", "gpu")
SWITCHED, _UNSWITCHED = "as it chooses", ("NCCL_NVLS_ENABLE=0", "no NVLink SHARP")
"""Parts of an engine's notes: NCCL was free to reduce in the GPU switch (NVLS), or was not."""
SCHEMA: dict[str, Any] = {
    **{"key": polars.UInt32, "kind": polars.String, "link": polars.String, "lanes": polars.Int64, "hops": polars.Int64},
    **{"line_gbps": polars.Float64, "engine_gbps": polars.Float64, "gpus": polars.List(polars.String)},
    **{"known": polars.Float64, "known_tolerance": polars.Float64, "known_source": polars.String},
    **{"maybe_faster": polars.Boolean},
}
"""Columns that ``with_references`` adds.

``kind``: peer (two GPUs), host, local (within a GPU) or collective. ``link``, ``lanes``, ``line_gbps``: of the
narrowest link on the path as it was built, all directions together; "memory" within a GPU. ``engine_gbps``: what
packets and the engine's ceiling leave of the line rate. ``known``: what a healthy path reaches, at this size.
``maybe_faster``: what is known is without reductions in the GPU switch (NVLS), which may have been on.
"""


@dataclass(frozen=True)
class _Way:
    """How bytes get from one device to another. ``gbps``: the line rate of one direction."""

    kind: str
    link: str
    lanes: int | None
    hops: int
    gbps: float | None


def with_references(run: Run) -> polars.DataFrame:
    """Return the results that could be checked, with the columns of ``SCHEMA``; ``key`` is their place in the frame.

    These are large transfers along one path, alone or both ways, latencies of GPUs to their own or another GPU's
    memory, and a library's collectives. All others depend on more than a path: load, caches, pages, other flows.
    """
    frame = (
        run.results.with_row_index("key")
        .drop("replicate_values", "parts_s", "title", "series", "reason")
        .filter(polars.col("status") == "ok", polars.col("value").is_not_null(), polars.col("hosts") == "")
    )
    found = [*_transfers(run, frame), *_latencies(run, frame), *_collectives(run, frame)]
    return frame.join(polars.DataFrame(found, SCHEMA, orient="row"), on="key", maintain_order="left")


def _transfers(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield rates of one flow, or of two opposite ones."""
    both = (polars.col("figure") == "sum") & (polars.col("together") == "both") & (polars.col("flows") == 2)
    alone = (polars.col("figure") == "first") & (polars.col("flows") == 1)
    large = frame.filter(
        both | alone,
        polars.col("unit") == RATE,
        polars.col("background") == 0,
        polars.col("bytes") >= SATURATED,
        polars.col("class").is_in([*_ON_GPUS, "pinned"]),
        polars.all_horizontal(polars.col("source", "destination").is_not_null()),
    )
    columns = ("key", "source", "destination", "executor", "method", "bytes", "flows", "parameters")
    for key, source, destination, executor, method, size, directions, parameters in large.select(columns).iter_rows():
        way = _way(run, source, destination)
        if way is None:
            continue
        gpu = next((end for end in (source, destination) if end.startswith("gpu:")), source)
        plain = way.hops <= 1 and not parameters
        entry = _entry(way.kind, source, destination, executor, directions)
        known = _expected(run.node.device(gpu).name, way.link, entry, method) if plain else None
        line: Line = {**_of_way(way, (source, destination), directions), "key": key}
        if known is not None and way.gbps is not None:
            taxed = min(way.gbps * known.share, known.ceiling_gbps or float("inf")) * directions
            line |= {"engine_gbps": taxed, "known": taxed * size / (size + known.half_bytes)}
            line |= {"known_tolerance": known.tolerance, "known_source": known.source}
        yield line


def _entry(kind: str, source: str, destination: str, executor: str, directions: int) -> str:
    """Return the way as machines/expected/links.yaml names it."""
    if kind == "peer":
        name = "peer-write" if executor == source else "peer-read"
    elif kind == "host":
        name = "host-to-gpu" if destination.startswith("gpu:") else "gpu-to-host"
    else:
        name = "local"
    return f"{name}+both" if directions == 2 else name


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
        line: Line = {**_of_way(way, (source, waiting), 1), "key": key, "line_gbps": None, "lanes": None}
        asked = {
            **{"method": flow["method"], "bytes": flow["bytes"], "parameters": flow.get("parameters") or {}},
            **{"cache": case.get("cache"), "memory": flow["source"].get("memory"), "load": run.rows[name].load},
        }
        known = expected_latency(run.node.device(waiting).name, way.link, asked) if way.hops <= 1 else None
        if known is not None:
            line |= {"known": known.ns * 1e-9, "known_source": known.source}
        yield line


def _collectives(run: Run, frame: polars.DataFrame) -> Iterator[Line]:
    """Yield bus bandwidths of collectives in plain conditions; what the user set otherwise is no fault."""
    plain = frame.filter(
        polars.col("figure") == "bus",
        ~polars.col("modelled"),
        (polars.col("load") == "once") & (polars.col("environment") == ""),
        polars.col("members_memory").is_in(["device", "xccl"]),
        ~polars.col("parameters").str.contains(r"\btype=") | polars.col("parameters").str.contains(r"\btype=float32\b"),
    )
    columns = ("key", "members", "method", "collective", "bytes", "notes")
    for key, named, method, collective, size, notes in plain.select(columns).iter_rows():
        members = named.split()
        way = _between_members(run, members)
        if way is None or not way.gbps or way.gbps < LEAST_GBPS:
            continue
        device, count = run.node.device(members[0]).name, len(members)
        by_links, by_switch = (
            found if (found := _collective(device, way.link, method, collective, count, nvls)) else None
            for nvls in (False, True)
        )
        if by_links and size < by_links.from_bytes:
            by_links = None
        free = any(SWITCHED in one for one in notes)
        known = by_switch if by_switch and size >= by_switch.from_bytes and free else by_links
        if known is None:
            continue
        off = any(part in one for one in notes for part in _UNSWITCHED)
        yield {
            **{"key": key, "kind": "collective", "link": way.link, "lanes": way.lanes, "hops": way.hops},
            **{"line_gbps": way.gbps, "gpus": members, "known": known.share * way.gbps},
            **{"known_tolerance": known.tolerance, "known_source": known.source},
            "maybe_faster": known is by_links and not off,
        }


def collectives_known_from(run: Run) -> int | None:
    """Return the bytes from which on it is known what any of the run's collectives reaches; None where nothing is."""
    bus = run.results.filter(polars.col("members").is_not_null(), polars.col("status") == "ok")
    known = []
    for members, method, collective in bus.select("members", "method", "collective").unique().iter_rows():
        way = _between_members(run, members.split())
        if way is not None and way.gbps and collective:
            device = run.node.device(members.split()[0]).name
            found = (
                _collective(device, way.link, method, collective, len(members.split()), on) for on in (False, True)
            )
            known += [one.from_bytes for one in found if one]
    return min(known, default=None)


def _between_members(run: Run, members: Sequence[str]) -> _Way | None:
    """Return the way between the first two members, if all are GPUs of one GPU switch, each once."""
    links = run.paths.node.links
    switched = {link.a if link.b == NVSWITCH else link.b for link in links if NVSWITCH in (link.a, link.b)}
    if len(members) < 2 or len(set(members)) < len(members) or not {*members} <= switched:
        return None
    return _way(run, *members[:2])


def _way(run: Run, source: str, destination: str) -> _Way | None:
    """Return how bytes get there; None where nothing joins the devices, or the topology lacks one."""
    try:
        path = run.paths.between(source, destination)
    except KeyError:
        return None
    if path is None:
        return None
    if source == destination:
        return _Way("local", "memory", None, 0, path.peak_gbps / 2 if path.peak_gbps else None)
    kind = "peer" if source.startswith("gpu:") and destination.startswith("gpu:") else "host"
    return _Way(kind, *_narrowest(run, path), path.widest_hops, path.peak_gbps)


def _narrowest(run: Run, path: Path) -> tuple[str, int | None]:
    """Return the kind and the lanes of the narrowest link of a path; of its first where no rate is known."""
    links = [run.paths.links[name].link for name in path.route]
    known = [link for link in links if link.peak_gbps is not None]
    narrowest = min(known or links, key=lambda link: link.peak_gbps or 0.0)
    return narrowest.kind, narrowest.lanes


def _of_way(way: _Way, ends: tuple[str, str], directions: int) -> Line:
    return {
        **{"kind": way.kind, "link": way.link, "lanes": way.lanes, "hops": way.hops},
        "line_gbps": way.gbps * directions if way.gbps is not None else None,
        "gpus": list(dict.fromkeys(end for end in ends if end.startswith("gpu:"))),
    }


_expected = cache(expected)
_collective = cache(expected_collective)
