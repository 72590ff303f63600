"""nccl-tests and rccl-tests: their tables, nccl-tests' JSON (-J) and rccl-tests' CSV and JSON lines (-x, -Z).

Formats: src/util.cu of nccl-tests 2.19, src/common.cu since 2017. A row has the bytes of the larger buffer, elements of
one rank's share, then time, algorithm and bus bandwidth and wrong values, out of place and in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from linkscope.importers import nccl_reports
from linkscope.importers.nccl_program import (
    AMD,
    NVIDIA,
    PROGRAMS,
    UNEVEN,
    WIDTHS,
    HalfRow,
    Program,
    are_wrong_in_place,
    inferred,
    kind_of,
    newer,
    of_programs,
    version_of,
)
from linkscope.importers.nccl_words import LibraryWords, scrubbed, words
from linkscope.importers.peer_output import Gpu, PeerOutput, Source, plain_number
from linkscope.messages.finding import Finding

TOOL = NVIDIA
SUMMARY = "nccl-tests 2, rccl-tests: text, JSON (-J), CSV (-x)"
KNOWN = (2, 19)
_HEADS = re.compile(
    r"^(?:(?:# )?nThread \d{1,6} nGpus \d|(?:# )?[nr]ccl-tests version |(?:# )?Collective test starting"
    r"|#?[ \t]{0,20}size[ \t]{1,20}count[ \t])",
    re.MULTILINE,
)
_ROWS = re.compile(
    r"^[ \t]{0,24}\d{1,18}[ \t]{1,20}\d{1,18}[ \t]{1,20}[a-z]\w{1,15}[ \t]{1,20}(?:[a-z]{3,8}[ \t]{1,20})?-?\d",
    re.MULTILINE,
)
_START = re.compile(
    r"(?:# )?(?:[nr]ccl-tests version (\S{1,40})(?: .{0,60}?[nr]ccl-library=(\d{1,9}))?"
    r"|Collective test starting: (\S{1,80}))"
)
_CONFIG = re.compile(
    r"(?:# )?nThread (\d{1,6}) nGpus (\d{1,6}) .{0,40}?maxBytes (\d{1,18}) step: (\d{1,18})\((\w{1,8})\) "
    r"warmup iters: (\d{1,9}) iters: (\d{1,9})(?: .{0,80}?graph: (\d{1,9}))?.{0,40}"
)
_RANK = re.compile(
    r"#?\s{0,8}Rank\s{1,8}(\d{1,6}) (?:Group\s{1,8}(\d{1,6}) )?(?:Pid\s{1,12}(\d{1,9}) )?on\s{1,20}(?:(\S{1,255}) )?"
    r"device\s{1,4}(\d{1,4}) \[([0-9a-fA-Fx:.]{1,20})\] ?(.{0,100})"
)
_COLUMNS = re.compile(r"#?\s{0,20}(?:size\s{1,20}count|bytes\s{1,20}N)\s{1,20}type\b")
_ROW = re.compile(
    r"\s{0,24}(\d{1,18})\s{1,20}(\d{1,18})\s{1,20}([a-z][a-z0-9_]{1,15})(?:\s{1,20}([a-z]{3,8}))?\s{1,20}(-?\d.{0,300})"
)
_FAILURE = re.compile(r"Test (?:NCCL|CUDA|HIP) failure \S{1,120}:\d{1,6} '(.{0,300})|Test timeout \((\w{1,12})\)")
_SHORT = re.compile(r"Invalid number of GPUs: \d{1,6} requested but only \d{1,6} were found")
_MOST = re.compile(r"# Reducing maxBytes to (\d{1,18})")
_FOOTER = re.compile(r"(?:# )? ?(?:(Avg bus bandwidth) {1,8}:|Out of bounds values {1,4}: (\d{1,9}) ?(\w{0,8}))")
_OTHER = re.compile(r"# (?:Collective test concluded|Using devices|GPU memory|NCCL Tests compiled)|rccl-tests: Version")
_CLOCKS = (1e6, 1e3)
"""Times a second: microseconds, before 2019 milliseconds."""
_NOT_IN_PLACE = ("all-to-all", "send-receive")
_GPUS = re.compile(r" (?:-g|--ngpus) ?=?(\d{1,3})\b")
_LABEL = re.compile(r"^ {0,6}\d{1,6}: (?=[# ])", re.MULTILINE)
"""srun's number of a task, where other lines of the paste have none."""
_INNER = re.compile(r"(?<=\d)\[\d{1,6}\](?= {3,40}\S)")
"""A launcher's tag of a rank within a row, which the program prints in parts."""
_MOST_LINE = 2000
_NAMED = re.compile(r"(?<![\w-])(?:\S{0,200}/)?(\w{2,20}_perf)(?:_\w{1,20})?(?![\w.:])")


