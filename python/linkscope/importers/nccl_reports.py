"""Reports of nccl-tests (-J, JSON 1 to 3) and rccl-tests (-x, CSV or a JSON object a line).

Formats: src/util.cu of nccl-tests 2.19, Reporter in src/common.cu of rccl-tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, TypedDict

from msgspec import Meta

from linkscope.importers.nccl_program import (
    AMD,
    MOST_RANKS,
    NVIDIA,
    HalfRow,
    Program,
    kind_of,
    newer,
    of_programs,
    version_of,
)
from linkscope.importers.peer_output import MOST_GPUS, Gpu, PeerOutput, Source, plain_number

JSON_VERSIONS = (1, 2, 3)
_JSON = re.compile(r'\{"version":\d{1,9},"start_time":')
_CSV_NAMES = {"collective": "name", "#wrong": "wrong"}


class _TimedHalf(TypedDict, total=False):
    time: float
    cpu_time: float
    nwrong: float | str | None


class _Sized(TypedDict):
    size: int
    type: Annotated[str, Meta(max_length=100)]


class _Row(_Sized, total=False):
    count: int
    redop: Annotated[str, Meta(max_length=100)]
    root: Annotated[str, Meta(max_length=100)]
    out_of_place: _TimedHalf | None
    in_place: _TimedHalf | None


class _Device(TypedDict):
    pid: int
    hostname: Annotated[str, Meta(max_length=1024)]
    device_hex: Annotated[str, Meta(max_length=128)]
    device_info: Annotated[str, Meta(max_length=1024)]


class _Iterations(TypedDict, total=False):
    warmup_iters: int


class _Config(_Iterations):
    nthreads: int
    ngpus: int
    iterations: int
    graph: int
    devices: Annotated[list[_Device], Meta(max_length=1 << 20)]


class _Measured(TypedDict):
    version: int
    args: Annotated[list[str], Meta(min_length=1)]
    nccl_version: int
    config: _Config
    results: list[_Row]


def recognises(text: str) -> bool:
    """Return whether a text is a report of either."""
    return _of_rccl(text) or _JSON.search(text) is not None


def read(source: Source) -> PeerOutput:
    """Return the times of a report. Raises LinkscopeError."""
    return of_programs(source, AMD, _rccl(source)) if _of_rccl(source.text) else _json(source)


def _of_rccl(text: str) -> bool:
    start = text.lstrip()[:300].lower()
    return re.match(r'(numcycle, ?)?collective, |\{("numcycle":|"name":)', start) is not None and "redop" in start


def _json(source: Source) -> PeerOutput:
    data = source.json(_Measured)
    config, name = data["config"], data["args"][0]
    program = Program(kind_of(name), name.rpartition("/")[2][:80], config["nthreads"], config["ngpus"])
    program.calls, program.graphs = config["iterations"], config["graph"]
    program.warm_up, program.is_configured, program.has_ended = config.get("warmup_iters", -1), True, True
    for rank, one in enumerate(config["devices"]):
        gpu = Gpu(one["device_info"], one["device_hex"].lower().partition(".")[0])
        program.devices[rank] = 0, str(one["pid"]), one["hostname"], gpu
    listed = list(program.devices.values())
    each = max(config["nthreads"] * config["ngpus"], 1)  # of a process only its first GPU is listed
    program.devices = dict(enumerate(listed[rank // each] for rank in range(min(len(listed) * each, MOST_RANKS))))
    for row in data["results"]:
        root = plain_number(str(row.get("root", "-1")).strip())
        for found, in_place in ((row.get("out_of_place"), False), (row.get("in_place"), True)):
            program.times_calls = program.times_calls or "cpu_time" in (found or {})
            if found:
                point = HalfRow(
                    0, row["size"], row["type"], found.get("time"), found.get("nwrong"), row.get("count", 0)
                )
                program.points.append(
                    replace(point, redop=row.get("redop", ""), root=int(root or 0), in_place=in_place)
                )
    peer, form = of_programs(source, NVIDIA, [program]), data["version"]
    late = [] if form in JSON_VERSIONS else [newer(f"JSON {form}", f"JSON {JSON_VERSIONS[-1]}")]
    versions = {"NCCL": version_of(data["nccl_version"])}
    return replace(peer, versions=versions, command=tuple(data["args"]), findings=(*peer.findings, *late))


def _rccl(source: Source) -> list[Program]:
    """Return what rccl-tests' CSV, or one JSON object a line, says by collective and ranks."""
    programs: dict[tuple[str, int, int], Program] = {}
    for number, report in _records(source):
        for name in ("name", "size", "type", "inplace", "time", "wrong"):
            if name not in report:
                raise source.wrong(number, f"a line of rccl-tests without {name}: was it cut short?")
        ranks = source.whole(report.get("ranks", 1), number, "ranks", 1 << 20)
        of_each = source.whole(report.get("gpusperrank", report.get("gpus", 1)), number, "GPUs", MOST_GPUS)
        on_host = source.whole(report.get("rankspernode", ranks), number, "ranks of a node", 1 << 20)
        kind = kind_of(str(report["name"]))
        program = programs.setdefault((kind or str(report["name"]), ranks, of_each), Program(kind, gpus=of_each))
        if not program.points:
            program.name, program.is_configured, program.has_ended = str(report["name"])[:80], True, True
            program.hosts = -(-ranks // max(on_host, 1))
            gpus = range(min(ranks * of_each, MOST_RANKS))
            hosts = [rank // max(of_each, 1) // max(on_host, 1) for rank in gpus]
            program.devices = {rank: (0, str(rank // max(of_each, 1)), f"{hosts[rank]}", Gpu()) for rank in gpus}
        point = HalfRow(
            0, source.whole(report["size"], number, "size"), str(report["type"]), report["time"], report["wrong"]
        )
        in_place = bool(source.whole(report["inplace"], number, "in place", 1))
        program.points.append(replace(point, redop=str(report.get("redop", "")), in_place=in_place))
    return list(programs.values())


def _records(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each line's values by the names that JSON has, in small letters."""
    if source.text.lstrip().startswith("{"):
        for number, line in enumerate(source.lines, 1):
            if line.strip():
                found = Source(source.path, line).json(dict[str, float | str | None])
                yield number, {name.lower(): value for name, value in found.items()}
        return
    (_, head), *records = source.csv()
    names = [_CSV_NAMES.get(name.lower(), name.lower()) for name in head]
    for number, cells in records:
        if len(cells) != len(names):
            raise source.wrong(number, f"{len(cells)} values of {len(names)}: was it cut short?")
        yield number, dict(zip(names, cells, strict=True))
