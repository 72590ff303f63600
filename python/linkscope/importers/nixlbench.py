"""nixlbench and kvbench of NIXL. Format: printStats in nixlbench's utils.cpp, of 2025 (MiB, GiB and GB columns) and
since; kvbench profile prints nixlbench's table, its traffic tests those of custom_traffic_perftest.py and its twin.

A rate is of one worker, in GB of 1e9 bytes; where there are several workers their sum stands beside it. A latency of a
traffic test is from the first rank's start to the last rank's end. kvbench's mean rate is left out: it prints that of
the last pattern for all patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linkscope.importers.command_lines import Command, commands
from linkscope.importers.peer_output import (
    GBPS,
    SECONDS,
    UNKNOWN,
    Figure,
    Movement,
    PeerOutput,
    Source,
    plain_number,
    single,
)
from linkscope.importers.series import told_apart
from linkscope.messages.finding import Finding, error, warning

TOOL, KVBENCH = "nixlbench", "kvbench"
SUMMARY = "nixlbench since 2025, kvbench (NIXL): tables"
_COLUMNS = re.compile(
    r"Block Size \(B\)|Batch Size|(?:Aggregate )?B/W \(\w{1,4}/Sec\)|Network Util \(%\)|Avg Lat\. \(us\)"
    r"|(?:Avg|P99) (?:Prep|Post|Tx) \(us\)|Iters|Total time \(s\)|Avg latency/iter \(s\)|Total size \(GB\)"
    r"|Transfer size \(GB\)|(?:Isolated )?Latency \(ms\)|Num Senders|Mean BW \(GB/s\)"
)
_RATES = {"B/W (GB/Sec)": 1.0, "B/W (GiB/Sec)": 1e-9 * (1 << 30), "B/W (MiB/Sec)": 1e-9 * (1 << 20)}
"""The column that is read is the first of these that a table has."""
_TIMES = {"Avg latency/iter (s)": 1.0, "Latency (ms)": 1e-3, "Isolated Latency (ms)": 1e-3}
_OPTION = re.compile(r"[A-Za-z][\w ]{2,60}\(--(\w{2,40})=[^)]{1,160}\) *: (\S.{0,60})")
_PROGRAM = re.compile(r"nixlbench|nixl_bench")
_MEMORIES = {"VRAM": "device", "DRAM": "pageable"}
_STORAGE = ("AIS", "AIS_MT", "GDS", "GDS_MT", "POSIX", "OBJ", "HF3FS", "AZURE_BLOB", "GUSLI", "INFINIA")
"""Backends whose target is a file or an object, whatever segment type is printed."""
_STOPPED = re.compile(r"(?:Failed to|Unsupported|Unable to|Invalid) [A-Za-z ]{3,60}|NIXL_ERR_\w{1,40}")
_WRONG = "Consistency check failed"
_ON_ONE_HOST = re.compile(r"etcd.{0,60}://(?:localhost|127\.0\.0\.1)", re.IGNORECASE)
"""Workers that find one another by a service of their own host."""


@dataclass
class _NixlRun:
    """A program's run. ``said``: its options, by name, as its configuration or its command line says them."""

    said: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: set[tuple[str, ...]] = field(default_factory=set)
    figures: list[Figure] = field(default_factory=list)
    wrong: bool = False
    stopped: str = ""


def recognises(text: str) -> bool:
    """Return whether a text holds a table's head or the configuration of nixlbench, or a head of kvbench's."""
    head = r"Block Size \(B\) +Batch Size|NIXLBench Configuration|Transfer size \(GB\) +Latency \(ms\)"
    return re.search(rf"{head}|Iters +Total time \(s\) +Avg latency/iter", text) is not None


def read(source: Source) -> PeerOutput:
    """Return the results of all tables. Raises LinkscopeError where there is neither one nor an error."""
    runs = [_NixlRun()]
    lines: set[int] = set()
    begun = commands(source.lines, _PROGRAM)
    for number, line in enumerate(source.lines, 1):
        run, columns = runs[-1], tuple(_COLUMNS.findall(line))
        option, words = _OPTION.fullmatch(line.strip()), tuple(word for word in line.split() if word != "...")
        if run.rows and (option or number in begun or "NIXLBench Configuration" in line):
            runs.append(run := _NixlRun())
        if number in begun:
            run.said |= _asked(begun[number])
        elif option:
            run.said[option[1]] = option[2].strip()
        elif len(columns) > 3:
            run.columns = columns
        elif run.columns and len(words) == len(run.columns) and all(plain_number(word) is not None for word in words):
            run.figures += _figures(number, words, run) if words not in run.rows else []
            run.rows.add(words)
        elif not (run.columns and re.fullmatch(r"[-* ]{10,200}", line)):
            stop = _STOPPED.search(line)
            run.stopped = run.stopped or (stop.group().strip() if stop else "")
            run.wrong = run.wrong or _WRONG in line
            continue
        lines.add(number)
    hosts = int(_ON_ONE_HOST.search(source.text) is not None)
    figures = told_apart([_placed(figure, hosts) for run in runs if not run.wrong for figure in run.figures])
    findings = tuple(finding for run in runs for finding in _told(run))
    if not figures and not findings:
        raise source.wrong(0, "nixlbench printed no results")
    tool = KVBENCH if figures and all(figure.test.startswith(KVBENCH) for figure in figures) else TOOL
    return PeerOutput(tool, "", (), figures, findings=findings, read=frozenset(lines))


