"""rocm_bandwidth_test: tables of -a and -A, lists of -s, -d and -b. Formats: its _report.cpp and _print.cpp.

It counts the payload, both directions' where a copy is bidirectional, and bytes read and written where it is within one
device. CPUs and GPUs share one row of numbers. Host memory is pinned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linkscope.importers.matrices import Matrix, head_of
from linkscope.importers.peer_output import (
    GBPS,
    LARGEST,
    MOST_GPUS,
    SECONDS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    single,
)
from linkscope.messages.finding import Finding, error, warning

TOOL = "rocm_bandwidth_test"
SUMMARY = "rocm_bandwidth_test 1 to 2.6: -a, -A, -v, -s, -d, -b"
SUITES: tuple[str, ...] = ()
_NEWEST = (2, 6)
_LARGE = 64 << 20
"""Bytes of a copy of -a and -A, unless -m says otherwise."""
_VERSION = re.compile(r"RocmBandwidthTest Version: (\d{1,4})\.(\d{1,4})(\.\d{1,4})?")
_DEVICE = re.compile(r"Device: (\d{1,3}), +(.{1,200})")
_CPU = re.compile(r"CPU|EPYC|Xeon|Ryzen|Threadripper|Processor|Core", re.IGNORECASE)
_BARE = re.compile(r"Radeon|Instinct|\bMI\d|gfx\d|Vega|Navi", re.IGNORECASE)
"""A GPU whose id and slot were taken away."""
_SLOT = re.compile(r"(?:[0-9a-f]{1,4}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}\.[0-9a-f]")
_TITLE = re.compile(
    r"(Uni|Bi?)directional (?:copy )?(peak|average) bandwidth GB/s|(?:Inter-)?Device Access|Data Path Validation"
)
_OTHER = re.compile(r"(?:Inter-)?Device (?:Link Type|Link Hops|Numa Distance).{0,80}")
_COMMAND = re.compile(r"Launch Command is: \S{1,300}((?: \S{1,40}){0,40})")
_HEAD = re.compile(r"D/D((?: +\d{1,3}){1,256})")
_ROW = re.compile(r"(\d{1,3})((?: +(?:PASS|FAIL|N/A)){1,256})")
_LIST = re.compile(r"=+ +(Uni|Bi)directional Benchmark Result +=+")
_END = re.compile(r"=+ (Src|Dst) Device Id: (\d{1,3}) (?:Src|Dst) Device Type: ([CG])pu =+")
_SIZED = re.compile(
    r"(\d{1,9}) (Bytes|KB|MB) +(\d{1,12}\.\d{3}) +(\d{1,9}\.\d{3}) +(\d{1,12}\.\d{3}) +(\d{1,9}\.\d{3})"
)
_UNITS = {"Bytes": 1, "KB": 1 << 10, "MB": 1 << 20}
_ASSUMED = "rocm_bandwidth_test does not print the size of -a and -A: its default, 64 MiB, is taken"


@dataclass
class _RocmOutput:
    """``names``: of the devices by number; ``kinds``: "C" or "G" where a list says it."""

    version: str = ""
    names: dict[int, Gpu | None] = field(default_factory=dict)
    tables: list[tuple[str, Matrix]] = field(default_factory=list)
    listed: list[tuple[int, bool, int, int, int, float, float]] = field(default_factory=list)
    failed: int = 0
    size: int = 0

    def places(self) -> dict[int, str]:
        """Return where each device is: "numa:0", "gpu:0". Where no line names devices, the first is a CPU."""
        places, counts = dict[int, str](), {"numa": 0, "gpu": 0}
        for number in sorted({*self.names, *(one for _, matrix in self.tables for one in matrix.columns)}):
            kind = "numa" if self.names.get(number, Gpu()) is None or (not self.names and number == 0) else "gpu"
            places[number] = f"{kind}:{counts[kind]}"
            counts[kind] += 1
        return places


def recognises(text: str) -> bool:
    """Return whether a text holds lines of rocm_bandwidth_test."""
    tables = (
        r"directional (?:copy )?(?:peak|average) bandwidth GB/s[ \t]{0,20}$|^[ \t]{0,40}Inter-Device (?:Access|Numa)"
    )
    return (
        re.search(rf"RocmBandwidthTest Version|{tables}|directional Benchmark Result", text, re.MULTILINE) is not None
    )


def read(source: Source) -> PeerOutput:
    """Return its tables and lists."""
    found, taken = _RocmOutput(), set()
    title, matrix = "", Matrix(0)
    ends: dict[str, int] = {}
    both = False
    for number, line in enumerate(source.lines, 1):
        text = line.strip()
        if match := _VERSION.fullmatch(text):
            found.version = f"{match[1]}.{match[2]}{match[3] or ''}"
        elif match := _DEVICE.fullmatch(text):
            found.names[int(match[1])] = _gpu(match[2])
        elif (match := _TITLE.fullmatch(text)) or _OTHER.fullmatch(text):
            title, matrix = text if match else "", Matrix(0)
        elif match := _COMMAND.fullmatch(text):
            option = re.search(r" -m (\d{1,6})\b", match[1])
            found.size = int(option[1]) << 20 if option else 0
        elif match := _HEAD.fullmatch(text):
            matrix = Matrix(number, head_of(match[1].split()))
            found.tables += [(title, matrix)] if title else []
        elif match := _LIST.fullmatch(text):
            both, ends = match[1] == "Bi", {}
        elif match := _END.fullmatch(text):
            ends[match[1]] = int(match[2])
            found.names.setdefault(int(match[2]), None if match[3] == "C" else Gpu())
        elif (match := _SIZED.fullmatch(text)) and len(ends) == 2:
            size = int(match[1]) * _UNITS[match[2]]
            row = (number, both, ends["Src"], ends["Dst"], size, float(match[6]), float(match[5]) * 1e-6)
            found.listed.append(row)
        elif title.startswith("Data Path") and (match := _ROW.fullmatch(text)):
            found.failed += match[2].count("FAIL")
        elif text and not text.startswith(("D/D", "Data Size")) and not (matrix.line and matrix.take(number, line)):
            continue
        taken.add(number)
    return _output(found, frozenset(taken))


def _gpu(words: str) -> Gpu | None:
    """Return the GPU that a device's line names, "name,  id,  slot"; None for a CPU, which has a name alone."""
    name, *rest = (word.strip() for word in words.split(","))
    if not rest and (_CPU.search(name) or not _BARE.search(name)):
        return None
    return Gpu(name, rest[-1] if rest and _SLOT.fullmatch(rest[-1]) else None)


