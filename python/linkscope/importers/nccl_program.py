"""Programs of nccl-tests and rccl-tests: what each has printed, as figures and findings.

Of tables that name no program or no ranks, what the columns leave as the only ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkscope.importers.peer_output import (
    MOST_GPUS,
    NVLS,
    SECONDS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    plain_number,
    single,
)
from linkscope.messages import numbers
from linkscope.messages.finding import Finding, error, note, warning
from linkscope.results.nccl_programs import NCCL_PROGRAMS

NVIDIA, AMD = "nccl-tests", "rccl-tests"
MOST_RANKS = 4096
PROGRAMS = {
    **{kind: program.name for kind, program in NCCL_PROGRAMS.items()},
    **{kind: f"{kind}_perf" for kind in ("gather", "scatter", "hypercube")},
    "all-to-all-v": "alltoallv_perf",
}
"""Programs by collective."""
UNEVEN = ("hypercube", "all-to-all-v")
"""Their rates count other bytes than the size that stands in their rows."""
_SUITES = ("collectives", "p2p-processes")
_FLOATS = ("float", "float32")
_SUMS = ("sum", "none", "")
_MEMORY = "the case is of plain device memory; the tool may use memory of the library's own allocator"
WIDTHS = {
    **{"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "double": 8, "int64": 8, "uint64": 8},
    **dict.fromkeys(("f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
}
"""Bytes of an element; of others 4."""


@dataclass(frozen=True)
class HalfRow:
    """Half a row: ``wrong`` as printed; ``size`` of the larger buffer, ``count`` of one rank's share."""

    line: int
    size: int
    type: str
    time: object
    wrong: object
    count: int = 0
    redop: str = ""
    root: int = -1
    in_place: bool = False
    rates: tuple[str, str] = ("", "")

    @property
    def is_wrong(self) -> bool:
        """Return whether it counts wrong values; before 2.13 the column was the largest error, such as "2e-07"."""
        word = str(self.wrong).rstrip("*")
        return "*" in str(self.wrong) or ("e-" not in word and (plain_number(word) or 0) > 0)

    @property
    def is_checked(self) -> bool:
        return plain_number(str(self.wrong).rstrip("*")) is not None


