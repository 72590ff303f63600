"""A synthetic, clearly modelled run for tests of analysis and reports: no figure here was measured on anything."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from linkscope.machine.node import Device, Link, Node
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.stats import stats_of

Json = dict[str, Any]
MIB = 1 << 20
LINK_GBPS = 450.0
PCIE_GBPS = 63.0


def node(gpus: int = 4) -> Node:
    """``gpus`` GPUs on one NVLink switch, each with PCIe to one NUMA node."""
    devices = [Device("numa:0", "numa", "host memory", memory_gbps=300.0, cpus=(0, 1))]
    devices += [Device(f"gpu:{i}", "gpu", "Modelled GPU", memory_gbps=4800.0, numa=0) for i in range(gpus)]
    devices.append(Device("switch:nvswitch", "switch", "NVSwitch"))
    links = [Link(f"gpu:{i}", "switch:nvswitch", "nvlink", LINK_GBPS, 18, "nvlink-18") for i in range(gpus)]
    links += [Link("numa:0", f"gpu:{i}", "pcie", PCIE_GBPS, 16, "pcie5-x16") for i in range(gpus)]
    return Node(f"modelled-{gpus}gpu", tuple(devices), tuple(links), modelled=True, notes=("synthetic, for tests",))


def flow(source: str, destination: str, size: int = 512 * MIB, method: str = "copy-engine", **more: Any) -> Json:
    """A flow of a plan, driven by its source; memory by the kind of device."""

    def end(device: str) -> Json:
        return {"device": device, "memory": "device" if device.startswith("gpu") else "pinned"}

    return {
        "method": method,
        "executor": source,
        "bytes": size,
        "source": end(source),
        "destination": end(destination),
        **more,
    }


def result(size: int, samples_s: list[float], latency: bool = False) -> Json:
    """What an engine would print of a flow with these seconds per operation."""
    line: Json = {"repeats": 4, "operations": 1, "seconds": asdict(stats_of(samples_s)), "samples_s": samples_s}
    if not latency:
        line["gbps"] = asdict(stats_of([size / s * 1e-9 for s in samples_s]))
    return line


def case(name: str, flows: list[Json], labels: Json, clock: str = "device") -> Json:
    """A case with the id that its name, ends and size give."""
    where = "+".join(">".join(f[end]["device"] for end in ("source", "destination") if end in f) for f in flows)
    return {
        "id": f"synthetic/{name}/{labels.get('series', '')}/{flows[0]['executor']}/{where}/{flows[0]['bytes']}",
        "suite": "synthetic",
        "name": name,
        "clock": clock,
        "cache": "rotated",
        "flows": flows,
        "labels": {"title": name, **labels},
    }


def ok(plan_case: Json, samples: list[list[float]], latency: bool = False, **more: Any) -> Row:
    """An ok row; ``samples``: per flow, seconds per operation."""
    results = [result(f["bytes"], s, latency) for f, s in zip(plan_case["flows"], samples, strict=True)]
    line = {"record": "row", "id": plan_case["id"], "status": "ok", "modelled": True, "backend": "modelled"}
    line |= {"case": plan_case, "flows": results, "stopped": "precision", "elapsed_s": 0.02, **more}
    return Row.from_json(line)


def not_ok(plan_case: Json, status: str, reason: str) -> Row:
    """A skipped or failed row."""
    line = {"record": "row", "id": plan_case["id"], "status": status, "reason": reason, "modelled": True}
    return Row.from_json({**line, "backend": "modelled", "case": plan_case})


def seconds(size: int, gbps: float, seed: str, n: int = 12, noise: float = 0.002) -> list[float]:
    """``n`` times of moving ``size`` bytes at about ``gbps``, the same for the same seed."""
    rng = random.Random(seed)
    return [size / (gbps * 1e9) * (1 + abs(rng.gauss(0, noise))) for _ in range(n)]


def steady(time: float, n: int = 8) -> list[float]:
    """``n`` times that differ by a millionth, as a clock's do: a model's that are all the same have no interval."""
    return [time * (1 + 1e-6 * (i % 3 - 1)) for i in range(n)]


def pair_matrix(gpus: int, name: str, gbps: float, size: int = 512 * MIB, figure: str = "first") -> list[Row]:
    """A row per ordered pair; gpu:2 > gpu:0 is a slow pair, the last pair is skipped, the one before failed."""
    pairs = [(a, b) for a in range(gpus) for b in range(gpus) if a != b]
    rows = []
    for number, (a, b) in enumerate(pairs):
        flows = [flow(f"gpu:{a}", f"gpu:{b}", size)]
        flows += [flow(f"gpu:{b}", f"gpu:{a}", size)] if figure == "sum" else []
        labels = {"show": "matrix", "row": f"gpu:{a}", "column": f"gpu:{b}", "figure": figure}
        plan_case = case(name, flows, labels)
        rate = gbps * (0.8 if (a, b) == (2, 0) else 1.0)
        if number == len(pairs) - 1:
            rows.append(not_ok(plan_case, "skipped", "no peer access from gpu:3 to gpu:2"))
        elif number == len(pairs) - 2:
            rows.append(not_ok(plan_case, "failed", "data differ at offset 4096: expected <pattern>, found poison"))
        else:
            times = [seconds(size, rate, f"{name}{a}{b}{i}") for i in range(len(flows))]
            rows.append(ok(plan_case, times))
    return rows


def size_curves(name: str, series: list[tuple[str, str, str, float]], sizes: int = 25) -> list[Row]:
    """A row per size and (series, source, destination, GB/s at infinity), with a latency of 4 us."""
    rows = []
    for label, source, destination, gbps in series:
        for exponent in range(sizes):
            size = 1024 << exponent
            labels = {"show": "curve", "series": label, "x": size, "x_name": "bytes", "figure": "first"}
            plan_case = case(name, [flow(source, destination, size)], labels)
            rate = size / (4e-6 + size / (gbps * 1e9)) * 1e-9
            rows.append(ok(plan_case, [seconds(size, rate, f"{label}{size}", noise=0.04 if size < MIB else 0.003)]))
    return rows


def rows(gpus: int = 4) -> list[Row]:
    """A run with every kind of table."""
    found = pair_matrix(gpus, "GPU to GPU, copy engine, written by the source", 393.9)
    found += pair_matrix(gpus, "GPU to GPU, both ways at once, sum", 391.0, figure="sum")
    for i in range(gpus):
        size = 512 * MIB
        labels = {"show": "matrix", "row": "numa:0", "column": f"gpu:{i}", "figure": "first"}
        plan_case = case("Host to GPU, copy engine, pinned", [flow("numa:0", f"gpu:{i}", size)], labels)
        found.append(ok(plan_case, [seconds(size, 55.5, f"h2d{i}")]))
    for i in range(gpus):
        labels = {"show": "list", "row": "", "column": f"gpu:{i}", "figure": "first"}
        plan_case = case("Local copy", [flow(f"gpu:{i}", f"gpu:{i}")], labels)
        found.append(ok(plan_case, [seconds(512 * MIB, 2082, f"local{i}", noise=0.03)], stopped="budget"))
    for a in range(gpus):
        for b in range(gpus):
            labels = {"show": "matrix", "row": f"gpu:{a}", "column": f"gpu:{b}", "figure": "latency"}
            chase = flow(f"gpu:{a}", f"gpu:{b}", 64, "pointer-chase")
            plan_case = case("Latency of a load, pointer chase", [chase], labels)
            time = 300e-9 if a == b else 827e-9
            found.append(ok(plan_case, [[time * (1 + 0.001 * math.sin(i + a + b)) for i in range(20)]], latency=True))
    series = [("nvlink-18, copy engine", "gpu:0", "gpu:1", 396.0), ("pcie5-x16, copy engine", "numa:0", "gpu:0", 55.6)]
    return found + size_curves("Copy over size, one pair of each tier", series)


def under_load(gpus: int = 4, status: str = "ok", name: str = "Host to GPU while all the others do") -> Row:
    """One case that times a flow to every GPU under the load of all: a figure for each, 40, 41, ... GB/s."""
    flows = [flow("numa:0", f"gpu:{i}") for i in range(gpus)]
    cells = [{"row": "numa:0", "column": f"gpu:{i}"} for i in range(gpus)]
    labels = {"show": "matrix", "row": "", "column": f"each of {gpus} flows", "figure": "first", "cells": cells}
    plan_case = case(name, flows, labels) | {"load": "sustained"}
    if status != "ok":
        return not_ok(plan_case, status, "no such luck")
    return ok(plan_case, [seconds(512 * MIB, 40.0 + i, f"load{i}") for i in range(gpus)])


def sweep(pairs: int = 12, sizes: int = 25, methods: int = 4) -> list[Row]:
    """pairs x sizes x methods rows, as a wide sweep gives."""
    ends = [(f"gpu:{a}", f"gpu:{b}") for a in range(4) for b in range(4) if a != b][:pairs]
    return [
        row
        for method in range(methods)
        for row in size_curves(
            f"Sweep, method {method}",
            [(f"{a} > {b}", a, b, 390.0 - 20 * method - i) for i, (a, b) in enumerate(ends)],
            sizes,
        )
    ]


def run(gpus: int = 4, found: list[Row] | None = None, **more: Any) -> RunFile:
    """A run file of ``found`` (all of ``rows()`` by default); ``more`` is put into the header."""
    held = tuple(rows(gpus) if found is None else found)
    head = header(node(gpus)) | more
    head["plan"] = {**head["plan"], "ids": list(dict.fromkeys(row.id for row in held))}
    return RunFile(Path("synthetic.jsonl"), head, held, ())


def header(described: Node) -> Json:
    """A header as a run file has it."""
    return {
        "record": "header",
        "schema": 1,
        "version": "0.0.0",
        "started": "2025-11-19T14:02:11Z",
        "host": "modelled-host",
        "command": ["linkscope", "run", "default", "--machine", described.name],
        "node": described.to_json(),
        "engine": {"backend": "modelled", "versions": {"model": "1"}},
        "state": {},
        "plan": {"options": {"precision": 0.01}, "suites": ["default"], "ids": []},
    }


def there_and_back(method: str, memory: str, seconds: float, sizes: list[int], call: str = "ping-pong") -> list[Row]:
    """Half of a round trip between two processes on host memory, or of another ``call`` the time of one."""
    found = []
    for size in sizes:
        ends = {
            end: {"device": "numa:0", "memory": memory, "rank": rank}
            for rank, end in enumerate(("source", "destination"))
        }
        message = flow("numa:0", "numa:0", size, method, parameters={"call": call}) | ends
        plan_case = case(f"{method}/{call}/{size}", [message], {"figure": "latency", "tier": "local"}, "host")
        row = ok({**plan_case, "processes": 2}, [[seconds] * 9], latency=call == "ping-pong")
        found.append(Row.from_json({**row.raw, "modelled": False, "backend": "host"}))
    return found
