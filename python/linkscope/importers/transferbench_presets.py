"""TransferBench's presets but p2p, and its lists of transfers ("Test 1:"), in which "G0 -> G1:8 -> F2" is a transfer
from the memory of GPU 0, by 8 compute units of GPU 1, to that of GPU 2.

Formats: client/Presets/*.hpp, PrintResults in client/Utilities.hpp; TransferBench.cpp up to 1.52.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linkscope.importers.matrices import is_cell
from linkscope.importers.peer_output import (
    GBPS,
    LARGEST,
    MOST_GPUS,
    SECONDS,
    UNKNOWN,
    Figure,
    Movement,
    plain_number,
    single,
)
from linkscope.messages.finding import Finding, note

TOOL = "TransferBench"
_PRESETS = {
    "All-To-All benchmark": "a2a",
    "Rings benchmark": "rings",
    "Scaling benchmark": "scaling",
    "Pingpong round-trip latency": "latency",
    "NIC RDMA": "nicp2p",
}
_TEST = re.compile(r"Test (\d{1,6}):")
_LISTED = re.compile(
    r"Transfer (\d{1,4}) *\| *(\d{1,9}\.\d{1,3}) GB/s *\| *\d{1,9}\.\d{1,3} ms *\| *(\d{1,15}) bytes *\| *"
    r"(\w{1,64}) -> (?:(?:CPU|GPU|DMA|NIC)|([CGDITN]))(\d{1,3})(?:\.\d{1,3})?:(\d{1,4}) -> (\w{1,64})"
)
_TYPED = re.compile(r"-> (CPU|GPU|DMA|NIC)\d")
_ROWS = re.compile(
    r"(\d{1,6}),(\d{1,4}),(\d{1,15}),(\w{1,64}),([CGDIN])(\d{1,3}),(\w{1,64}),(\d{1,4}),(\d{1,9}\.\d{1,3}),"
    r"\d{1,9}\.\d{1,3}(?:,.*)?"
)
_HARMLESS = re.compile(
    r" *(?:Executor: |Aggregate|Iter \d|StandardDev|# Iters Run|Average |Minimum |Maximum |RTotal|Best |Ring ?\d|Device"
    r"|MIN |AVG |MAX |SUM |- Copying|- All numbers|Running \d|\[\d{1,15} (?:bytes|laps)|Test#)"
)
_ONE = re.compile(r"\((\w{1,8}) ([GD])(\d{1,3}) (\w{1,8})\)")
_CARDS = re.compile(r"NIC Device[ |]+((?:[a-z]\w{1,20}[ |]+){1,256})")
_CARD = re.compile(
    r"(?:Rank (\d{1,3}) *\| *)?([a-z]\w{1,20}) +GPU (\d{1,3}) *\|((?:[ |]+\d{1,9}\.\d{1,3}){1,2048})[ |]*"
)
_BLANK = re.compile(r"(?:GPU \d{1,3} *){0,64}|-+")
_SWEEP = re.compile(r"Executing \(\w{1,3}\*? -> [GD]\d{1,3} -> \w{1,3}\*?\)")
_COPYING = re.compile(r"(\d{1,15}) bytes (?:between|from GPU (\d{1,3})|per Transfer)")
_DEVICES = re.compile(r"(CPU|GPU) ?(\d{1,3})")
_CHECK = re.compile(
    r"Testing (unidirectional|bidirectional|all-to-all|HBM performance) ?(.{0,40}?) *(?:[. ]*(?:PASS|FAIL).*)?"
)
_MEASURED = re.compile(
    r"GPU (\d{1,3})(?: to GPU (\d{1,3}))?: {0,3}:? {0,3}(?:Measured:?)? {0,9}(\d{1,9}\.\d{1,3})(?: GB/s)? {1,9}"
    r"(?:Criteria:|Limit) {1,9}(\d{1,9}\.\d{1,3}).*"
)
_MEMORIES = {"C": "pinned", "B": "pinned", "P": "pinned", "U": "pageable", "G": "device", "F": "device", "M": "managed"}
_METHODS = {
    "C": "memcpy",
    "CPU": "memcpy",
    "G": "kernel-copy",
    "GPU": "kernel-copy",
    "D": "copy-engine",
    "DMA": "copy-engine",
}
_METHODS |= {"T": "kernel-bulk-copy"}


@dataclass
class _PrintedTransfer:
    """A transfer of a list: ``read_only`` and such come of memory "N", none."""

    test: str
    line: int
    value: float
    size: int | None
    source: str
    by: tuple[str, int, int]
    destination: str


@dataclass
class Presets:
    """Hold what was read of presets. ``preset``: the one whose lines follow; ``summary``: whether its matrix does."""

    preset: str = ""
    summary: bool = False
    test: str = ""
    devices: list[str] = field(default_factory=list)
    size: int | None = None
    root: int = 0
    check: tuple[str, str] = ("", "")
    pulled: bool = False
    transfers: list[_PrintedTransfer] = field(default_factory=list)
    found: list[Figure] = field(default_factory=list)
    ring: list[list[tuple[int, int, float]]] = field(default_factory=list)
    method: str = "kernel-copy"
    ring_method: str = "kernel-copy"
    limits: dict[float, int] = field(default_factory=dict)

    def end(self) -> None:
        """End a preset, where another begins."""
        self.preset, self.summary, self.devices = "", False, []

    def take(self, number: int, raw: str) -> bool:
        """Take a line; return whether it is one of these."""
        line = raw.replace("│", "|")
        text = line.strip(" |").rstrip(" |,")
        name = next((short for words, short in _PRESETS.items() if words in text), "")
        if name:
            self.end()
            self.preset, self.method = name, "copy-engine" if "GPU-DMA" in text else "kernel-copy"
        elif self.preset == "nicp2p" and self._cards(number, text):
            pass
        elif match := _TEST.fullmatch(text):
            self.test = match[1]
        elif text.startswith("USE_REMOTE_READ"):
            self.pulled = re.match(r"USE_REMOTE_READ[ =,]+1\b", text) is not None
        elif "Executing (" in text and _SWEEP.search(text):
            self.end()
            self.preset = "one2all"
        elif match := _LISTED.fullmatch(text):
            self._listed(number, text, match)
        elif match := _ROWS.fullmatch(line.strip()):
            place = (match[5], int(match[6]), int(match[8]))
            one = _PrintedTransfer(match[1], number, float(match[9]), int(match[3]), match[4], place, match[7])
            self.transfers.append(one)
        elif (match := _CHECK.fullmatch(text)) and match[1]:
            self.end()
            self.check = (match[1], match[2])
        elif match := _MEASURED.fullmatch(text):
            self._measured(number, match)
        else:
            return self._table(number, re.sub(r"[,|]", " ", text))
        return True

    def _listed(self, number: int, text: str, match: re.Match[str]) -> None:
        typed = _TYPED.search(text)
        by = (match[5] or (typed[1][0] if typed else "G"), int(match[6]), int(match[7]))
        size, value = int(match[3]), float(match[2])
        self.transfers.append(_PrintedTransfer(self.test, number, value, size, match[4], by, match[8]))

    def _table(self, number: int, text: str) -> bool:
        """Take a line of a preset's table, or one that says nothing more."""
        if match := _COPYING.search(text):
            self.size, self.root = int(match[1]), int(match[2] or 0)
        words = text.split()
        if text.startswith("Summary:"):
            self.summary = True
        elif (text.startswith("SRC\\DST") and self.summary) or text.startswith(("NumCUs", "PING\\PONG")):
            kinds = {"CPU": "numa", "GPU": "gpu"}
            self.devices = [f"{kinds[kind]}:{int(index)}" for kind, index in _DEVICES.findall(text)]
            self.preset = self.preset or {"S": "a2a", "N": "scaling", "P": "latency"}[text[0]]
        elif self.preset == "one2all" and (ones := _ONE.findall(text)):
            values = [float(word) for word in text.partition("(")[0].split()[: len(ones)] if is_cell(word)]
            for value, (source, by, index, destination) in zip(values, ones, strict=False):
                one = (by, int(index), 0)
                test = f"one2all {len(ones)}"
                self.transfers.append(_PrintedTransfer(test, number, value, self.size, source, one, destination))
        elif (self.preset == "one2all" and _BLANK.fullmatch(text)) or (self.devices and self._row(number, text)):
            pass
        elif self.preset == "rings" and len(words) > 1 and len(words) % 2 == 0 and all(map(is_cell, words)):
            pairs = list(zip(words[::2], words[1::2], strict=True))
            if all(one.isdigit() and len(one) < 4 for one, _ in pairs):
                self.ring_method = self.method
                self.ring.append([(number, int(one), float(plain_number(value) or 0)) for one, value in pairs])
        else:
            return bool(self.preset or self.test) and (not words or _HARMLESS.match(text) is not None)
        return True

    def _cards(self, number: int, text: str) -> bool:
        """Take a line of the table of network cards, whose columns go through those of each rank."""
        if match := _CARDS.match(f"{text} "):
            self.devices = match[1].replace("|", " ").split()
        elif (match := _CARD.fullmatch(text)) and self.devices:
            self.root = int(match[1]) if match[1] else self.root
            each = max(len(set(self.devices)), 1)
            for at, (there, word) in enumerate(zip(self.devices, match[4].replace("|", " ").split(), strict=False)):
                ends = f"nic:{match[2]}", f"nic:{there}"
                moves = Movement(
                    "network", "verbs", *ends, "", ("device", "device"), hosts=max(len(self.devices) // each, 1)
                )
                moves = replace(moves, varies=f"rank {self.root} to {at // each}")
                if float(word) > 0:
                    self.found.append(
                        Figure(f"{TOOL} nicp2p", single(float(word)), GBPS, *ends, moves=moves, line=number)
                    )
        else:
            return not text or text.startswith(("Completed ", "SRC+EXE", "Rank", "Mem Device"))
        return True

    def _row(self, number: int, text: str) -> bool:
        """Take a row of a2a, scaling or latency."""
        match = _DEVICES.match(text)
        words = text[match.end() :].split() if match and self.preset != "scaling" else text.split()
        if not words or not all(map(is_cell, words)) or (match is None and self.preset != "scaling"):
            return False
        units, values = (words[0], words[1:]) if self.preset == "scaling" else ("", words)
        if len(values) > len(self.devices) + 3 or (units and not units.isdigit()):
            return False
        here = f"gpu:{self.root}" if units else f"gpu:{int(match[2])}" if match else ""
        for there, word in zip(self.devices, values, strict=False):
            value = plain_number(word)
            if value and value > 0:
                self.found.append(self._figure(number, here, there, value, f"CUs {units}" if units else ""))
        return True

    def _figure(self, number: int, here: str, there: str, value: float, varies: str) -> Figure:
        memories = ("device", "device" if there.startswith("gpu") else "pinned")
        driver = there if self.pulled and there.startswith("gpu") else here
        moves = Movement(kind_of(here, there), self.method, here, there, driver, memories, varies=varies)
        test = f"{TOOL} {self.preset}"
        if self.preset == "latency":
            moves = replace(moves, method="ping-pong", varies="round trip")
            return Figure(test, single(value * 1e-6), SECONDS, here, there, moves=moves, line=number)
        return Figure(test, single(value), GBPS, here, there, self.size, moves=moves, line=number)

    def _measured(self, number: int, match: re.Match[str]) -> None:
        """Take a line of healthcheck, with its own limit."""
        what, words = self.check
        here, value = f"gpu:{int(match[1])}", float(match[3])
        self.limits[float(match[4])] = self.limits.get(float(match[4]), 0) + 1
        test = f"{TOOL} healthcheck {what}"
        if match[2]:
            there = f"gpu:{int(match[2])}"
            moves = Movement("peer", "kernel-copy", here, there, here, ("device", "device"), at_once=56)
        elif what == "unidirectional" and words.startswith("device"):
            moves = Movement("to-host", "copy-engine", here, "", here, ("device", "pinned"))
        elif what in ("unidirectional", "bidirectional"):
            both = what == "bidirectional"
            moves = Movement("to-gpu", "copy-engine", "", here, here, ("pinned", "device"), both=both)
        elif "[ADD]" in words or not words:
            return
        else:
            method = "kernel-" + words.strip("[]").lower()
            moves = Movement("local", method, here, here, here, ("device", "device"))
        ends = moves.source, moves.destination
        self.found.append(Figure(test, single(value), GBPS, *ends, 256 << 20, moves=moves, line=number))

    def figures(self) -> Iterator[Figure]:
        """Yield the results of all presets. A list above a matrix of the same transfers is not counted twice."""
        pairs = {(one.row, one.column) for one in self.found if one.test.endswith(" a2a")}
        for one in self.found:
            among = len(pairs) if one.test.endswith(" a2a") and one.moves else 0
            yield replace(one, moves=replace(one.moves, at_once=among)) if among and one.moves else one
        at_once: dict[str, int] = {}
        for transfer in self.transfers:
            at_once[transfer.test] = at_once.get(transfer.test, 0) + 1
        for transfer in self.transfers:
            many = int(transfer.test[8:]) if transfer.test.startswith("one2all") else at_once[transfer.test]
            found = _of_list(transfer, many, len(at_once) > 1)
            again = found is not None and transfer.test in ("", "1") and (found.row, found.column) in pairs
            if found is not None and not again:
                yield found
        for rings in zip(*self.ring, strict=False) if len({len(row) for row in self.ring}) == 1 else ():
            for (number, device, value), (_, following, _) in zip(rings, [*rings[1:], rings[0]], strict=True):
                self.preset, self.method = "rings", self.ring_method
                ends = f"gpu:{device}", f"gpu:{following}"
                if value > 0:
                    yield self._figure(number, *ends, value, "")

    def findings(self) -> Iterator[Finding]:
        """Yield healthcheck's own limits."""
        for limit, count in self.limits.items():
            yield note("import.other-limit", tool=TOOL, check="healthcheck", limit=limit, results=count)


def _of_list(transfer: _PrintedTransfer, at_once: int, several: bool) -> Figure | None:
    """Return a transfer's result; None for one of several sources or destinations, or between hosts."""
    ends = [re.fullmatch(r"([A-Z])(\d{0,3})", word) for word in (transfer.source, transfer.destination)]
    kind, index, units = transfer.by
    if ends[0] is None or ends[1] is None or not 0 < transfer.value < LARGEST or index >= MOST_GPUS:
        return None
    source, destination = _place(ends[0]), _place(ends[1])
    method = _METHODS.get(kind, "verbs")
    if not source and not destination:
        return None
    if not source or not destination:
        method = {"": "kernel-write"}.get(source, "kernel-read") if method == "kernel-copy" else method
        source, destination = source or destination, destination or source
    letters = [end[1] for end in ends if end and end[1] != "N"]
    memories = _MEMORIES.get(letters[0], UNKNOWN), _MEMORIES.get(letters[-1], UNKNOWN)
    driver = f"numa:{index}" if kind == "C" else f"gpu:{index}" if method != "verbs" else ""
    varies = f"CUs {units}" if units and kind == "G" else ""
    if several and not transfer.test.startswith("one2all"):
        varies = f"test {transfer.test}"
    test = f"{TOOL} {'one2all' if transfer.test.startswith('one2all') else 'transfers'}"
    moves = Movement(
        "network" if method == "verbs" else kind_of(source, destination),
        method,
        source,
        destination,
        driver,
        memories,
        at_once=at_once,
        varies=varies,
    )
    return Figure(
        test, single(transfer.value), GBPS, source, destination, transfer.size, moves=moves, line=transfer.line
    )


def _place(end: re.Match[str]) -> str:
    """Return where a memory is, "gpu:0", "numa:1"; "" for none. P is host memory near a GPU."""
    if end[1] == "N" or not end[2] or int(end[2]) >= MOST_GPUS:
        return ""
    return f"gpu:{int(end[2])}" if end[1] in "GFM" else f"numa:{int(end[2])}" if end[1] in "CBU" else "numa:0"


def kind_of(source: str, destination: str) -> str:
    """Return the kind of a movement between two devices."""
    kinds = source.partition(":")[0], destination.partition(":")[0]
    if kinds == ("gpu", "gpu"):
        return "local" if source == destination else "peer"
    return {("numa", "gpu"): "to-gpu", ("gpu", "numa"): "to-host"}.get(kinds, "host")
