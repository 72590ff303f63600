"""Pasted: explain's verdict on what another tool printed: what the tool itself found wrong, what stands out, and which
path the rates are known from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.fingerprints import fingerprints, library_fingerprints, time_fingerprints
from linkscope.answers.readings import PastedResult, readings_of
from linkscope.answers.references import copy_gbps, of_collective_on_one_host
from linkscope.answers.stand_out import LIKE, agree, stand_out
from linkscope.answers.topology_oddities import topology_findings
from linkscope.figures.columns import RATE, TIME
from linkscope.figures.run import Run
from linkscope.importers.peer_output import HOST_MEMORIES, UNKNOWN, WITHOUT_PEER_ACCESS
from linkscope.messages.finding import Finding, Level, note

_SHOWN = 2
"""Likely paths on the first screen."""
_ROWS = 8
"""Results on the first screen."""
_PCIE = re.compile(r"pcie(\d)-x(\d+)")
_FULL_LINKS = ((18, 50.0), (18, 25.0), (12, 25.0))
"""All NVLinks of a GPU, GB/s of one: B200 and B300, H100 and H200, A100 and H100 NVL."""
_FULL_SHARE = (0.82, 0.93)
"""Share of them that healthy copies reach."""
_HOST_LINKS = ((3, 25.0),)
"""The same of a GPU's links to its CPU: V100 and POWER9."""
_OF_AMD = ("TransferBench", "rocm_bandwidth_test")
"""Tools of GPUs that xGMI joins by several hops or links: the slowest pair is no PCIe slot's."""
_BY_LINKS = ("peer", "message", "to-gpu", "to-host")
_HOST_SHARE = (0.88, 0.98)
_LARGE, _SATURATED = 1_000_000, 256 << 20
_LEAST_SENT = 2 << 20
"""Bytes of a message from which on its rate is one of the links, however many there are."""
_BEYOND_CACHES = 64 << 20
"""Bytes of a message that no CPU's caches make faster than links between GPUs."""
_OF_LINKS_ALONE = 64.0
"""GB/s of one direction that neither PCIe 5.0 x16 nor a 400 Gb/s network card carries."""
_UNTRUE = ("one-gpu", "one-gpu-likely", "above-line", "own-rows", "own-rows-of-any")
"""Fingerprints of rates that are none of a link."""
_USUAL = ("full-links", "twelve-links", "network-card", "pcie", "direct")
"""Fingerprints of a path that is as fast as it can be."""
_SURE_SHARE = 0.95
"""Share of a card's rate that no slower path to a GPU has by chance."""
_TIMES = ("time-jumps", "time-falls")
"""Fingerprints of latencies, which point at no path."""
_COLD = "import.cold"
_DETAILS = ("read-and-written", "both-directions", "step-down", "step-up", "slow-start")
"""Fingerprints that --full says."""


@dataclass(frozen=True)
class Likely:
    """Say what the rates of a paste are known from. ``usual``: how many ``tables`` have a healthy rate."""

    findings: tuple[Finding, ...]
    usual: int
    tables: int

    def named(self, codes: Sequence[str]) -> list[Finding]:
        """Return the fingerprints of these names."""
        return [one for one in self.findings if one.code.partition(".")[2] in codes]