def recognises(text: str) -> bool:
    """Return whether a text holds a table or file of either."""
    text = _LABEL.sub("", text)
    if _HEADS.search(text) or "Test NCCL failure " in text or nccl_reports.recognises(text):
        return True
    lines = (text[match.start() : text.find("\n", match.end())] for match in _ROWS.finditer(text))
    return any(next(_points(0, line, per_second, even=True), None) for line in lines for per_second in _CLOCKS)


def read(source: Source) -> PeerOutput:
    """Return the times of all programs of a paste. Raises LinkscopeError."""
    said = words(source)
    found = nccl_reports.read(source) if nccl_reports.recognises(source.text) else _text(source, said)
    if found.tool == AMD and source.nvls is not None:
        raise source.wrong(0, "these are results of RCCL; leave --nvls out")
    return found


def _text(source: Source, said: LibraryWords) -> PeerOutput:
    """Read a table, or several of one program after another."""
    programs, named, asked, version, library = [Program()], "", 0, "", ""
    taken: set[int] = set(said.read)
    for number, printed in enumerate(source.lines, 1):
        line = _INNER.sub("", printed) if "[" in printed and "NCCL" not in printed else _LABEL.sub("", printed)
        program = programs[-1]
        if match := _START.match(line):
            if program.has_begun:
                programs.append(program := Program())
            version, library = match[1] or version, match[2] or library
            if match[3]:
                program.kind, program.name = kind_of(match[3]), match[3]
        elif match := _CONFIG.match(line):
            if program.has_begun and (program.points or program.stops or program.launch != match[0]):
                programs.append(program := Program())
            _configure(program, match)
        elif match := _RANK.match(line):
            _take_rank(program, match)
        elif _COLUMNS.match(line):
            if program.has_ended or (program.points and not program.is_configured):
                programs.append(program := Program())
            program.per_second, program.has_head = _CLOCKS["bytes" in line], True
            program.times_calls = "cputime" in line
        elif line.startswith("#") and "in-place" in line:
            program.is_in_place = "out-of-place" not in line
        elif match := _MOST.match(line):
            program.most = int(match[1])
        elif match := _FAILURE.search(line) or _SHORT.match(line):
            hosts = {host for _, _, host, _ in program.devices.values()}
            text = next((text for text in match.groups() if text), match[0]).rstrip("' /")
            program.stops[scrubbed(text, hosts)] = None
        elif match := _FOOTER.match(line):
            program.has_ended = program.has_ended or bool(match[1])
            program.is_spoilt = program.is_spoilt or match[3] == "FAILED"
        elif not line.startswith("#") and (match := _ROW.match(line)):
            even = program.kind not in UNEVEN
            found = list(_points(number, line, program.per_second, even=even))
            if not found and not program.has_head and (found := list(_points(number, line, _CLOCKS[1], even=even))):
                program.per_second = _CLOCKS[1]
            found = [replace(point, in_place=True) for point in found] if program.is_in_place else found
            if not found:
                continue
            if program.has_ended:
                programs.append(program := Program())
            program.points += found
        elif "_perf" in line and (match := _NAMED.search(line[:_MOST_LINE])) and not line.startswith("#"):
            named, gpus = match[1], _GPUS.search(line)
            one_process = gpus is not None and re.search(r"mpirun|mpiexec|srun|prterun", line[:_MOST_LINE]) is None
            asked = int(gpus[1]) if gpus and one_process else 0
            continue
        elif not (_OTHER.match(line) or "Test failure " in line):
            continue
        taken.add(number)
        if named and not program.name:
            program.kind, program.name, program.asked, named, asked = kind_of(named), named, asked, "", 0
    begun = [program for program in programs if program.has_begun]
    for program in begun:
        _complete(source, program, said)
    names_rccl = re.search(r"\brccl-tests(?:: Version|[ ]version)", source.text) is not None
    is_amd = said.library == "RCCL" or names_rccl or any(one.is_of_amd for one in begun)
    name = "RCCL" if is_amd else "NCCL"
    versions = {name: version_of(int(library))} if library else {name: said.version} if said.version else {}
    peer = of_programs(source, AMD if is_amd else NVIDIA, begun, said.nvls_switch)
    findings = (*peer.findings, *_newer(version), *said.findings)
    return replace(peer, version=version, versions=versions, read=frozenset(taken), findings=findings)


