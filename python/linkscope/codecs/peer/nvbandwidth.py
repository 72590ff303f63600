"""nvbandwidth: its text output, a matrix for each test. Format: output.cpp and inline_common.h of nvbandwidth 0.8."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.machine.node import Device
from linkscope.results.printed_mark import MODELLED
from linkscope.results.row import Row

TOOL = "nvbandwidth"
VERSION = "v0.8"
_ARROWS = {
    "host_to_device_memcpy": "CPU(row) -> GPU(column)",
    "device_to_host_memcpy": "CPU(row) <- GPU(column)",
    "host_to_device_bidirectional_memcpy": "CPU(row) <-> GPU(column)",
    "device_to_host_bidirectional_memcpy": "CPU(row) <-> GPU(column)",
    "device_to_device_memcpy_read": "GPU(row) -> GPU(column)",
    "device_to_device_memcpy_write": "GPU(row) <- GPU(column)",
    "device_to_device_bidirectional_memcpy_read": "GPU(row) <-> GPU(column)",
    "device_to_device_bidirectional_memcpy_write": "GPU(row) <-> GPU(column)",
    "all_to_host_memcpy": "CPU(row) <- GPU(column)",
    "all_to_host_bidirectional_memcpy": "CPU(row) <-> GPU(column)",
    "host_to_all_memcpy": "CPU(row) -> GPU(column)",
    "host_to_all_bidirectional_memcpy": "CPU(row) <-> GPU(column)",
    "all_to_one_write": "GPU(row) <- GPU(column)",
    "all_to_one_read": "GPU(row) -> GPU(column)",
    "one_to_all_write": "GPU(row) -> GPU(column)",
    "one_to_all_read": "GPU(row) <- GPU(column)",
}
"""As it prints them, in its order, once for copy engines (_ce) and once for kernels (_sm)."""
TESTS = {
    **{f"{name}_ce": f"memcpy CE {arrow} bandwidth (GB/s)" for name, arrow in _ARROWS.items()},
    **{f"{name}_sm": f"memcpy SM {arrow} bandwidth (GB/s)" for name, arrow in _ARROWS.items()},
    "host_device_latency_sm": "memory latency SM CPU(row) <-> GPU(column) (ns)",
    "device_to_device_latency_sm": "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)",
    "device_local_copy": "memcpy local GPU(column) bandwidth (GB/s)",
}
"""What it prints above each test's matrix."""
_PARTS = {"read": ("Read1", "Read2"), "write": ("Write1", "Write2")}
_BETWEEN_GPUS = ("device_to_device_",)
"""Tests whose matrix has a row for each GPU; all others have one."""
_METHODS = ("copy-engine", "kernel-copy", "pointer-chase")
Json = dict[str, Any]
Values = Mapping[tuple[int, int], float]


def takes(case: Json) -> bool:
    """Return whether the test that the case is of repeats one of nvbandwidth's."""
    return _test(case) in TESTS


def alike(case: Json) -> bool:
    """Return whether a GPU is copied to or from, or its memory waited for, as its tests do."""
    flow = case["flows"][0]
    ends = [flow[end]["device"] for end in ("source", "destination") if end in flow]
    return flow["method"] in _METHODS and any(device.startswith("gpu:") for device in (*ends, flow["executor"]))


def text(run: Run, rows: Sequence[Row]) -> str:
    """Return a matrix for each test that ``rows`` are of, in nvbandwidth's order, and a line for each without results.

    Where GPUs have no PCI address (machine models), zeros stand for it. Several sizes follow one another.
    """
    gpus = run.node.of_kind("gpu")
    lines = [f"nvbandwidth Version: {VERSION}", f"Built from Git version: linkscope-{run.header['version']}", ""]
    lines += [*versions, ""] if (versions := _versions(run)) else []
    lines += [run.node.name if run.modelled else str(run.header.get("host") or run.node.name)]
    lines += [*(f"Device {number}: {gpu.name} ({_pci(gpu)})" for number, gpu in enumerate(gpus)), ""]
    places = {gpu.id: number for number, gpu in enumerate(gpus)}
    for test in TESTS:
        of_test = [row for row in rows if _test(row.case) == test]
        for size in dict.fromkeys(row.case["flows"][0]["bytes"] for row in of_test):
            sized = [row for row in of_test if row.case["flows"][0]["bytes"] == size]
            lines += _block(test, sized, _Matrix(run.results, places))
    return "\n".join(lines) + "\n"