@dataclass
class Program:
    """Hold what one program has printed so far. ``kind``: the collective; ``name``: the program's, where it is none
    that is known. ``step``: factor of a size, and bytes more. ``devices``: (group, pid, host, GPU) by rank; of some
    ranks alone unless ``lists_all``. ``each``: GPUs of a host as far as their numbers say it; ``places``: ranks by
    (host, address of the GPU); ``others``: (pid, host) of processes that printed ranks which another has. ``asked``:
    GPUs of a command line of one process, 0 where there is none."""

    kind: str = ""
    name: str = ""
    threads: int = 1
    gpus: int = 1
    calls: int = 1
    graphs: int = 0
    warm_up: int = -1
    most: int = 0
    step: tuple[int, int] = (1, 0)
    is_configured: bool = False
    has_launch: bool = True
    launch: str = ""
    asked: int = 0
    devices: dict[int, tuple[int, str, str, Gpu]] = field(default_factory=dict)
    lists_all: bool = True
    each: int = 0
    places: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    others: set[tuple[str, str]] = field(default_factory=set)
    ranks: int = 0
    hosts: int = 0
    points: list[HalfRow] = field(default_factory=list)
    per_second: float = 1e6
    has_head: bool = False
    is_in_place: bool = False
    has_ended: bool = False
    is_spoilt: bool = False
    is_inferred: bool = False
    times_calls: bool = False
    stops: dict[str, None] = field(default_factory=dict)

    @property
    def test(self) -> str:
        return f"{NVIDIA} {PROGRAMS.get(self.kind, self.name)}".strip()

    @property
    def has_begun(self) -> bool:
        return self.is_configured or bool(self.points) or bool(self.stops)

    @property
    def is_of_amd(self) -> bool:
        """Return whether it names GPUs of AMD."""
        return any(gpu.name.startswith("AMD") for *_, gpu in self.devices.values())

    @property
    def is_cut(self) -> bool:
        """Return whether the list of ranks lacks some before its last."""
        return bool(self.devices) and max(self.devices) >= len(self.devices)

    @property
    def on_hosts(self) -> int:
        """Hosts that the ranks are on; of a list that is cut, as many as their GPUs need."""
        listed = len({host for _, _, host, _ in self.devices.values()})
        if self.lists_all or not listed:
            return max(listed or self.hosts, 1)
        return max(listed, -(-self.ranks // self.each))

    @property
    def shared(self) -> int:
        """Ranks that share a GPU with another; virtual machines give several GPUs the bus 0."""
        alike = [ranks for (_, address), ranks in self.places.items() if len(ranks) > 1 and address != "0x00"]
        return 0 if self.others else sum(map(len, alike))

    @property
    def members(self) -> int:
        """Ranks of a communicator: of the first, where they were split into groups."""
        if not self.lists_all:
            return self.ranks
        first = min((group for group, *_ in self.devices.values()), default=0)
        return sum(group == first for group, *_ in self.devices.values()) or self.ranks

    def facts(self) -> dict[str, Any]:
        """Return what a case must be for a figure of it (``importers/cases.py``)."""
        pids = {(host, pid) for _, pid, host, _ in self.devices.values()}
        processes = len(pids) or max(self.members // max(self.threads * self.gpus, 1), 1)
        launch = "one-thread" if self.threads == 1 else "thread-per-gpu" if self.gpus == 1 else "threads with GPUs each"
        of_graphs = {"form": "graph", "recorded": self.calls if self.calls > 1 else None}
        messages = self.kind == "send-receive"
        return {
            "method": "xccl" if messages else "xccl-collective",
            "collective": None if messages else self.kind or None,
            "clock": "batch",
            "processes": processes if self.has_launch else None,
            "memory": "device",
            **(of_graphs if self.graphs else {"form": "eager"}),
            **({"launch": launch} if processes == 1 else {}),
        }

    def movement(self, point: HalfRow) -> Movement:
        said = (
            "" if point.type in _FLOATS else point.type,
            "" if point.redop in _SUMS else point.redop,
            f"root {point.root}" if point.root > 0 else "",
            "in place" if point.in_place else "",
        )
        return Movement(
            "collective",
            "xccl-collective",
            executor="gpu:0",
            memories=("device", "device"),
            at_once=max(len({group for group, *_ in self.devices.values()}), 1),
            collective=self.kind,
            ranks=self.members,
            hosts=self.on_hosts,
            varies=", ".join(word for word in said if word),
        )


def kind_of(program: str) -> str:
    """Return the collective of a program's name or path, or of rccl-tests' name of it, "AllReduce"; "" for others."""
    bare = re.sub(r"[^a-z]", "", program.rpartition("/")[2].lower()).removesuffix("perf")
    names = {kind: re.sub(r"[^a-z]", "", name).removesuffix("perf") for kind, name in PROGRAMS.items()}
    return next((kind for kind, name in names.items() if bare == name), "")


def inferred(points: Sequence[HalfRow]) -> tuple[str, int]:
    """Return the collective and the ranks that the columns leave as the only ones, else "" and 0.

    Bus over algorithm bandwidth of an all-reduce is 2 (n - 1) / n, of other exchanges (n - 1) / n, else 1. Sendrecv and
    alltoall check nothing in place; only theirs is N/A there where validation is on.
    """
    whole = [point for point in points if point.wrong != ""] or points  # the last row may be cut in a number
    rates = [point.rates for point in whole if point.rates[0]]
    if not rates:
        return "", 0
    last, checks = points[-1], any(point.is_checked for point in points if not point.in_place)
    is_open = checks and any(point.in_place and point.wrong == "N/A" for point in points)
    is_open = is_open or are_wrong_in_place(points)
    share = last.size // max(last.count * WIDTHS.get(last.type, 4), 1)
    algorithm, bus = max(((float(a), float(b)) for a, b in rates), default=(0.0, 0.0))
    ratio = bus / algorithm if algorithm else 0.0
    reduces = last.redop not in ("none", "")
    if ratio > 1.02:
        return "all-reduce", ranks_of(rates, 2)
    if ratio > 0.995 and abs(bus - algorithm) < 0.002 * algorithm:
        if last.root >= 0:
            return ("reduce" if reduces else "broadcast"), 0
        if share > 1:
            return ("reduce-scatter" if reduces else "all-gather"), share
        if is_open and (reduces or share == 1):
            return "send-receive", 0
        return ("all-reduce", 2) if reduces and checks and share == 1 else ("", 0)
    ranks = share if share > 1 else ranks_of(rates, 1)
    if not 0.4 < ratio < 1 or last.root >= 0:
        return "", 0
    if reduces:
        return "reduce-scatter", ranks
    return ("all-to-all" if is_open else "all-gather" if checks else ""), ranks


def are_wrong_in_place(points: Sequence[HalfRow]) -> bool:
    """Return whether all rows are wrong in place and none is otherwise, as programs that cannot run in place counted
    until 2.13."""
    in_place = [point for point in points if point.in_place]
    return (
        bool(in_place)
        and all(one.is_wrong for one in in_place)
        and not any(one.is_wrong for one in points if not one.in_place)
    )


def ranks_of(rates: Iterable[tuple[str, str]], rounds: int) -> int:
    """Return the only number of ranks n that all printed rates fit, bus = algorithm x rounds (n - 1) / n; of several
    the one that the largest rates say; 0 for none or many."""
    least, most, best = 2.0, float(MOST_RANKS), (0.0, 0.0)
    for printed in rates:
        algorithm, bus = (float(word) for word in printed)
        off = [0.505 * 10.0 ** -len(word.partition(".")[2]) for word in printed]
        if algorithm <= 2 * off[0]:
            continue
        low, high = (bus - off[1]) / (algorithm + off[0]) / rounds, (bus + off[1]) / (algorithm - off[0]) / rounds
        least = max(least, 1 / (1 - low) if low < 1 else most)
        most = min(most, 1 / (1 - high) if high < 1 else most)
        best = max(best, (algorithm, bus / algorithm / rounds))
    fitting = range(int(-(-least // 1)), int(most) + 1)
    if len(fitting) == 1:
        return fitting[0]
    near = round(1 / (1 - best[1])) if 0 < best[1] < 1 else 0
    return near if len(fitting) <= 3 and near in fitting else 0


def version_of(code: int) -> str:
    """Return "2.29.2" of NCCL's 22902, "2.8.4" of 2804."""
    major, rest = divmod(code, 10000) if code >= 10000 else divmod(code, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def newer(version: str, known: str) -> Finding:
    """Return the warning that a version is newer than those known."""
    return warning("import.newer-version", tool=NVIDIA, version=version, known=known)


def of_programs(source: Source, tool: str, programs: Sequence[Program], nvls: str | None = None) -> PeerOutput:
    """Return the results of all programs of a paste. ``nvls``: whether NCCL could reduce in the GPU switch, where the
    library says it. Raises LinkscopeError where there are none and nothing tells why."""
    figures: list[Figure] = []
    findings: list[Finding] = []
    nvls = source.nvls or nvls if tool == NVIDIA else None
    wrong, shown = 0, _told_apart(programs)
    places = {program.members: program.on_hosts for program in programs if program.devices}
    for program in programs:  # as many ranks of one paste are on the same hosts
        if not program.devices and not program.hosts:
            program.hosts = places.get(program.members, 0)
    for program, label in zip(programs, shown, strict=True):
        good = [point for point in program.points if not point.is_wrong]
        if program.is_spoilt and any("e" in str(point.wrong) for point in good):
            good = []  # the old column of errors does not tell which rows are wrong
        wrong += len(program.points) - len(good)
        findings += _findings(tool, program, len(good))
        if not program.times_calls:
            figures += _figures(source, program, good, label, NVLS[nvls] if nvls else "")
    if wrong:
        findings.append(note("import.wrong-results", lines=wrong))
    if not figures and not findings:
        raise source.wrong(0, f"{tool} printed no results")
    widest = max(programs, key=lambda program: len(program.devices), default=Program())
    hosts = list(dict.fromkeys(host for _, _, host, _ in widest.devices.values() if not host.isdigit()))
    gpus = tuple(widest.devices[rank][3] for rank in sorted(widest.devices))[:MOST_GPUS]
    if not widest.lists_all and len({gpu.name for gpu in gpus}) == 1:
        gpus = (Gpu(gpus[0].name),) * min(widest.members, MOST_GPUS)
    host = hosts[0] if len(hosts) == 1 else ""
    return PeerOutput(tool, "", _SUITES, tuple(figures), gpus, host=host, findings=tuple(findings))


def _told_apart(programs: Sequence[Program]) -> list[str]:
    """Return for each program what tells its series from the first one's of the same collective."""
    firsts: dict[str, tuple[int, bool]] = {}
    labels = []
    for program in programs:
        own = program.members, program.graphs > 0
        first = firsts.setdefault(program.test, own)
        parts = [f"{own[0]} ranks"] if own[0] != first[0] else []
        parts += [("graph" if own[1] else "no graph")] if own[1] != first[1] else []
        labels.append(", ".join(parts))
    return labels


def _figures(source: Source, program: Program, points: Iterable[HalfRow], label: str, nvls: str) -> Iterator[Figure]:
    facts = program.facts()
    notes = (_MEMORY, *([nvls] if nvls else []))
    for point in points:
        time = plain_number(point.time)
        if point.size and (time is None or time > 0):
            seconds = single(source.number(point.time, point.line, "time") / program.per_second)
            size, moves = source.whole(point.size, point.line, "size"), program.movement(point)
            moves = replace(moves, varies=", ".join(word for word in (moves.varies, label) if word))
            yield Figure(
                program.test, seconds, SECONDS, size=size, facts=facts, notes=notes, moves=moves, line=point.line
            )


def _findings(tool: str, program: Program, good: int) -> Iterator[Finding]:
    """Yield what a user should know of a program: errors first."""
    test = program.test.partition(" ")[2] or program.test
    for what in list(program.stops)[:3]:
        yield error("import.stopped", tool=tool, test=test, what=what)
    if program.is_spoilt or good < len(program.points):
        yield error("import.wrong-data", tool=tool, test=test)
    last = max((point.size for point in program.points), default=0)
    more = max(last * program.step[0], last + program.step[1])
    if not program.has_ended and program.is_configured and more <= program.most and (last or not program.stops):
        sizes = dict.fromkeys((numbers.size(more), numbers.size(program.most)))
        missing = " to ".join(sizes) if last else "all sizes"
        yield warning("import.cut", test=test, missing=missing, last=last, most=program.most)
    if program.times_calls:
        yield warning("import.calls-only", test=test)
    if program.warm_up == 0:
        yield warning("import.cold", test=test, iterations=program.calls)
    if program.others:
        processes = 1 + len(program.others)
        yield error("import.ran-alone", test=test, processes=processes, ranks=len(program.devices))
    if program.shared:
        yield warning("import.shared-gpu", test=test, ranks=program.shared)
    if program.threads == 1 and program.gpus > 1:
        yield note("import.one-thread", test=test, gpus=program.gpus)
    if program.is_inferred:
        yield note("import.inferred", test=test, ranks=program.members)
