"""TransferBench: its preset p2p, its lists of transfers, and in transferbench_presets.py its other presets.

Formats: RunPeerToPeerBenchmarks up to 1.52, client/Presets and client/Utilities.hpp since. It counts the payload; the
sum of both directions stands in lines "<->". CPU memory is pinned where CPU_MEM_TYPE is not 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from linkscope.importers.matrices import is_cell
from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    plain_number,
    single,
)
from linkscope.importers.transferbench_presets import Presets, kind_of
from linkscope.messages.finding import Finding, error, warning

TOOL = "TransferBench"
SUMMARY = "TransferBench 1.14 to 1.70: all presets, tables, CSV"
SUITES = ("peer", "duplex", "host-device")
_NEWEST = (1, 70)
_VERSION = re.compile(r"TransferBench v(\d{1,3})\.(\d{1,3})(\.\d{1,4})?")
_BYTES = re.compile(r"Bytes Per Direction[ ,]+(\d{1,15})")
_TITLE = re.compile(
    r"(Uni|Bi)directional copy peak bandwidth GB/s \[(Local|Remote) read / \w{1,10} write\] "
    r"\(GPU-Executor: (\w{1,10})\)"
)
_HEADS = {"SRC+EXE\\DST": (False, False), "SRC\\EXE+DST": (False, True), "SRC\\DST": (True, False)}
"""Facts of a table without its title: both directions or one, and whether destinations drive."""
_DEVICE = re.compile(r"(CPU|GPU) {1,4}(\d{1,3})")
_ROW = re.compile(r"(CPU|GPU) (\d{1,3}) {0,4}(<->|->|<-|min|max|sd) (.{1,5000})")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{2,30} *[=,]|\[[A-Z][\w -]{1,30}\]$|=+$|-+$")
_WRONG = re.compile(r"\[ERROR\] .{0,60}(?:mismatch|validation|Unexpected)", re.IGNORECASE)
_METHODS = {"GFX": "kernel-copy", "DMA": "copy-engine"}
_KINDS = {"CPU": "numa", "GPU": "gpu"}
_WAYS = ("->", "<-", "<->")


@dataclass
class _TransferTable:
    """The table being read. ``both``: whether transfers go both ways; ``pulled``: whether destinations drive them;
    ``lines``: of each source and kind of line ("->", "-> min"), its number and the words."""

    method: str
    both: bool
    pulled: bool
    devices: tuple[str, ...] = ()
    lines: dict[tuple[str, str], tuple[int, list[str]]] = field(default_factory=dict)
    size: int | None = None

    def values(self, here: str, kind: str) -> tuple[int, dict[str, float]]:
        """Return a line's number and its results by device; those of a line that is cut short from its left."""
        number, words = self.lines.get((here, kind), (0, []))
        values = {there: plain_number(word) or 0.0 for there, word in zip(self.devices, words, strict=False)}
        return number, {there: value for there, value in values.items() if value > 0}


