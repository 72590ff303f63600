"""ucx_perftest: its tables, CSV (-v) and batches (-b). Format: print_header and print_progress in UCX's src/tools/perf.

MB/s is 2^20 bytes; "overall" counts all iterations. Latency is one way. The server prints a box that says the test, the
memory and the size, the client the table, and both may be mixed or stand apart.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
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

TOOL = "ucx_perftest"
SUMMARY = "ucx_perftest (UCX): server and client, tables, CSV"
_BOX = re.compile(
    r"\| (API|Test|Data layout|(?:Send|Recv) (?:memory|device)|Message size|AM header size): +(\S.{0,80}?) *\|?"
)
_HEAD = re.compile(r"\|(?:\s{1,20}\|){1,2}\s{1,20}(latency|overhead) \(usec\)\s{1,20}\|\s{1,20}bandwidth \(MB/s\)")
_COLUMNS = re.compile(r"\|(?: +(?:Stage|Test) +\|)? # iterations \|")
_BATCH = re.compile(r"\+([\w./]{1,60})-{3,120}\+[-+]{10,120}")
_HEADING = re.compile(r"[=# -]{2,80} ?((?:ucp_|tag_|stream_|am_|put_|get_)[a-z_]{0,12}(?:bw|lat)|get)[=: -]{0,80}")
"""Headings of a script that runs several tests."""
_ROW = re.compile(
    r"(?:(Final:|\[thread \d{1,4}\]|(?=[\d/]{0,30}[A-Za-z])[\w./]{1,60}) +)?((?:[\d,.]{1,24} +){3,8}[\d,.]{1,24})"
    r"(?: +[^\d\s].{0,200})?"
)
_CSV = re.compile(
    r"(?:[\w.]{1,40},){0,4}iterations,[\w.]{3,24}_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
)
_PROGRAM = re.compile(r"ucx_perftest(?:_daemon)?")
_HERE = re.compile(r"localhost|(?:127\.0|0\.0)\.0\.[01]")
_ERROR = re.compile(
    r"UCX +ERROR +([A-Za-z][A-Za-z(),' ]{2,80})|(?=Assertion)(Assertion `[^`']{1,70}' failed)"
    r"|(?=Caught)(Caught signal \d{1,2} \([A-Za-z :]{3,40})"
)
_MEMORIES = {
    **{"host": "pageable", "cuda": "device", "rocm": "device", "ze-device": "device", "ze-host": "pinned"},
    **{"cuda-managed": "managed", "rocm-managed": "managed", "ze-managed": "managed"},
}
_TESTS = {
    **{"tag match": "tag", "tag sync match": "tag_sync", "active message": "am", "am": "ucp_am", "stream": "stream"},
    **{"put": "put", "get": "get", "atomic add": "add", "atomic fetch-and-add": "fadd", "atomic swap": "swap"},
    **{"atomic compare-and-swap": "cswap"},
}
"""Tests as -t takes them, by the beginning of what the box calls them."""


@dataclass
class _UcxRow:
    """A row with the words that stood above it. ``numbers``: latency and rate over all iterations."""

    line: int
    numbers: tuple[float, float]
    head: str
    command: Command | None
    batch: tuple[str, ...] = ()
    final: bool = True


@dataclass
class _UcxLog:
    results: list[_UcxRow] = field(default_factory=list)
    boxes: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)
    stopped: str = ""
    hosts: int = 0


def recognises(text: str) -> bool:
    """Return whether a text holds a table's head, a box, a row or a head of CSV of ucx_perftest."""
    box = (
        r"^ {0,40}\| API:\s{1,12}(?:protocol|transport) layer|(?:^|[ :])Final:\s{1,40}[\d,.]{1,20}\s{1,20}\d{1,12}\.\d"
    )
    return re.search(f"{_HEAD.pattern}|{_CSV.pattern}|{box}", text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the results. Raises LinkscopeError where there is neither one nor an error of UCX's."""
    found, begun = _UcxLog(), commands(source.lines, _PROGRAM)
    local = any(_HERE.fullmatch(word) for command in begun.values() for word in command.words)
    found.hosts = int(local or "Accepted connection from 127.0.0.1" in source.text)
    command: Command | None = None
    head, csv = "", 0
    batch: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    progress: _UcxRow | None = None
    for number, line in enumerate(source.lines, 1):
        text = line[max(line.find("Final:"), 0) :].replace("\t", " ").strip()
        if number in begun:
            _keep(found, progress)
            progress = None
            command = _last(command, begun[number], bool(found.results and found.results[-1].command is command))
            heading, csv = (), 0
        elif match := _BOX.fullmatch(text):
            _boxed(found, number, match[1], match[2])
        elif match := _HEAD.match(text):
            _keep(found, progress)
            progress = None
            head, batch, csv = match[1], heading, 0
        elif match := _BATCH.fullmatch(text):
            batch = tuple(match[1].split("/"))
        elif match := _HEADING.fullmatch(text):
            heading = (match[1],)
        elif _CSV.fullmatch(text):
            csv = text.count(",") + 1
        elif csv and (words := re.sub("Final: {0,20}", "", line.strip()).split(",")) and len(words) in (csv, csv - 4):
            labels = csv - 8  # several threads have no averages
            if result := _result(number, words[labels:], head, command, tuple(words[:labels])):
                found.results.append(result)
        elif (head or text.startswith("Final:")) and (match := _ROW.fullmatch(text)):
            label = match[1] or ""
            names = tuple(label.split("/")) if label and label[-1] not in ":]" else batch
            result = _result(number, match[2].split(), head, command, names)
            if result is None or (not label and len(match[2].split()) == 4):
                continue
            ends = not label.endswith("]") and (bool(label) or len(match[2].split()) == 9)
            progress = None if ends else result
            found.results += [result] if ends else []
        elif not _COLUMNS.match(text):
            stop = _ERROR.search(line)
            found.stopped = found.stopped or (next(filter(None, stop.groups())).strip() if stop else "")
            continue
        found.lines.add(number)
    _keep(found, progress)
    return _output(source, found)


def _keep(found: _UcxLog, progress: _UcxRow | None) -> None:
    """Keep the last row of a table that has no final one."""
    if progress is not None:
        progress.final = False
        found.results.append(progress)


def _last(before: Command | None, command: Command, used: bool) -> Command:
    """Return the command that says the test: of a server's and a client's the one with -t."""
    return command if before is None or used or command.has("-t") or not before.has("-t") else before


def _boxed(found: _UcxLog, number: int, name: str, value: str) -> None:
    if not found.boxes or name in found.boxes[-1][1]:
        found.boxes.append((number, {}))
    found.boxes[-1][1][name] = value


def _result(line: int, words: list[str], head: str, command: Command | None, batch: tuple[str, ...]) -> _UcxRow | None:
    if len(words) == 9:  # a batch's test by a number
        batch, words = (*batch, words[0]), words[1:]
    numbers = [plain_number(word.replace(",", "")) for word in words]
    if len(numbers) not in (4, 8) or None in numbers:
        return None
    latency, rate = (numbers[3], numbers[5]) if len(numbers) == 8 else (numbers[1], numbers[2])
    return _UcxRow(line, (latency or 0.0, rate or 0.0), head, command, batch)


def _output(source: Source, found: _UcxLog) -> PeerOutput:
    figures, findings = list[Figure](), list[Finding]()
    staged = "Stage" in source.text
    for at, result in enumerate(found.results):
        box = _box(found, at)
        figure = _figure(result, box)
        if figure is not None and figure.moves is not None:
            figures.append(replace(figure, moves=replace(figure.moves, hosts=found.hosts)))
        if not result.final and staged:
            findings.append(warning("import.cut", test=_test(result, box), missing="Final"))
    if found.stopped and not figures:
        test = next((box["Test"] for _, box in found.boxes if "Test" in box), TOOL)
        findings.append(error("import.stopped", tool=TOOL, test=test, what=found.stopped[:100]))
    elif found.boxes and not figures:
        findings.append(warning("import.no-rows", tool=TOOL, test=found.boxes[-1][1].get("Test", TOOL)))
    if not figures and not findings:
        raise source.wrong(0, "ucx_perftest printed no results")
    return PeerOutput(TOOL, "", (), told_apart(figures), findings=tuple(findings), read=frozenset(found.lines))


def _box(found: _UcxLog, at: int) -> dict[str, str]:
    """Return the box of a result: of as many boxes as results its own, else the last above it, else the first."""
    boxes = found.boxes
    if len(boxes) != len(found.results):
        at = max(bisect_left(boxes, found.results[at].line, key=lambda box: box[0]) - 1, 0)
    return boxes[at][1] if boxes else {}


def _figure(result: _UcxRow, box: Mapping[str, str]) -> Figure | None:
    test, command = _test(result, box), result.command
    rate = test.endswith("bw") or "bandwidth" in box.get("Test", "") or (test == TOOL and result.head == "overhead")
    value = result.numbers[1] * (1 << 20) * 1e-9 if rate else result.numbers[0] * 1e-6
    if value <= 0:
        return None
    sizes = [*(name for name in result.batch if name.isdigit()), box.get("Message size", "")]
    sizes += [command.value("-s")] if command else []
    size = next((int(one) for one in sizes if one.isdigit() and len(one) < 16), None)
    said = (command.value("-m") or "host").split(",") if command else [UNKNOWN]
    memories = [_MEMORIES.get(box.get(f"{end} memory", said[i]), UNKNOWN) for i, end in ((0, "Send"), (-1, "Recv"))]
    devices = [re.fullmatch(r"[a-z-]{1,20}:(\d{1,4})", box.get(f"{end} device", "")) for end in ("Send", "Recv")]
    ends = [f"gpu:{match[1]}" if match else "" for match in devices]
    if "get" in test:
        memories, ends = memories[::-1], ends[::-1]
    layout = box.get("Data layout", "(automatic)")
    told = [layout] if layout not in ("(automatic)", "short") else []
    told += [command.value("-x")] if command and command.value("-x") else []
    moves = Movement("message", "ucx", ends[0], ends[1], memories=(memories[0], memories[1]), ranks=2)
    moves = replace(moves, varies=", ".join(told))
    return Figure(test, single(value), GBPS if rate else SECONDS, size=size, moves=moves, line=result.line)


def _test(result: _UcxRow, box: Mapping[str, str]) -> str:
    """Return the test as -t takes it: of a batch's row, else of the box, else of the command."""
    named = next((name for name in result.batch if re.fullmatch(r"[a-z][a-z_]{2,20}", name)), "")
    what = re.fullmatch(r"(.{2,30}?) (latency|bandwidth|message rate)\b.{0,40}", box.get("Test", ""))
    asked = result.command.value("-t") if result.command else ""
    if named or (asked and what is None):
        return (named or asked)[:24]
    if what is None:
        return TOOL
    stem = _TESTS.get(what[1], re.sub(r"\W+", "_", what[1]))
    ucp = "ucp_" * ("protocol" in box.get("API", "") and stem in ("put", "get", "add", "fadd", "swap", "cswap"))
    several = what[2] == "latency" and "/" in box["Test"]
    return ucp + stem + ("" if several else {"latency": "_lat", "bandwidth": "_bw", "message rate": "_mr"}[what[2]])
