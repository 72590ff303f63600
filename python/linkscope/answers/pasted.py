"""Pasted: what explain says of another tool's output besides what it says of any run: what the tool printed as wrong,
which path a rate is the fingerprint of, and what stands out among results that nothing is known of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.fingerprints import fingerprints, library_fingerprints
from linkscope.answers.topology_oddities import topology_findings
from linkscope.figures.columns import RATE, TIME
from linkscope.figures.run import Run
from linkscope.importers.peer_output import Movement, Topology
from linkscope.messages.finding import Finding, Level, error, note
from linkscope.results.row import Row

LIKE = 0.9
"""A direction that reaches less than this share of the way back stands out."""
MOST = 0.7
"""Share of a table's results that must agree for another to stand out."""
SPREAD = 0.1
"""How far the results of one group of GPUs may be apart."""
_PCIE = re.compile(r"pcie(\d)-x(\d+)")
_MOST_LIKELY = 2
"""Fingerprints on the first screen."""


@dataclass(frozen=True)
class Reading:
    """A result of a paste. ``rate``: GB/s of all that it counts, None of a latency. ``line_gbps``: what the links
    between the ends carry, both directions added where the result adds them; None where nothing says."""

    row: Row
    moves: Movement
    test: str
    size: int
    rate: float | None
    seconds: float
    line_gbps: float | None

    @property
    def series(self) -> tuple[str, ...]:
        """Return what readings share that differ in size alone."""
        return self.test, self.moves.varies, self.moves.source, self.moves.destination

    @property
    def table(self) -> tuple[str, ...]:
        """Return what readings share that differ in devices or size alone."""
        return self.test, self.moves.varies, self.moves.kind


def readings_of(run: Run) -> list[Reading]:
    """Return the results of a run that another tool made, in the order of the paste."""
    found = []
    for row in run.file.rows:
        origin = row.imported
        moves = origin.moves if origin is not None else None
        if row.status == "ok" and isinstance(moves, dict) and row.flows:
            movement = Movement(**{**moves, "memories": tuple(moves["memories"])})
            found.append(_reading(run, row, movement, str(origin.test or "") if origin else ""))
    return found


def _reading(run: Run, row: Row, moves: Movement, test: str) -> Reading:
    flow, first = row.case["flows"][0], row.flows[0]
    rates = [one.gbps.median for one in row.flows if one.gbps is not None]
    timed = row.labels.get("figure") == "latency"
    rate = (sum(rates) if moves.both else rates[0]) if rates and not (timed and moves.kind != "collective") else None
    return Reading(row, moves, test, flow["bytes"], rate, first.seconds.median, _line_gbps(run, moves))


def _line_gbps(run: Run, moves: Movement) -> float | None:
    if not moves.source or not moves.destination or moves.source == moves.destination:
        return None
    try:
        path = run.paths.between(moves.source, moves.destination)
    except KeyError:
        return None
    peak = path.peak_gbps if path is not None else None
    return peak * (2 if moves.both else 1) if peak else None


def of_paste(run: Run, answer: Answer, checked: Collection[str]) -> Answer:
    """Return explain's answer of a run that another tool made. ``checked``: the cases that ``answer`` has compared with
    anything."""
    readings = readings_of(run)
    open_ones = [one for one in readings if one.row.id not in checked]
    printed = run.printed
    wrong = [one for one in printed if one.level is Level.ERROR]
    topology = run.topology
    odd = topology_findings(topology) if topology is not None else []
    groups = list(_groups(readings))
    lone = [*_asymmetric(readings), *groups, *([] if groups else _outliers(open_ones))]
    likely = _likely(run, readings)
    told = [one for one in printed if one.level is not Level.ERROR]
    headline, outcome = answer.headline, answer.outcome
    causes = [one for one in (*odd, *lone, *likely) if one.level is Level.ERROR]
    if wrong:
        headline, outcome = replace(wrong[0], level=Level.NOTE), Outcome.FAILS
    elif outcome is not Outcome.FAILS and causes:
        headline, outcome = replace(causes[0], level=Level.NOTE), Outcome.FAILS
    elif not checked and outcome is Outcome.UNTESTED:
        headline = _untested(readings, topology, likely)
    shown = [one for one in (*wrong, *odd, *lone, *likely[:_MOST_LIKELY]) if one.code != headline.code]
    tables = answer.tables if checked else tuple(_tables(readings))
    return replace(
        answer,
        headline=headline,
        outcome=outcome,
        findings=(*shown, *answer.findings, *told),
        tables=tables,
        details=(*answer.details, *likely[_MOST_LIKELY:]),
    )