def _output(found: _RocmOutput, taken: frozenset[int]) -> PeerOutput:
    places = found.places()
    findings = list(_findings(found, places))
    figures = [one for title, matrix in found.tables for one in _of_table(title, matrix, places, found.size)]
    figures += [one for row in found.listed for one in _of_list(row, places)]
    gpus = [found.names.get(number) or Gpu() for number, place in places.items() if place.startswith("gpu")]
    nodes = sum(place.startswith("numa") for place in places.values())
    return PeerOutput(
        TOOL,
        found.version,
        SUITES,
        tuple(figures),
        tuple(gpus[:MOST_GPUS]),
        findings=tuple(findings),
        numa_nodes=max(nodes, 1),
        read=taken,
    )


def _findings(found: _RocmOutput, places: dict[int, str]) -> Iterator[Finding]:
    """Yield what is no result: GPUs that do not reach each other, wrong data, cut tables, a newer version."""
    if found.version and tuple(map(int, found.version.split(".")[:2])) > _NEWEST:
        known = ".".join(map(str, _NEWEST))
        yield warning("import.newer-version", tool=TOOL, version=found.version, known=known)
    if found.failed:
        yield error("import.wrong-data", tool=TOOL, test=f"{TOOL} -v")
    for title, matrix in found.tables:
        if title.endswith("Device Access"):
            apart = [
                f"{places[row]} -> {places[column]}"
                for row, (_, words) in matrix.rows.items()
                for column, word in zip(matrix.columns, words, strict=False)
                if word == "0" and row in places and all(places.get(one, "").startswith("gpu") for one in (row, column))
            ]
            if apart:
                yield warning("import.no-peer-access", tool=TOOL, count=len(apart), pairs=apart[:4])
        elif "directional" in title and (missing := matrix.missing(matrix.columns)):
            yield warning("import.cut", test=f"{TOOL} {_name(title)}", missing=missing)


def _name(title: str) -> str:
    return "bidirectional" if title.startswith("B") else "unidirectional"


def _of_table(title: str, matrix: Matrix, places: dict[int, str], size: int) -> Iterator[Figure]:
    """Yield the results of a table of -a or -A, from rows to columns."""
    if "directional" not in title:
        return
    for cell in matrix.cells():
        if cell.row not in places:
            continue
        ends = places[cell.row], places[cell.column]
        test = f"{TOOL} {_name(title)}"
        moves = _moves(ends, title.startswith("B"), "average" if "average" in title else "")
        notes = () if size else (_ASSUMED,)
        yield Figure(test, single(cell.value), GBPS, *ends, size or _LARGE, notes=notes, moves=moves, line=cell.line)


def _of_list(row: tuple[int, bool, int, int, int, float, float], places: dict[int, str]) -> Iterator[Figure]:
    """Yield a line of a list: its best rate; of a size without a rate its least time."""
    line, both, source, destination, size, rate, seconds = row
    ends = places[source], places[destination]
    test = f"{TOOL} {'bidirectional' if both else 'unidirectional'} by size"
    moves = _moves(ends, both, "")
    if 0 < rate < LARGEST:
        yield Figure(test, single(rate), GBPS, *ends, size, moves=moves, line=line)
    elif not both and 0 < seconds < LARGEST:
        yield Figure(test, single(seconds), SECONDS, *ends, size, moves=moves, line=line)


def _moves(ends: tuple[str, str], both: bool, varies: str) -> Movement:
    memories = tuple("pinned" if end.startswith("numa") else "device" for end in ends)
    kinds = [end.startswith("gpu") for end in ends]
    kind = {(True, True): "peer", (False, True): "to-gpu", (True, False): "to-host", (False, False): "host"}[
        kinds[0], kinds[1]
    ]
    driver = next((end for end in ends if end.startswith("gpu")), ends[0])
    counts = "read-and-written" if ends[0] == ends[1] else "payload"
    kind = "local" if ends[0] == ends[1] and kinds[0] else kind
    pair = (memories[0], memories[1])
    return Movement(kind, "copy-engine", *ends, driver, pair, both=both, varies=varies, counts=counts)
