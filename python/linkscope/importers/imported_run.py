"""Imported run: another tool's output as a run file, whose rows say where they are from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from linkscope.documents.whole_file import write_whole
from linkscope.errors import LinkscopeError
from linkscope.importers import importers
from linkscope.importers.cases import Match, claimed, gpus_of, matches, movement, renamed, within
from linkscope.importers.outcome import outcome, sequence_of, sized
from linkscope.importers.peer_output import NVLS, Figure, PeerOutput, Source
from linkscope.machine.node import Device, Node
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, note
from linkscope.results.run_file import FILE_SCHEMA, RunFile
from linkscope.version import __version__

Json = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """``format``: of ``IMPORTERS``; None: as the file looks. ``beside``: a linkscope run of the same node, whose
    devices, links and ids are taken. ``node``: else the node, described; None: what the file says of it.
    ``processes``: how many took part, ``nvls``: whether NCCL could reduce in the GPU switch ("on", "off"), where the
    file does not say.
    """

    format: str | None = None
    beside: RunFile | None = None
    node: Node | None = None
    processes: int | None = None
    nvls: str | None = None


def import_file(path: Path, output: Path, wanted: Wanted, command: Sequence[str] = ()) -> RunFile:
    """Writes what ``path`` says to the run file ``output``, whole or not at all, and reads it back.

    Raises LinkscopeError where ``path`` is no output that is known, none of its tests is known, or ``output`` exists.
    """
    if output.exists():
        raise LinkscopeError(f"{output} exists: choose another -o FILE")
    peer = importers.read(Source.read(path, wanted.processes, wanted.nvls), wanted.format)
    if wanted.nvls is not None and not any(NVLS[wanted.nvls] in one.notes for one in peer.figures):
        raise LinkscopeError(f"{path} has no results of NCCL; leave --nvls out")
    node = _node(peer, path, wanted)
    tests = dict.fromkeys([figure.test for figure in peer.figures] + [one.test for one in peer.not_run])
    cases = claimed(peer, node, tests)
    own = [one for one in cases if within(one[1], peer)]
    wider = [one for one in cases if not within(one[1], peer)]
    found = list(matches(peer, own))
    beyond = list(matches(replace(peer, figures=_untaken(peer, found)), wider))
    beside = wanted.beside.rows if wanted.beside else ()
    known = {movement(row.case): row.case for row in beside} | {row.id: row.case for row in beside}
    read = [(match, _row(peer, match, known)) for match in found]
    rows = _once([row for _, row in read if row is not None])
    have = {row["id"] for row in rows}
    lacking = _lacking(peer, node, [*(match for match, row in read if row is None), *beyond], known, have)
    rows += _not_run(peer, own, known, have)
    if lacking and not rows:
        raise LinkscopeError(f"{path}: {sentence(_told(lacking, len(lacking))[0])}")
    if not rows:
        raise LinkscopeError(f"{path}: no case of linkscope is what these measure: {', '.join(tests)[:200]}")
    records = [_header(peer, path, wanted, node, [row["id"] for row in (*rows, *lacking)], command), *rows, *lacking]
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, "".join(json.dumps(one, separators=(",", ":"), allow_nan=False) + "\n" for one in records))
    run = RunFile.read(output)
    told = (*peer.findings, *_told(lacking, len(run.rows)), *_left_out(peer, [*found, *beyond]))
    return replace(run, findings=(*told, *run.findings))


def _row(peer: PeerOutput, match: Match, known: Mapping[str, Json]) -> Json | None:
    found = outcome(match.case, match.figures)
    if found is None:
        return None
    tests = ", ".join(sequence_of(match.figures))
    own = sized(match.case, match.figures)
    case = renamed(own, known) or sized(renamed(match.case, known) or own, match.figures)
    return {**_start(peer, case, tests, "ok"), **found}


def _once(rows: Sequence[Json]) -> list[Json]:
    """Without those whose id stands there already: two of a tool's tests may measure one case of the run beside."""
    return list({row["id"]: row for row in reversed(rows)}.values())[::-1]


