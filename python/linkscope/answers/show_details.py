"""Show's details: cases without results, remarks, slowest members, and where results come from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

import polars

from linkscope.answers.answer import Column, Kind, Table
from linkscope.answers.movements import ALIKE
from linkscope.figures.run import Run
from linkscope.machine.node import ASSUMED
from linkscope.machine.traits import method_traits
from linkscope.messages.catalog import sentence
from linkscope.results.remarks import remarks as of_replicates
from linkscope.results.row import Row, origin_name

_VERSION = re.compile(r"^MPI VERSION : |\bversion:? +|\bv(?=\d)", re.IGNORECASE)
"""Words before a library's name or number that say nothing."""
_TELLER = re.compile(r"^rank \d+ \(host [^()]*\): ")
"""Which rank gave the reason first: the others skip the case for the same one."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def provenance(run: Run) -> Table:
    """Return what a run's header says: node, host, start, software and libraries, command, calibration."""
    lines = [(name, text) for name, text in _provenance(run) if text]
    frame = polars.DataFrame(lines, schema={"what": polars.String, "text": polars.String}, orient="row")
    columns = (Column("what", Kind.NAME, " ", of="provenance"), Column("text", head=" "))
    return Table("show.provenance", frame, columns, detail=True)


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
    return _counted("show.reasons", [(row, row.status, reason_of(row)) for row in without])


def remarks(run: Run) -> Table:
    """Return what the engine noted of cases, and what their replicates say; the most frequent remark first."""
    said = ((row, (*map(sentence, of_replicates(row)), *row.notes)) for row in run.rows.values())
    return _counted("show.remarks", [(row, "", remark) for row, remarks in said for remark in remarks])


def _counted(key: str, said: Sequence[tuple[Row, str, str]]) -> Table:
    """Return how many cases have each (status, text); texts that differ in their numbers alone are one."""
    schema = dict.fromkeys(("alike", "status", "reason", "id", "tests"), polars.String)
    lines = [(_NUMBER.sub("#", text), status, text, row.id, f"{row.suite}/{row.name}") for row, status, text in said]
    frame = polars.DataFrame(lines, schema=schema, orient="row").group_by("alike", "status", maintain_order=True)
    counted = frame.agg(
        cases=polars.col("id").n_unique(),
        reason=polars.col("reason").unique(),
        tests=polars.col("tests").unique(maintain_order=True),
    ).sort("cases", descending=True, maintain_order=True)
    reasons = [merged(texts) for texts in counted["reason"]]
    counted = counted.with_columns(polars.Series("reason", reasons, polars.String)).drop("alike")
    status = [Column("status")] if any(counted["status"]) else []
    return Table(key, counted, (*status, Column("cases", Kind.COUNT), Column("reason"), Column("tests")), detail=True)


def merged(texts: Iterable[str]) -> str:
    """Return texts that differ in their numbers alone as one: "2 to 7 of 3 replicates"."""
    texts = sorted(texts)
    spans = [sorted(set(column), key=float) for column in zip(*map(_NUMBER.findall, texts), strict=True)]
    words = [span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    return "".join(text + number for text, number in zip_longest(_NUMBER.split(texts[0]), words, fillvalue=""))


def slowest_members(run: Run) -> Table:
    """Return the member that took longest of each collective whose members differ by more than ``ALIKE``."""
    lines = []
    for row in run.rows.values():
        flow = row.case["flows"][0]
        parts, members = (row.flows[0].parts_s if row.flows else ()), flow.get("members", ())
        if len(parts) == len(members) > 1 and (behind := max(parts) * len(parts) / sum(parts) - 1) > ALIKE:
            member = members[parts.index(max(parts))]
            rank = f", rank {member['rank']}" if "rank" in member else ""
            lines.append((row.id, flow["method"], int(flow["bytes"]), f"{member['device']}{rank}", behind))
    schema = {"id": polars.String, "method": polars.String, "bytes": polars.Int64, "member": polars.String}
    frame = polars.DataFrame(lines, schema={**schema, "behind": polars.Float64}, orient="row")
    columns = (Column("id", head="case"), Column("member"), Column("behind", Kind.CHANGE))
    return Table("show.slowest-members", frame.sort("behind", descending=True), columns, detail=True)


def departures(run: Run) -> Table:
    """Return where a machine model differs from the machine, as its file states it."""
    notes = [text for text in run.node.notes[1:] if not text.startswith(ASSUMED)] if run.node.modelled else []
    frame = polars.DataFrame({"text": notes}, schema={"text": polars.String})
    return Table("show.departures", frame, (Column("text", head=" "),), detail=True)


def reason_of(row: Row) -> str:
    """Return why a row has no result; which rank it was stays where the case failed."""
    reason = str(row.reason or "")
    return _TELLER.sub("", reason) if row.status == "skipped" else reason
