"""DeepEP's test prints: dispatch and combine of experts' rows, in GB/s of the rows that a rank receives or sends.

Formats: tests/legacy of DeepEP 1 (test_intranode, test_internode, test_low_latency) and tests/elastic of DeepEP 2
(test_ep, test_agrs). All count a rank's rows to itself, which cross no link: of n ranks (n - 1) / n do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkscope.importers.peer_output import Figure, Movement, PeerOutput, Source, plain_number, single
from linkscope.messages.finding import error

TOOL = "DeepEP"
SUMMARY = "DeepEP 1 and 2: what its tests print"
_NUMBER = r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)"
_TUNING = re.compile(
    r"\[(?:[\w.-]{1,40} )?tuning\] (?:Best (\w{1,12})(?: \((\w{1,8})\))?: )?SMs (\d{1,4}), NVL chunk (\w{1,8})"
    r"(?:, RDMA chunk (\w{1,8}))?[:,](.{0,200})"
)
_RATE = re.compile(_NUMBER + r" GB/s \((NVL|RDMA)\)")
_RANK = re.compile(r"\[rank (\d{1,5})\] (.{0,400})")
_LOW_LATENCY = re.compile(r"(Dispatch \+ combine|Dispatch|Combine) bandwidth: " + _NUMBER + " GB/s")
_TIMES = re.compile(r"\[rank \d{1,5}\] Dispatch send/recv time: ")
_ELASTIC = re.compile(
    r"\s{0,8}[*\-#@+] EP: {1,6}(\d{1,5})/ {0,4}(\d{1,5}) \| ([a-z ]{6,24}): "
    + _NUMBER
    + r" GB/s \(SO\), "
    + _NUMBER
    + r" GB/s \(SU\)"
)
_GATHER = re.compile(
    r"\s{0,8}> Rank: {1,6}(\d{1,5})/ {0,4}(\d{1,5}) \| (\d{1,5}) x (\d{1,6}) ([MK])B \| avg: "
    + _NUMBER
    + " us, "
    + _NUMBER
    + r" GB/s \(inplace=(\d), batched=(\d)\)"
)
_HEAD = re.compile(r"\[(?:config|layout|testing)\] |\s{0,4}> (?:Ranks|Experts|Tokens|#SM|Testing|Seed) ?[:\w]|Config:$")
_RANKS = re.compile(r"\s{0,4}> Ranks: (\d{1,5})(?: x (\d{1,5}))?$")
_FAILED = re.compile(r"(?:AssertionError|RuntimeError|torch\.AcceleratorError)\b")
_UNITS = {"M": 1_000_000, "K": 1_000}


@dataclass(frozen=True)
class _Tuned:
    """A line of a sweep over chunks, before the line that says what the sweep was of."""

    line: int
    chunk: str
    varies: str
    rates: tuple[tuple[str, str], ...]


def recognises(text: str) -> bool:
    """Return whether a text holds prints of DeepEP's tests."""
    if re.search(r"tuning\] (?:Best \w{1,12}.{0,12}: )?SMs \d{1,4}, NVL chunk", text):
        return True
    return (
        re.search(r"\] Dispatch (?:\+ combine )?bandwidth: |GB/s \(SO\), |GB/s \(inplace=\d, batched=", text)
        is not None
    )


