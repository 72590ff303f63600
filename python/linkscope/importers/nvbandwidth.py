"""nvbandwidth, as text and as JSON (-j). Formats: output.cpp, json_output.cpp and inline_common.h there.

It counts the payload once. A bidirectional test between host and GPU prints one direction's rate; one between GPUs
prints both directions' and their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, TypedDict

from msgspec import Meta

from linkscope.importers import nvbandwidth_tests as tests
from linkscope.importers.matrices import NOTHING, Matrix, head_of
from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    SECONDS,
    UNKNOWN,
    Figure,
    Gpu,
    Movement,
    NotRun,
    PeerOutput,
    Source,
    single,
)
from linkscope.messages.finding import Finding, error, note, warning

TOOL = "nvbandwidth"
SUMMARY = "nvbandwidth 0.4 to 0.11: text, JSON (-j), several nodes"
SUITES = ("nvbandwidth",)
_NEWEST = (0, 11)
_CHASED = 2 << 20
"""Bytes of its latency tests, always."""
_DEVICE = re.compile(r"(?:Device )?(\d{1,3}): (\S.{0,198}?) \(([0-9a-fA-F:.]{4,20})\)(?:: \((.{0,200}?)\))?(?!\w)")
_UNPLACED = re.compile(r"Device (\d{1,3}): ((?:NVIDIA|Tesla|GeForce|Quadro) .{1,80})")
"""A GPU as 0.4 and older print it."""
_PROCESS = re.compile(r"Process +(\d{1,3}) \(([^)]{1,200})\): device +\d{1,3}: (\S.{0,198}?) \(([0-9a-fA-F:.]{1,20})\)")
_RUNNING = re.compile(r"Running (\w{1,100})\.")
_SUM = re.compile(r"(SUM|MIN|MAX|AVG|COEFFICIENT_OF_VARIATION|&&&& PERF) (\w{1,110}) (\S{1,40})(?: .{1,10})?")
_BISECT = re.compile(r" *(\d{1,3})-> *(\d{1,3}) +(\d{1,9}\.\d{1,6})")
_OPTION = re.compile(r"nvbandwidth\b[^|;]{0,300}? (?:-b|--bufferSize)[ =]?(\d{1,9})\b")
_WRONG = re.compile(r" *Invalid value when checking the pattern|ASSERT in expression .{0,80}memcmpPattern")
_STOP = re.compile(r"(?:NVML_ERROR: )?(\[\w{1,60}\] .{0,200}?|ASSERT) in expression ")
_FACTS = ("CUDA Runtime Version", "CUDA Driver Version", "Driver Version")
_HEADS = ("Built from Git version", "CUDA Driver Version (API)", "MPI version", "NOTE", *_FACTS)
_TAIL = "Performance can vary with software drivers"
_HOST = re.compile(r"[\w.-]{1,255}")


class _Test(TypedDict):
    name: Annotated[str, Meta(max_length=200)]
    status: Annotated[str, Meta(max_length=1024)]


class _WithMatrix(_Test, total=False):
    bandwidth_matrix: list[list[str]]
    bandwidth_description: Annotated[str, Meta(max_length=200)]
    error: Annotated[str, Meta(max_length=4096)]


_Root = TypedDict(
    "_Root",
    {
        "version": str,
        "testcases": list[_WithMatrix],
        "CUDA Runtime Version": int | str,
        "Driver Version": str,
        "GPU Device list": list[object],
        "error": str,
    },
    total=False,
)


class _Document(TypedDict):
    nvbandwidth: _Root


@dataclass
class _Table:
    """A matrix and the test that it is of, by the name above or below it, and its title. ``part``: of a test's three
    tables."""

    matrix: Matrix
    version: tests.Version
    run: int = 0
    test: str = ""
    title: str = ""
    part: str = ""
    spread: str = ""


@dataclass
class _NvbandwidthOutput:
    """Hold what was read so far. ``size``: bytes, where a command says them; ``hosts``: those that processes ran on;
    ``wrong``: runs and tests whose data were wrong."""

    version: str = ""
    newest: tests.Version = _NEWEST
    size: int = 0
    run: int = 0
    host: str = ""
    gpus: dict[int, Gpu] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    tables: list[_Table] = field(default_factory=list)
    bisected: list[Figure] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    wrong: set[tuple[int, str]] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    waived: int = 0
    sums: int = 0

    def begin(self, text: str) -> None:
        """Begin a run of the version that a text says."""
        match = re.match(r"v?((\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?)", text.strip())
        self.run += bool(self.version)
        if match:
            self.version, self.newest = match[1], (int(match[2]), int(match[3]))

    def open(self, matrix: Matrix, test: str, title: str) -> Matrix:
        """Add a table."""
        self.tables.append(_Table(matrix, self.newest, self.run, test, title, tests.part_of(title)))
        return matrix

    def fail(self, test: str, what: str) -> None:
        """Note that a test stopped, or that it found wrong data (no ``what``)."""
        if (self.run, test) in self.wrong:
            return
        if what:
            self.findings.append(error("import.stopped", tool=TOOL, test=test, what=what[:80]))
        else:
            self.wrong.add((self.run, test))
            self.findings.append(error("import.wrong-data", tool=TOOL, test=test))


def recognises(text: str) -> bool:
    """Return whether a text holds lines of nvbandwidth."""
    names = r"(?:SUM|PERF) (?:\w{1,90}_(?:ce|sm|tma)|device_local_copy)|Running \w{1,90}_(?:ce|sm|tma|copy)\."
    titles = r"(?:CPU|GPU)\(row\) (?:->|<-|<->) GPU\(column\)|local GPU\(column\)"
    return re.search(rf'nvbandwidth Version:|"nvbandwidth"\s{{0,99}}:|{names}|{titles}', text) is not None


def read(source: Source) -> PeerOutput:
    """Return what nvbandwidth printed. Raises LinkscopeError for JSON that is none, or is not its."""
    found = _NvbandwidthOutput()
    if re.search(r'^\s{0,99}\{\s{0,99}"nvbandwidth"\s{0,99}:', source.text, re.MULTILINE):
        _json(source, found)
    else:
        _text(source, found)
    if found.newest > _NEWEST:
        known = ".".join(map(str, _NEWEST))
        found.findings.append(warning("import.newer-version", tool=TOOL, version=found.version, known=known))
    if found.sums and not found.tables:
        found.findings.append(note("import.sums-alone", tool=TOOL, tests=found.sums))
    if found.waived:
        found.findings.append(note("import.waived", tool=TOOL, tests=found.waived))
    figures = tuple(_figures(found))
    columns = [int(figure.column.removeprefix("gpu:")) + 1 for figure in figures]
    gpus = tuple(found.gpus.get(index, Gpu()) for index in range(max([*columns, *(one + 1 for one in found.gpus), 1])))
    parts = (found.said, found.host, (), tuple(found.findings), 1, frozenset(found.taken))
    return PeerOutput(TOOL, found.version, SUITES, figures, gpus, tuple(found.not_run), *parts)


def _json(source: Source, found: _NvbandwidthOutput) -> None:
    """Read a document. Up to 0.8 a test's three matrices stand one below the other."""
    root = source.json(_Document)["nvbandwidth"]
    found.begin(root.get("version", ""))
    found.taken |= set(range(1, len(source.lines) + 1))
    for text in root.get("GPU Device list", ()):
        if match := _DEVICE.match(str(text)):
            found.gpus[int(match[1])] = Gpu(match[2], match[3].lower())
            found.host = found.host or match[4] or ""
    found.said |= {name: str(value) for name, value in root.items() if name in _FACTS}
    last = ""
    for test in root.get("testcases", ()):
        last, rows = test["name"], test.get("bandwidth_matrix") or []
        blocks = _blocks(last, rows)
        if len({len(row) for row in rows}) > 1:
            raise source.wrong(0, f"{last}: its rows have different lengths")
        part = tests.PART.search(last)
        for at, block in enumerate(blocks):
            matrix = found.open(Matrix(0, list(range(len(block[0])))), last, test.get("bandwidth_description", ""))
            table = found.tables[-1]
            table.test = tests.PART.sub("", last)
            table.part = part[1] if part else ("read1", "read2", "total")[at] if len(blocks) == 3 else table.part
            matrix.rows = {index: (0, _checked(source, last, row)) for index, row in enumerate(block)}
        if not blocks and (test["status"] not in ("Passed", "Running") or "error" in test):
            found.not_run.append(_refusal(last, test["status"], test.get("error", "")))
        elif not blocks and "error" not in root:
            found.findings.append(warning("import.cut", test=f"{TOOL} {last}", missing="all results"))
    if "error" in root and last:
        wrong = "memcmpPattern" in root["error"] or "Invalid value" in root["error"]
        found.fail(last, "" if wrong else root["error"].partition(" in expression")[0] or "error")


