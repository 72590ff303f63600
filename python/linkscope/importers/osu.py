"""OSU micro-benchmarks 5 to 7, as text, also with -f. Format: print_only_header and print_data in util of OSU 7.4.

OSU prints neither how many processes took part nor where they ran. Messages have two; of a collective the user says it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    SECONDS,
    Figure,
    Gpu,
    PeerOutput,
    Source,
    single,
    version_of,
)
from linkscope.results.osu_benchmarks import OSU_COLLECTIVES, OSU_MESSAGES, OsuBenchmark
from linkscope.results.row import Stats

TOOL = "OSU"
VERSIONS = ("5", "6", "7")
SUITES = ("p2p-processes", "collectives")
_TITLE = re.compile(r"# OSU (MPI.*?) Test v(\S+)")
_ROW = re.compile(r"([0-9]+ +)?[0-9]+\.[0-9]+( .*)?")
_BUFFERS = re.compile(r"# Send Buffer on (\w+) .*and Receive Buffer on (\w+) .*")
_MEMORIES = {"HOST": "pageable", "DEVICE": "device", "MANAGED": "managed"}
_WHERE = "OSU does not print where its processes ran: the case's first place is taken"


_BENCHMARKS = {
    **{f"mpi{one.title}".lower().removeprefix("mpi "): one for one in (*OSU_MESSAGES, *OSU_COLLECTIVES)},
    "reduce_scatter_block latency": next(one for one in OSU_COLLECTIVES if one.measures == "reduce-scatter"),
}
"""By their titles, in small letters."""


@dataclass
class _Preamble:
    """What the lines above a table have said."""

    test: OsuBenchmark | None = None
    version: str = ""
    memories: tuple[str, ...] = ("pageable",)
    full: bool = False
    figures: list[Figure] = field(default_factory=list)


def recognises(text: str) -> bool:
    """Whether a text looks like OSU's."""
    return re.search(r"^# OSU MPI\S* .+ v\d", text[:65536], re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError."""
    said = _Preamble()
    for number, line in enumerate(source.lines, 1):
        if match := _TITLE.match(line):
            said.test, said.memories, said.full = _test(source, number, match[1].lower()), ("pageable",), False
            said.version = version_of(source, match[2], number, VERSIONS, TOOL)
        elif match := _BUFFERS.fullmatch(line):
            said.memories = tuple(dict.fromkeys(_MEMORIES.get(word, word) for word in match.groups()))
        elif line.startswith("#"):
            said.full = said.full or "Min Latency(us)" in line
        elif said.test is not None and _ROW.fullmatch(line.strip()):
            said.figures.append(_figure(source, number, line.split(), said.test, said))
    if not said.figures:
        raise source.wrong(0, "OSU printed no results")
    on_gpus = any("device" in str(figure.facts["memory"]) for figure in said.figures)
    gpus = max(int(figure.facts.get("members") or 2) for figure in said.figures) if on_gpus else 0
    return PeerOutput(TOOL, said.version, SUITES, tuple(said.figures), (Gpu(),) * min(gpus, MOST_GPUS))


def rows_of(text: str) -> dict[int, float]:
    """Size -> figure, from what a benchmark prints; one without sizes has its figure at 0."""
    rows = (line.split() for line in text.split("\n") if _ROW.fullmatch(line.strip()))
    return {int(words[0]) if "." not in words[0] else 0: float(next(w for w in words if "." in w)) for words in rows}


def _test(source: Source, line: int, title: str) -> OsuBenchmark:
    """Of "mpi latency", "mpi-cuda allreduce latency", "mpi_put latency"."""
    name = re.sub("-(cuda|rocm|openacc)", "", title).removeprefix("mpi ")
    if name not in _BENCHMARKS:
        raise source.wrong(line, f"OSU's test {title[:80]!r} has no case in linkscope")
    return _BENCHMARKS[name]


def _figure(source: Source, line: int, words: Sequence[str], test: OsuBenchmark, said: _Preamble) -> Figure:
    sized, collective = test.sized, test in OSU_COLLECTIVES
    if len(words) < 1 + sized + (3 if said.full else 0) or ("." in words[0]) == sized:
        raise source.wrong(line, f"{' '.join(words)[:80]!r} is no line of {test.name}: was it cut short?")
    scale = 1e-3 if test.rate else 1e-6
    value = source.number(words[sized], line, "figure") * scale
    stats = single(value)
    if said.full:
        least, most = (source.number(word, line, "figure") * scale for word in words[1 + sized : 3 + sized])
        stats = _ranging(source, line, stats, least, most)
    count = source.processes if collective else 2
    if count is None:
        raise source.wrong(line, f"OSU does not print how many processes {test.name} had: add --processes N")
    size = source.whole(words[0], line, "size") * (count if test.shares else 1) if sized else None
    facts: dict[str, Any] = {"clock": "host", "memory": ">".join(said.memories), "processes": count}
    if collective:
        facts |= {"method": "mpi-collective", "collective": test.measures, "members": count}
    else:
        facts |= {"method": "mpi", "call": test.measures, "window": None}
    if "device" in said.memories and not collective:
        facts |= {"staging": "none"}
    return Figure(test.name, stats, GBPS if test.rate else SECONDS, size=size, facts=facts, notes=(_WHERE,))


def _ranging(source: Source, line: int, stats: Stats, least: float, most: float) -> Stats:
    """With the extremes of the processes' means, which are no interval."""
    if not least <= most:
        raise source.wrong(line, "the smallest result is above the largest")
    return replace(
        stats,
        min=min(least, stats.median),
        p5=min(least, stats.median),
        p95=max(most, stats.median),
        p99=max(most, stats.median),
        max=max(most, stats.median),
    )