def _take_rank(program: Program, match: re.Match[str]) -> None:
    """Take the device of a rank. A rank that another process has printed before ran beside that one, not with it."""
    pci = None if match[6].startswith("0x") else match[6].lower().partition(".")[0]
    host, process = match[4] or "", match[3] or ""
    first = program.devices.setdefault(int(match[1]), (int(match[2] or 0), process, host, Gpu(match[7].strip(), pci)))
    if first[1:3] != (process, host):
        program.others.add((process, host))
    program.each = max(program.each, int(match[5]) + 1, program.threads * program.gpus)
    program.places.setdefault((host, match[6]), set()).add(int(match[1]))


def _configure(program: Program, match: re.Match[str]) -> None:
    program.launch = match[0]
    program.threads, program.gpus, program.most = int(match[1]), int(match[2]), int(match[3])
    program.step = (int(match[4]), 0) if match[5] == "factor" else (1, int(match[4]))
    program.warm_up, program.calls, program.graphs = int(match[6]), int(match[7]), int(match[8] or 0)
    program.is_configured = True


def _points(line: int, text: str, per_second: float, even: bool) -> Iterator[HalfRow]:
    """Yield the halves of a row: whole ones whose size is what time and rate make of it (``even``)."""
    match = _ROW.match(text)
    if match is None:
        return
    cells = []
    for word in match[5].split():
        if word != "N/A" and plain_number(word.rstrip("*")) is None:
            break
        cells.append(word)
    root = -1
    has_root = len(cells) > 3 and re.fullmatch(r"-?\d{1,6}", cells[0]) is not None
    if has_root and (
        not even or _is_left_out(cells[1:]) or _agree(int(match[1]), cells[1], cells[2], cells[3], per_second, even)
    ):
        root = int(cells.pop(0))
    width = 8 if len(cells) == 16 else 3 if len(cells) == 6 else 4  # with -I each half has four statistics more
    for place, start in enumerate(range(0, len(cells) - 2, width)):
        time, algorithm, bus, *wrongs = cells[start : start + min(width, 4)]
        if _is_left_out(cells[start:]):
            continue
        share = int(match[1]) // max(int(match[2]) * WIDTHS.get(match[3], 4), 1)
        crossed = (share - 1) / share if share > 1 and algorithm == bus else 1.0  # before 2019 both rates were of these
        sizes = (int(match[1]), round(int(match[1]) * crossed))
        if place > 1 or not any(_agree(size, time, algorithm, bus, per_second, even) for size in sizes):
            return
        wrong = wrongs[0] if wrongs else ""
        point = HalfRow(line, int(match[1]), match[3], time, wrong, int(match[2]), match[4] or "", root, place == 1)
        yield replace(point, rates=(algorithm, bus))


def _is_left_out(cells: Sequence[str]) -> bool:
    """Return whether a half of a row holds nothing, as where linkscope has measured the other half alone."""
    return list(cells[:3]) == ["N/A"] * 3


def _agree(size: int, time: str, algorithm: str, bus: str, per_second: float, even: bool) -> bool:
    lasted, rate = (plain_number(word) for word in (time, algorithm))
    if lasted is None or rate is None or plain_number(bus) is None or lasted <= 0:
        return False
    expected = size / (lasted / per_second) / 1e9
    return not even or abs(rate - expected) <= 0.006 + 0.012 * expected


def _complete(source: Source, program: Program, said: LibraryWords) -> None:
    """Find out what the table does not say: the collective, the ranks and the hosts."""
    program.ranks = program.ranks or source.processes or said.ranks
    if program.kind in ("", "all-to-all", "send-receive") and are_wrong_in_place(program.points):
        kind = program.kind or inferred(program.points)[0]
        program.kind, program.is_inferred = kind, program.is_inferred or not program.kind
        program.points = [one for one in program.points if not one.in_place or kind not in _NOT_IN_PLACE]
    program.hosts = program.hosts or said.hosts
    kind, ranks = inferred(program.points)
    if program.is_cut or (kind in ("all-reduce", program.kind) and ranks > program.members > 0):
        program.lists_all = False
        program.ranks = ranks or source.processes or max(program.devices) + 1
    program.has_launch = program.is_configured
    if not program.kind and not program.name:
        stem = re.sub(r"[^a-z]", "", source.path.stem.lower())
        names = {kind: re.sub(r"[^a-z]", "", name) for kind, name in PROGRAMS.items()}
        program.kind = next((kind for kind, name in names.items() if stem.startswith(name)), "")
    if not program.kind and not program.name and program.points:
        program.kind, program.ranks, program.is_inferred = kind, program.ranks or ranks, bool(kind)
    elif not program.members:
        program.ranks = ranks
    program.ranks = program.ranks or program.asked


def _newer(version: str) -> tuple[Finding, ...]:
    match = re.match(r"v?(\d{1,4})\.(\d{1,4})", version)
    if match is None or (int(match[1]), int(match[2])) <= KNOWN:
        return ()
    return (newer(version, ".".join(map(str, KNOWN))),)