def of_paste(run: Run, answer: Answer, checked: Collection[str]) -> Answer:
    """Return explain's answer of a run that another tool made. ``checked``: the cases that ``answer`` has compared with
    anything."""
    readings = readings_of(run)
    wrong = [one for one in run.printed if one.level is Level.ERROR]
    odd = topology_findings(run.topology) if run.topology is not None else []
    judged = {*checked, *_cold(readings), *_far_from_host(run, readings)}
    apart = stand_out(readings, [one for one in readings if one.row.id not in judged])
    likely = _likely(run, readings)
    outcome, headline = _verdict(run, answer, checked, readings, wrong, [*odd, *apart], likely)
    told = {one.code for one in answer.findings}
    doubles = ("links",) if "explain.likely-links-down" in told else ()
    first = [one for one in likely.findings if one.code.partition(".")[2] not in (*_DETAILS, *doubles)]
    certain = outcome is Outcome.FAILS
    if any(one.code == "paste.access-slower" for one in apart):  # neither path is the slot's
        first = [one for one in first if one.code not in ("fingerprint.pcie", "fingerprint.over-pcie")]
    likely_first = [one for one in first if not certain or one.level is Level.ERROR][:_SHOWN]
    shown = [*odd, *apart, *_disturbed(readings), *likely_first]
    kept = [one for one in answer.findings if one.code != "explain.two-runs"]
    if headline.code == _COLD:
        kept = [one for one in kept if not one.code.startswith("explain.")]
    return replace(
        answer,
        headline=replace(headline, level=Level.NOTE),
        outcome=outcome,
        findings=tuple(one for one in (*shown, *kept) if not _says(headline, one)),
        tables=answer.tables if checked and headline.code != _COLD else tuple(_tables(readings)),
        next=answer.next if outcome is answer.outcome else (),
        details=(*answer.details, *(one for one in likely.findings if one not in shown)),
    )


def _verdict(
    run: Run,
    answer: Answer,
    checked: Collection[str],
    readings: Sequence[PastedResult],
    wrong: Sequence[Finding],
    stands_out: Sequence[Finding],
    likely: Likely,
) -> tuple[Outcome, Finding]:
    """Return the outcome and the headline: what the tool found wrong first, then rates that are none of a link, what is
    slow by a reference, what stands out, and what the rates are known from."""
    faults = [one for one in (*stands_out, *likely.findings) if one.level is Level.ERROR]
    untrue = likely.named(_UNTRUE)
    if wrong:
        return Outcome.FAILS, wrong[0]
    cold = next((one for one in run.printed if one.code == _COLD), None)
    if cold is not None and answer.outcome is not Outcome.HOLDS:
        return Outcome.UNTESTED, cold
    if untrue and answer.outcome is not Outcome.FAILS:
        return Outcome.UNCLEAR, untrue[0]
    if answer.outcome is Outcome.FAILS or (checked and not faults and answer.outcome is not Outcome.UNTESTED):
        return answer.outcome or Outcome.FAILS, answer.headline
    if faults:
        return Outcome.FAILS, faults[0]
    if not readings:
        said = next((one for one in run.printed if one.code == "import.library-words"), None)
        if said is not None:
            return Outcome.UNTESTED, note("paste.log-alone", library=said.facts.get("library", "NCCL"))
        return (Outcome.HOLDS, note("paste.topology")) if stands_out else (Outcome.UNTESTED, note("paste.no-results"))
    several = _over_hosts(run, readings)
    if several is not None:
        return several
    if likely.tables and likely.usual == likely.tables and agree(readings):
        return Outcome.HOLDS, note("paste.usual" if len(readings) > 1 else "paste.usual-one", results=len(readings))
    if any(one.code.partition(".")[2] not in (*_DETAILS, *_TIMES) for one in likely.findings):
        return Outcome.UNTESTED, note("paste.likely-only", results=len(readings))
    return Outcome.UNTESTED, _unsettled(run, readings)


def _says(headline: Finding, finding: Finding) -> bool:
    """Return whether the headline says a finding already, whichever run it names."""
    return finding.code == headline.code and {**finding.facts, "run": 0} == {**headline.facts, "run": 0}


def _over_hosts(run: Run, readings: Sequence[PastedResult]) -> tuple[Outcome, Finding] | None:
    """Return the verdict on collectives over several hosts: fine where they are as fast as on one host alone."""
    of_hosts = [one for one in readings if one.moves.kind == "collective" and one.moves.hosts > 1]
    if not of_hosts:
        return None
    hosts = max(one.moves.hosts for one in of_hosts)
    best = max(of_hosts, key=lambda one: (one.size, one.rate or 0.0))
    each = best.moves.ranks // hosts
    known = of_collective_on_one_host(run, best.moves.method, best.moves.collective, each)
    facts = {"hosts": hosts, "collective": best.moves.collective, "rate": best.rate or 0.0}
    if known is not None and (best.rate or 0.0) >= known:
        return Outcome.HOLDS, note("paste.as-one-host", known=known, gpus=each, **facts)
    return Outcome.UNTESTED, note("paste.several-hosts", **facts)


