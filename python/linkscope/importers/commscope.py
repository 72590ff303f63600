"""Comm|Scope: Google Benchmark's JSON, CSV and console table. Formats: json_reporter.cc, csv_reporter.cc and
console_reporter.cc of Google Benchmark; names and counters: commscope_names.py.

A benchmark's bytes per second are its payload's, of both directions where it is one of both. Repetitions of a name are
one result with their interval; rows of their mean, median and deviation are none, unless there are no others. The
console rounds rates, so its times are read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.importers.commscope_names import FAMILY, Name, movement, parsed
from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    SECONDS,
    Figure,
    Gpu,
    Movement,
    PeerOutput,
    Source,
    plain_number,
)
from linkscope.messages.finding import Finding, note, warning
from linkscope.results.stats import stats_of

TOOL = "Comm|Scope"
SUMMARY = "Comm|Scope since 2018: JSON, CSV, tables"
SUITES = ("commscope",)
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_AGGREGATE = re.compile("_(mean|median|stddev|cv|min|max)$")
_CONSOLE = re.compile(
    r"(\S{4,200}) +([\d.e+]{1,20}) (ns|us|ms|s) +[\d.e+]{1,20} (?:ns|us|ms|s) +\d{1,12}(?: .{0,2000})?"
)
_HEAD = "name,iterations,real_time,"
_WAY = re.compile(r"_(GPU|Host|Pinned|WC|NUMA|Pageable)To(GPU|Host|Pinned|WC|NUMA|Pageable)")
_HOST_MEMORIES = {"Host": "pageable", "Pageable": "pageable", "Pinned": "registered", "WC": "write-combined"}
_SHOWN = 2
"""Names of benchmarks that a finding has at most."""
Record = tuple[int, Mapping[str, Any]]


def recognises(text: str) -> bool:
    """Return whether a text holds results of Google Benchmark with names of Comm|Scope's families."""
    json = re.search(rf'"name": ?"{FAMILY.pattern}', text) is not None
    table = rf"^{_HEAD}|^{FAMILY.pattern}\S{{4,200}} +[\d.e+]{{1,20}} (?:ns|us|ms|s) +[\d.e+]{{1,20}} "
    return (json and '"real_time"' in text) or re.search(table, text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the results. Raises LinkscopeError where there are none of Comm|Scope's."""
    runs: dict[str, list[Record]] = {}
    aggregates: dict[str, dict[str, Record]] = {}
    lines: set[int] = set()
    failed = 0
    records, host, findings = _records(source)
    for number, one in records:
        name = str(one.get("name", ""))[:300]
        lines |= {number} if number else set()
        kind = _AGGREGATE.search(name)
        if str(one.get("error_occurred", "")).lower() == "true":
            failed += 1
        elif kind:
            aggregates.setdefault(name[: kind.start()], {})[kind[1]] = number, one
        elif one.get("run_type", "iteration") == "iteration":
            runs.setdefault(name, []).append((number, one))
    for name, kinds in aggregates.items():
        if name not in runs and (middle := kinds.get("median") or kinds.get("mean")):
            runs[name] = [middle]
    found = {name: _figure(name, of_name) for name, of_name in runs.items()}
    figures = [figure for figure in found.values() if figure is not None]
    if not any(FAMILY.match(name) for name in found):
        raise source.wrong(0, "no results of Comm|Scope benchmarks that linkscope has")
    left = [name for name, figure in found.items() if figure is None]
    families = list(dict.fromkeys(re.sub(r"/[^A-Za-z].*|/log2.*|/\w+_time$", "", name)[:30] for name in left))
    findings += [note("import.failed-benchmarks", benchmarks=failed)] if failed else []
    findings += [note("import.other-benchmarks", benchmarks=len(left), names=families[:_SHOWN])] if left else []
    devices = [
        device for figure in figures if figure.moves for device in (figure.moves.source, figure.moves.destination)
    ]
    return PeerOutput(
        *(TOOL, "", SUITES, tuple(figures), (Gpu(),) * _most(devices, "gpu")),
        host=host,
        findings=tuple(findings),
        numa_nodes=max(_most(devices, "numa"), 1),
        read=frozenset(lines),
    )


def _most(devices: Sequence[str], kind: str) -> int:
    """Return how many devices of a kind there must be."""
    numbers = (int(device.partition(":")[2]) + 1 for device in devices if device.startswith(f"{kind}:"))
    return min(max(numbers, default=0), MOST_GPUS)


def _records(source: Source) -> tuple[Iterator[Record], str, list[Finding]]:
    """Return the benchmarks that a text has, the host, and what is to be known of the text."""
    if '"real_time"' not in source.text:
        return _rows(source), "", []
    try:
        data = source.json(dict[str, Any])
        context, found = data.get("context"), data.get("benchmarks")
        host = context.get("host_name", "") if isinstance(context, dict) else ""
        records = [(0, one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return iter(records), str(host)[:200], []
    except LinkscopeError:
        cut = [warning("import.cut", test=TOOL, missing="}")]
        return _objects(source.text), "", cut


def _objects(text: str) -> Iterator[Record]:
    """Yield the benchmarks of JSON that is cut or has other lines in between: those that are whole."""
    for match in re.finditer(r"\{[^{}]{20,4000}\}", text):
        try:
            one = escaped(msgspec.json.decode(match.group()))
        except ValueError:
            continue
        if isinstance(one, dict) and "real_time" in one:
            yield 0, one


def _rows(source: Source) -> Iterator[Record]:
    """Yield the rows of CSV, under its head, and of console tables."""
    names: list[str] = []
    for number, line in enumerate(source.lines, 1):
        if line.startswith(_HEAD):
            names = [name.strip('"') for name in line.split(",")]
        elif match := _CONSOLE.fullmatch(line):
            counters = dict(re.findall(r"(\w{2,30})=([\d.]{1,20}) ?(?![\d.kMGTi/])", line))
            yield number, {**counters, "name": match[1], "real_time": match[2], "time_unit": match[3]}
        elif names and line.count(",") + 1 >= len(names):
            words = next(csv.reader([line]), [])
            if len(words) == len(names):
                yield number, {name: word for name, word in zip(names, words, strict=True) if word}


def _figure(text: str, runs: Sequence[Record]) -> Figure | None:
    """Return a benchmark's result; None where it moves nothing, or neither name nor counters say what or how much."""
    line, first = runs[0]
    numbers = {key: value for key in first if (value := plain_number(first[key])) is not None}
    counters = {key: int(value) for key, value in numbers.items() if 0 <= value < 4096 and value == int(value)}
    name = parsed(text, numbers.get("bytes")) if FAMILY.match(text) else None
    moves = movement(name, counters) if name else None
    if name is None or name.size is None or moves is None:
        return None
    rate = all("bytes_per_second" in one for _, one in runs)
    scales = [1e-9 if rate else _UNITS.get(str(one.get("time_unit")), 0.0) for _, one in runs]
    values = [plain_number(one.get("bytes_per_second" if rate else "real_time")) or 0.0 for _, one in runs]
    samples = [value * scale for value, scale in zip(values, scales, strict=True) if value * scale > 1e-12]
    if not samples:
        return None
    facts = _facts(name, moves)
    unit = GBPS if rate else SECONDS
    return Figure(name.test, stats_of(samples), unit, size=name.size, facts=facts, moves=moves, line=line)


def _facts(name: Name, moves: Movement) -> dict[str, Any]:
    """Return what a case must be for the benchmark's figure (``importers/cases.py``)."""
    test = name.test
    facts: dict[str, Any] = {"devices": f"{moves.source}>{moves.destination}"}
    facts |= {"varies": moves.varies} if moves.varies else {}
    way = _WAY.search(test)
    host = next((_HOST_MEMORIES[word] for word in way.groups() if word in _HOST_MEMORIES), None) if way else None
    if host is not None and "Memcpy" in test:
        facts["host_memory"] = host
    if test.startswith("Comm_implicit_mapped_GPU") and "Host" in test:
        facts["host_memory"] = "pinned"
    if re.search("Memcpy(Peer)?A.*GPU(To)?GPU", test):
        facts["api"] = "peer" if "MemcpyPeer" in test else "memcpy"
    return facts