def recognises(text: str) -> bool:
    """Return whether a text holds lines of TransferBench."""
    lists = r"Executor: {1,3}(?:CPU|GPU|DMA|NIC) {1,2}\d\d|^ {0,8}Transfer \d{1,4} {1,8}[|│,]"
    heads = r"directional copy peak bandwidth GB/s \[|SRC(?:\+EXE)?\\(?:EXE\+)?DST|PING\\PONG"
    heads += r"|^ {0,4}GPU \d\d(?: to GPU \d\d)?: "
    return re.search(rf"^TransferBench v\d|{lists}|{heads}", text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return what its presets and lists print."""
    tables: list[_TransferTable] = []
    presets, taken, findings = Presets(), set(), list[Finding]()
    version, size, memory, last, newest = "", None, "pinned", "", _NEWEST
    for number, raw in enumerate(source.lines, 1):
        line = raw.replace(",", " ")
        text = line.strip()
        if match := _VERSION.match(text):
            version, newest = f"{match[1]}.{match[2]}{match[3] or ''}", (int(match[1]), int(match[2]))
        elif match := _BYTES.fullmatch(text):
            size = int(match[1])
        elif match := _TITLE.match(text):
            tables.append(
                _TransferTable(_METHODS.get(match[3], match[3]), match[1] == "Bi", match[2] == "Remote", size=size)
            )
            presets.end()
        elif (word := text.partition(" ")[0]) in _HEADS and not presets.summary:
            if not tables or tables[-1].devices:
                tables.append(_TransferTable("kernel-copy", *_HEADS[word], size=size))
            found = _DEVICE.findall(text)
            tables[-1].devices = tuple(f"{_KINDS[kind]}:{int(index)}" for kind, index in found)
        elif (match := _ROW.fullmatch(text)) and tables and (taking := _take(tables[-1], number, match, last)):
            last = taking
        elif presets.take(number, raw):
            pass
        elif _WRONG.match(text):
            findings.append(error("import.wrong-data", tool=TOOL, test=presets.preset or "p2p"))
        elif text.startswith("CPU_MEM_TYPE"):
            memory = "pageable" if re.match(r"CPU_MEM_TYPE *=? *4\b", text) else memory
        elif text and not _SETTING.match(raw.strip()) and not text.startswith(("Averages (", "CPU->CPU")):
            continue
        taken.add(number)
    if newest > _NEWEST:
        known = ".".join(map(str, _NEWEST))
        findings.append(warning("import.newer-version", tool=TOOL, version=version, known=known))
    figures = [one for table in tables for one in _figures(table, memory, findings)]
    if all(table.both for table in tables):  # no case of both directions may be one of one
        figures = [replace(one, test=f"{TOOL} p2p both ways") for one in figures]
    figures += presets.figures()
    findings += presets.findings()
    places = {place for one in figures if one.moves for place in (one.moves.source, one.moves.destination) if place}
    gpus = [int(place[4:]) for place in places if place.startswith("gpu:")]
    nodes = [int(place[5:]) for place in places if place.startswith("numa:")]
    return PeerOutput(
        TOOL,
        version,
        SUITES,
        tuple(figures),
        (Gpu(),) * min(max(gpus, default=-1) + 1, MOST_GPUS),
        findings=tuple(findings),
        numa_nodes=max(nodes, default=0) + 1,
        read=frozenset(taken),
    )


def _take(table: _TransferTable, number: int, match: re.Match[str], last: str) -> str:
    """Take a line of results; min, max and sd stand below the direction that they are of, which is returned."""
    words = match[4].split()
    if not words or not all(map(is_cell, words)) or len(words) > (len(table.devices) or 2 * MOST_GPUS):
        return ""
    kind = match[3] if match[3] in _WAYS else f"{last} {match[3]}"
    table.lines.setdefault((f"{_KINDS[match[1]]}:{int(match[2])}", kind), (number, words))
    return match[3] if match[3] in _WAYS else last or "->"


def _figures(table: _TransferTable, memory: str, findings: list[Finding]) -> Iterator[Figure]:
    """Yield the results of every two devices, and within each; both ways' sum where its line is there."""
    sources = tuple(dict.fromkeys(here for here, _ in table.lines))
    table.devices = table.devices or sources
    short = [here for (here, kind), (_, words) in table.lines.items() if len(words) < len(table.devices)]
    missing = list(dict.fromkeys([*(one for one in table.devices if one not in sources), *short]))
    if missing:
        findings.append(warning("import.cut", test=f"{TOOL} p2p", missing=", ".join(missing[:8])))
    for here, kind in table.lines:
        if kind in _WAYS and (not table.both or kind == "<->" or (here, "<->") not in table.lines):
            line, values = table.values(here, kind)
            if len(values) < len(table.devices) and here in short and here != sources[-1]:
                continue
            for there, value in values.items():
                yield _figure(table, here, there, kind, value, line, memory)


def _figure(table: _TransferTable, here: str, there: str, kind: str, value: float, line: int, memory: str) -> Figure:
    source, destination = (there, here) if kind == "<-" else (here, there)
    driver = destination if table.pulled else source
    method = table.method if driver.startswith("gpu") else "memcpy"
    memories = tuple("device" if end.startswith("gpu") else memory for end in (source, destination))
    moves = Movement(kind_of(source, destination), method, source, destination, driver, (memories[0], memories[1]))
    facts: dict[str, Any] = {"method": method, "devices": f"{source}>{destination}"}
    facts |= {"side": "pull" if table.pulled else "push"}
    found = Figure(f"{TOOL} p2p", single(value), GBPS, size=table.size, facts=facts, moves=moves, line=line)
    if kind == "<->":
        ways = [table.values(here, way)[1].get(there, 0.0) for way in ("->", "<-")]
        parts = tuple(map(single, ways)) if all(ways) else ()
        test = f"{TOOL} p2p" if moves.kind == "peer" else f"{TOOL} p2p both ways"
        return replace(found, test=test, parts=parts, moves=replace(moves, both=True))
    if table.both:
        return replace(found, test=f"{TOOL} p2p opposed", moves=replace(moves, opposed=True))
    least, most = (table.values(here, f"-> {name}")[1].get(there, value) for name in ("min", "max"))
    return replace(found, value=replace(found.value, min=min(least, value), max=max(most, value)))
