"""perftest of linux-rdma: ib_write_bw, ib_read_lat and the others. Format: RESULT_FMT in perftest_parameters.h.

MB/sec and MiB/sec are both 2^20 bytes, Gb/sec is 1e9 bits. The average is the rate; of a latency the median ("typical")
is the result. Server and client print the same results, often mixed: a row that comes twice counts once. Nothing says
whether they ran on one host.
"""

from __future__ import annotations

import re
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
from linkscope.results.row import Stats

TOOL = "perftest"
SUMMARY = "perftest (ib_*_bw, ib_*_lat): server and client"
_TITLE = re.compile(
    r"\s{0,40}(Send|RDMA_Write|RDMA_Read|Atomic)(_imm)?(?: (CMP_AND_SWAP|FETCH_AND_ADD))?( Bidirectional)?( Post List)?"
    r" (BW|Latency)(?: forwarding| Multicast){0,2} Test\s*"
)
_COLUMNS = re.compile(
    r"#?\bbytes|#iterations|#sl|BW[ _]\w{3,10}\[\w{1,4}/sec\]|MsgRate(?: Port\d)?\[Mpps\]"
    r"|t_\w{1,8}\[usec\]|[\d.]{2,5}% percentile\[usec\]|tps average|CPU_Util\[%{1,2}\]"
)
_UNITS = {"MB/sec": 1e-9 * (1 << 20), "MiB/sec": 1e-9 * (1 << 20), "Gb/sec": 0.125}
_SETTING = re.compile(r"(Number of qps|Connection type|Device|Link type) *: (\S{1,40})")
_ON_GPU = re.compile(r"allocated GPU buffer|creating CUDA Ctx|Use (?:ROCm|MUSA) memory *: ON")
_PROGRAM = re.compile(r"ib_(?:write|read|send|atomic)_(?:bw|lat)")
_TAKE_NAMES = ("-d", "--ib-dev", "-c", "--connection", "--use_cuda_bus_id", "-f", "--out_json_file")
_STOPPED = re.compile(
    r"(?:Couldn't|Failed to|Unable to|Unable|Can't) [A-Za-z ]{3,60}|Completion with error|Failed status \d{1,4}"
    r"|No IB devices found|IB device \S{0,20} ?not found"
)


@dataclass
class _PerftestRun:
    """A program's run, of which a server, a client or both print. ``settings``: as their heads say them."""

    test: str = ""
    both: bool = False
    commands: list[Command] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    titles: int = 0
    on_gpu: dict[str, int] = field(default_factory=dict)
    waits: bool = False
    rows: int = 0
    stopped: str = ""