def read(source: Source) -> PeerOutput:
    """Return a rate for each setting of each test. Raises LinkscopeError where there is none."""
    figures: list[Figure] = []
    sweep: list[_Tuned] = []
    taken: set[int] = set()
    ranks, stop = source.processes or 0, ""
    for number, line in enumerate(source.lines, 1):
        if match := _TUNING.match(line):
            best, rates = match[1], tuple(_RATE.findall(match[6]))
            settings = [f"NVL chunk {match[4]}", *([f"RDMA chunk {match[5]}"] if match[5] else []), f"{match[3]} SMs"]
            if best:
                what = " ".join(word for word in match.group(1, 2) if word)
                figures += _swept(sweep, what)
                figures += _tuned(_Tuned(number, "", f"best of {what}", rates), what)
                sweep = []
            else:
                sweep.append(_Tuned(number, match[4], ", ".join(settings), rates))
        elif (match := _RANK.match(line)) and _LOW_LATENCY.search(match[2]):
            ranks = max(ranks, int(match[1]) + 1)
            for what, rate in _LOW_LATENCY.findall(match[2]):
                figures += _figure(number, "test_low_latency", rate, f"{what.lower()}, rank {match[1]}")
        elif match := _ELASTIC.match(line):
            ranks = max(ranks, int(match[2]))
            for rate, way in ((match[4], "scale-out"), (match[5], "scale-up")):
                found = _figure(number, "test_ep", rate, f"{match[3].strip()}, {way}, rank {match[1]}")
                figures += (_over_hosts(one) if way == "scale-out" else one for one in found)
        elif match := _GATHER.match(line):
            ranks, size = max(ranks, int(match[2])), int(match[3]) * int(match[4]) * _UNITS[match[5]]
            places = [
                word for word, said in zip(("in place", "batched"), match.group(8, 9), strict=True) if said == "1"
            ]
            varies = ", ".join((*places, f"rank {match[1]}"))
            figures += _figure(number, "test_agrs", match[7], varies, "all-gather", size)
        elif match := _RANKS.match(line):
            ranks = max(ranks, int(match[1]) * int(match[2] or 1))
        elif not (_HEAD.match(line) or _TIMES.match(line)):
            failed = _FAILED.match(line) if taken else None
            stop = failed[0] if failed else stop
            continue
        taken.add(number)
    figures += _swept(sweep, "")
    if not figures and not stop:
        raise source.wrong(0, "no line of DeepEP's tests has a rate")
    figures.sort(key=lambda one: not (one.moves and one.moves.varies.startswith("best of")))  # a table shows its first
    known = tuple(replace(one, moves=replace(one.moves, ranks=ranks)) for one in figures if one.moves is not None)
    last = figures[-1].test.removeprefix(f"{TOOL} ") if figures else TOOL
    findings = (error("import.stopped", tool=TOOL, test=last, what=stop),) if stop else ()
    return PeerOutput(TOOL, "", (), known, findings=findings, read=frozenset(taken))


def _swept(sweep: Sequence[_Tuned], what: str) -> Iterator[Figure]:
    """Yield the figures of a sweep over chunks; without its last line its chunks tell what it is of: a dispatch tries
    even ones from 4 on, a combine all from 1 on."""
    chunks = [int(one.chunk) for one in sweep if one.chunk.isdigit()]
    what = what or (
        "dispatch" if chunks and min(chunks) >= 4 and all(chunk % 2 == 0 for chunk in chunks) else "combine"
    )
    for one in sweep:
        yield from _tuned(replace(one, varies=f"{what}, {one.varies}"), what)


def _tuned(one: _Tuned, what: str) -> Iterator[Figure]:
    """Yield the rates of a line: over NVLink, and of a test over several hosts over the network."""
    several = any(way == "RDMA" for _, way in one.rates)
    for rate, way in one.rates:
        test = "test_internode" if several else "test_intranode"
        found = _figure(one.line, test, rate, f"{one.varies}, {way}" if several else one.varies)
        yield from (_over_hosts(figure) if several else figure for figure in found)


def _over_hosts(figure: Figure) -> Figure:
    """Return the figure as one of two hosts at least: the tests do not print how many."""
    return figure if figure.moves is None else replace(figure, moves=replace(figure.moves, hosts=2))


def _figure(
    line: int, test: str, rate: str, varies: str, collective: str = "all-to-all", size: int | None = None
) -> Iterator[Figure]:
    value = plain_number(rate)
    if value is not None and value > 0:
        moves = Movement(
            "collective",
            "deepep",
            executor="gpu:0",
            memories=("device", "device"),
            collective=collective,
            varies=varies,
            counts="own-rows",
        )
        yield Figure(f"{TOOL} {test}", single(value), size=size, facts={"clock": "device"}, moves=moves, line=line)