def _lacking(
    peer: PeerOutput, node: Node, found: Sequence[Match], known: Mapping[str, Json], have: set[str]
) -> list[Json]:
    """A row, skipped, for each case of which the tool gives figures, but not all, unless ``have`` has its id, which it
    joins."""
    rows = []
    for match in found:
        case = renamed(match.case, known) or match.case
        if case["id"] in have:
            continue
        have.add(case["id"])
        taken, ran, there = len(gpus_of(case)), len(peer.gpus), len(node.of_kind("gpu"))
        if within(case, peer):
            measured = sum(flow.get("role", "measured") == "measured" for flow in case["flows"])
            reason = f"{peer.tool} printed results of {len(match.figures)} of the case's {measured} flows"
        else:
            reason = f"{peer.tool} ran on {ran} of the {there} GPUs of {node.name}, and the case takes {taken}"
        rows.append(_start(peer, case, ", ".join(sequence_of(match.figures)), "skipped") | {"reason": reason})
    return rows


def _not_run(
    peer: PeerOutput, cases: Sequence[tuple[set[str], Json]], known: Mapping[str, Json], have: set[str]
) -> list[Json]:
    """A row for each case of a test that the tool did not carry out."""
    rows = []
    for one in peer.not_run:
        for case in (renamed(case, known) or case for names, case in cases if one.test in names):
            if case["id"] not in have:
                have.add(case["id"])
                rows.append(_start(peer, case, one.test, one.status) | {"reason": one.reason})
    return rows


def _start(peer: PeerOutput, case: Json, test: str, status: str) -> Json:
    origin = {"tool": peer.tool, "version": peer.version, "test": test.removeprefix(f"{peer.tool} ")}
    return {"record": "row", "id": case["id"], "status": status, "modelled": False, "origin": origin, "case": case}


def _header(
    peer: PeerOutput, path: Path, wanted: Wanted, node: Node, ids: Sequence[str], command: Sequence[str]
) -> Json:
    """``started``: when the file was last written, since tools do not print when they ran."""
    written = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    beside = str(wanted.beside.header.get("host", "")) if wanted.beside else ""
    return {
        "record": "header",
        "schema": FILE_SCHEMA,
        "version": __version__,
        "started": written.isoformat(timespec="seconds"),
        "host": peer.host or beside,
        "command": list(command),
        "node": node.to_json(),
        "origin": {
            **{"tool": peer.tool, "version": peer.version, "file": path.name},
            **({"versions": dict(peer.versions)} if peer.versions else {}),
        },
        "plan": {"suites": list(peer.suites), "options": {}, "ids": list(ids)},
    }


def _node(peer: PeerOutput, path: Path, wanted: Wanted) -> Node:
    """The given node, if its GPUs are those that the file names; else one of them without links."""
    given = wanted.beside.node if wanted.beside else wanted.node
    count = len(peer.gpus)
    if given is not None:
        names = [device.name for device in given.of_kind("gpu")]
        own = [gpu.name for gpu in peer.gpus]
        if len(names) < count or any(one and name and one != name for one, name in zip(own, names, strict=False)):
            theirs, ours = (", ".join(dict.fromkeys(one)) or "none" for one in (own, names))
            what = f"is of {count} GPUs ({theirs}), {given.name} has {len(names)} ({ours})"
            raise LinkscopeError(f"{path} {what}: name a run or a description of the same node")
        return replace(given, modelled=False)
    gpus = [Device(f"gpu:{i}", "gpu", gpu.name, numa=0, pci=gpu.pci) for i, gpu in enumerate(peer.gpus)]
    numa = [Device(f"numa:{i}", "numa") for i in range(peer.numa_nodes)]
    names = list(dict.fromkeys(gpu.name for gpu in peer.gpus if gpu.name))
    title = f"{count} x {names[0]}" if len(names) == 1 else peer.host or (f"{count} GPUs" if count else "host")
    return Node(title, (*numa, *gpus), ())


def _untaken(peer: PeerOutput, found: Sequence[Match]) -> tuple[Figure, ...]:
    taken = {id(figure) for match in found for figure in match.figures.values()}
    return tuple(figure for figure in peer.figures if id(figure) not in taken)


def _told(lacking: Sequence[Json], cases: int) -> list[Finding]:
    """Return how many of the ``cases`` have no results since the file lacks them, for each reason, with the tests."""
    tests: dict[str, list[str]] = {}
    for row in lacking:
        tests.setdefault(row["reason"], []).append(row["origin"]["test"])
    return [
        note("import.incomplete", cases=len(names), all=cases, tests=list(dict.fromkeys(names)), reason=reason)
        for reason, names in tests.items()
    ]


def _left_out(peer: PeerOutput, found: Sequence[Match]) -> list[Finding]:
    """Return how many results of which tests are in no row."""
    left = Counter(figure.test for figure in _untaken(peer, found))
    return [note("import.other-tests", test=test, results=count) for test, count in left.items()]