def _blocks(test: str, rows: list[list[str]]) -> list[list[list[str]]]:
    """Return a test's matrices; where they have a row a GPU, each has as many rows as columns."""
    width = max((len(row) for row in rows), default=0)
    if not 0 < width <= MOST_GPUS or len(rows) > 3 * MOST_GPUS:
        return []
    height = width if len(rows) >= width > 1 and tests.has_rows(test) else len(rows)
    return [rows[at : at + height] for at in range(0, len(rows), height)]


def _checked(source: Source, test: str, row: list[str]) -> list[str]:
    for word in row:
        if word not in NOTHING and word not in ("0", "0.00"):
            source.number(word, 0, test)
    return row


def _text(source: Source, found: _NvbandwidthOutput) -> None:
    """Go over all lines: a test's name stands above its matrices, and in the lines below each of them."""
    running, title, before = "", "", ""
    matrix: Matrix | None = None
    for number, line in enumerate(source.lines, 1):
        text, (word, _, rest) = line.strip(), line.strip().partition(": ")
        taken = True
        if word == "nvbandwidth Version":
            running, title, matrix = "", "", None
            found.begin(rest)
        elif match := _RUNNING.fullmatch(text):
            running, title, matrix = match[1], "", None
        elif tests.TITLE.fullmatch(text):
            title, matrix = text, None
        elif match := _SUM.fullmatch(text):
            _named(found, matrix, match)
            matrix = None
            found.sums += match[1] == "SUM"
        elif _heads(found, text, before):
            pass
        elif _stopped(found, line, running):
            matrix = None
        elif match := _OPTION.search(line):
            found.size = int(match[1]) << 20
        elif (match := _BISECT.fullmatch(line)) and "isect" in title + running:
            found.bisected.append(_bisected(number, match))
        elif _is_head(line, matrix, bool(title or running)):
            matrix = found.open(Matrix(number, head_of(line.split())), running, title)
        elif matrix is None and title and Matrix(number).take(number, line):  # a table without its head
            taken = found.open(Matrix(number), running, title).take(number, line)
            matrix = found.tables[-1].matrix
        else:
            taken = not text or (matrix is not None and matrix.take(number, line))
        before = text
        found.taken |= {number} if taken else set()