def recognises(text: str) -> bool:
    """Return whether a text holds a title or a table's head of perftest's."""
    title = r"^\s{0,40}(?:Send|RDMA_\w{4,9}|Atomic) [\w ]{0,40}(?:BW|Latency) Test\s*$"
    return re.search(rf"{title}|bytes\s{{1,40}}#(?:sl\s{{1,20}}#)?iterations", text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the results of all runs. Raises LinkscopeError where there is neither a table nor an error."""
    figures: dict[tuple[str, ...], Figure] = {}
    findings: list[Finding] = []
    lines: set[int] = set()
    begun = commands(source.lines, _PROGRAM)
    devices = set(re.findall(r"\bDevice {1,12}: (\S{1,40})", source.text))
    run = _PerftestRun()
    for number, line in enumerate(source.lines, 1):
        text = line.rpartition("is not max.")[2].strip()
        match = _TITLE.fullmatch(text)
        columns = tuple(_COLUMNS.findall(line)) if "#iterations" in line else ()
        if run.rows and (match or number in begun or _ON_GPU.search(line) or "Waiting for client" in line):
            _end(findings, run)
            run = _PerftestRun()
        if match:
            run.titles += 1
            run.test, run.both = _test(match), bool(match[4])
        elif number in begun:
            run.commands.append(begun[number])
        elif columns:
            run.columns = columns
        elif (words := text.split()) and _is_row(words, run):
            figure = _figure(number, words, run, devices)
            run.rows += 1
            if figure is not None:
                figures.setdefault((figure.test, str(run.both), *words), figure)
        else:
            run.settings |= dict(_SETTING.findall(line))
            _aside(line, run)
            continue
        lines.add(number)
    _end(findings, run)
    if not figures and not findings:
        raise source.wrong(0, "perftest printed no results")
    return PeerOutput(TOOL, "", (), told_apart([*figures.values()]), findings=tuple(findings), read=frozenset(lines))


def _is_row(words: list[str], run: _PerftestRun) -> bool:
    numbers = all(plain_number(word) is not None for word in words)
    return numbers and len(words) == len(run.columns) and words[0].isdigit()


def _aside(line: str, run: _PerftestRun) -> None:
    run.waits = run.waits or "Waiting for client" in line
    if mark := _ON_GPU.search(line):
        run.on_gpu[mark.group()] = run.on_gpu.get(mark.group(), 0) + 1
    elif stop := _STOPPED.search(line):
        run.stopped = run.stopped or stop.group().strip()


def _end(findings: list[Finding], run: _PerftestRun) -> None:
    test = run.test or (run.commands[0].program if run.commands else TOOL)
    if run.stopped and (run.titles or run.commands):
        told = warning if run.rows else error
        findings.append(told("import.stopped", tool=TOOL, test=test, what=run.stopped[:100]))
    elif run.titles and not run.rows:
        findings.append(warning("import.no-rows", tool=TOOL, test=test))


def _test(match: re.Match[str]) -> str:
    verb = match[1].lower().removeprefix("rdma_") + (match[2] or "")
    return f"ib_{verb}_{'bw' if match[6] == 'BW' else 'lat'}{' bidirectional' if match[4] else ''}"


def _figure(line: int, words: list[str], run: _PerftestRun, devices: set[str]) -> Figure | None:
    """Return the result of a row; None where it has none above 0."""
    cells = {column: plain_number(word) for column, word in zip(run.columns, words, strict=True)}
    rate = next((column for column in cells if "average[" in column), None)
    if rate is not None:
        value, unit = (cells[rate] or 0) * _UNITS.get(rate.partition("[")[2].rstrip("]"), 0), GBPS
        stats = single(value)
    else:
        value, unit = cells.get("t_typical[usec]") or cells.get("t_avg[usec]") or 0, SECONDS
        stats = _spread(value * 1e-6, {name: (cell or 0) * 1e-6 for name, cell in cells.items()})
    size = plain_number(words[0])
    if value <= 0 or size is None or size > 1 << 50:
        return None
    kind = run.commands[0].program if run.commands else f"ib_{'bw' if unit == GBPS else 'lat'}, untitled"
    told = [run.settings.get("Device", "")] if len(devices) > 1 else []
    told += [f"{run.settings['Number of qps']} QPs"] if run.settings.get("Number of qps", "1") != "1" else []
    told += [run.settings["Connection type"]] if run.settings.get("Connection type", "RC") != "RC" else []
    moves = Movement("network", "verbs", memories=_memories(run), both=run.both, ranks=2)
    moves = replace(moves, varies=", ".join(one for one in told if one))
    facts = {name.lower(): run.settings[name] for name in ("Device", "Link type") if name in run.settings}
    return Figure(run.test or kind, stats, unit, size=int(size), facts=facts, moves=moves, line=line)


def _spread(median: float, cells: dict[str, float]) -> Stats:
    """Return a latency with the extremes, the mean and the 99th percentile that stand beside it."""
    stats = single(median)
    low, high = cells.get("t_min[usec]", median), cells.get("t_max[usec]", median)
    tail = cells.get("99% percentile[usec]", median)
    if 0 < low <= median <= high and median <= tail <= high:
        mean = cells.get("t_avg[usec]") or median
        stats = replace(stats, min=low, max=high, p5=low, p95=tail, p99=tail, mean=mean)
    return stats


def _memories(run: _PerftestRun) -> tuple[str, str]:
    """Return where the buffers of the data's source and destination lie, each as its own process or command says it."""
    server = client = UNKNOWN
    for command in run.commands:
        named = any(_names_a_host(command, at) for at in range(len(command.words)))
        memory = "device" if any(word.startswith("--use_") for word in command.words) else "pageable"
        client, server = (memory, server) if named else (client, memory)
    on_gpu = max(run.on_gpu.values(), default=0)
    if on_gpu > 1:
        server = client = "device"
    elif on_gpu and run.titles == 1:
        client, server = (client, "device") if run.waits else ("device", server)
    return (server, client) if "read" in run.test else (client, server)


def _names_a_host(command: Command, at: int) -> bool:
    word, before = command.words[at], command.words[at - 1] if at else ""
    return not word.startswith("-") and before not in _TAKE_NAMES and re.fullmatch(r"\d+[kKmM]?", word) is None
