"""nvloom's CSV (--csvOutputFile): copies between GPUs, one or two at a time, and latencies. Format: csv_testcase.cpp.

nvloom numbers processes, each of which has a GPU: on one node, the GPU of that number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.importers.peer_output import GBPS, MOST_GPUS, SECONDS, Figure, Gpu, PeerOutput, Source, single
from linkscope.messages.finding import note
from linkscope.results.row import Stats

TOOL = "nvloom"
SUITES = ("nvbandwidth",)
_HEAD = "measurement_id, bandwidth/latency, gpu_src_id, gpu_dst_id,"
_COLUMNS = 12
_PLACES = "nvloom prints no hosts: all processes are taken to be of one node"


@dataclass(frozen=True)
class _Copy:
    """One line. ``way``: write or read; ``by``: ce or sm; both "" of a latency."""

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
    """Whether a text looks like it."""
    return text.lstrip().startswith(_HEAD)


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError. Steps of other memory than devices', and of other sets of copies than one, or two that go
    opposite ways, are left out."""
    steps: dict[str, list[_Copy]] = {}
    for number, words in source.csv(1):
        copy = _copy(source, number, words)
        steps.setdefault(copy.step, []).append(copy)
    found = [_figure(copies) for copies in steps.values()]
    figures = tuple(figure for figure in found if figure is not None)
    if not figures:
        raise source.wrong(0, "nvloom's file has no result that is a case of linkscope")
    gpus = 1 + max(int(place) for one in figures for place in re.findall(r"\d+", f"{one.row} {one.column}"))
    left = len(found) - len(figures)
    findings = (note("import.other-benchmarks", benchmarks=left),) if left else ()
    return PeerOutput(TOOL, "", SUITES, figures, (Gpu(),) * gpus, findings=findings)


def _copy(source: Source, line: int, words: Sequence[str]) -> _Copy:
    if len(words) != _COLUMNS or words[1] not in ("bandwidth", "latency"):
        raise source.wrong(line, "no line of nvloom's results: was it cut short, or is it an input?")
    latency = words[1] == "latency"
    ends = [source.whole(word, line, "a GPU", MOST_GPUS - 1) for word in words[2:4]]
    value = source.number(words[11], line, "result")
    return _Copy(
        line=line,
        step=words[0],
        source=ends[0],
        destination=ends[1],
        memories=tuple(words[5:6] if latency else words[5:7]),
        way="" if latency else words[7],
        by="" if latency else words[8],
        size=None if latency else source.whole(words[9], line, "buffer_size"),
        value=single(value * (1e-9 if latency else 1)),
    )


def _figure(copies: Sequence[_Copy]) -> Figure | None:
    """None where no case of linkscope is that. In a table of reads the row is who reads."""
    first = copies[0]
    alike = {(one.way, one.by, one.size) for one in copies} == {(first.way, first.by, first.size)}
    apart = first.source != first.destination
    if any(set(one.memories) != {"device"} for one in copies) or not alike or not apart:
        return None
    if len(copies) == 1:
        pulled = first.way != "write"
        row, column = (first.destination, first.source) if pulled else first.ends
        words = f"{first.by} {first.way}" if first.by else "latency"
        unit = GBPS if first.by else SECONDS
        test = f"{TOOL} {words}"
        return Figure(test, first.value, unit, f"gpu:{row}", f"gpu:{column}", first.size, notes=(_PLACES,))
    if len(copies) == 2 and copies[1].ends == first.ends[::-1] and first.by:
        total = single(sum(one.value.median for one in copies))
        parts = (copies[1].value, first.value)  # the one that arrives at the row's GPU first
        row, column = first.ends
        test = f"{TOOL} {first.by} {first.way} both ways"
        return Figure(test, total, GBPS, f"gpu:{row}", f"gpu:{column}", first.size, parts=parts, notes=(_PLACES,))
    return None