def _heads(found: _NvbandwidthOutput, text: str, before: str) -> bool:
    """Take a line above the tests or below them; return whether it is one."""
    word, _, rest = text.partition(": ")
    if match := _DEVICE.match(text):
        found.gpus[int(match[1])] = Gpu(match[2], match[3].lower())
        found.host = found.host or (before if _HOST.fullmatch(before) else "")
    elif match := _UNPLACED.fullmatch(text):
        found.gpus.setdefault(int(match[1]), Gpu(match[2]))
    elif match := _PROCESS.match(text):
        found.gpus[int(match[1])] = Gpu(match[3], match[4].lower())
        found.hosts[match[2]] = None
    elif word in _FACTS:
        found.said[word] = rest.strip()[:100]
    elif text.startswith(("Waived:", "Waiving ")):
        found.waived += 1
    else:
        return word in _HEADS or text.startswith(_TAIL)
    return True


def _stopped(found: _NvbandwidthOutput, line: str, running: str) -> bool:
    """Take a line that says what went wrong; return whether it is one."""
    if _WRONG.match(line):
        found.fail(running or UNKNOWN, "")
    elif match := _STOP.match(line):
        found.fail(running or UNKNOWN, match[1])
    elif line.startswith("Error: ") and running:
        found.not_run.append(_refusal(running, "Error", line.partition(": ")[2]))
    else:
        return line.startswith(" Current offset")
    return True


def _is_head(line: str, matrix: Matrix | None, expected: bool) -> bool:
    """Return whether a line is a table's head, "0 1 2 3"; a lone 0 only where one is due."""
    columns = head_of(line.split())
    due = expected and not (matrix is not None and matrix.rows)
    return bool(columns) and columns[0] == 0 and (len(columns) > 1 or due)


def _bisected(number: int, match: re.Match[str]) -> Figure:
    ends = f"gpu:{int(match[1])}", f"gpu:{int(match[2])}"
    moves = Movement("peer", "copy-engine", *ends, "", ("device", "device"))
    return Figure(f"{TOOL} multinode_bisect_write_ce", single(float(match[3])), GBPS, *ends, moves=moves, line=number)


