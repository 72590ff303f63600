"""OSU micro-benchmarks: a table by size for each benchmark and pair of ends. Format: util of OSU 7.4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linkscope.machine.node import Node
from linkscope.results.osu_benchmarks import OSU_COLLECTIVES, OSU_MESSAGES, OsuBenchmark
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
VERSION = "v7.4"
_MESSAGES = {one.measures: one for one in OSU_MESSAGES}
_COLLECTIVES = {one.measures: one for one in OSU_COLLECTIVES}
_TYPES = {"float32": "MPI_FLOAT", "int32": "MPI_INT", "float64": "MPI_DOUBLE"}
_USUAL = {"staging": "none", "in_place": "no", "type": "float32"}
"""What a case without the parameter does, and OSU unless told otherwise but for the type."""
_ON = {"device": "DEVICE (D)", "managed": "MANAGED (M)"}
_PLATFORMS = {"cuda": "-CUDA", "hip": "-ROCM"}
_WINDOW = ("# Window creation: MPI_Win_create", "# Synchronization: MPI_Win_flush")


def takes(case: Json) -> bool:
    """Whether it is a message or collective of MPI's, called as OSU calls it: out of place, with OSU's window, without
    copies of our own before and after MPI."""
    told = _told(case)
    known = set(told) <= {"call", "collective", "type"} and told.get("type", "float32") in _TYPES
    return case["clock"] == "host" and known and _benchmark(case) is not None


def text(run: RunFile, rows: Sequence[Row]) -> str:
    """A table for each benchmark, pair or number of processes, memory and environment; cases without figures are left
    out."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.status == "ok":
            tables.setdefault(_way(row), []).append(row)
    return "".join(f"{line}\n" for of_table in tables.values() for line in _table(run.node, of_table))


def _benchmark(case: Json) -> OsuBenchmark | None:
    flow = case["flows"][0]
    parameters = flow.get("parameters", {})
    if flow["method"] == "mpi":
        return _MESSAGES.get(str(parameters.get("call", "ping-pong")))
    return _COLLECTIVES.get(str(parameters.get("collective"))) if flow["method"] == "mpi-collective" else None


def _told(case: Json) -> Json:
    """Its parameters but the usual ones."""
    parameters = case["flows"][0].get("parameters", {})
    return {name: value for name, value in parameters.items() if _USUAL.get(name) != value}


def _ends(row: Row) -> list[Json]:
    flow = row.case["flows"][0]
    return list(flow.get("members") or (flow[end] for end in ("source", "destination") if end in flow))


def _way(row: Row) -> tuple[str, ...]:
    """What the lines of one table share. OSU's sizes end in one table, whatever row of a suite they are of."""
    told = sorted(f"{name}={value}" for name, value in _told(row.case).items())
    ends = [f"{end['device']} {end['memory']}" for end in _ends(row)]
    return (row.case["flows"][0]["method"], *told, *ends, *(f"{k}={v}" for k, v in row.environment.items()))


def _table(node: Node, rows: Sequence[Row]) -> Iterator[str]:
    test = _benchmark(rows[0].case)
    assert test is not None
    memories = [end["memory"] for end in _ends(rows[0])]
    on_gpus = any(end["device"].startswith("gpu:") for end in _ends(rows[0]))
    yield ""
    platform = _platform(node, rows[0]) if on_gpus else ""
    yield f"# OSU MPI{test.title.replace(' ', f'{platform} ', 1)} Test {VERSION}"
    if any(row.modelled for row in rows):
        yield "# linkscope: MODELLED, not a measurement"
    where = " > ".join(dict.fromkeys(f"{end['device']} {end['memory']}" for end in _ends(rows[0])))
    yield f"# linkscope: {rows[0].case.get('processes', 1)} processes, {where}"
    if rows[0].environment:
        yield "# linkscope: " + " ".join(f"{name}={value}" for name, value in rows[0].environment.items())
    if on_gpus:
        first, last = (_ON.get(memory, "HOST (H)") for memory in (memories[0], memories[-1]))
        yield f"# Send Buffer on {first} and Receive Buffer on {last}"
    yield from _WINDOW if test.one_sided else ()
    if not test.sized:
        yield "# Avg Latency(us)"
        yield from (f"{row.flows[0].seconds.median * 1e6:17.2f}" for row in rows)
        return
    parameters = rows[0].case["flows"][0].get("parameters", {})
    collective = "collective" in parameters
    yield f"# Datatype: {_TYPES[parameters.get('type', 'float32')] if collective else 'MPI_CHAR'}."
    yield f"# Size {test.column}"
    by_size = {int(row.case["flows"][0]["bytes"]): row for row in reversed(rows)}
    for size in sorted(by_size):
        value = _value(by_size[size], test)
        if value is not None:
            yield f"{size // (len(memories) if test.shares else 1):<10}{value:18.2f}"


def _platform(node: Node, row: Row) -> str:
    names = " ".join(device.name for device in node.of_kind("gpu"))
    backend = row.raw.get("backend")
    return _PLATFORMS["hip" if backend == "hip" or "AMD" in names else "cuda"]


def _value(row: Row, test: OsuBenchmark) -> float | None:
    """MB/s or us; None where nothing moves and a rate is asked for."""
    result = row.flows[0]
    if not test.rate:
        return result.seconds.median * 1e6
    return None if result.gbps is None else result.gbps.median * 1e3
