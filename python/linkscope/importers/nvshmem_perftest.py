"""NVSHMEM's perftest, 2 and 3, on the device and from the host, and nvshmem4py's: tables by size, scope and type.

Formats: print_table_basic, _v1 and _v2 in perftest/common/utils.cu of NVSHMEM 3.4, its machine-readable lines, the
framed table of NVSHMEM 2. Sizes of an all-to-all, a collect and a reduce-scatter are of all PEs' blocks; times are one
call's. Puts and gets go between PE 0 and PE 1; "bidi" adds both directions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linkscope.importers.nccl_program import ranks_of
from linkscope.importers.nccl_words import words
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
from linkscope.messages.finding import error

TOOL = "NVSHMEM perftest"
SUMMARY = "NVSHMEM perftest 2 and 3, nvshmem4py: tables, lines"
_COLLECTIVES = {
    **{"alltoall": "all-to-all", "bcast": "broadcast", "broadcast": "broadcast", "fcollect": "all-gather"},
    **{"reduction": "all-reduce", "reducescatter": "reduce-scatter", "barrier": "barrier", "sync": "barrier"},
}
_ROUNDS = {"all-reduce": 2, "all-to-all": 1, "all-gather": 1, "reduce-scatter": 1}
"""Rounds of collectives whose bus bandwidth gives the number of PEs."""
_JOB = re.compile(
    r"# {0,9}((?:device_)?(?:alltoall|bcast|broadcast|fcollect|reduction|reducescatter|barrier|sync)\w{0,24}(?:\.py)?"
    r"|shmem_\w{1,40}|Bandwidth|Latency|Stream_Latency|malloc)$"
)
_COLUMNS = re.compile(r"size\(B\) .{0,160}(?:latency|BW|Bandwidth|msgrate|time) ?\(")
_NAMED_COLUMNS = re.compile(r"([A-Za-z_]{1,16}) ?\(([A-Za-z/]{1,8})\)|([a-z]{3,8})")
_MACHINE = re.compile(
    r"&&&& PERF (\w{1,48})___([\w -]{0,40})___size__(\d{1,18})___(\w{1,16}) ([\d.]{1,24}) [-+]?([\w/]{1,10})"
)
_FRAMED = re.compile(r"\| ([\w .()/-]{1,40}?) {1,40}\| ([\w ./()-]{1,40}?) {0,40}\|$")
_PE = re.compile(r"mype: (\d{1,6}) mype_node: (\d{1,6}) device name: (.{1,80}?) bus id: (\w{1,20}) ?$")
_OPTIONS = re.compile(r"min_size: .{0,400}?\bdir: (\w{1,8}),.{0,200}?use_egm: (\d)")
_FAILED = re.compile(r"\S{0,200} cuda failed with (.{1,80})|nvshmem\w{0,20} (?:init|setup) failed\b")
_SCOPES = {"t": "thread", "w": "warp", "g": "warpgroup", "b": "block", "none": ""}
_UNITS = {"us": 1e6, "gb/s": 1.0, "gb/sec": 1.0, "gb": 1.0}
"""Divisors of a figure, for seconds or GB/s."""


@dataclass
class _NvshmemTable:
    """The table that the lines are in. ``job``: as the tool calls the test; ``scope``: where a title says it."""

    job: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    scope: str = ""
    is_framed: bool = False


@dataclass(frozen=True)
class _PrintedLine:
    line: int
    job: str
    size: int
    value: str
    unit: str
    varies: tuple[str, ...] = ()
    rates: tuple[str, str] | None = None


@dataclass
class _Job:
    """Hold what the lines before and beside tables say: PEs with their place on their node, direction, memory."""

    gpus: dict[int, tuple[int, Gpu]] = field(default_factory=dict)
    reads: bool = False
    in_host_memory: bool = False


def recognises(text: str) -> bool:
    """Return whether a text holds a table or lines of it."""
    heads = (
        r"^(?:# {0,9}(?:shmem_\w{1,40}|\w{0,10}(?:alltoall|bcast|fcollect|reduction|reducescatter)\w{0,24}(?:\.py)?)$"
    )
    rest = r"|size\(B\) {1,12}(?:scope|count) |&&&& PERF \w{1,48}___|\| shmem_\w{1,40} )"
    return re.search(heads + rest, text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the times of collectives and latencies, and the rates of puts and gets. Raises LinkscopeError."""
    said, job, table = words(source), _Job(), _NvshmemTable()
    results: list[_PrintedLine] = []
    stops: dict[str, None] = {}
    taken: set[int] = set(said.read)
    for number, line in enumerate(source.lines, 1):
        if match := _PE.match(line):
            job.gpus[int(match[1])] = int(match[2]), Gpu(match[3])
        elif match := _OPTIONS.match(line):
            job.reads, job.in_host_memory = match[1] == "read", match[2] == "1"
        elif match := _JOB.match(line):
            table = _NvshmemTable(match[1].removesuffix(".py"))
        elif match := _MACHINE.match(line):
            varies = _varied(match[2].split("-"))
            results.append(_PrintedLine(number, match[1], int(match[3]), match[5], match[6], varies))
        elif _COLUMNS.match(line):
            columns = ((name or plain, unit) for name, unit, plain in _NAMED_COLUMNS.findall(line))
            table.columns = tuple((name, unit.lower()) for name, unit in columns)
        elif (match := _FRAMED.match(line)) and (match[1].startswith("shmem_") or table.is_framed):
            result = _framed(number, table, match[1], match[2])
            results += [result] if result else []
        elif table.columns and (result := _row(number, table, line.split())) is not None:
            results.append(result)
        else:
            if (match := _FAILED.match(line)) and taken:
                stops[(match[1] or match[0]).strip()[:80]] = None
            continue
        taken.add(number)
    ranks = _ranks(job, results)
    hosts = _hosts(job.gpus, ranks)
    figures = tuple(figure for one in results for figure in _figure(one, job, ranks, hosts))
    findings = [
        error("import.stopped", tool=TOOL, test=results[-1].job if results else TOOL, what=what) for what in stops
    ]
    if not figures and not findings:
        raise source.wrong(0, f"{TOOL} printed no results")
    gpus = [gpu for _, (_, gpu) in sorted(job.gpus.items())] or [Gpu()] * min(ranks, MOST_GPUS)
    gpus += [gpus[-1]] * (min(ranks, MOST_GPUS) - len(gpus)) if len({gpu.name for gpu in gpus}) == 1 else []
    return PeerOutput(TOOL, "", (), figures, tuple(gpus), findings=(*findings, *said.findings), read=frozenset(taken))


