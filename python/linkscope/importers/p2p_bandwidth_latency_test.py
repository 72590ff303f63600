"""p2pBandwidthLatencyTest and simpleP2P of the CUDA samples, and what was made of them. Format: the samples' sources.

A table between GPUs counts the payload, both ways' together where it is bidirectional. Its diagonal, a copy within a
GPU, counts bytes read and written; where it is bidirectional, of two copies at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linkscope.importers.matrices import Cell, Matrix, head_of
from linkscope.importers.peer_output import (
    GBPS,
    HOST_CLOCK,
    LARGEST,
    MOST_GPUS,
    SECONDS,
    WITHOUT_PEER_ACCESS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    single,
)
from linkscope.messages.finding import Finding, error, note, warning

TOOL = "p2pBandwidthLatencyTest"
SUMMARY = "p2pBandwidthLatencyTest, simpleP2P (CUDA 7 to 13)"
SUITES = ("schieffer24",)
_BYTES = 160_000_000
_SIMPLE = 64 << 20
_DEVICE = re.compile(
    r"Device: (\d{1,3}), (.{1,200}), pciBusID: ([0-9a-f]{1,8}), pciDeviceID: ([0-9a-f]{1,8}), "
    r"pciDomainID: ?([0-9a-f]{1,8})"
)
_CAN = re.compile(r"Device=(\d{1,3}) (CAN|CANNOT) Access Peer Device=(\d{1,3})")
_TITLE = re.compile(
    r"(?:(Uni|Bi)directional )?P2P=(Enabled|Disabled) (Bandwidth|Latency) ?(?:\(P2P (Writes|Reads)\) ?)?"
    r"(?:Matrix.{0,20}|\((?:GB/s|us)\):?)"
)
_HEAD = re.compile(r"(D[\\/]?D|GPU|CPU)((?:[ \t]{1,20}\d{1,3}){1,256})")
_PAIR = re.compile(r"cudaMemcpyPeer / cudaMemcpy between GPU(\d{1,3}) and GPU(\d{1,3}): (\d{1,9}\.\d{1,6})GB/s")
_NAMED = re.compile(r"(?:> )?Peer access from (.{1,100}) \(GPU(\d{1,3})\) -> (.{1,100}) \(GPU(\d{1,3})\) : (Yes|No)")
_GIB = (1 << 30) / 1e9
"""The unit that simpleP2P calls GB."""
_COMMAND = re.compile(r"\bp2pBandwidthLatencyTest (.{0,300})")
_ELEMENTS = re.compile(r"-numElems=(\d{1,12})\b")
_WORDS = ("[P2P (Peer-to-Peer)", "***NOTE", "So you can see", "NOTE: The CUDA Samples", "P2P Connectivity Matrix")
_ASSUMED = "p2pBandwidthLatencyTest prints no size: 40 million ints by copy engines are assumed"


@dataclass(frozen=True)
class _Title:
    """Hold the subject of a table. ``kind``: unidirectional, bidirectional or latency; ``peers``: on or off."""

    kind: str
    peers: str
    reads: bool


@dataclass
class _P2pTable:
    """``clock``: whose time a latency is, "GPU" or "CPU"; the table without a title says which GPUs are peers."""

    matrix: Matrix
    title: _Title | None
    clock: str


@dataclass
class _P2pOutput:
    gpus: dict[int, Gpu] = field(default_factory=dict)
    tables: list[_P2pTable] = field(default_factory=list)
    apart: dict[tuple[int, int], None] = field(default_factory=dict)
    """GPUs that the output says are no peers."""
    figures: list[Figure] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    method: str = "copy-engine"
    size: int = 0


def recognises(text: str) -> bool:
    """Return whether a text holds lines of these samples."""
    return (
        re.search(r"P2P Connectivity Matrix|P2P=(?:En|Dis)abled|cudaMemcpyPeer / cudaMemcpy between", text) is not None
    )


def read(source: Source) -> PeerOutput:
    """Return the tables. Of P2P=Enabled, what is between GPUs without peer access is no result of it."""
    found, taken = _P2pOutput(), set()
    title: _Title | None = None
    matrix: Matrix | None = None
    for number, line in enumerate(source.lines, 1):
        text = line.strip()
        if match := _TITLE.fullmatch(text):
            kind = "latency" if match[3] == "Latency" else f"{match[1] or 'Uni'}directional".lower()
            title, matrix = _Title(kind, "on" if match[2] == "Enabled" else "off", match[4] == "Reads"), None
        elif text.startswith("P2P Connectivity"):
            title, matrix = None, None
        elif match := _HEAD.fullmatch(text):
            matrix = Matrix(number, head_of(match[2].split()))
            found.tables.append(_P2pTable(matrix, title, match[1]))
        elif title and matrix is None and Matrix(number).take(number, line):  # a table without its head
            matrix = Matrix(number)
            matrix.take(number, line)
            found.tables.append(_P2pTable(matrix, title, "GPU"))
        elif not _line(found, number, text) and not (matrix is not None and matrix.take(number, line)):
            continue
        taken.add(number)
    for table in found.tables:
        if table.title is None:
            _connected(found, table.matrix)
    for table in found.tables:
        if table.title is not None and table.matrix.rows:
            found.figures += _figures(found, table.title, table)
    if found.apart:
        pairs = [f"gpu:{i} -> gpu:{j}" for i, j in found.apart]
        found.findings.append(note("import.no-peer-access", tool=TOOL, count=len(pairs), pairs=pairs[:4]))
    ends = [int(name[4:]) for one in found.figures for name in (one.row, one.column) if name]
    count = max([*ends, *found.gpus], default=0) + 1
    gpus = tuple(found.gpus.get(index, Gpu()) for index in range(min(count, MOST_GPUS)))
    findings = tuple(found.findings)
    return PeerOutput(TOOL, "", SUITES, tuple(found.figures), gpus, findings=findings, read=frozenset(taken))


def _line(found: _P2pOutput, number: int, text: str) -> bool:
    """Take a line that is of no table; return whether it is one of these."""
    if match := _DEVICE.fullmatch(text):
        found.gpus[int(match[1])] = Gpu(match[2], f"{match[5]:0>4}:{match[3]:0>2}:{match[4]:0>2}")
    elif match := _CAN.fullmatch(text):
        found.apart |= {(int(match[1]), int(match[3])): None} if match[2] == "CANNOT" else {}
    elif match := _NAMED.fullmatch(text):
        first, second = int(match[2]), int(match[4])
        found.gpus.setdefault(first, Gpu(match[1]))
        found.gpus.setdefault(second, Gpu(match[3]))
        found.apart |= {(first, second): None} if match[5] == "No" else {}
    elif match := _PAIR.fullmatch(text):
        ends, value = (f"gpu:{int(match[1])}", f"gpu:{int(match[2])}"), float(match[3]) * _GIB
        moves = Movement("peer", "copy-engine", *ends, "", ("device", "device"), varies="to and fro")
        found.figures.append(Figure("simpleP2P", single(value), GBPS, *ends, _SIMPLE, moves=moves, line=number))
    elif match := _COMMAND.search(text):
        elements = _ELEMENTS.search(match[1])
        found.size = 4 * int(elements[1]) if elements else found.size
        found.method = "kernel-copy" if "-sm_copy" in match[1] else found.method
    elif text.startswith("Verification error @ element"):
        found.figures = [one for one in found.figures if one.test != "simpleP2P"]
        found.findings.append(error("import.wrong-data", tool="simpleP2P", test="simpleP2P"))
    else:
        return not text or text.startswith(_WORDS)
    return True


def _connected(found: _P2pOutput, matrix: Matrix) -> None:
    for row, (_, words) in matrix.rows.items():
        for column, word in zip(matrix.columns, words, strict=False):
            if word == "0" and row != column:
                found.apart[row, column] = None


def _figures(found: _P2pOutput, title: _Title, table: _P2pTable) -> Iterator[Figure]:
    """Yield a table's results: of the rows' GPUs to the columns'; a GPU that reads drives the copy from the other."""
    missing = table.matrix.missing()
    if missing:
        found.findings.append(warning("import.cut", test=f"{TOOL} {title.kind}", missing=missing))
    for cell in table.matrix.cells():
        if title.peers == "off" or (cell.row, cell.column) not in found.apart:
            value = cell.value * (1e-6 if title.kind == "latency" else 1)
            if value < LARGEST:
                yield _figure(found, title, table.clock, cell, value)


