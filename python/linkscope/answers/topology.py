"""Topology: the devices, links and paths of a node as an Answer, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Table
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Path, Paths, tier_of
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

_DEVICE = {"model": Kind.WORD, "numa": Kind.COUNT, "pci": Kind.WORD, "memory_bytes": Kind.SIZE}
_DEVICES = {"device": Kind.WORD, **_DEVICE, "memory_gbps": Kind.NUMBER, "cpus": Kind.WORD}
_LINKS = {"between": Kind.WORD, "kind": Kind.WORD, "tier": Kind.WORD, "lanes": Kind.COUNT, "peak_gbps": Kind.NUMBER}
_TYPES = {Kind.COUNT: polars.Int64, Kind.SIZE: polars.Int64, Kind.NUMBER: polars.Float64}


def topology(node: Node) -> Answer:
    """Return the kinds of devices and links, and peaks where pairs of GPUs differ; in detail each of them, and hops."""
    paths, gpus = Paths(node), node.of_kind("gpu")
    places = [device for device in node.devices if device.kind != "switch"]
    links = _kinds(map(_link, node.links), "between", ("remark",))
    tables = [
        _list("topology.devices", _DEVICES, _kinds(map(_device, places), "device", ("numa", "pci"))),
        _list("topology.links", {**_LINKS, "links": Kind.COUNT}, links),
    ]
    if len({path.peak_gbps for path in _between(gpus, paths)}) > 1:
        tables.append(_matrix("topology.peaks", gpus, paths, _peak))
    details = [
        _list("topology.every-device", _DEVICES, map(_device, node.devices)),
        _list("topology.every-link", {**_LINKS, "remark": Kind.WORD}, map(_link, node.links)),
        _matrix("topology.every-peak", places, paths, _peak),
        _matrix("topology.hops", places, paths, _hops),
    ]
    tables += [replace(table, detail=True) for table in details]
    facts = {"name": node.name, "gpus": len(node.of_kind("gpu")), "numa": len(node.of_kind("numa"))}
    return Answer(
        "topology",
        (),
        note("topology.model" if node.modelled else "topology.node", **facts),
        tables=tuple(table for table in tables if table.frame.height),
        details=tuple(_remarks(node, places, paths)),
        next=(note("topology.run-model", name=node.name) if node.modelled else note("topology.run"),),
    )


def to_json(node: Node) -> Json:
    """Return the node with ``paths``: one entry per ordered pair of devices.

    An entry holds source, destination, hops, shortest and widest (device ids, switches included), widest_hops,
    peak_gbps, route (directed link ids), tier and unknown (links of the route whose peak is not known).
    """
    places = [device for device in node.devices if device.kind != "switch"]
    fields = ("source", "destination", "hops", "shortest", "widest", "widest_hops", "peak_gbps", "route", "tier")
    found = [{name: getattr(path, name) for name in (*fields, "unknown")} for path in _between(places, Paths(node))]
    return {**node.to_json(), "paths": found}


def ranges(numbers: Sequence[int]) -> str:
    """Return "0-2,8" of 0, 1, 2, 8."""
    runs = groupby(enumerate(sorted(numbers)), lambda one: one[1] - one[0])
    parts = [[number for _, number in run] for _, run in runs]
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _device(device: Device) -> Json:
    found = {"model": device.name, **{name: getattr(device, name) for name in ("numa", "pci", "memory_gbps")}}
    return {"device": device.id, **found, "memory_bytes": device.whole_memory_bytes, "cpus": ranges(device.cpus)}


def _link(link: Link) -> Json:
    remark = ", ".join(filter(None, ("one way" if link.directed else "", link.detail)))
    found = {"kind": link.kind, "tier": tier_of(link), "lanes": link.lanes, "peak_gbps": link.peak_gbps}
    return {"between": f"{link.a} - {link.b}", **found, "remark": remark}


def _kinds(lines: Iterable[Json], name: str, aside: Sequence[str]) -> Iterator[Json]:
    """Yield one line for those that differ in their name and in ``aside`` alone: "gpu:0-3", "gpu:0 - gpu:1, ..."."""
    groups: dict[tuple[Any, ...], list[Json]] = {}
    for line in lines:
        cpus = len(line.get("cpus", "").split(",")), line.get("cpus") == ""
        kind = line[name].partition(":")[0]
        key = tuple(value for column, value in line.items() if column not in (name, "cpus", *aside))
        groups.setdefault((kind, *cpus, *key), []).append(line)
    for some in groups.values():
        first = {column: value for column, value in some[0].items() if column not in aside}
        yield first | {name: _together([line[name] for line in some]), "links": len(some)}


def _together(names: Sequence[str]) -> str:
    kind, _, rest = names[0].partition(":")
    if len(names) > 1 and rest.isdigit():
        return f"{kind}:{ranges([int(one.partition(':')[2]) for one in names])}"
    return names[0] if len(names) < 2 else f"{names[0]} ..."


def _list(key: str, columns: dict[str, Kind], lines: Iterable[Json]) -> Table:
    schema = {name: _TYPES.get(kind, polars.String) for name, kind in columns.items()}
    frame = polars.DataFrame([{name: line.get(name) for name in columns} for line in lines], schema=schema)
    shown = [name for name in columns if frame[name].drop_nulls().cast(polars.String).ne("").any()]
    return Table(key, frame, tuple(Column(name, columns[name]) for name in shown))


def _matrix(key: str, places: Sequence[Device], paths: Paths, cell: Callable[[Path], str]) -> Table:
    lines = [(path.source, path.destination, cell(path)) for path in _between(places, paths)]
    schema = dict.fromkeys(("source", "destination", "cell"), polars.String)
    frame = polars.DataFrame(lines, schema=schema, orient="row")
    return Table(key, frame, tuple(map(Column, frame.columns)), layout="matrix")


def _between(places: Sequence[Device], paths: Paths) -> Iterator[Path]:
    ids = [place.id for place in places]
    yield from (path for a in ids for b in ids if a != b and (path := paths.between(a, b)) is not None)


def _hops(path: Path) -> str:
    """Return the hops, and those of the widest path behind them where that has more: "2 (3)"."""
    return f"{path.hops} ({path.widest_hops})" if path.is_detour else str(path.hops)


def _peak(path: Path) -> str:
    return "?" if path.peak_gbps is None else f"{'<=' if path.unknown else ''}{path.peak_gbps:.1f}"


def _remarks(node: Node, places: Sequence[Device], paths: Paths) -> Iterator[Finding]:
    found = [path for path in _between(places, paths) if path.source < path.destination]
    for path in found:
        if path.is_detour:
            ways = {name: " > ".join(getattr(path, name)) for name in ("shortest", "widest")}
            yield note("topology.detour", source=path.source, destination=path.destination, **ways)
    if any(path.unknown for path in found):
        yield note("topology.unknown-peak")
    yield from (note("topology.remark", text=text) for text in node.notes)
