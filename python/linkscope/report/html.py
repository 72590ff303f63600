"""A run as one self-contained HTML page: no network, no library, readable without scripts, printable.

The pictures are SVG and HTML tables written here, brought to life by a small script: a plotting library would add
4.8 MB to every page, draw on a canvas of its own that neither prints nor follows the reader's colour scheme, and
give nothing that a heat map of a few dozen cells needs.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import Cell, place_of
from linkscope.analysis.choose import choose
from linkscope.analysis.collective import Collective
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.lists import Listing
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.overview import Overview, overview
from linkscope.analysis.summary import ABOVE_PEAK, Table, TableSummary, table_summary
from linkscope.errors import LinkscopeError
from linkscope.report import wording
from linkscope.report.curve_svg import clocks, curve_svg, mark, styles
from linkscope.report.html_answer import answer
from linkscope.report.provenance import machine_state, precision, provenance, remarks
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

NARROW = 4
"""A matrix of up to so many columns shares the page's width with another table."""
FLOOR = 0.7
"""A heat map's palest colour stands for at most this share of its largest value, so that noise looks like noise."""


def write_report(run: RunFile, path: Path) -> None:
    """Writes the page. Raises LinkscopeError where ``path`` cannot be written."""
    page = render(run)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise LinkscopeError(f"cannot write the report to {path}: {error.strerror or error}") from error


def render(run: RunFile) -> str:
    """The page's text."""
    header, rows, node = run.header, run.rows, run.node
    found = overview(rows, node, precision(header))
    records = _Records(rows, found)
    environment = Environment(
        loader=PackageLoader("linkscope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(wording=wording, NARROW=NARROW, styles=styles, clocks=clocks)
    environment.globals["mark"] = lambda regime, x, y: Markup(mark(regime, x, y))
    return environment.get_template("report.html.j2").render(
        header=header,
        node=node,
        answer=answer(node, explain(run), choose(figures(run)), found.summary),
        provenance=provenance(header, node, run.states),
        state=machine_state(header),
        remarks=remarks(run),
        started=_date(str(header.get("started", ""))),
        summary=found.summary,
        missing=run.missing,
        layers=found.layers,
        collectives=any("members" in flow for row in rows for flow in row.case["flows"]),
        tables=[_section(number, table, records) for number, table in enumerate(found.tables)],
        records=Markup(_script_json(records.lines)),
        raw=Markup(_packed(header, rows)),
        elapsed_s=sum(row.elapsed_s for row in rows),
        file_name=f"linkscope-{node.name}.jsonl",
    )


@dataclass(frozen=True)
class Heat:
    """A heat map's cell: its place on the colour scale in [0, 1] (None: no figure) and its record's index."""

    cell: Cell
    level: float | None
    index: int


@dataclass(frozen=True)
class Section:
    """A table as the template wants it. ``heat`` is for a matrix, ``svg`` for curves."""

    kind: str
    anchor: str
    table: Table
    line: TableSummary | None
    indices: tuple[int, ...]
    heat: tuple[tuple[Heat | None, ...], ...] = ()
    scale: tuple[float, float] | None = None
    svg: Markup | None = None


class _Records:
    """What the page's script knows of each cell, in the order of the run."""

    def __init__(self, rows: Sequence[Row], found: Overview) -> None:
        placed = [(table, entry) for table in found.tables for entry in table.flat]
        order = {row.id: index for index, row in enumerate(rows)}
        placed.sort(key=lambda pair: order[pair[1].id])
        parts = {place_of(part): part for part in apart(rows)}
        self._index = {entry.key: index for index, (_, entry) in enumerate(placed)}
        self.lines = [_record(parts[entry.key], table, entry) for table, entry in placed]

    def index(self, entry: Cell) -> int:
        return self._index[entry.key]


def _record(row: Row, table: Table, entry: Cell) -> dict[str, Any]:
    """One cell for the tooltip and the table of all rows; short keys, for there may be thousands."""
    heading, figure = table.heading, entry.headline
    record: dict[str, Any] = {
        "id": row.id,
        "table": heading.title,
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
        "notes": row.notes,
    }
    if figure is not None:
        value = figure.value
        names = ("n", "median", "low", "high", "min", "p5", "p95", "max")
        record |= {name: _short(getattr(value, name)) for name in names}
        record |= {"unit": figure.unit, "what": figure.what, "margin": wording.margin(figure)}
        record["half"] = _short(figure.margin * 100)
    if entry.peak is not None:
        record |= {"peak": _short(entry.peak.gbps), "why": entry.peak.why}
    bandwidths = _bandwidths(row)
    if bandwidths:
        record["bandwidths"] = bandwidths
    if entry.slowest is not None:
        record["notes"] = [*row.notes, f"slowest member: {wording.slowest(entry)}"]
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
    if "members" in flow:
        return f"{_collective(flow)}, {_processes(row)}"
    ends = [f"{end['device']} {end['memory']}" for end in (flow.get("source"), flow.get("destination")) if end]
    others = len(row.case["flows"]) - 1
    text = f"{flow['method']}, {' → '.join(ends)}, driven by {flow['executor']}"
    text += f", {_processes(row)}" if row.case.get("processes", 1) > 1 else ""
    return f"{text}; and {others} more flow{'s' if others > 1 else ''}" if others else text


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


def _section(number: int, table: Table, records: _Records) -> Section:
    line = table_summary(table)
    indices = tuple(records.index(entry) for entry in table.flat)
    anchor = f"t{number}"
    if isinstance(table, Matrix):
        scale = _scale(table, line)
        heat = tuple(
            tuple(None if c is None else Heat(c, _level(c, scale), records.index(c)) for c in cells)
            for cells in table.cells
        )
        return Section("matrix", anchor, table, line, indices, heat=heat, scale=scale)
    if isinstance(table, CurveSet):
        return Section("curve", anchor, table, line, indices, svg=Markup(curve_svg(table, records.index)))
    assert isinstance(table, Listing)
    return Section("list", anchor, table, line, indices)


def _scale(table: Matrix, line: TableSummary | None) -> tuple[float, float] | None:
    """Values of the palest and the strongest colour."""
    return None if line is None else (min(line.min, FLOOR * line.max), line.max)


def _level(entry: Cell, scale: tuple[float, float] | None) -> float | None:
    if entry.headline is None or scale is None:
        return None
    low, high = scale
    return round((entry.headline.value.median - low) / (high - low), 3) if high > low else 1.0


def _script_json(data: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _packed(header: dict[str, Any], rows: Sequence[Row]) -> str:
    """The run file's lines, gzip in base64: the page's script unpacks them for the download."""
    lines = [header, *(line for row in rows for line in row.lines)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _date(text: str) -> str:
    """Such as "19 November 2025, 14:02 UTC" of an RFC 3339 time in UTC; the text itself where it is none."""
    try:
        return f"{datetime.fromisoformat(text.replace('Z', '+00:00')):%-d %B %Y, %H:%M} UTC"
    except ValueError:
        return text
