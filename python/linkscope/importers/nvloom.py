"""nvloom: copies between GPUs, one or many at a time, and latencies, as CSV (--csvOutputFile) and as tables.

Formats: csv_testcase.cpp, and nvloom_tables.py for the tables. nvloom numbers processes, each of which has a GPU: on
one node, the GPU of that number. It counts the payload of each copy; a table's bidirectional result is both copies'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkscope.importers.nvloom_tables import PLACES, TOOL, Tables, pair, unit_of
from linkscope.importers.peer_output import GBPS, MOST_GPUS, SECONDS, Figure, Gpu, PeerOutput, Source, single
from linkscope.messages.finding import Finding, warning
from linkscope.results.row import Stats

SUMMARY = "nvloom 1 and 2: tables, CSV (--csvOutputFile)"
SUITES = ("nvbandwidth",)
_NEWEST = (2, 2)
_HEAD = "measurement_id, bandwidth/latency, gpu_src_id, gpu_dst_id,"
_LINE = re.compile(
    r"(\d{1,9}), ?(bandwidth|latency), ?(\d{1,3}), ?(\d{1,3}), ?\d{1,12}, ?(\w{1,20}), ?(\w{1,20}), ?(\w{1,10}), ?"
    r"(\w{1,20}), ?(\d{1,15}|ignored),.{0,200}?, ?(\d{1,9}(?:\.\d{1,9})?(?:e[+-]\d{1,2})?)"
)


@dataclass(frozen=True)
class _Copy:
    """One line. ``way``: write or read; ``by``: ce, sm, tma; both "" of a latency."""

    line: int
    step: str
    source: int
    destination: int
    memories: tuple[str, ...]
    way: str
    by: str
    size: int | None
    value: Stats

    @property
    def ends(self) -> tuple[int, int]:
        return self.source, self.destination


def recognises(text: str) -> bool:
    """Return whether a text holds lines of nvloom."""
    tests = r"^Running (?:\w{1,20}_to_\w{1,90}_(?:ce|sm|tma|mc)|latency_\w{1,20}|multicast_\w{1,60})$"
    return (
        _HEAD in text
        or re.search(rf"^nvloom_cli \d|{tests}|^\d{{1,9}}, (?:bandwidth|latency), \d", text, re.MULTILINE) is not None
    )


def read(source: Source) -> PeerOutput:
    """Return the copies of its CSV and the results of its tables."""
    steps: dict[str, list[_Copy]] = {}
    tables, taken, scale = Tables(), set(), 1.0
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith(_HEAD):
            scale = unit_of(line)
        elif match := _LINE.fullmatch(line.strip()):
            copy = _copy(number, match, scale)
            steps.setdefault(copy.step, []).append(copy)
        elif not tables.take(number, line):
            continue
        taken.add(number)
    figures = [figure for copies in steps.values() for figure in _figures(copies)]
    figures += tables.figures()
    places = [int(place) for one in figures for place in re.findall(r"gpu:(\d{1,3})", f"{one.row} {one.column}")]
    count = min(max([*places, *tables.gpus], default=-1) + 1, MOST_GPUS)
    gpus = tuple(tables.gpus.get(index, Gpu()) for index in range(count))
    findings = (*_newer(tables.version), *tables.findings())
    return PeerOutput(
        TOOL,
        tables.version,
        SUITES,
        tuple(figures),
        gpus,
        versions=tables.said,
        findings=findings,
        read=frozenset(taken),
    )


def _newer(version: str) -> Iterator[Finding]:
    if version and tuple(map(int, version.split(".")[:2])) > _NEWEST:
        yield warning("import.newer-version", tool=TOOL, version=version, known=".".join(map(str, _NEWEST)))


def _copy(line: int, match: re.Match[str], scale: float) -> _Copy:
    latency = match[2] == "latency"
    return _Copy(
        line=line,
        step=match[1],
        source=int(match[3]),
        destination=int(match[4]),
        memories=(match[5], match[5] if latency else match[6]),
        way="" if latency else match[7],
        by="" if latency else match[8],
        size=None if latency else int(match[9]) if match[9].isdigit() else None,
        value=single(float(match[10]) * (1e-9 if latency else scale)),
    )


def _figures(copies: Sequence[_Copy]) -> Iterator[Figure]:
    """Yield the results of a step: of one copy, of two that go opposite ways their sum, of others each."""
    first = copies[0]
    alike = len({(one.way, one.by, one.size, one.memories) for one in copies}) == 1
    opposite = len(copies) == 2 and copies[1].ends == first.ends[::-1] and first.source != first.destination
    rates = [one.value.median for one in copies]
    if alike and opposite and first.by and all(rates) and set(first.memories) == {"device"}:
        total = single(sum(rates))
        parts = (copies[1].value, first.value)  # the one that arrives at the row's GPU first
        moves = replace(pair(first.by, first.way, *first.ends[::-1], first.memories), both=True)
        test, ends = f"{TOOL} {first.by} {first.way} both ways", (f"gpu:{first.source}", f"gpu:{first.destination}")
        yield Figure(test, total, GBPS, *ends, first.size, parts=parts, notes=(PLACES,), moves=moves, line=first.line)
        return
    for one in copies:
        if one.value.median > 0:
            yield _figure(one, len(copies))


def _figure(one: _Copy, at_once: int) -> Figure:
    """Return a copy's result. In a table of reads the row is who reads."""
    pulled = one.way != "write"
    row, column = (one.destination, one.source) if pulled else one.ends
    words = f"{one.by} {one.way}" if one.by else "latency"
    words += "" if set(one.memories) == {"device"} else f" {' '.join(one.memories)}"
    words += f" {at_once} at once" if at_once > 1 else ""
    moves = replace(pair(one.by, one.way, *one.ends, one.memories), at_once=at_once)
    ends = f"gpu:{row}", f"gpu:{column}"
    unit = GBPS if one.by else SECONDS
    return Figure(f"{TOOL} {words}", one.value, unit, *ends, one.size, notes=(PLACES,), moves=moves, line=one.line)
