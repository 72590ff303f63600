"""nccl-tests and rccl-tests: their tables, nccl-tests' JSON (-J) and rccl-tests' CSV and JSON lines (-x, -Z).

Formats: src/util.cu of nccl-tests 2.19, Reporter in src/common.cu of rccl-tests. Times are out of place; those in place
are left out, since no suite's case is in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from linkscope.importers.peer_output import (
    MOST_GPUS,
    NVLS,
    SECONDS,
    Figure,
    Gpu,
    PeerOutput,
    Source,
    single,
    version_of,
)
from linkscope.machine.expected import collective_known_from
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, note
from linkscope.results.nccl_programs import NCCL_PROGRAMS

NVIDIA, AMD = "nccl-tests", "rccl-tests"
VERSIONS = ("2",)
JSON_VERSIONS = (1, 2, 3)
_SUITES = ("collectives", "p2p-processes")
_TYPES = ("float", "float32")
_MEMORY = "the case is of plain device memory; the tool may use memory of the library's own allocator"
_CSV_NAMES = {"collective": "name", "#wrong": "wrong"}
_CONFIG = re.compile(r"# nThread (\d+) nGpus (\d+) .*?(?<!warmup )(?<!agg )iters: (\d+) .*?(?:graph: (\d+).*)?")
_RANK = re.compile(r"#\s+Rank\s+\d+ (?:Group\s+\d+ )?Pid\s+(\d+) on\s+(\S+) device\s+(\d+) \[([0-9a-fA-Fx:]+)\] (.*)")
_LINE = re.compile(r"\s*(\d+)\s+\d+\s+(\w+)\s+\w+\s+-?\d+\s+(\S+)\s+\S+\s+\S+\s+(\S+)(?:\s.*)?")


@dataclass
class _Launch:
    """How a program was started: threads, GPUs of each, calls in a row, graphs (0: none), and who its ranks are."""

    threads: int = 1
    gpus: int = 1
    calls: int = 1
    graphs: int = 0
    pids: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)

    def facts(self, kind: str, ranks: int) -> dict[str, Any]:
        """What a case must be for a figure of it (``importers/cases.py``)."""
        processes = len(set(self.pids)) or max(ranks // max(self.threads * self.gpus, 1), 1)
        launch = "one-thread" if self.threads == 1 else "thread-per-gpu" if self.gpus == 1 else "threads with GPUs each"
        of_graphs = {"form": "graph", "recorded": self.calls if self.calls > 1 else None}
        return {
            "method": "xccl" if kind == "send-receive" else "xccl-collective",
            "collective": None if kind == "send-receive" else kind,
            "clock": "batch",
            "processes": processes,
            "memory": "device",
            **(of_graphs if self.graphs else {"form": "eager"}),
            **({"launch": launch} if processes == 1 else {}),
        }


class _Fields(TypedDict, total=False):
    time: float
    cpu_time: float
    nwrong: float | str | None


class _Sized(TypedDict):
    size: int
    type: Annotated[str, Meta(max_length=100)]


class _Result(_Sized, total=False):
    out_of_place: _Fields | None


class _Device(TypedDict):
    pid: int
    hostname: Annotated[str, Meta(max_length=1024)]
    device_hex: Annotated[str, Meta(max_length=128)]
    device_info: Annotated[str, Meta(max_length=1024)]


class _Config(TypedDict):
    nthreads: int
    ngpus: int
    iterations: int
    graph: int
    devices: Annotated[list[_Device], Meta(max_length=MOST_GPUS)]


class _Measured(TypedDict):
    version: int
    args: Annotated[list[str], Meta(min_length=1)]
    nccl_version: int
    config: _Config
    results: list[_Result]


def recognises(text: str) -> bool:
    """Whether a text looks like a table or file of either."""
    start = text[:65536]
    words = re.search(r"^# nThread \d+ nGpus \d+ |^# nccl-tests version ", start, re.MULTILINE)
    return bool(words) or _of_rccl(start) or re.match(r'\s*\{"version":\d+,"start_time":', start) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError."""
    of_rccl = _of_rccl(source.text)
    of_json = source.text.lstrip().startswith("{")
    found = _reports(source) if of_rccl else _json(source) if of_json else _table(source)
    if of_rccl or any(gpu.name.startswith("AMD") for gpu in found.gpus):
        if source.nvls is not None:
            raise source.wrong(0, "these are results of RCCL; leave --nvls out")
        return found
    if source.nvls is not None or not _may_be_judged(found):
        return found
    return replace(found, findings=(*found.findings, note("import.nvls")))