def _row(line: int, table: _NvshmemTable, cells: Sequence[str]) -> _PrintedLine | None:
    """Return a row's result; None for what is none, or stands in a column that is no time or rate."""
    named = dict(zip((name for name, _ in table.columns), cells, strict=False))
    units = dict(table.columns)
    value = next((name for name in ("latency", "BW", "Bandwidth", "time", "msgrate") if name in named), None)
    if len(cells) != len(table.columns) or value is None or re.fullmatch(r"\d{1,18}", named.get("size", "")) is None:
        return None
    if any(plain_number(named.get(name, "0")) is None for name in (value, "algbw", "busbw")):
        return None
    varies = _varied([named.get("scope", ""), named.get("type", ""), named.get("redop", "")])
    rates = (named["algbw"], named["busbw"]) if "busbw" in named else None
    return _PrintedLine(line, table.job, int(named["size"]), named[value], units[value], varies, rates)


def _framed(line: int, table: _NvshmemTable, left: str, right: str) -> _PrintedLine | None:
    """Return a row's result of the framed table, whose heads name the test and the scope, the columns and the unit."""
    if left.startswith("size"):
        name, _, unit = right.rpartition(" ")
        table.columns = (("size", "b"), (name.strip(), unit.strip("()").lower()))
    elif re.fullmatch(r"\d{1,18}(?:\.0)?", left) and plain_number(right) is not None and table.columns:
        unit = table.columns[1][1]
        return _PrintedLine(line, table.job, int(left.partition(".")[0]), right, unit, _varied([table.scope]))
    else:
        table.job, table.scope, table.columns, table.is_framed = left, right, (), left.startswith("shmem_")
    return None


