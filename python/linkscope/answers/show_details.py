"""Show's details: cases without results, remarks, slowest members, and where results come from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import polars

from linkscope.answers.answer import Column, Kind, Table
from linkscope.answers.movements import ALIKE
from linkscope.figures.run import Run
from linkscope.machine.node import ASSUMED
from linkscope.machine.traits import method_traits
from linkscope.messages.catalog import sentence
from linkscope.results.remarks import remarks as of_replicates
from linkscope.results.row import Row, origin_name

DEFAULT_PRECISION = 0.01
"""Relative half width of the 95% interval that a run asks for unless told otherwise."""
_VERSION = re.compile(r"^MPI VERSION : |\bversion:? +|\bv(?=\d)", re.IGNORECASE)
"""Words before a library's name or number that say nothing."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def precision(run: Run) -> float:
    """Return the relative half width of the 95% interval that the run asked for."""
    return float(run.header.get("plan", {}).get("options", {}).get("precision", DEFAULT_PRECISION))


def provenance(run: Run) -> Table:
    """Return what a run's header says: node, host, start, software and libraries, command, calibration."""
    lines = [(name, text) for name, text in _provenance(run) if text]
    frame = polars.DataFrame(lines, schema={"what": polars.String, "text": polars.String}, orient="row")
    return Table(
        "show.provenance",
        frame,
        (Column("what", Kind.NAME, " ", of="provenance"), Column("text", head=" ")),
        detail=True,
    )


def _provenance(run: Run) -> Iterator[tuple[str, str]]:
    header = run.header
    tool, engine = origin_name(header), header.get("engine", {})
    versions = (header.get("origin") or engine).get("versions", {})
    yield "node", run.node.name
    yield "host", "" if run.modelled else str(header.get("host", ""))
    yield "hosts", ", ".join(hosts(run))
    yield "started", str(header.get("started", ""))
    yield "linkscope", str(header.get("version", ""))
    yield "origin", tool
    yield "engine", "" if tool else str(engine.get("backend", ""))
    yield "versions", ", ".join(f"{name} {text}" for name, text in versions.items())
    yield "mpi", ", ".join(_mpi(run))
    yield "command", shlex.join(str(word) for word in header.get("command", []))
    calibrated = header.get("noise") or {}
    yield "calibrated", ", ".join(filter(None, (str(calibrated.get("calibrated", "")), *calibrated.get("suites", ()))))


def hosts(run: Run) -> tuple[str, ...]:
    """Return the hosts of processes that came together on several; () where none did."""
    states = (state["processes"] for state in run.file.states if state.get("when") == "joined")
    groups = [[str(process["host"]) for process in processes] for processes in states]
    return tuple(dict.fromkeys(host for group in groups if len(set(group)) > 1 for host in group))


def _mpi(run: Run) -> Iterator[str]:
    by_mpi = [row for row in run.rows.values() if method_traits(row.case, row.case["flows"][0]["method"]).by_mpi]
    yield from dict.fromkeys(_VERSION.sub("", name) for row in by_mpi for one in row.measured for name in one.libraries)


def reasons(run: Run) -> Table:
    """Return why cases have no results, the most frequent reason first; those that differ in numbers alone are one."""
    without = [row for row in run.rows.values() if row.status in ("skipped", "failed")]
    return _counted("show.reasons", [(row, f"{row.status}|{reason_of(row)}") for row in without])


def remarks(run: Run) -> Table:
    """Return what the engine noted of cases, and what their replicates say; the most frequent remark first."""
    said = ((row, (*map(sentence, of_replicates(row)), *row.notes)) for row in run.rows.values())
    return _counted("show.remarks", [(row, f"|{remark}") for row, remarks in said for remark in remarks])


def _counted(key: str, said: list[tuple[Row, str]]) -> Table:
    texts: dict[str, set[str]] = {}
    rows: dict[str, dict[str, Row]] = {}
    for row, text in said:
        alike = _NUMBER.sub("#", text)
        texts.setdefault(alike, set()).add(text)
        rows.setdefault(alike, {})[row.id] = row
    lines = [
        {
            "status": merged(texts[alike]).partition("|")[0],
            "cases": len(some),
            "reason": merged(texts[alike]).partition("|")[2],
            "tests": list(dict.fromkeys(f"{row.suite}/{row.name}" for row in some.values())),
        }
        for alike, some in sorted(rows.items(), key=lambda one: -len(one[1]))
    ]
    schema: dict[str, Any] = {
        "status": polars.String,
        "cases": polars.Int64,
        "reason": polars.String,
        "tests": polars.List(polars.String),
    }
    columns = (Column("status"), Column("cases", Kind.COUNT), Column("reason"), Column("tests"))
    shown = columns if any(line["status"] for line in lines) else columns[1:]
    return Table(key, polars.DataFrame(lines, schema=schema), shown, detail=True)


def merged(texts: set[str]) -> str:
    """Return texts that differ in their numbers alone as one: "2 to 7 of 3 replicates"."""
    numbers = [_NUMBER.findall(text) for text in sorted(texts)]
    spans = [sorted(set(column), key=float) for column in zip(*numbers, strict=True)]
    words = [span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    between = _NUMBER.split(min(texts))
    return "".join(text + number for text, number in zip_longest(between, words, fillvalue=""))


def slowest_members(run: Run) -> Table:
    """Return the member that took longest of each collective whose members differ by more than ``ALIKE``."""
    lines = []
    for row in run.rows.values():
        flow = row.case["flows"][0]
        parts, members = (row.flows[0].parts_s if row.flows else ()), flow.get("members", ())
        if len(parts) < 2 or len(parts) != len(members):
            continue
        behind = max(parts) * len(parts) / sum(parts) - 1
        if behind > ALIKE:
            member = members[parts.index(max(parts))]
            words = [str(member["device"]), *([f"rank {member['rank']}"] if "rank" in member else [])]
            lines.append((row.id, flow["method"], int(flow["bytes"]), ", ".join(words), behind))
    schema = {"id": polars.String, "method": polars.String, "bytes": polars.Int64, "member": polars.String}
    frame = polars.DataFrame(lines, schema={**schema, "behind": polars.Float64}, orient="row")
    columns = (Column("id", head="case"), Column("member"), Column("behind", Kind.CHANGE))
    return Table("show.slowest-members", frame.sort("behind", descending=True), columns, detail=True)


def departures(run: Run) -> Table:
    """Return where a machine model differs from the machine, as its file states it."""
    notes = [text for text in run.node.notes[1:] if not text.startswith(ASSUMED)] if run.node.modelled else []
    return Table(
        "show.departures",
        polars.DataFrame({"text": notes}, schema={"text": polars.String}),
        (Column("text", head=" "),),
        detail=True,
    )


_TELLER = re.compile(r"^rank \d+ \(host [^()]*\): ")
"""Which rank gave the reason first: the others skip the case for the same one."""


def reason_of(row: Row) -> str:
    """Return why a row has no result; which rank it was stays where the case failed."""
    reason = str(row.reason or "")
    return _TELLER.sub("", reason) if row.status == "skipped" else reason