def _cold(readings: Sequence[PastedResult]) -> set[str]:
    """Return the copies within a GPU that are far slower than others of that GPU, which is not awake at the first."""
    local = [
        (one.row.id, (one.path, one.moves.method), one.rate or 0.0) for one in readings if one.moves.kind == "local"
    ]
    fastest: defaultdict[tuple[str, str], float] = defaultdict(float)
    for _, copy, rate in local:
        fastest[copy] = max(fastest[copy], rate)
    return {name for name, copy, rate in local if 0 < rate < LIKE * fastest[copy]}


def _disturbed(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield the collectives of large size that are slow beside the next smaller and the next larger size."""
    series: defaultdict[tuple[object, ...], dict[int, PastedResult]] = defaultdict(dict)
    for one in readings:
        if one.moves.kind == "collective" and one.rate and one.size >= _SATURATED:
            series[one.series][one.size] = one
    for by_size in series.values():
        for before, size, after in zip(sorted(by_size), sorted(by_size)[1:], sorted(by_size)[2:], strict=False):
            rates = [by_size[one].rate or 0.0 for one in (before, size, after)]
            if rates[1] < LIKE * min(rates[0], rates[2]):
                facts = {"size": size, "rate": rates[1], "near": min(rates[0], rates[2])}
                yield note("paste.disturbed", test=by_size[size].test, **facts)
                return


def _far_from_host(run: Run, readings: Sequence[PastedResult]) -> set[str]:
    """Return the results between a GPU and a NUMA node that is not the one it reaches fastest; where results of some
    node are missing, all between GPUs and host memory."""
    best: dict[tuple[object, ...], PastedResult] = {}
    host = [one for one in readings if one.moves.kind in ("to-gpu", "to-host") and one.moves.source and one.rate]
    gpus = [one.moves.source if one.moves.kind == "to-host" else one.moves.destination for one in host]
    keys = {one.row.id: (one.table, one.size, gpu) for one, gpu in zip(host, gpus, strict=True)}
    seen = {end for one in host for end in one.path.split(">") if end.startswith("numa:")}
    if 0 < len(seen) < len(run.node.of_kind("numa")):
        return set(keys)
    for one in host:
        key = keys[one.row.id]
        best[key] = max(best.get(key, one), one, key=lambda each: each.rate or 0.0)
    return {one.row.id for one in host if best[keys[one.row.id]].path != one.path}


def _unsettled(run: Run, readings: Sequence[PastedResult]) -> Finding:
    """Return why nothing could be checked; the message says what would settle it."""
    if all(one.moves.kind == "collective" and one.moves.ranks == 1 for one in readings):
        return note("paste.one-rank", results=len(readings))
    if all(one.moves.kind == "collective" and 0 < one.size < _SATURATED for one in readings):
        return note("paste.small", largest=max(one.size for one in readings), known=_SATURATED)
    if all(one.moves.kind == "network" for one in readings):
        best = max(readings, key=lambda one: (one.rate or 0.0) / (1 + one.moves.both))
        rate = (best.rate or 0.0) / (1 + best.moves.both)
        code = "paste.network" if rate else "paste.network-times"
        return note(code, results=len(readings), test=best.test, rate=rate, gbits=rate * 8)
    if all(memory in HOST_MEMORIES for one in readings for memory in one.moves.memories):
        return note("paste.host-memory", results=len(readings))
    if all(one.moves.opposed for one in readings):
        least = min(readings, key=lambda one: one.rate or 0.0)
        return note("paste.opposed", rate=least.rate or 0.0, line=least.line_gbps or 0.0, results=len(readings))
    kinds = [set(one.moves.memories) for one in readings]
    if all(UNKNOWN in memories or memories <= set(HOST_MEMORIES) for memories in kinds):
        return note("paste.unknown-memory", results=len(readings))
    gpus = run.node.of_kind("gpu")
    if gpus and gpus[0].name and run.node.links:
        return note("paste.no-data", results=len(readings), gpus=gpus[0].name)
    tools = {one.row.imported.tool for one in readings if one.row.imported is not None}
    code = "paste.no-reference-amd" if tools and tools <= {*_OF_AMD, "rccl-tests"} else "paste.no-reference"
    return note(code, results=len(readings))


def _likely(run: Run, readings: Sequence[PastedResult]) -> Likely:
    """Return what the rates are fingerprints of: of each table its fastest and its slowest result."""
    tables: defaultdict[tuple[object, ...], list[PastedResult]] = defaultdict(list)
    far = _far_from_host(run, readings)
    for reading in readings:
        moves = reading.moves
        by_library = moves.kind == "collective" and moves.counts == "payload"
        if reading.rate and not by_library and moves.varies != WITHOUT_PEER_ACCESS and reading.row.id not in far:
            tables[reading.table].append(reading)

    def alone(some: Sequence[PastedResult]) -> bool:
        return not some[0].moves.opposed and some[0].moves.at_once == 1 and some[0].moves.kind != "local"

    found: list[Finding] = []
    usual = 0
    for some in tables.values():
        most = max(reading.size for reading in some)
        large = sorted((one for one in some if one.size == most), key=lambda one: one.rate or 0.0)
        tool = some[0].row.imported.tool if some[0].row.imported is not None else ""
        routed = some[0].moves.kind == "peer" and tool in _OF_AMD
        ends = large[-1:] if len(large) == 1 or routed else [large[-1], large[0]]
        each = [_of_reading(run, one, some) for one in ends]
        known = [any(_is_usual(one, end) for one in told) for end, told in zip(ends, each, strict=True)]
        usual += alone(some) and all(known)
        found += [one for told in each for one in told]
    found += _of_times(readings)
    for words in (one for one in run.printed if one.code == "import.library-words"):
        found += library_fingerprints(
            words.facts, max((one.rate or 0.0 for one in readings), default=0.0), copy_gbps(run)
        )
    first = {one.code: one for one in sorted(found, key=lambda one: float(one.facts.get("rate", 0.0)))}
    ordered = sorted(dict.fromkeys(one.code for one in found), key=lambda code: first[code].level is not Level.ERROR)
    return Likely(tuple(first[code] for code in ordered), usual, sum(map(alone, tables.values())))


def _is_usual(finding: Finding, reading: PastedResult) -> bool:
    """Return whether a path is as fast as it can be. PCIe is what joins a GPU to its host; whether two GPUs have no
    faster links is not known from their rate. What a card of half the rate carries is also what a far GPU gives."""
    name = finding.code.partition(".")[2]
    if name == "network-card" and reading.moves.kind == "network" and "device" in reading.moves.memories:
        return bool(finding.facts["share"] >= _SURE_SHARE)
    if name == "direct":
        return reading.size >= _LEAST_SENT
    return name in _USUAL and (name != "pcie" or reading.moves.kind in ("to-gpu", "to-host"))


def _of_times(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield where the latencies of a series of sizes jump or fall, of each kind the largest."""
    series: defaultdict[tuple[object, ...], dict[int, float]] = defaultdict(dict)
    for one in readings:
        if one.seconds is not None and one.moves.kind in ("peer", "message", "network", "collective"):
            series[one.series][one.size] = one.seconds
    found = sorted(
        (finding for sizes in series.values() for finding in time_fingerprints(sorted(sizes.items()))),
        key=lambda finding: float(finding.facts["factor"]),
    )
    yield from {finding.code: finding for finding in found}.values()


def _of_reading(run: Run, reading: PastedResult, table: Sequence[PastedResult]) -> list[Finding]:
    """Return what a rate is known from, its own table's sizes included."""
    moves, rate = reading.moves, reading.rate or 0.0
    if moves.kind in _BY_LINKS and reading.line_gbps is None and (full := _full_links(reading)) is not None:
        return [full]
    memory = next((gpu.memory_gbps for gpu in run.node.of_kind("gpu") if gpu.memory_gbps), None)
    pcie = next((one for link in run.node.links if (one := _pcie(link.tier)) is not None), None)
    sizes = sorted((one.size, one.rate or 0.0) for one in table if one.series == reading.series)
    return fingerprints(
        rate,
        movement=moves,
        size=reading.size or None,
        line_gbps=reading.line_gbps,
        memory_gbps=memory,
        pcie=pcie,
        sizes=sizes,
    )


def _full_links(reading: PastedResult) -> Finding | None:
    """Return that a rate is usual for all links of some GPU; of a message, that only links between GPUs carry it."""
    rate = (reading.rate or 0.0) / (2 if reading.moves.both else 1)
    if reading.moves.kind == "message":
        memories = set(reading.moves.memories)
        possible = memories == {"device"} or (UNKNOWN in memories and not memories & set(HOST_MEMORIES))
        on_gpus = possible and reading.size >= (_LARGE if memories == {"device"} else _BEYOND_CACHES)
        on_gpus = on_gpus and reading.moves.at_once == 1
        return note("fingerprint.direct", rate=rate) if on_gpus and _OF_LINKS_ALONE < rate < 450 else None
    by_host = reading.moves.kind != "peer"
    known, (least, most) = (_HOST_LINKS, _HOST_SHARE) if by_host else (_FULL_LINKS, _FULL_SHARE)
    for links, gbps in known:
        share = rate / (links * gbps)
        if least <= share <= most:
            return note("fingerprint.full-links", rate=rate, links=links, share=share, carry=links * gbps)
    return None


def _pcie(tier: str) -> tuple[int, int] | None:
    """Return the generation and the width of a link, by its tier, "pcie5-x16"; None for other links."""
    match = _PCIE.fullmatch(tier)
    return (int(match[1]), int(match[2])) if match else None


def _tables(readings: Sequence[PastedResult]) -> Iterator[Table]:
    """Yield the results at the largest size: of a test whose paths agree their range, else path by path."""
    last: dict[tuple[object, ...], PastedResult] = {}
    for one in readings:
        if one.series not in last or one.size >= last[one.series].size:
            last[one.series] = one
    tables: defaultdict[tuple[object, ...], list[PastedResult]] = defaultdict(list)
    for one in last.values():
        tables[(one.table, one.size)].append(one)
    lines = [line for some in tables.values() for line in _lines(some)]
    if lines:
        frame = polars.DataFrame(lines, infer_schema_length=None)
        sizes = {line["bytes"] for line in lines}
        columns = [Column("test", once=True)]
        columns += [Column("path", Kind.PATH)] if any(line["path"] for line in lines) else []
        columns += [Column("bytes", Kind.SIZE)] if len(sizes) > 1 else []
        columns += [Column("value", Kind.VALUE, head="measured")]
        columns += [Column("line_gbps", Kind.NUMBER)] if any(line["line_gbps"] for line in lines) else []
        bus = any(one.moves.kind == "collective" and one.rate for one in readings)
        if len(sizes) == 1 and sizes != {None}:
            facts, codes = {"size": sizes.pop()}, ("paste.results-at", "paste.bus-bandwidths-at", "paste.times-at")
        else:
            facts, codes = {}, ("paste.results", "paste.bus-bandwidths", "paste.times")
        timed = all(one.rate is None for one in readings)
        yield Table(codes[2 if timed else bus], frame, tuple(columns), facts=facts, first=_ROWS)


def _named(one: PastedResult) -> str:
    """Return the test with what tells its series from others, unless its name ends so."""
    words = [word for word in one.moves.varies.split(", ") if word and not one.test.endswith(word)]
    return " ".join(word for word in (one.test, ", ".join(words)) if word)


def _lines(some: Sequence[PastedResult]) -> Iterator[dict[str, object]]:
    together = len(some) > 2 and agree(some)
    for one in some[:1] if together else some:
        shown = some if together else [one]
        values = sorted((each.seconds or 0.0) if each.rate is None else each.rate for each in shown)
        yield {
            "test": _named(one),
            "path": f"{len(some)} paths" if together else one.path,
            "bytes": one.size or None,
            "value": [values[0], values[-1]] if together else [values[0]] * 2,
            "unit": TIME if one.rate is None else RATE,
            "line_gbps": one.line_gbps,
        }