def _may_be_judged(found: PeerOutput) -> bool:
    """Whether it has a collective of a size and of GPUs of which it is known what they reach."""
    sizes: dict[str, int] = {}
    for figure in found.figures:
        kind = str(figure.facts["collective"])
        sizes[kind] = max(sizes.get(kind, 0), figure.size or 0)
    known = ((collective_known_from(gpu.name, kind), most) for gpu in found.gpus for kind, most in sizes.items())
    return any(least is not None and most >= least for least, most in known)


def times_out_of_place(lines: Iterable[str]) -> Iterator[tuple[int, str, str, str]]:
    """(size, type, time in us, number of wrong values) of each line of a table, as printed."""
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is not None:
            yield int(match[1]), match[2], match[3], match[4]


def _of_rccl(text: str) -> bool:
    start = text.lstrip()[:300].lower()
    return re.match(r'(numcycle, ?)?collective, |\{("numcycle":|"name":)', start) is not None and "redop" in start


def _table(source: Source) -> PeerOutput:
    kind, version, launch, said = "", "", _Launch(), _Said()
    gpus: list[Gpu] = []
    for number, line in enumerate(source.lines, 1):
        if match := re.match(r"# nccl-tests version (\S+) .*nccl-library=(\d+)", line):
            version, said.versions["NCCL"] = version_of(source, match[1], number, VERSIONS, NVIDIA), match[2]
        elif match := re.match(r"# Collective test starting: (\S+)", line):
            kind = _kind(source, number, match[1])
        elif match := _CONFIG.fullmatch(line):
            threads, of_each, calls, graphs = (int(word or 0) for word in match.groups())
            launch, gpus = _Launch(threads, of_each, calls, graphs), []
        elif match := _RANK.fullmatch(line):
            launch.pids.append(match[1])
            launch.hosts.append(match[2])
            gpus.append(Gpu(match[5].strip(), match[4].lower()))
        elif re.match(r"#\s+size\s+count", line) and "cputime" in line:
            raise source.wrong(number, "times of CPUs (-C); linkscope reads times of collectives")
        elif not line.startswith("#"):
            for size, of_type, time, wrong in times_out_of_place([line]):
                kind = kind or _kind(source, 0, source.path.stem)
                said.take(source, number, _Point(kind, size, of_type, time, wrong), launch, len(gpus))
    return _output(source, NVIDIA, version, gpus, launch, said)


def _json(source: Source) -> PeerOutput:
    data = source.json(_Measured)
    if data["version"] not in JSON_VERSIONS:
        known = f"it reads {', '.join(map(str, JSON_VERSIONS))}"
        raise source.wrong(0, f"its JSON {data['version']} is a version that linkscope does not read: {known}")
    config, said = data["config"], _Said()
    said.command, said.versions["NCCL"] = tuple(data["args"]), str(data["nccl_version"])
    kind = _kind(source, 0, data["args"][0])
    devices = config["devices"]
    launch = _Launch(config["nthreads"], config["ngpus"], config["iterations"], config["graph"])
    launch.pids, launch.hosts = [str(one["pid"]) for one in devices], [one["hostname"] for one in devices]
    gpus = [Gpu(one["device_info"], one["device_hex"].lower()) for one in devices]
    ranks = max(len(gpus), config["nthreads"] * config["ngpus"])
    gpus += [gpus[-1] if gpus else Gpu()] * (min(ranks, MOST_GPUS) - len(gpus))
    for result in data["results"]:
        found = result.get("out_of_place") or {}
        if "cpu_time" in found:
            raise source.wrong(0, "times of CPUs (-C); linkscope reads times of collectives")
        if found:
            point = _Point(kind, result["size"], result["type"], found.get("time"), found.get("nwrong"))
            said.take(source, 0, point, launch, len(gpus))
    return _output(source, NVIDIA, "", gpus, launch, said)