def _figure(found: _P2pOutput, title: _Title, clock: str, cell: Cell, value: float) -> Figure:
    latency, local, kind = title.kind == "latency", cell.row == cell.column, title.kind
    kernel = found.method != "copy-engine" and not latency and title.peers == "on"
    kind = {"unidirectional": "kernel", "bidirectional": "kernel bidirectional"}[kind] if kernel else kind
    here, there = f"gpu:{cell.row}", f"gpu:{cell.column}"
    source, destination = (there, here) if title.reads else (here, there)
    facts = {} if kernel else {"peer_access": title.peers, "api": "peer"}
    if title.kind != "bidirectional":
        facts["side"] = "pull" if title.reads else "push"
    if latency:
        facts["clock"] = "host" if clock == "CPU" else "device"
    varies = [*([WITHOUT_PEER_ACCESS] if title.peers == "off" else []), *([HOST_CLOCK] if clock == "CPU" else [])]
    method = found.method if kernel else "copy-engine"
    moves = Movement("peer", method, source, destination, here, ("device", "device"), varies=", ".join(varies))
    if local:
        counted = "payload" if latency else "read-and-written"
        moves = replace(moves, kind="local", counts=counted, at_once=2 if title.kind == "bidirectional" else 1)
    elif title.kind == "bidirectional":
        moves = replace(moves, both=True)
    return Figure(
        f"{TOOL} {kind}{' local' if local else ''}",
        single(value),
        SECONDS if latency else GBPS,
        source,
        destination,
        None if latency else found.size or _BYTES,
        facts,
        notes=() if latency or found.size else (_ASSUMED,),
        moves=moves,
        line=cell.line,
    )