def _untested(readings: Sequence[Reading], topology: Topology | None, likely: Sequence[Finding]) -> Finding:
    """Return why nothing could be checked, and what would settle it."""
    if not readings:
        return note("paste.topology-fine" if topology is not None else "paste.no-results")
    if likely:
        return note("paste.likely-only", results=len(readings))
    if any(reading.moves.hosts > 1 for reading in readings):
        return note("paste.several-hosts", hosts=max(reading.moves.hosts for reading in readings))
    return note("paste.no-reference", results=len(readings))


def _likely(run: Run, readings: Sequence[Reading]) -> list[Finding]:
    """Return what the rates are fingerprints of: of each table its fastest and its slowest result."""
    tables: defaultdict[tuple[str, ...], list[Reading]] = defaultdict(list)
    for reading in readings:
        if reading.rate:
            tables[reading.table].append(reading)
    memory = next((gpu.memory_gbps for gpu in run.node.of_kind("gpu") if gpu.memory_gbps), None)
    pcie = next((one for link in run.node.links if (one := _pcie(link.tier)) is not None), None)
    found: list[Finding] = []
    for some in tables.values():
        most = max(reading.size for reading in some)
        large = sorted((one for one in some if one.size == most), key=lambda one: one.rate or 0.0)
        for reading in large[-1:] if len(large) == 1 else (large[-1], large[0]):
            alike = sorted((one.size, one.rate or 0.0) for one in some if one.series == reading.series)
            found += fingerprints(
                reading.rate or 0.0,
                movement=reading.moves,
                size=reading.size or None,
                line_gbps=reading.line_gbps,
                memory_gbps=memory,
                pcie=pcie,
                sizes=alike,
            )
    for words in (one for one in run.printed if one.code == "import.library-words"):
        rates = [one.rate for one in readings if one.rate]
        found += library_fingerprints(words.facts, max(rates, default=None), None)
    unique = {(one.code, repr(one.facts)): one for one in found}
    return list({one.code: one for one in reversed(unique.values())}.values())[::-1]


def _pcie(tier: str) -> tuple[int, int] | None:
    """Return the generation and the width of a link, by its tier, "pcie5-x16"; None for other links."""
    match = _PCIE.fullmatch(tier)
    return (int(match[1]), int(match[2])) if match else None


