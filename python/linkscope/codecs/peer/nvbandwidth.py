"""nvbandwidth: its text output, a matrix for each test.

Format: output.cpp and inline_common.h of nvbandwidth 0.8, and what 0.10 prints; without its line
COEFFICIENT_OF_VARIATION. Tests: the list of 0.10. Release 0.11 adds one test of a single node,
device_to_device_latency_counted, which needs a Compute Fabric Transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.machine.node import Device
from linkscope.results.printed_mark import MODELLED
from linkscope.results.row import Row

TOOL = "nvbandwidth"
VERSION = "v0.11"
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
"""Directions as nvbandwidth prints them, in its order, for copy engines (_ce) and for kernels (_sm)."""
_LOCAL = "memcpy local GPU(column) bandwidth (GB/s)"
TESTS = {
    **{f"{name}_ce": f"memcpy CE {arrow} bandwidth (GB/s)" for name, arrow in _ARROWS.items()},
    **{f"{name}_sm": f"memcpy SM {arrow} bandwidth (GB/s)" for name, arrow in _ARROWS.items()},
    "host_device_latency_sm": "memory latency SM CPU(row) <-> GPU(column) (ns)",
    "device_to_device_latency_sm": "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)",
    **{
        f"{name}_tma": f"memcpy TMA {arrow} bandwidth (GB/s)"
        for name, arrow in _ARROWS.items()
        if name.startswith("device_to_device")
    },
    **dict.fromkeys(
        ("device_local_copy", "device_local_copy_sm", "device_local_read_sm", "device_local_write_sm"), _LOCAL
    ),
    "device_to_device_latency_tma": "Device to Device Latency TMA GPU(row) <-> GPU(column) (ns)",
    "device_local_copy_tma": _LOCAL,
}
"""Titles above each test's matrix."""
_BETWEEN_GPUS = "device_to_device_"
"""Tests whose matrix has a row for each GPU; all others have one."""
_METHODS = ("copy-engine", "kernel-copy", "kernel-bulk-copy", "pointer-chase", "bulk-chase")
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
        matrix = _Matrix(run.results, places, len(gpus) if test.startswith(_BETWEEN_GPUS) else 1)
        of_test = [row for row in rows if _test(row.case) == test]
        for size in dict.fromkeys(row.case["flows"][0]["bytes"] for row in of_test):
            sized = [row for row in of_test if row.case["flows"][0]["bytes"] == size]
            lines += _block(test, sized, matrix)
    return "\n".join(lines) + "\n"


def _test(case: Json) -> str:
    peer = case.get("labels", {}).get("peer") or {}
    return str(peer.get("case", "")) if peer.get("tool") == TOOL else ""


def _versions(run: Run) -> list[str]:
    """Return what the run says of the CUDA that carried it out, also as the driver counts: "13.0 (13000)"."""
    found: Json = dict(run.header.get("engine", {}).get("versions", {}))
    for record in run.file.states:
        found |= record.get("state", {}).get("versions") or {}
    lines = {"Driver Version": str(found.get("driver", ""))}
    for name, of in (("Driver Version (API)", "driver"), ("Runtime Version", "runtime")):
        match = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", str(found.get(f"CUDA {of}", "")))
        number = f"{match[0]} ({1000 * int(match[1]) + 10 * int(match[2])})" if match else ""
        lines = {f"CUDA {name}": number, **lines}
    return [] if run.modelled else [f"{name}: {value}" for name, value in lines.items() if value]


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
    yield f"Running {test}."
    title = TESTS[test] + (f", {MODELLED}" if any(row.modelled for row in rows) else "")
    if not test.startswith("device_to_device_bidirectional_"):
        yield from matrix.lines(test, title, matrix.values(good))
        return
    word = "Read" if "_read_" in test else "Write"
    parts = {f"{word}{index + 1}": matrix.rates(index, good) for index in range(2)} | {"Total": matrix.values(good)}
    for part, values in parts.items():
        above = title.replace(" bandwidth", f" {part} bandwidth")
        yield from matrix.lines(f"{test}_{part.lower()}", above, values)


@dataclass(frozen=True)
class _Matrix:
    """Results by row and column of a test's matrix. ``places``: number of each GPU. Where GPUs are not between
    themselves there is one row."""

    results: polars.DataFrame
    places: Mapping[str, int]
    rows: int

    def values(self, rows: Sequence[Row]) -> Values:
        """Return GB/s, or ns."""
        lines = self.results.filter(polars.col("id").is_in([row.id for row in rows]), polars.col("value").is_not_null())
        found = lines.select("place", "value", "unit").iter_rows()
        scaled = ((place, value if unit == RATE else value * 1e9) for place, value, unit in found)
        return self._placed((*place.split("|", 1), value) for place, value in scaled)

    def rates(self, index: int, rows: Sequence[Row]) -> Values:
        """Return GB/s of one of several flows."""
        known = ((row.labels, row.measured_flows[index][1].gbps) for row in rows if index < len(row.measured_flows))
        return self._placed((str(at.get("row")), str(at.get("column")), rate.median) for at, rate in known if rate)

    def _placed(self, values: Iterable[tuple[str, str, float]]) -> Values:
        places = self.places
        return {
            (places.get(row, 0) if self.rows > 1 else 0, places[column]): value
            for row, column, value in values
            if column in places
        }

    def lines(self, key: str, title: str, values: Values) -> Iterator[str]:
        """Yield the matrix and its sum as nvbandwidth prints them."""
        gpus = range(len(self.places))
        yield title
        yield "  " + "".join(f"{column:>10}" for column in gpus)
        for line in range(self.rows):
            cells = (values.get((line, column)) for column in gpus)
            yield f"{line:>2}" + "".join(f"{'N/A' if value is None else f'{value:.2f}':>10}" for value in cells)
        yield from ("", f"SUM {key} {sum(values.values()):.2f}", "")