def _named(found: _NvbandwidthOutput, matrix: Matrix | None, match: re.Match[str]) -> None:
    """Give the table above a line SUM its test's name; the spread stands below that line."""
    test, part = tests.PART.sub("", match[2]), tests.PART.search(match[2])
    last = found.tables[-1] if found.tables else None
    if last is not None and last.matrix is matrix and match[1] in ("SUM", "&&&& PERF"):
        last.test, last.part, last.title = test, part[1] if part else last.part, ""
    elif last is not None and last.test == test and match[1].startswith("COEFF") and match[3].strip("0."):
        last.spread = match[3]


def _refusal(test: str, status: str, why: str) -> NotRun:
    reason = f"nvbandwidth says {status}" + (f": {' '.join(why.split())[:100]}" if why.strip() else "")
    return NotRun(f"{TOOL} {test}", "skipped" if status == "Waived" else "failed", reason)


def _figures(found: _NvbandwidthOutput) -> Iterator[Figure]:
    """Yield the results of each test of each run; a test that ran again is a series of its own."""
    groups: dict[tuple[str, int], list[_Table]] = {}
    seen: dict[tuple[str, str], int] = {}
    for table in found.tables:
        if not table.test and table.matrix.rows:
            table.test = tests.first_test(table.title, "N/A" in str(table.matrix.rows))
            if table.test:
                found.findings.append(note("import.unnamed", line=table.matrix.line, test=table.test))
        if table.test and table.matrix.rows and (table.run, table.test) not in found.wrong:
            seen[table.test, table.part] = again = seen.get((table.test, table.part), 0) + 1
            groups.setdefault((table.test, again), []).append(table)
    for (test, again), tables in groups.items():
        version = tables[0].version
        if test.endswith("device_to_device_latency_sm") and version < (0, 8):
            found.findings.append(warning("import.known-fault", tool=TOOL, version=found.version, test=test))
        else:
            yield from _of_test(found, test, tables, f"run {again}" if again > 1 else "")
    yield from found.bisected


def _of_test(found: _NvbandwidthOutput, test: str, tables: Sequence[_Table], varies: str) -> Iterator[Figure]:
    """Yield a test's results: of three tables the sum of both directions, with these as its parts."""
    whole = next((one for one in tables if one.part in ("", "total")), None)
    parts = [one for one in tables if one.part not in ("", "total")]
    of_parts = [{(one.row, one.column): one.value for one in part.matrix.cells()} for part in parts]
    latency = "latency" in test
    for table in [whole] if whole else parts:
        missing = table.matrix.missing(None if tests.has_rows(test) else [0])
        if missing:
            found.findings.append(warning("import.cut", test=f"{TOOL} {test}", missing=missing))
        size, notes = (_CHASED, ()) if latency else _size(found, table)
        for cell in table.matrix.cells():
            if cell.row and not tests.has_rows(test):
                continue
            both = [of[cell.row, cell.column] for of in of_parts if (cell.row, cell.column) in of]
            place = tests.Place(cell.row, cell.column, table.matrix.width, table.part)
            moves = tests.moves(test, place, table.version)
            yield Figure(
                f"{TOOL} {test}" + (f"_{table.part}" if table is not whole else ""),
                single(cell.value * (1e-9 if latency else 1)),
                SECONDS if latency else GBPS,
                f"gpu:{cell.row}" if tests.has_rows(test) else "",
                f"gpu:{cell.column}",
                size,
                {"clock": "device"},
                parts=tuple(map(single, both)) if len(both) == 2 and table is whole else (),
                notes=notes,
                moves=moves and replace(moves, varies=varies, hosts=max(len(found.hosts), 1)),
                line=cell.line,
            )


def _size(found: _NvbandwidthOutput, table: _Table) -> tuple[int, tuple[str, ...]]:
    """Return the bytes of a copy, and what there is to note: a size that nothing says, and the spread."""
    usual = 64 if table.version < (0, 7) else 512
    assumed = f"nvbandwidth does not print its buffer's size: its default, {usual} MiB, is taken"
    spread = (f"coefficient of variation {table.spread}",) if table.spread else ()
    return found.size or usual << 20, (*spread, *(() if found.size else (assumed,)))