def _asymmetric(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield the pairs of GPUs that are slower one way than back, of each table the farthest apart."""
    for some in _matrices(readings).values():
        ways = {(one.moves.source, one.moves.destination): one for one in some if not one.moves.both}
        pairs = [(one, ways[back]) for (a, b), one in ways.items() if (back := (b, a)) in ways and a != b]
        apart = [(one, back) for one, back in pairs if (one.rate or 0.0) < LIKE * (back.rate or 0.0)]
        if apart:
            worst, back = min(apart, key=lambda pair: (pair[0].rate or 0.0) / (pair[1].rate or 1.0))
            path = f"{worst.moves.source}>{worst.moves.destination}"
            yield error("paste.asymmetric", path=path, rate=worst.rate, back=back.rate, pairs=len(apart))


def _outliers(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield the results that fall behind, where nearly all others of their table and size agree."""
    tables: defaultdict[tuple[Any, ...], list[Reading]] = defaultdict(list)
    for one in readings:
        if one.rate and one.moves.source and one.moves.kind != "collective":
            tables[(*one.table, one.size, one.moves.both, one.moves.method)].append(one)
    for some in tables.values():
        usual = median(one.rate or 0.0 for one in some)
        alike = [one for one in some if abs((one.rate or 0.0) / usual - 1) <= SPREAD]
        slow = sorted((one for one in some if (one.rate or 0.0) < LIKE * usual), key=lambda one: one.rate or 0.0)
        if slow and len(alike) >= MOST * len(some) and len(some) > len(slow) + 1:
            paths = [f"{one.moves.source}>{one.moves.destination}" for one in slow]
            facts = {"paths": paths, "rate": slow[0].rate, "usual": usual, "others": len(some) - len(slow)}
            yield replace(error("paste.outliers", **facts), results=tuple(one.row.id for one in slow))


def _groups(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield which groups of GPUs a matrix falls into, where each reaches its own faster than all others."""
    for some in _matrices(readings).values():
        groups = groups_of({(one.moves.source, one.moves.destination): one.rate or 0.0 for one in some})
        if groups is not None:
            yield note(
                "paste.groups",
                groups=[" ".join(one) for one in groups.members],
                within=groups.within,
                across=groups.across,
            )
            return


@dataclass(frozen=True)
class Groups:
    """GPUs that reach one another at the rate ``within``, and those of other groups at ``across``, GB/s."""

    members: tuple[tuple[str, ...], ...]
    within: float
    across: float


def groups_of(rates: dict[tuple[str, str], float]) -> Groups | None:
    """Return the groups of devices that a matrix of rates falls into; None where it is not that, or one group."""
    devices = sorted({end for pair in rates for end in pair})
    if len(devices) < 3 or min(rates.values()) >= LIKE * max(rates.values()):
        return None
    middle = (min(rates.values()) * max(rates.values())) ** 0.5
    group = {device: {device} for device in devices}
    for (a, b), rate in rates.items():
        if rate > middle and group[a] is not group[b]:
            joined = group[a] | group[b]
            for device in joined:
                group[device] = joined
    members = sorted({tuple(sorted(one)) for one in group.values()})
    within = [rate for (a, b), rate in rates.items() if group[a] is group[b]]
    across = [rate for (a, b), rate in rates.items() if group[a] is not group[b]]
    if len(members) < 2 or not across or max(map(len, members)) < 2:
        return None
    if min(within) < (1 - SPREAD) * max(within) or min(across) < (1 - SPREAD) * max(across):
        return None
    return Groups(tuple(members), median(within), median(across))


def _matrices(readings: Sequence[Reading]) -> dict[tuple[Any, ...], list[Reading]]:
    """Return the readings between two GPUs, by table and size."""
    found: defaultdict[tuple[Any, ...], list[Reading]] = defaultdict(list)
    for one in readings:
        if one.moves.kind == "peer" and one.rate and one.moves.source != one.moves.destination:
            found[(*one.table, one.size, one.moves.both, one.moves.method)].append(one)
    return found


def _tables(readings: Sequence[Reading]) -> Iterator[Table]:
    """Yield the results: of each series the one of the largest size."""
    last: dict[tuple[str, ...], Reading] = {}
    for reading in readings:
        if reading.series not in last or reading.size >= last[reading.series].size:
            last[reading.series] = reading
    lines = [
        {
            **{"test": " ".join(word for word in (one.test, one.moves.varies) if word)},
            **{"path": f"{one.moves.source}>{one.moves.destination}" if one.moves.source else "", "bytes": one.size},
            **{"value": one.seconds if one.rate is None else one.rate, "unit": TIME if one.rate is None else RATE},
            **{"line_gbps": one.line_gbps},
        }
        for one in last.values()
    ]
    if lines:
        frame = polars.DataFrame(lines, infer_schema_length=None)
        columns = [
            Column("test", once=True),
            Column("path", Kind.PATH),
            Column("bytes", Kind.SIZE),
            Column("value", Kind.VALUE),
        ]
        if any(line["line_gbps"] for line in lines):
            columns.append(Column("line_gbps", Kind.NUMBER))
        yield Table("paste.results", frame, tuple(columns), first=12)
