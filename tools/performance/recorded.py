"""Lines of bench/results that are computed from run files of this repository."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars
from tools.performance.result_line import ResultLine

from linkscope.answers.app import workloads
from linkscope.answers.tables import tables
from linkscope.documents.sizes import format_bytes
from linkscope.figures.collective import Collective
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

Key = tuple[str, str, int]
"""Row and form ("direct graph"), kind and size of a collective."""
KINDS = ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all")
SMALL: Mapping[str, tuple[str, str]] = {
    "graph of 20 calls, time": ("direct-graph-recorded graph", "xccl-graph-recorded graph"),
    "graph of one call, time": ("direct graph", "xccl-graph graph"),
    "inside a kernel": ("direct in-kernel", ""),
}
"""Of the run ``packets``: the rows of direct collectives and of NCCL's that each line compares."""


@dataclass(frozen=True)
class Recorded:
    """Collectives of a run: the time of one call, and its bus bandwidth in GB/s."""

    seconds: dict[Key, float]
    bus: dict[Key, float]

    @classmethod
    def of(cls, run: RunFile) -> Recorded:
        """Return the collectives of a run file. Times are means of the members' medians."""
        recorded = cls({}, {})
        for row in run.with_status("ok"):
            flow = row.case["flows"][0]
            kind = flow["parameters"]["collective"]
            key = (f"{row.case['name']} {flow['parameters']['form']}", kind, flow["bytes"])
            seconds = statistics.mean(one.seconds.median for one in row.flows)
            factor = Collective(kind, tuple(member["device"] for member in flow["members"])).bus_factor
            recorded.seconds[key] = seconds
            recorded.bus[key] = factor * flow["bytes"] / seconds * 1e-9
        return recorded


def recorded_lines(name: str, files: Mapping[str, RunFile]) -> list[ResultLine]:
    """Return the lines of the run ``name`` of ``files``."""
    file = files[name]
    if name == "default":
        return list(_matrices(Run(file)))
    if name == "packets":
        found = Recorded.of(file).seconds
        return [line for what, rows in SMALL.items() for line in _collectives(what, rows, found, 1e6, "us")]
    if name == "large":
        rows = ("direct graph", "xccl graph")
        return list(_collectives("graph of 20 calls, bus bandwidth", rows, Recorded.of(file).bus, 1, RATE))
    if name.startswith("order"):
        return [_order(file, files["order-default"])]
    return list(_applications(Run(file)))


def _matrices(run: Run) -> Iterator[ResultLine]:
    """Yield a line per matrix: the median over its cells, the lowest and the highest."""
    for test in tables(run.results):
        if test.layout != "matrix":
            continue
        known = test.frame.filter(polars.col("value").is_not_null())
        unit = "GB/s" if known["unit"][0] == RATE else "ns"
        values = [value * (1 if unit == RATE else 1e9) for value in known["value"]]
        yield ResultLine(str(test.facts["title"]), "", statistics.median(values), None, min(values), max(values), unit)


def _collectives(
    what: str, rows: tuple[str, str], found: Mapping[Key, float], factor: float, unit: str
) -> Iterator[ResultLine]:
    ours, theirs = rows
    for kind in KINDS:
        for size in sorted(size for row, one, size in found if (row, one) == (ours, kind)):
            peer = found[theirs, kind, size] * factor if theirs else None
            yield ResultLine(what, f"{kind} {format_bytes(size)}", found[ours, kind, size] * factor, peer, unit=unit)


def _applications(run: Run) -> Iterator[ResultLine]:
    """Yield a line per combination of interface and memory, with the 95% interval of its time."""
    for one in workloads(run):
        for line in one.methods.iter_rows(named=True):
            case = f"{line['interface']}{' staged' if line['staged'] else ''}, {line['memory']}"
            low, middle, high = (line[name] * 1e3 for name in ("seconds_low", "seconds", "seconds_high"))
            yield ResultLine(
                f"{one.facts['workload']}, {one.facts['ranks']} ranks", case, middle, None, low, high, "ms"
            )


def _order(file: RunFile, usual: RunFile) -> ResultLine:
    """Return the modelled time of an order of ranks beside that of the node's order."""
    what = f"modelled halo exchange, 8 ranks, {'suggested' if file is not usual else 'usual'} order, time"
    (row,), (first,) = (one.with_status("ok")[:1] for one in (file, usual))
    order = " ".join(row.labels["workload"]["order"])
    return ResultLine(what, order, row.flows[0].seconds.median * 1e3, first.flows[0].seconds.median * 1e3, unit="ms")
