"""Imported run: another tool's output as a run file, whose rows say where they are from."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import zip_longest
from pathlib import Path
from typing import Any

from linkscope.documents.whole_file import write_whole
from linkscope.errors import LinkscopeError
from linkscope.importers import importers
from linkscope.importers.cases import Match, claimed, gpus_of, matches, movement, renamed, within
from linkscope.importers.importers import Paste
from linkscope.importers.outcome import outcome, sequence_of, sized
from linkscope.importers.own_case import RANK, own_cases
from linkscope.importers.peer_output import (
    GBPS,
    HOST_CLOCK,
    MOST_GPUS,
    NVLS,
    UNKNOWN,
    WITHOUT_PEER_ACCESS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    Topology,
)
from linkscope.machine.gpu_models import links_of
from linkscope.machine.node import Device, Node
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, Level, note, warning
from linkscope.results.run_file import FILE_SCHEMA, RunFile
from linkscope.version import __version__

Json = dict[str, Any]
MOST_OF_HOST = 16
"""GPUs of one host at most: more ranks, of which a paste does not say on how many hosts they are, are on several."""


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
    """Write what a paste says to the run file ``output``, whole or not at all, and return it as read back.

    Raises LinkscopeError where ``path`` is no output that is known, it holds neither results nor a topology nor what
    stopped a tool, or ``output`` exists.
    """
    if output.exists():
        raise LinkscopeError(f"{output} exists: choose another -o FILE")
    paste = importers.read(Source.read(path, wanted.processes, wanted.nvls), wanted.format)
    if not any(_is_of_use(output) for output in paste.outputs):
        stopped = next((sentence(one) for output in paste.outputs for one in output.findings), "it holds no results")
        raise LinkscopeError(f"{path}: {stopped}")
    records = _records(paste, wanted, command)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, "".join(line.decode() + "\n" for line in _lines(records)))
    return RunFile.read(output)


def _is_of_use(output: PeerOutput) -> bool:
    failed = any(one.level is Level.ERROR for one in output.findings)
    return bool(output.figures or output.not_run or failed or output.topology is not None)


def pasted(paths: Sequence[Path], wanted: Wanted | None = None) -> RunFile:
    """Return the run that pastes are, read as one: a topology beside a log gives the log's links. Nothing is written.

    "-" is standard input. Raises LinkscopeError where they are no output that is known.
    """
    wanted = wanted or Wanted()
    sources = [Source.read(path, wanted.processes, wanted.nvls) for path in paths]
    source = sources[0]
    if len(sources) > 1:
        source = replace(source, text="\n".join(one.text for one in sources))
    paste = importers.read(source, wanted.format)
    return RunFile.of_lines(paths[0], _lines(_records(paste, wanted, ())))


def _lines(records: Iterable[Json]) -> Iterator[bytes]:
    for record in records:
        yield json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


def _records(paste: Paste, wanted: Wanted, command: Sequence[str]) -> list[Json]:
    """Return the header, which has what a user should know of the paste, and the rows. Raises LinkscopeError."""
    path = paste.source.path
    notes = {text for output in paste.outputs for one in output.figures for text in one.notes}
    if wanted.nvls is not None and NVLS[wanted.nvls] not in notes:
        raise LinkscopeError(f"{path} has no results of NCCL; leave --nvls out")
    node = _node(paste, wanted)
    rows: list[Json] = []
    told: list[Finding] = []
    for peer in paste.outputs:
        own, findings = _rows(peer, node, wanted)
        rows += _with_own_ids(own, rows)
        told += findings
    if told and not any(row["status"] == "ok" for row in rows):
        raise LinkscopeError(f"{path}: {sentence(told[0])}")
    if paste.unread:
        first = paste.unread[0]
        told.append(warning("import.unread", rows=len(paste.unread), number=first, line=paste.row(first)))
    told += [warning("import.unusable", tool=tool) for tool in paste.unusable]
    printed = [one for peer in paste.outputs for one in peer.findings]
    return [_header(paste, wanted, node, [row["id"] for row in rows], command, [*printed, *told]), *rows]


def _rows(peer: PeerOutput, node: Node, wanted: Wanted) -> tuple[list[Json], list[Finding]]:
    """Return the rows of one tool's results: cases of linkscope's suites where these measure the same, else cases of
    their own; and what was left out."""
    one_host = [figure for figure in peer.figures if figure.moves is None or _is_known(figure.moves)]
    tests = dict.fromkeys([figure.test for figure in one_host] + [one.test for one in peer.not_run])
    cases = claimed(replace(peer, figures=tuple(one_host)), node, tests)
    own = [one for one in cases if within(one[1], peer)]
    wider = [one for one in cases if not within(one[1], peer)]
    found = list(matches(replace(peer, figures=tuple(one_host)), own))
    beyond = list(matches(replace(peer, figures=_untaken(peer, found)), wider))
    beside = wanted.beside.rows if wanted.beside else ()
    known = {movement(row.case): row.case for row in beside} | {row.id: row.case for row in beside}
    read = [(match, _row(peer, match, known)) for match in found]
    rows = _once([row for _, row in read if row is not None])
    have = {row["id"] for row in rows}
    incomplete = [match for match, row in read if row is None]
    lacking = _lacking(peer, node, [*incomplete, *beyond], known, have)
    rows += _not_run(peer, own, known, have)
    whole = [match for match, row in read if row is not None]
    left = _untaken(peer, [*whole, *beyond])
    rows += [_own_row(peer, case, figure) for case, figure in own_cases(peer, left)]
    unsaid = [figure for figure in left if figure.moves is None]
    counts = Counter(figure.test for figure in unsaid)
    dropped = [note("import.other-tests", test=test, results=count) for test, count in counts.items()]
    return [*rows, *lacking], [*_told(lacking, len(rows) + len(lacking)), *dropped]


def _is_known(moves: Movement) -> bool:
    """Return whether a case of a suite can be meant: none lies on several hosts, and each names its memory."""
    variants = set(moves.varies.split(", ")) - {"", WITHOUT_PEER_ACCESS, HOST_CLOCK}
    one_host = moves.hosts < 2 and moves.ranks <= MOST_OF_HOST
    return one_host and UNKNOWN not in moves.memories and not variants


def _own_row(peer: PeerOutput, case: Json, figure: Figure) -> Json:
    found = outcome(case, {0: figure})
    row = _start(peer, case, figure.test, "ok", figure)
    hosts = figure.moves.hosts if figure.moves else 1
    if hosts > 1:
        processes = case.get("processes", 1)
        row["hosts"] = [f"host {process * hosts // processes}" for process in range(processes)]
    return {**row, **(found or {})}


def _row(peer: PeerOutput, match: Match, known: Mapping[str, Json]) -> Json | None:
    found = outcome(match.case, match.figures)
    if found is None:
        return None
    tests = ", ".join(sequence_of(match.figures))
    own = sized(match.case, match.figures)
    case = renamed(own, known) or sized(renamed(match.case, known) or own, match.figures)
    only = match.figures[0] if list(match.figures) == [0] else None
    return {**_start(peer, case, tests, "ok", only), **found}


def _once(rows: Sequence[Json]) -> list[Json]:
    """Without those whose id stands there already: two of a tool's tests may measure one case of the run beside."""
    return list({row["id"]: row for row in reversed(rows)}.values())[::-1]