def _varied(said: Sequence[str]) -> tuple[str, ...]:
    """Return what tells a series: its scope, type and operation, as far as they are no usual ones."""
    found = (_SCOPES.get(word.lower(), word.lower()) for word in said)
    return tuple(word for word in found if word not in ("", "sum", "int"))


def _collective(job: str) -> str:
    bare = re.sub(r"^device_|^tile_|_(?:on_stream|device|all_device|all_on_stream|all)$", "", job)
    return _COLLECTIVES.get(bare.removesuffix("_all"), "")


def _ranks(job: _Job, results: Sequence[_PrintedLine]) -> int:
    """Return the number of PEs: what all rates leave as the only one, else those that printed their device; 0 where
    nothing tells."""
    for kind, rounds in _ROUNDS.items():
        rates = [one.rates for one in results if one.rates and _collective(one.job) == kind]
        if rates and (count := ranks_of(rates, rounds)):
            return count
    if unnamed := ranks_of([one.rates for one in results if one.rates and not one.job], 1):
        return unnamed
    return max(job.gpus, default=-1) + 1


def _hosts(gpus: Mapping[int, tuple[int, Gpu]], ranks: int) -> int:
    """Return the number of nodes: where each has equally many PEs, in order, the places that are printed leave few."""
    if len(gpus) == ranks:
        return sum(place == 0 for place, _ in gpus.values()) or 1
    most = max((place for place, _ in gpus.values()), default=0)
    fitting = [each for each in range(most + 1, ranks + 1) if ranks % each == 0]
    fitting = [each for each in fitting if all(pe % each == place for pe, (place, _) in gpus.items())]
    return ranks // fitting[0] if len(fitting) == 1 else 1


def _figure(one: _PrintedLine, job: _Job, ranks: int, hosts: int) -> Iterator[Figure]:
    """Yield the figure, none for message rates, allocations and zeros."""
    scale, value = _UNITS.get(one.unit.lower()), plain_number(one.value)
    unnamed = not one.job and one.rates is None
    if scale is None or value is None or value <= 0 or one.job == "malloc" or unnamed:
        return
    unit = SECONDS if scale > 1 else GBPS
    memory = UNKNOWN if job.in_host_memory else "device"
    kind = _collective(one.job)
    if kind or not one.job:  # a table without its name is a collective's where it has a bus bandwidth
        size = None if kind == "barrier" else one.size
        varies = (*one.varies, *([f"{one.size} threads"] if kind == "barrier" and one.size > 4 else []))
        moves = Movement(
            "collective",
            "nvshmem",
            executor="gpu:0",
            memories=(memory, memory),
            collective=kind,
            ranks=ranks,
            hosts=hosts,
            varies=", ".join(varies),
        )
    else:
        place = job.gpus[1][0] if 1 in job.gpus else -1
        size, near = one.size, place == 1 or one.job == "shmem_st_bw"
        ends = ("gpu:1", "gpu:0") if _reads(one.job, job) else ("gpu:0", "gpu:1")
        moves = Movement(
            "peer" if near else "message",
            "nvshmem",
            *(ends if near else ("", "")),
            executor="gpu:0",
            memories=(memory, memory),
            both="bidi" in one.job,
            ranks=2,
            hosts=2 if place == 0 else 1,
            varies=", ".join(one.varies),
        )
    yield Figure(
        f"{TOOL} {one.job}".rstrip(),
        single(value / scale),
        unit,
        size=size,
        facts={"clock": "device"},
        moves=moves,
        line=one.line,
    )


def _reads(name: str, job: _Job) -> bool:
    """Return whether PE 0 fetches: of the host's tests the options say it."""
    return "_get" in name or "_g_" in name or (name in ("Bandwidth", "Latency") and job.reads)
