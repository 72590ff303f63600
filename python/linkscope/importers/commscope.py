"""Comm|Scope: Google Benchmark's JSON and CSV. Formats: json_reporter.cc and csv_reporter.cc of Google Benchmark; names
and counters: src/ of Comm|Scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from linkscope.importers.peer_output import GBPS, MOST_GPUS, SECONDS, Figure, Gpu, PeerOutput, Source, plain_number
from linkscope.messages.finding import note
from linkscope.results.stats import stats_of

TOOL = "Comm|Scope"
SUITES = ("commscope",)
MOST_LOG2 = 46
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NAME = re.compile(r"((?:Comm|libc)_\w+)((?:/[^/]+)*)")
_LOG2 = re.compile(r"log2\(N\):(\d{1,2})")
_WAY = re.compile(r"_(GPU|Host|Pinned|WC|NUMA|Pageable)To(GPU|Host|Pinned|WC|NUMA|Pageable)")
_ACCESS = re.compile(r"_(GPU|Host)(Rd|Wr)(GPU|Host)")
_OTHER = re.compile("Comm_(3d|stride|chunk|cudart|libc)_|Comm_.*HostToPinned")
"""Benchmarks with more parameters than devices and size, which their names' numbers do not tell apart."""
_ENDS = (("src_gpu", "dst_gpu", "gpu"), ("gpu0", "gpu1", "gpu"), ("src_numa", "dst_numa", "numa"))
"""Counters that name both ends, and of which kind these are."""
_AGGREGATE = re.compile("_(mean|median|stddev|cv|min|max)$")
_HOST_MEMORIES = {"Host": "pageable", "Pageable": "pageable", "Pinned": "registered", "WC": "write-combined"}


class _Context(TypedDict, total=False):
    host_name: Annotated[str, Meta(max_length=1024)]
    date: str


class _Report(TypedDict):
    context: _Context
    benchmarks: list[dict[str, Any]]


def recognises(text: str) -> bool:
    """Whether a text looks like it."""
    json = re.match(r'\s*\{\s*"context"\s*:', text) is not None and '"benchmarks"' in text
    return json or re.search(r"^name,iterations,real_time,", text[:65536], re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError. Repetitions of one benchmark become one figure with their interval."""
    host = ""
    records: Callable[[Source], Iterator[tuple[int, Mapping[str, Any]]]] = _csv
    if source.text.lstrip().startswith("{"):
        data = source.json(_Report)
        host, records = data["context"].get("host_name", ""), lambda _: ((0, one) for one in data["benchmarks"])
    runs: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    failed = 0
    for number, one in records(source):
        name = str(one.get("name", ""))
        if str(one.get("error_occurred", "")).lower() == "true":
            failed += 1
        elif one.get("run_type", "iteration") == "iteration" and not _AGGREGATE.search(name):
            runs.setdefault(name, []).append((number, one))
    found = [_figure(source, name, of_name) for name, of_name in runs.items()]
    figures = [figure for figure in found if figure is not None]
    if not figures:
        raise source.wrong(0, "no results of Comm|Scope benchmarks that linkscope has")
    left = len(found) - len(figures)
    broken = [note("import.failed-benchmarks", benchmarks=failed)] if failed else []
    return PeerOutput(
        TOOL,
        "",
        SUITES,
        tuple(figures),
        (Gpu(),) * _devices_of(figures, "gpu"),
        host=host,
        findings=(*broken, *([note("import.other-benchmarks", benchmarks=left)] if left else [])),
        numa_nodes=max(_devices_of(figures, "numa"), 1),
    )


def _devices_of(figures: Sequence[Figure], kind: str) -> int:
    """How many of that kind there must be."""
    ends = " ".join(str(figure.facts["devices"]) for figure in figures)
    return min(max((int(n) + 1 for n in re.findall(rf"{kind}:(\d+)", ends)), default=0), MOST_GPUS)


def _csv(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = source.lines
    head = next((number for number, line in enumerate(lines) if line.startswith("name,iterations,")), None)
    if head is None:
        raise source.wrong(0, "no line name,iterations,real_time: was it cut short?")
    (_, names), *records = source.csv(head)
    for number, words in records:
        if len(words) != len(names):
            raise source.wrong(number, f"{len(words)} values of {len(names)}: was it cut short?")
        yield number, {name: word for name, word in zip(names, words, strict=True) if word}


def _figure(source: Source, name: str, runs: Sequence[tuple[int, Mapping[str, Any]]]) -> Figure | None:
    """None of a benchmark that is no case of linkscope, or whose ends or size it does not say."""
    match, size = _NAME.fullmatch(name), _LOG2.search(name)
    line, first = runs[0]
    devices = _devices(match[1], first) if match else None
    if match is None or devices is None or size is None or _OTHER.match(match[1]):
        return None
    rate = all("bytes_per_second" in one for _, one in runs)
    values = [
        source.number(one["bytes_per_second"], at, f"{name}: bytes_per_second") * 1e-9
        if rate
        else source.number(one.get("real_time"), at, f"{name}: real_time") * _unit(source, at, one)
        for at, one in runs
    ]
    bytes_ = 1 << source.whole(size[1], line, "log2(N)", MOST_LOG2)
    return Figure(match[1], stats_of(values), GBPS if rate else SECONDS, size=bytes_, facts=_facts(match[1], devices))


def _facts(test: str, devices: str) -> dict[str, Any]:
    """What a case must be for the benchmark's figure (``importers/cases.py``)."""
    facts: dict[str, Any] = {"devices": devices}
    way = _WAY.search(test)
    host = next((_HOST_MEMORIES[word] for word in way.groups() if word in _HOST_MEMORIES), None) if way else None
    if host is not None and "Memcpy" in test:
        facts["host_memory"] = host
    if test.startswith("Comm_implicit_mapped_GPU") and "Host" in test:
        facts["host_memory"] = "pinned"
    if re.search("Memcpy(Peer)?A.*GPU(To)?GPU", test):
        facts["api"] = "peer" if "MemcpyPeer" in test else "memcpy"
    return facts


def _unit(source: Source, line: int, one: Mapping[str, Any]) -> float:
    if one.get("time_unit") not in _UNITS:
        raise source.wrong(line, f"time_unit is {str(one.get('time_unit'))[:40]!r}, none of {', '.join(_UNITS)}")
    return _UNITS[str(one["time_unit"])]


def _devices(test: str, one: Mapping[str, Any]) -> str | None:
    """The ends, "gpu:0>gpu:1", of what the benchmark moves; both ways the first that it names. None where it does not
    say them."""
    numbers = {name: int(value) for name in one if (value := plain_number(one[name])) is not None and 0 <= value < 4096}
    for first, second, kind in _ENDS:
        if first in numbers and second in numbers:
            return f"{kind}:{numbers[first]}>{kind}:{numbers[second]}"
    gpu, numa = numbers.get("cuda_id", numbers.get("hip_id")), numbers.get("numa_id")
    if gpu is None or numa is None:
        return None
    way, access = _WAY.search(test), _ACCESS.search(test)
    out = bool(way and way[1] == "GPU") or bool(access and (access[1], access[2]) == ("GPU", "Wr"))
    return f"gpu:{gpu}>numa:{numa}" if out else f"numa:{numa}>gpu:{gpu}"
