"""OSU micro-benchmarks and OMB-Py. Format: print_only_header, print_only_header_nbc and print_header of OSU's c/util,
and python/util/osu_util_mpi.py.

A table's columns are named above it; the first rate or time is the result: MB/s of 1e6 bytes, or us. OSU prints neither
how many processes took part nor where they ran, and only some versions where a buffer lies: the command line says it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkscope.importers.command_lines import Command, commands
from linkscope.importers.osu_titles import SHARED, OsuTest, started, titled
from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    SECONDS,
    UNKNOWN,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    plain_number,
    single,
)
from linkscope.importers.series import told_apart
from linkscope.messages.finding import Finding, error, warning
from linkscope.results.osu_benchmarks import OSU_COLLECTIVES, OSU_MESSAGES
from linkscope.results.row import Stats

TOOL = "OSU"
SUMMARY = "OSU to 7.5 (MPI, NCCL, RCCL, OpenSHMEM), OMB-Py"
NEWEST = (7, 5)
SUITES = ("p2p-processes", "collectives")
_TITLE = re.compile(r"\s{0,8}(?:# ?)?O(?:SU|MB)(-Py)? (.{1,90}?) Test(?: v| \(Version |)(\d[\w.-]{0,20})?\)?\s*")
_COLUMNS = re.compile(
    r"Size(?: \(B\))?|Bandwidth ?\(MB/s\)|MB/s|Messages/s|(?:Avg |Min |Max )?Latency ?\(us\)|Overall ?\(us\)"
    r"|Compute ?\(us\)|Coll\. Init ?\(us\)|MPI_\w{4} ?\(us\)|(?:Pure|Min|Max) Comm\.? ?\(us\)|Overlap ?\(%\)|Iterations"
    r"|Validation|P\d{1,3} Tail \w{2,3} ?\([MB/sus]{2,4}\)|Transmit Size|\w{4} avg ?\(us\)"
)
_VALUE = re.compile(r"Bandwidth ?\(MB/s\)$|MB/s$|(?:Avg )?Latency ?\(us\)$|Overall ?\(us\)$")
_ROW = re.compile(r"([0-9]+ +)?[0-9]+\.[0-9]+( .*)?")
_BUFFERS = re.compile(r".{0,60}(?:Buffer|Memory) on ([A-Z]+) \(\w+\) and .{0,40}(?:Buffer|Memory) on ([A-Z]+)\b")
_ACCELERATED = re.compile(r"-(CUDA MANAGED|CUDA|ROCM|OPENACC|MANAGED|SYCL|HSA)\b")
_PROGRAM = re.compile(r"osu_\w{1,40}|run\.py")
_VISIBLE = re.compile(r"(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES=(\d{1,3}),(\d{1,3})\b(?!,)")
_TORCH = re.compile(r"[Uu]sing device \*?(\w+)(?::\d+)?\*? with \*?(\w+)\*? backend")
_WORLD = re.compile(r"[Ww]orld size(?: is|:) (\d{1,6})\b")
_STOPPED = re.compile(
    r"Segmentation fault|Bus error|(?<=Signal: )[A-Z][a-z]+(?: [a-z]+)?|BAD TERMINATION|MPI_ERR_\w{1,40}|out of memory"
    r"|This test requires [a-z ]{1,40}|[A-Z]\w{2,8} support not enabled|error while loading shared libraries"
    r"|Assertion .{1,60}? failed|MPI_ABORT|DUE TO [A-Z ]{4,20}"
)
_MEMORIES = {
    "HOST": "pageable",
    "DEVICE": "device",
    "MANAGED": "managed",
    "H": "pageable",
    "D": "device",
    "M": "managed",
}
_BUFFERS_OF_PYTHON = {
    **dict.fromkeys(("numpy", "bytearray"), "pageable"),
    **dict.fromkeys(("cupy", "pycuda", "numba"), "device"),
}
_KNOWN = {one.name: one for one in (*OSU_MESSAGES, *OSU_COLLECTIVES)}
_WHERE = "OSU does not print where its processes ran: the case's first place is taken"


@dataclass
class _OsuPreamble:
    """Hold what the lines above a table have said so far. ``torch``: device and backend of OMB-Py on PyTorch.
    ``using``: how many ranks say which library they use. ``memories``: of the buffers.
    """

    command: Command | None = None
    torch: tuple[str, str] = ("", "")
    world: int = 0
    using: int = 0
    memories: tuple[str, str] | None = None


@dataclass
class _OsuTable:
    """``plain``: its title names no accelerator, so that it allocated no GPU memory. ``between``: "GPUs 0 and 2"."""

    test: OsuTest
    said: _OsuPreamble
    accelerated: str = ""
    plain: bool = False
    between: str = ""
    columns: tuple[str, ...] = ()
    datatypes: list[str] = field(default_factory=list)
    pairs: int = 1
    rows: int = 0
    stopped: str = ""


@dataclass
class _OsuLog:
    figures: list[Figure] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    lines: set[int] = field(default_factory=set)
    version: str = ""
    titles: list[str] = field(default_factory=list)


def recognises(text: str) -> bool:
    """Return whether a text holds a title, a table's head or a program of OSU's."""
    head = r"^ {0,8}#? ?Size\s.{0,40}(?:Bandwidth|Latency|Overall) ?\((?:MB/s|us)\)|^#Using [NR]CCL"
    title = r"# ?O(?:SU|MB)(?:-Py)? .{1,90} Test\b|^OSU .{1,90} Test v\d|[ /]osu_\w{2,30}(?: |$)"
    return re.search(f"{head}|{title}", text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the results of all tables. Raises LinkscopeError where there is neither a table nor an error of OSU's."""
    found, said = _OsuLog(), _OsuPreamble()
    table: _OsuTable | None = None
    begun = commands(source.lines, _PROGRAM)
    pairs, between = _pairs(source.text), ""
    for number, line in enumerate(source.lines, 1):
        between = next(_named_pairs(line), between) if pairs else ""
        text = line.replace("\t", "  ").strip()
        if match := _TITLE.fullmatch(text):
            _end(found, table)
            title = f"Python {match[2]}" if match[1] else match[2]
            accelerated = _ACCELERATED.search(title)
            plain = re.match("MPI[ _]", title) is not None and accelerated is None
            test, kind = titled(_ACCELERATED.sub("", title)), accelerated[1] if accelerated else ""
            table = _OsuTable(test, said, kind, plain, "" if plain else between)
            said = _OsuPreamble(torch=said.torch, world=said.world)
            found.version = found.version or match[3] or ""
            found.titles.append(title)
        elif number in begun:
            _end(found, table)
            table, said = None, _OsuPreamble(begun[number])
        elif text.startswith("#Using "):
            table = _without_rows(found, table)
            said.using += 1
        elif text.startswith(("#", "Size ", "Avg Latency(us)")):
            table = _head(text, _without_rows(found, table) if _is_another(text, table) else table, said)
        elif _ROW.fullmatch(text):
            table = table or (_OsuTable(_untitled(said), said) if said.command else None)
            if table is None or not _row(source, number, text.split(), table, found):
                continue
        else:
            table = _aside(line, said, table)
            continue
        if table is not None or number in begun or said.using:
            found.lines.add(number)
    _end(found, table)
    if not found.figures and not found.findings and not found.wrong:
        raise source.wrong(0, "OSU printed no results")
    return _output(found)


