"""OSU micro-benchmarks: a table by size for each benchmark and placing of processes. Format: util of OSU 7.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.results.osu_benchmarks import OSU_COLLECTIVES, OSU_MESSAGES, OsuBenchmark
from linkscope.results.row import Row

Json = dict[str, Any]
VERSION = "v7.4"
_BENCHMARKS = {
    "mpi": {one.measures: one for one in OSU_MESSAGES},
    "mpi-collective": {one.measures: one for one in OSU_COLLECTIVES},
}
_TYPES = {"float32": "MPI_FLOAT", "int32": "MPI_INT", "float64": "MPI_DOUBLE"}
_USUAL = {"staging": "none", "in_place": "no", "type": "float32"}
"""Defaults of a case without the parameter; OSU has the same, but for the type."""
_ON = {"device": "DEVICE (D)", "managed": "MANAGED (M)"}
_PLATFORMS = {"cuda": "-CUDA", "hip": "-ROCM"}
ASSUMED = "mostly an assumed latency: no source gives it"
_WINDOW = ("# Window creation: MPI_Win_create", "# Synchronization: MPI_Win_flush")


def takes(case: Json) -> bool:
    """Return whether it is a message or collective of MPI's, called as OSU calls it: out of place, with OSU's window,
    without copies of our own before and after MPI."""
    told = _told(case)
    known = set(told) <= {"call", "collective", "type"} and told.get("type", "float32") in _TYPES
    return case["clock"] == "host" and known and _benchmark(case) is not None


def alike(case: Json) -> bool:
    """Return whether it is by MPI."""
    return case["flows"][0]["method"] in _BENCHMARKS


def text(run: Run, rows: Sequence[Row]) -> str:
    """Return a table for each benchmark, pair or number of processes, hosts, memory and environment, and a further one
    where a size comes twice; cases without results are left out."""
    ways: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.status == "ok":
            ways.setdefault(_way(row), []).append(row)
    lines: list[str] = []
    for of_way in ways.values():
        tables = _tables(of_way)
        for by_size in tables:
            lines += _table(run.node, by_size, _names(by_size.values()) if len(tables) > 1 else [])
    return "".join(f"{line}\n" for line in lines)


def _benchmark(case: Json) -> OsuBenchmark | None:
    method, parameters = case["flows"][0]["method"], _parameters(case)
    what = parameters.get("call", "ping-pong") if method == "mpi" else parameters.get("collective")
    return _BENCHMARKS.get(method, {}).get(str(what))


def _parameters(case: Json) -> Json:
    return dict(case["flows"][0].get("parameters", {}))


def _told(case: Json) -> Json:
    """Return its parameters but the usual ones."""
    return {name: value for name, value in _parameters(case).items() if _USUAL.get(name) != value}


def _ends(row: Row) -> list[Json]:
    flow = row.case["flows"][0]
    return list(flow.get("members") or (flow[end] for end in ("source", "destination") if end in flow))


def _processes(row: Row) -> int:
    """Return how many took part; a model, which has none, stands for one at each end."""
    return int(row.case.get("processes", len(_ends(row))))


def _host(row: Row, end: Json) -> str:
    """Return where the process of an end ran; "" where all ran on one host."""
    rank = int(end.get("rank", 0))
    return row.hosts[rank] if rank < len(row.hosts) else ""


def _way(row: Row) -> tuple[str, ...]:
    """Return what all sizes of a benchmark share, whatever test of a suite they are of."""
    told = sorted(f"{name}={value}" for name, value in _told(row.case).items())
    ends = [f"{end['device']} {end['memory']} {end.get('rank', 0)} {_host(row, end)}" for end in _ends(row)]
    where = (f"{_processes(row)} processes", *ends, *(f"{k}={v}" for k, v in row.environment.items()))
    return (row.case["flows"][0]["method"], *told, *where)


def _tables(rows: Sequence[Row]) -> list[dict[int, Row]]:
    """Return cases of one way by size as OSU counts it. Tests share a table unless they have a size in common."""
    tests: dict[tuple[str, str], list[dict[int, Row]]] = {}
    for row in rows:
        of_test, size = tests.setdefault((row.suite, row.name), []), _size(row)
        free = next((table for table in of_test if size not in table), None)
        if free is None:
            of_test.append(free := {})
        free[size] = row
    tables: list[dict[int, Row]] = []
    for of_test in tests.values():
        apart = (table for table in tables if len(of_test) == 1 and not table.keys() & of_test[0].keys())
        free = next(apart, None)
        if free is None:
            tables += of_test
        else:
            free.update(of_test[0])
    return tables


def _size(row: Row) -> int:
    test = _benchmark(row.case)
    return int(row.case["flows"][0]["bytes"]) // (len(_ends(row)) if test and test.shares else 1)


def _names(rows: Iterable[Row]) -> list[str]:
    """Return the tests that cases are of, each with its series where it has but one."""
    series: dict[str, set[str]] = {}
    for row in rows:
        series.setdefault(f"{row.suite}/{row.name}", set()).add(str(row.labels.get("series", "")))
    return [", ".join(filter(None, (name, *(own if len(own) == 1 else ())))) for name, own in series.items()]


def _where(row: Row) -> str:
    """Return the places of its processes, each once; ranks where they are not all of the first ones."""
    ends, spread = _ends(row), bool(row.between)
    places = (f"{end['device']} {end['memory']}{f' on {_host(row, end)}' if spread else ''}" for end in ends)
    ranks = [int(end.get("rank", 0)) for end in ends]
    named = "" if not any(ranks) or ranks == list(range(len(ends))) else f"ranks {', '.join(map(str, ranks))}, "
    return named + " > ".join(dict.fromkeys(places))


def _table(node: Node, by_size: Mapping[int, Row], names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table. ``names``: of its tests, where other tables are of the same way."""
    rows = list(by_size.values())
    test = _benchmark(rows[0].case)
    assert test is not None
    memories = [end["memory"] for end in _ends(rows[0])]
    on_gpus = any(end["device"].startswith("gpu:") for end in _ends(rows[0]))
    yield ""
    platform = _PLATFORMS[_backend(node, rows[0])] if on_gpus else ""
    yield f"# OSU MPI{test.title.replace(' ', f'{platform} ', 1)} Test {VERSION}"
    if any(row.modelled for row in rows):
        yield "# linkscope: MODELLED, not a measurement"
    if assumed := [size for size, row in by_size.items() if row.assumed]:
        origins = "; ".join(dict.fromkeys(row.stand_in for row in by_size.values() if row.stand_in))
        stand_in = f"; in its place {origins}" if origins else ""
        yield f"# linkscope: up to {max(assumed)} bytes {ASSUMED}{stand_in}"
    processes = _processes(rows[0])
    yield f"# linkscope: {processes} process{'' if processes == 1 else 'es'}, {_where(rows[0])}"
    yield from (f"# linkscope: {name}" for name in names)
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
    parameters = _parameters(rows[0].case)
    yield f"# Datatype: {_TYPES[parameters.get('type', 'float32')] if 'collective' in parameters else 'MPI_CHAR'}."
    yield f"# Size {test.column}"
    for size, row in sorted(by_size.items(), key=lambda one: one[0]):
        seconds, gbps = row.flows[0].seconds, row.flows[0].gbps
        if not test.rate:
            yield f"{size:<10}{seconds.median * 1e6:18.2f}"
        elif gbps is not None:  # nothing moves where there is no rate
            yield f"{size:<10}{gbps.median * 1e3:18.2f}"


def _backend(node: Node, row: Row) -> str:
    amd = any("AMD" in device.name for device in node.of_kind("gpu"))
    return "hip" if row.raw.get("backend") == "hip" or amd else "cuda"