def _reports(source: Source) -> PeerOutput:
    """rccl-tests' CSV, or one JSON object a line."""
    said, launch, gpus = _Said(), _Launch(), 0
    for number, report in _records(source):
        for name in ("name", "size", "type", "inplace", "time", "wrong"):
            if name not in report:
                raise source.wrong(number, f"a line of rccl-tests without {name}: was it cut short?")
        ranks = source.whole(report.get("ranks", 1), number, "ranks", MOST_GPUS)
        of_each = source.whole(report.get("gpusperrank", report.get("gpus", 1)), number, "GPUs", MOST_GPUS)
        if source.whole(report.get("rankspernode", ranks), number, "ranks of a node", MOST_GPUS) != ranks:
            raise source.wrong(number, "ranks on several nodes: linkscope's cases are of one")
        gpus = max(gpus, min(ranks * of_each, MOST_GPUS))
        launch = _Launch(gpus=of_each, pids=[str(rank) for rank in range(ranks)])
        if source.whole(report["inplace"], number, "in place", 1) == 0:
            kind, size = _kind(source, number, str(report["name"])), source.whole(report["size"], number, "size")
            point = _Point(kind, size, str(report["type"]), report["time"], report["wrong"])
            said.take(source, number, point, launch, gpus)
    return _output(source, AMD, "", [Gpu()] * gpus, launch, said)


def _records(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each line's values by the names that JSON has, in small letters."""
    if source.text.lstrip().startswith("{"):
        for number, line in enumerate(source.lines, 1):
            if line.strip():
                found = Source(source.path, line).json(dict[str, float | str | None])
                yield number, {name.lower(): value for name, value in found.items()}
        return
    (_, head), *records = source.csv()
    names = [_CSV_NAMES.get(name.lower(), name.lower()) for name in head]
    for number, words in records:
        if len(words) != len(names):
            raise source.wrong(number, f"{len(words)} values of {len(names)}: was it cut short?")
        yield number, dict(zip(names, words, strict=True))


@dataclass(frozen=True)
class _Point:
    kind: str
    size: int
    type: str
    time: object
    wrong: object


@dataclass
class _Said:
    """What a file's lines have said so far."""

    figures: list[Figure] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    wrong: int = 0
    other: int = 0

    def take(self, source: Source, line: int, point: _Point, launch: _Launch, ranks: int) -> None:
        """Adds the figure of a line, unless its results were wrong or its numbers are no floats."""
        if str(point.wrong) not in ("0", "0.0", "N/A", "None", "nan"):
            self.wrong += 1
        elif point.type not in _TYPES:
            self.other += 1
        elif point.size:
            value = single(source.number(point.time, line, "time") * 1e-6)
            test = f"{NVIDIA} {NCCL_PROGRAMS[point.kind].name}"
            facts = launch.facts(point.kind, ranks)
            size = source.whole(point.size, line, "size")
            notes = (_MEMORY, *([NVLS[source.nvls]] if source.nvls else []))
            self.figures.append(Figure(test, value, SECONDS, size=size, facts=facts, notes=notes))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was left out, and why."""
        wrong = [note("import.wrong-results", lines=self.wrong)] if self.wrong else []
        other = [note("import.other-types", lines=self.other)] if self.other else []
        return (*wrong, *other)


def _kind(source: Source, line: int, program: str) -> str:
    """The collective of a program's name or path, or of rccl-tests' name of it, "AllReduce"."""
    bare = re.sub(r"[^a-z]", "", program.rpartition("/")[2].lower())
    for kind, known in NCCL_PROGRAMS.items():
        own = re.sub(r"[^a-z]", "", known.name)
        if bare in (own, own.removesuffix("perf")) or (not line and bare.startswith(own)):
            return kind
    hint = "" if line else ": name the file after it, all_reduce_perf.txt"
    raise source.wrong(line, f"{program[:80]!r} names no collective that linkscope has{hint}")


def _output(source: Source, tool: str, version: str, gpus: Sequence[Gpu], launch: _Launch, said: _Said) -> PeerOutput:
    hosts = list(dict.fromkeys(launch.hosts))
    if len(hosts) > 1:
        raise source.wrong(0, f"ranks on {len(hosts)} hosts: linkscope's cases are of one")
    if not said.figures:
        why = f": {'; '.join(map(sentence, said.findings))}" if said.findings else ""
        raise source.wrong(0, f"{tool} printed no out-of-place results{why}")
    return PeerOutput(
        tool,
        version,
        _SUITES,
        tuple(said.figures),
        tuple(gpus[:MOST_GPUS]),
        versions=said.versions,
        host=(hosts or [""])[0],
        command=said.command,
        findings=said.findings,
    )