def _named_pairs(text: str) -> Iterator[str]:
    return (f"GPUs {match[1]} and {match[2]}" for match in _VISIBLE.finditer(text))


def _pairs(text: str) -> bool:
    """Return whether programs were started on several pairs of GPUs, which tell the results apart."""
    return len(set(_named_pairs(text))) > 1


def rows_of(text: str) -> dict[int, float]:
    """Size -> figure, from what a benchmark prints; one without sizes has its figure at 0."""
    rows = (line.split() for line in text.split("\n") if _ROW.fullmatch(line.strip()))
    return {int(words[0]) if "." not in words[0] else 0: float(next(w for w in words if "." in w)) for words in rows}


def _output(found: _OsuLog) -> PeerOutput:
    wrong = [error("import.wrong-data", tool=TOOL, test=test) for test in found.wrong]
    numbers = tuple(int(part) for part in re.findall(r"\d{1,6}", found.version)[:2])
    known = ".".join(map(str, NEWEST))
    newer = [warning("import.newer-version", tool=TOOL, version=found.version, known=known)] if numbers > NEWEST else []
    moved = [figure.moves for figure in found.figures if figure.moves is not None]
    on_gpus = [one for one in moved if {"device", "managed"} & set(one.memories)]
    gpus = max((max(one.ranks // max(one.hosts, 1), 2 if one.kind == "message" else 1) for one in on_gpus), default=0)
    in_python = bool(found.titles) and all(title.startswith("Python") for title in found.titles)
    return PeerOutput(
        *(
            "OMB-Py" if in_python else TOOL,
            found.version,
            SUITES,
            told_apart(found.figures),
            (Gpu(),) * min(gpus, MOST_GPUS),
        ),
        findings=(*newer, *wrong, *found.findings),
        read=frozenset(found.lines),
    )


def _end(found: _OsuLog, table: _OsuTable | None) -> None:
    """Tell of a table that ends without results, or that an error ended."""
    if table is None:
        return
    if table.stopped:
        told = warning if table.rows else error
        found.findings.append(told("import.stopped", tool=TOOL, test=table.test.name, what=table.stopped[:100]))
    elif not table.rows and not table.test.name.endswith(("init", "hello_world")):
        found.findings.append(warning("import.no-rows", tool=TOOL, test=table.test.name))


def _without_rows(found: _OsuLog, table: _OsuTable | None) -> _OsuTable | None:
    """Return the table unless it has had its rows."""
    if table is not None and not table.rows:
        return table
    _end(found, table)
    return None


def _untitled(said: _OsuPreamble, columns: Sequence[str] = ()) -> OsuTest:
    """Return the test of a table without a title: by the program's name, else by what its columns hold."""
    command = said.command
    if command is not None:
        program = command.program if command.program != "run.py" else f"osu_{command.value('--benchmark')}"
        return started(program[:40])
    kind = "bw" if any("MB/s" in column for column in columns) else "latency"
    return OsuTest(f"osu_{kind}, untitled", "NCCL" if said.using else "MPI")


def _is_another(line: str, table: _OsuTable | None) -> bool:
    """Return whether a line is the head of another table, of an unknown title."""
    columns = tuple(_COLUMNS.findall(line))
    return table is not None and table.rows > 0 and any(map(_VALUE.match, columns)) and columns != table.columns


def _head(line: str, table: _OsuTable | None, said: _OsuPreamble) -> _OsuTable | None:
    """Return the table that a line with "#" belongs to, which may begin without a title."""
    columns = tuple(_COLUMNS.findall(line))
    if any(map(_VALUE.match, columns)):
        table = table or _OsuTable(_untitled(said, columns), said)
        table.columns = columns
    elif match := _BUFFERS.match(line):
        said = table.said if table else said
        said.memories = _MEMORIES.get(match[1][0], UNKNOWN), _MEMORIES.get(match[2][0], UNKNOWN)
    elif table and (match := re.match(r"# Datatype: (\w{1,40})", line)):
        table.datatypes.append(match[1])
    elif table and (match := re.search(r"\[ pairs: (\d{1,6}) \]", line)):
        table.pairs = max(int(match[1]), 1)
    return table


def _aside(line: str, said: _OsuPreamble, table: _OsuTable | None) -> _OsuTable | None:
    """Keep what a line between tables says; return the table, or one for a program that an error stopped at once."""
    if match := _TORCH.search(line):
        said.torch = match[1], match[2]
    elif match := _WORLD.search(line):
        said.world = int(match[1])
    elif (table or said.command) and (match := _STOPPED.search(line)):
        table = table or _OsuTable(_untitled(said), said)
        table.stopped = table.stopped or match.group().strip()
    return table


def _row(source: Source, number: int, words: Sequence[str], table: _OsuTable, found: _OsuLog) -> bool:
    """Take a row that has a word for each column; another, such as of another tool's table, is none of OSU's."""
    if not table.columns and len(words) == 2:
        table.columns = ("Size", "Bandwidth (MB/s)" if re.search("bw", table.test.name) else "Avg Latency(us)")
    columns = table.columns
    at = next((i for i, column in enumerate(columns) if _VALUE.match(column)), 0)
    sized = bool(columns) and columns[0].startswith("Size")
    if len(words) != len(columns) or "." not in words[at] or (sized and not words[0].isdigit()):
        return False
    cells = dict(zip(columns, words, strict=True))
    value, size = plain_number(words[at]), int(words[0]) if sized else None
    if value is None or (size or 0) > 1 << 50:
        return False
    table.rows += 1
    if cells.get("Validation", "").lower().startswith("fail"):
        found.wrong[table.test.name] += 1
    elif value > 0:
        rate = "MB/s" in columns[at]
        scale = 1e-3 if rate else 1e-6
        bounds = [plain_number(cells.get(f"{which} Latency(us)")) for which in ("Min", "Max")]
        stats = single(value * scale)
        if bounds[0] and bounds[1]:
            stats = _ranging(stats, bounds[0] * scale, bounds[1] * scale)
        found.figures.append(_figure(source, number, (stats, GBPS if rate else SECONDS, size), table))
    return True


def _figure(source: Source, line: int, value: tuple[Stats, str, int | None], table: _OsuTable) -> Figure:
    test, said, known = table.test, table.said, _KNOWN.get(table.test.name)
    stats, unit, size = value
    ranks, hosts = (said.command.ranks, said.command.hosts) if said.command else (0, 0)
    method = replace(test, library="NCCL").method if said.torch[1] in ("nccl", "rccl") else said.torch[1] or test.method
    memories = _memories(table)
    told = [one for one in (test.varies, table.between) if one]
    told += [table.datatypes[-1]] if len(set(table.datatypes)) > 1 else []
    facts: dict[str, Any] = {"clock": "host", "memory": ">".join(dict.fromkeys(memories)), "method": method}
    if test.collective:
        count = source.processes or ranks or said.world or said.using
        told += ["by a rank's block"] if test.collective in SHARED and not count else []
        size = size * count if size and test.collective in SHARED and count else size
        facts |= {"processes": count, "members": count, "collective": test.collective}
        moves = Movement("collective", method, memories=memories, collective=test.collective, ranks=count)
    else:
        count = 2 * table.pairs if table.pairs > 1 else ranks or 2
        facts |= {"processes": count, "call": known.measures if known else test.name, "window": None}
        facts |= {"staging": "none"} if "device" in memories else {}
        moves = Movement("message", method, memories=memories, ranks=count, at_once=table.pairs)
        moves = replace(moves, both="bibw" in test.name)
    varies = ", ".join(told)
    facts |= {name: fact for name, fact in (("hosts", hosts if hosts > 1 else 0), ("varies", varies)) if fact}
    moves = replace(moves, hosts=hosts or int(moves.kind == "collective"), varies=varies)
    return Figure(
        *(test.name, stats, unit),
        size=size,
        facts=facts,
        notes=(_WHERE,) if known and UNKNOWN not in memories else (),
        moves=moves,
        line=line,
    )


def _memories(table: _OsuTable) -> tuple[str, str]:
    """Return where the buffers lie: what the table's lines say, else the command line or the title."""
    test, said = table.test, table.said
    if said.memories is not None:
        return said.memories
    if said.torch[0]:
        return ({"cpu": "pageable", "cuda": "device"}.get(said.torch[0], UNKNOWN),) * 2
    if said.command and said.command.program == "run.py":
        return (_BUFFERS_OF_PYTHON.get(said.command.value("--buffer"), UNKNOWN),) * 2
    letters = [word[0] for word in said.command.words if re.fullmatch("[DHM][DH]?", word)] if said.command else []
    if len(letters) > 1 and not test.collective:
        return _MEMORIES[letters[-2]], _MEMORIES[letters[-1]]
    device = said.command.value("-d", "--accelerator").lower() if said.command else ""
    if test.collective and (table.accelerated or device or test.method.startswith("xccl")):
        return ("managed" if "MANAGED" in table.accelerated or device == "managed" else "device",) * 2
    of_host = table.plain and not test.collective
    started = said.command and said.command.options_only and not (table.accelerated or device)
    if test.library == "MPI" and (of_host or started):
        return "pageable", "pageable"
    return UNKNOWN, UNKNOWN


def _ranging(stats: Stats, least: float, most: float) -> Stats:
    """Return the statistics with the extremes of the processes' means, which are no interval."""
    low, high = min(least, stats.median), max(most, stats.median)
    return replace(stats, min=low, p5=low, p95=high, p99=high, max=high)
