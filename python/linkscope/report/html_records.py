"""What the page's script knows of each cell: the details on hover, and the table of all figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import Cell, place_of
from linkscope.analysis.collective import Collective
from linkscope.analysis.ledger import Ledger
from linkscope.analysis.summary import ABOVE_PEAK, Table
from linkscope.report import wording
from linkscope.results.row import Row


class Records:
    """``lines``: a dict for each cell of the tables, in the order of the run; ``index`` is its place there.

    ``accounts`` say what is expected of a figure, and whether it is short.
    """

    def __init__(self, rows: Sequence[Row], tables: Sequence[Table], accounts: Collection[Ledger]) -> None:
        found = {entry.key: (number, entry) for number, table in enumerate(tables) for entry in table.flat}
        placed = list(found.values())
        order = {row.id: index for index, row in enumerate(rows)}
        placed.sort(key=lambda pair: order[pair[1].id])
        told = {entry.id for _, entry in placed}
        self._rows = {row.id: row for row in rows}
        self._parts = {place_of(part): part for part in apart([row for row in rows if row.id in told])}
        self._accounts = {one.id: one for one in accounts if one.expected_gbps is not None}
        self._index = {entry.key: index for index, (_, entry) in enumerate(placed)}
        self.lines = [
            {"t": number, **_record(self._parts[entry.key], tables[number], entry), **self._expected(entry)}
            for number, entry in placed
        ]

    def index(self, entry: Cell) -> int:
        return self._index[entry.key]

    def row(self, entry: Cell) -> Row:
        """The case that the cell is of, whole."""
        return self._rows[entry.id]

    def short(self, entry: Cell) -> bool:
        """Whether the figure is slower than it should be."""
        return entry.id in self._accounts and self._accounts[entry.id].short

    def _expected(self, entry: Cell) -> dict[str, Any]:
        one = self._accounts.get(entry.id)
        if one is None or one.expected_gbps is None or entry.headline is None or not entry.headline.higher_is_better:
            return {}
        return {"expected": _short(one.expected_gbps)} | ({"low_by": _short(one.missing * 100)} if one.short else {})


def _record(row: Row, table: Table, entry: Cell) -> dict[str, Any]:
    """One cell for the tooltip and the table of all rows; short keys, for there may be thousands."""
    heading, figure = table.heading, entry.headline
    record: dict[str, Any] = {
        "id": row.id,
        "where": wording.place(entry, heading),
        "status": entry.status,
        "reason": entry.reason or "",
        "bytes": entry.bytes,
        "size": wording.size(entry.bytes) if entry.bytes else "",
        "how": _how(row),
        "clock": row.case["clock"],
        "cache": row.case.get("cache", "rotated"),
        "stopped": row.stopped or "",
        "verified": _verified(row),
        "setting": _setting(row),
        "load": row.load,
        "notes": [wording.explained(note) for note in row.notes],
    }
    if entry.x is not None:
        record["x"] = _short(entry.x) if entry.x != int(entry.x) else int(entry.x)
    if figure is not None:
        value = figure.value
        names = ("n", "median", "low", "high", "min", "p5", "p95", "max")
        record |= {name: _short(getattr(value, name)) for name in names}
        record |= {"unit": figure.unit, "what": figure.what, "margin": wording.interval(entry)}
        if not figure.exact:
            record["half"] = _short(figure.margin * 100)
    if entry.peak is not None:
        record |= {"peak": _short(entry.peak.gbps), "why": entry.peak.why}
    bandwidths = _bandwidths(row)
    if bandwidths:
        record["bandwidths"] = bandwidths
    if entry.slowest is not None:
        record["notes"] = [*record["notes"], f"slowest member: {wording.slowest(entry)}"]
    if entry.overlap is not None:
        record["overlap"] = _short(entry.overlap * 100)
    if entry.above_peak:
        record["beyond"] = ABOVE_PEAK
    elif entry.share is not None:
        record["share"] = _short(entry.share * 100)
    return record


def _bandwidths(row: Row) -> str:
    """Of a collective both that nccl-tests prints, such as "algorithm 236.1, bus 354.2 GB/s"; empty for other rows."""
    collective = Collective.of(row.case["flows"][0])
    rate = row.flows[0].gbps if row.flows else None
    if collective is None or rate is None:
        return ""
    bus = rate.median * collective.bus_factor
    return f"algorithm {wording.value(rate.median)}, bus {wording.value(bus)} GB/s"


def _short(number: float) -> float:
    return float(f"{number:.5g}")


def _how(row: Row) -> str:
    """The first flow in words: "copy-engine, gpu:0 device → gpu:1 device, driven by gpu:0"."""
    flow = row.case["flows"][0]
    if "schedule" in flow:
        return f"{_schedule(flow)}, {_processes(row)}"
    if "members" in flow:
        return f"{_collective(flow)}, {_processes(row)}"
    ends = [f"{end['device']} {end['memory']}" for end in (flow.get("source"), flow.get("destination")) if end]
    others = len(row.case["flows"]) - 1
    text = f"{flow['method']}, {' → '.join(ends)}, driven by {flow['executor']}"
    text += f", {_processes(row)}" if row.case.get("processes", 1) > 1 else ""
    return f"{text}; and {wording.count(others, 'more flow')}" if others else text


def _schedule(flow: dict[str, Any]) -> str:
    """Such as "mpi-schedule (staging full), 4 ranks on gpu:0, gpu:1, registered from device"."""
    named = ", ".join(f"{name} {text}" for name, text in flow.get("parameters", {}).items())
    devices = dict.fromkeys(end["device"] for end in flow["members"])
    state = f" from {flow['state'][0]['memory']}" if flow.get("state") else ""
    ranks = f"{len(flow['members'])} ranks on {', '.join(devices)}"
    return f"{flow['method']}{f' ({named})' if named else ''}, {ranks}, {flow['members'][0]['memory']}{state}"


def _collective(flow: dict[str, Any]) -> str:
    """Such as "xccl-collective, all-reduce (type float32), gpu:0 to gpu:3 (4 members), device"."""
    parameters = dict(flow.get("parameters", {}))
    kind = parameters.pop("collective", "all-reduce")
    named = ", ".join(f"{name} {text}" for name, text in parameters.items())
    devices = dict.fromkeys(end["device"] for end in flow["members"])
    members = f"{len(flow['members'])} members on {', '.join(devices)}"
    return f"{flow['method']}, {kind}{f' ({named})' if named else ''}, {members}, {flow['members'][0]['memory']}"


def _processes(row: Row) -> str:
    """Such as "4 processes", "2 processes on node1, node2"."""
    count = int(row.case.get("processes", 1))
    where = f" on {', '.join(dict.fromkeys(row.hosts))}" if row.hosts else ""
    return "one process" if count == 1 else f"{count} processes{where}"


def _verified(row: Row) -> str:
    checked = [line.get("verified") or {} for line in row.lines]
    size = sum(int(one.get("bytes", 0)) for one in checked)
    passes = sum(int(one.get("passes", one.get("rounds", 0))) for one in checked)
    return f"{wording.size(size)} in {passes} passes" if size else ""


def _setting(row: Row) -> str:
    settings = (", ".join(f"{name} {text}" for name, text in flow.setting.items()) for flow in row.flows)
    return "; ".join(dict.fromkeys(text for text in settings if text))