def _placed(figure: Figure, hosts: int) -> Figure:
    """Return a result with how many hosts its workers ran on, 0 where nothing says it."""
    return replace(figure, moves=replace(figure.moves, hosts=hosts)) if figure.moves else figure


def _asked(command: Command) -> dict[str, str]:
    """Return a command line's options with the defaults of those that say what moves, where it says nothing else."""
    names = ("initiator_seg_type", "target_seg_type", "op_type", "backend", "num_threads", "worker_type")
    defaults = {"initiator_seg_type": "DRAM", "target_seg_type": "DRAM", "op_type": "WRITE"}
    both = command.value("--seg_type")
    said = {name: command.value(f"--{name}", f"-{name}") or both * name.endswith("seg_type") for name in names}
    return {**(defaults if command.options_only else {}), **{name: value for name, value in said.items() if value}}


def _told(run: _NixlRun) -> Iterator[Finding]:
    """Yield what is to be known of a run: wrong data, an error, or no results."""
    if run.wrong:
        yield error("import.wrong-data", tool=TOOL, test=TOOL)
    if run.stopped and run.said:
        told = warning if run.rows else error
        yield told("import.stopped", tool=TOOL, test=TOOL, what=run.stopped[:100])
    elif (run.columns or run.said) and not run.rows:
        yield warning("import.no-rows", tool=TOOL, test=TOOL)


def _figures(line: int, words: tuple[str, ...], run: _NixlRun) -> list[Figure]:
    """Return the results of a row: its rate and the sum of several workers, or its latencies."""
    cells = {column: plain_number(word) or 0.0 for column, word in zip(run.columns, words, strict=True)}
    if "Block Size (B)" not in cells:
        size = round((cells.get("Transfer size (GB)") or cells.get("Total size (GB)") or 0) * 1e9)
        many = max(int(cells.get("Num Senders", 1)), 1)
        moves = Movement("message", "nixl", at_once=min(many, 1 << 20))
        test = f"{KVBENCH} {'sequential-' if 'Transfer size (GB)' in cells else ''}ct-perftest"
        return [
            _figure(
                test, cells[column] * scale, SECONDS, size, replace(moves, varies="isolated" * ("Iso" in column)), line
            )
            for column, scale in _TIMES.items()
            if cells.get(column, 0) > 0
        ]
    column = next((one for one in _RATES if one in cells), "")
    size, moves = int(cells["Block Size (B)"]), _moves(run, int(cells.get("Batch Size", 1)))
    values = [(cells.get(column, 0) * _RATES.get(column, 0), moves)]
    if (total := cells.get("Aggregate B/W (GB/Sec)", 0)) > 0:
        varies = f"{moves.varies}, all workers" if moves.varies else "all workers"
        values.append((total, replace(moves, varies=varies)))
    return [_figure(TOOL, value, GBPS, size, moves, line) for value, moves in values if value > 0]


def _figure(test: str, value: float, unit: str, size: int, moves: Movement, line: int) -> Figure:
    return Figure(test, single(value), unit, size=min(size, 1 << 50), moves=moves, line=line)


def _moves(run: _NixlRun, batch: int) -> Movement:
    """Return what a run moves: a write from the initiator to the target, a read the other way."""
    backend, operation = run.said.get("backend", ""), run.said.get("op_type", "")
    target = UNKNOWN if backend.upper() in _STORAGE else _MEMORIES.get(run.said.get("target_seg_type", ""), UNKNOWN)
    memories = _MEMORIES.get(run.said.get("initiator_seg_type", ""), UNKNOWN), target
    told = [backend, operation.lower(), f"batch of {batch}" if batch > 1 else ""]
    told += [f"{run.said['num_threads']} threads"] if run.said.get("num_threads", "1") != "1" else []
    return Movement(
        *("message", "nixl"),
        memories=memories[::-1] if operation == "READ" else memories,
        ranks=2,
        varies=", ".join(one for one in told if one),
    )