def _with_own_ids(rows: Sequence[Json], others: Sequence[Json]) -> Iterator[Json]:
    """Yield rows with the tool's name in ids that ``others``, another tool's rows of one paste, have."""
    have = {row["id"] for row in others}
    for row in rows:
        if row["id"] in have:
            name = f"{row['id']}/{row['origin']['tool']}"
            yield {**row, "id": name, "case": {**row["case"], "id": name}}
        else:
            yield row


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


def _start(peer: PeerOutput, case: Json, test: str, status: str, figure: Figure | None = None) -> Json:
    origin: Json = {"tool": peer.tool, "version": peer.version, "test": peer.own_name(test)}
    if figure is not None and figure.moves is not None:
        origin |= {"moves": dict(vars(figure.moves)), "value": figure.value.median, "unit": figure.unit}
    return {"record": "row", "id": case["id"], "status": status, "modelled": False, "origin": origin, "case": case}


def _header(
    paste: Paste, wanted: Wanted, node: Node, ids: Sequence[str], command: Sequence[str], findings: Sequence[Finding]
) -> Json:
    """Return the header. ``started`` is when the file was last written, since tools do not print when they ran. The
    host's name stays in the paste: a page or a run file may be passed on."""
    path, peer = paste.source.path, paste.main
    at = path.stat().st_mtime if path.is_file() else time.time()
    beside = str(wanted.beside.header.get("host", "")) if wanted.beside else ""
    versions = {name: word for one in paste.outputs for name, word in one.versions.items()}
    said = [{"code": one.code, "level": one.level.value, "facts": dict(one.facts)} for one in findings]
    return {
        "record": "header",
        "schema": FILE_SCHEMA,
        "version": __version__,
        "started": datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="seconds"),
        "host": beside,
        "command": list(command),
        "node": node.to_json(),
        "origin": {
            **{"tool": peer.tool, "version": peer.version, "file": path.name},
            **({"versions": versions} if versions else {}),
            **({"findings": said} if said else {}),
            **({"topology": _topology(paste.topology)} if paste.topology is not None else {}),
        },
        "plan": {
            "suites": list(dict.fromkeys(suite for one in paste.outputs for suite in one.suites)),
            "options": {},
            "ids": list(ids),
        },
    }