def _test(case: Json) -> str:
    peer = case.get("labels", {}).get("peer") or {}
    return str(peer.get("case", "")) if peer.get("tool") == TOOL else ""


def _versions(run: Run) -> list[str]:
    """Return what the run says of the CUDA that carried it out; a model has none."""
    found: dict[str, str] = {}
    for versions in (run.header.get("engine", {}).get("versions", {}), *map(_of_state, run.file.states)):
        found |= {name: str(value) for name, value in versions.items()}
    lines = {"CUDA Runtime Version": _number(found.get("CUDA runtime", ""))}
    lines |= {"CUDA Driver Version": _number(found.get("CUDA driver", "")), "Driver Version": found.get("driver", "")}
    return [] if run.modelled else [f"{name}: {value}" for name, value in lines.items() if value]


def _of_state(record: Json) -> Json:
    versions: Json = record.get("state", {}).get("versions") or {}
    return versions


def _number(version: str) -> str:
    """Return 13000 of "13.0", as the driver counts; "" of anything else."""
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", version)
    return str(1000 * int(match[1]) + 10 * int(match[2])) if match else ""


def _pci(gpu: Device) -> str:
    """Return domain of eight digits, bus and device, of "0000:1b:00.0"."""
    domain, _, rest = (gpu.pci or "0000:00:00").partition(":")
    return f"{domain:0>8}:{rest.partition('.')[0]}"


def _block(test: str, rows: Sequence[Row], matrix: _Matrix) -> Iterator[str]:
    good = [row for row in rows if row.status == "ok"]
    if not good:
        failed = [row for row in rows if row.status == "failed"]
        yield from [f"Running {test}.", f"Error: {failed[0].reason}"] if failed else [f"Waived: {rows[0].reason}"]
        return
    modelled = f", {MODELLED}" if any(row.modelled for row in rows) else ""
    yield f"Running {test}."
    values = matrix.values(test, good)
    if test.partition("_bidirectional_")[0] == "device_to_device":
        kind = "read" if "_read_" in test else "write"
        for index, word in enumerate(_PARTS[kind]):
            title = TESTS[test].replace(" bandwidth", f" {word} bandwidth")
            yield from matrix.lines(f"{test}_{word.lower()}", title + modelled, matrix.rates(index, good))
        title = TESTS[test].replace(" bandwidth", " Total bandwidth")
        yield from matrix.lines(f"{test}_total", title + modelled, values)
    else:
        yield from matrix.lines(test, TESTS[test] + modelled, values)


@dataclass(frozen=True)
class _Matrix:
    """Results by the numbers of GPUs. ``places``: number of each GPU."""

    results: polars.DataFrame
    places: Mapping[str, int]

    def values(self, test: str, rows: Sequence[Row]) -> Values:
        """Return GB/s, or ns, by row and column of the matrix."""
        ids = [row.id for row in rows]
        lines = self.results.filter(polars.col("id").is_in(ids), polars.col("value").is_not_null())
        found = {}
        for line in lines.select("place", "value", "unit").iter_rows(named=True):
            place = self._place(test, *line["place"].split("|", 1))
            if place is not None:
                found[place] = line["value"] if line["unit"] == RATE else line["value"] * 1e9
        return found

    def rates(self, index: int, rows: Sequence[Row]) -> Values:
        """Return GB/s of one of several flows by row and column."""
        found = {}
        for row in rows:
            measured = row.measured_flows
            rate = measured[index][1].gbps if index < len(measured) else None
            place = self._place(_test(row.case), str(row.labels.get("row")), str(row.labels.get("column")))
            if rate is not None and place is not None:
                found[place] = rate.median
        return found

    def _place(self, test: str, row: str, column: str) -> tuple[int, int] | None:
        if column not in self.places:
            return None
        return self.places.get(row, 0) if test.startswith(_BETWEEN_GPUS) else 0, self.places[column]

    def lines(self, key: str, title: str, values: Values) -> Iterator[str]:
        """Yield the matrix and its sum as nvbandwidth prints them."""
        gpus = len(self.places)
        yield title
        yield "  " + "".join(f"{column:>10}" for column in range(gpus))
        for line in range(gpus if key.startswith(_BETWEEN_GPUS) else 1):
            cells = (values.get((line, column)) for column in range(gpus))
            yield f"{line:>2}" + "".join(f"{'N/A' if value is None else f'{value:.2f}':>10}" for value in cells)
        yield ""
        yield f"SUM {key} {sum(values.values()):.2f}"
        yield ""