def _topology(topology: Topology) -> Json:
    pairs = [[a, b, word] for (a, b), word in topology.pairs.items()]
    return {"pairs": pairs, "numa": dict(topology.numa), "vendor": topology.vendor}


def _node(paste: Paste, wanted: Wanted) -> Node:
    """Return the given node, if its GPUs are those that the paste names; else what the paste says of it: its GPUs, with
    the links that such GPUs have or that the pasted topology names."""
    given = wanted.beside.node if wanted.beside else wanted.node
    gpus = tuple(map(_named, zip_longest(*map(_of_one_host, paste.outputs), fillvalue=Gpu())))
    if given is not None:
        names, own = [device.name for device in given.of_kind("gpu")], [gpu.name for gpu in gpus]
        if len(names) < len(gpus) or any(one and name and one != name for one, name in zip(own, names, strict=False)):
            theirs, ours = (", ".join(dict.fromkeys(one)) or "none" for one in (own, names))
            what = f"is of {len(gpus)} GPUs ({theirs}), {given.name} has {len(names)} ({ours})"
            raise LinkscopeError(f"{paste.source.path} {what}: name a run or a description of the same node")
        return replace(given, modelled=False)
    count = max(len(gpus), *(1 + _highest(output) for output in paste.outputs))
    gpus = (*gpus, *[Gpu(gpus[-1].name if gpus else "")] * (count - len(gpus)))
    devices, links = links_of([gpu.name for gpu in gpus], paste.topology, _fastest_peer(paste))
    by_pci = {f"gpu:{number}": gpu.pci for number, gpu in enumerate(gpus)}
    devices = tuple(replace(one, pci=by_pci.get(one.id)) for one in devices)
    nodes = max(output.numa_nodes for output in paste.outputs)
    numa = [Device(f"numa:{i}", "numa") for i in range(nodes) if f"numa:{i}" not in {one.id for one in devices}]
    ranks = [Device(f"{RANK}:{i}", RANK) for i in range(2)] if _has_ranks(paste) else []
    names = list(dict.fromkeys(gpu.name for gpu in gpus if gpu.name))
    title = f"{count} x {names[0]}" if len(names) == 1 else f"{count} GPUs" if count else "host"
    return Node(title, (*numa, *devices, *ranks), links)


def _named(same: Sequence[Gpu]) -> Gpu:
    """Return a GPU as the tools of a paste name it, the first name and PCI address of any."""
    return Gpu(next((one.name for one in same if one.name), ""), next((one.pci for one in same if one.pci), None))


def _fastest_peer(paste: Paste) -> float | None:
    """Return the fastest copy one way between two GPUs, GB/s: it tells the boards of a model apart."""
    rates = [
        one.value.median
        for output in paste.outputs
        for one in output.figures
        if one.moves and one.moves.kind == "peer" and one.unit == GBPS and not one.moves.both
    ]
    return max(rates, default=None)


def _of_one_host(output: PeerOutput) -> tuple[Gpu, ...]:
    """Return the GPUs of the first of several hosts: nodes are alike."""
    hosts = max((figure.moves.hosts for figure in output.figures if figure.moves), default=1)
    return output.gpus[: max(len(output.gpus) // max(hosts, 1), 1)] if hosts > 1 else output.gpus


def _highest(output: PeerOutput) -> int:
    """Return the highest number of a GPU that a result names, -1 for none."""
    places = (place for one in output.figures if one.moves for place in (one.moves.source, one.moves.destination))
    found = [int(place.partition(":")[2]) for place in places if place.startswith("gpu:")]
    moves = [one.moves for one in output.figures if one.moves and one.moves.memories == ("device", "device")]
    many = [min(one.ranks // max(one.hosts, 1), MOST_GPUS) - 1 for one in moves if one.kind == "collective"]
    two = [1 for one in moves if one.kind in ("message", "peer") or (one.kind == "collective" and not one.ranks)]
    return max([*found, *many, *two], default=-1)


def _has_ranks(paste: Paste) -> bool:
    return any(UNKNOWN in one.moves.memories for out in paste.outputs for one in out.figures if one.moves)


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
