"""Selection: devices, methods, sizes, precision, budget, rounds and clock that a user asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from linkscope.documents.sizes import parse_sizes
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.machine.traits import MethodTraits, assumed_method
from linkscope.messages.near_names import unknown
from linkscope.plan.budget import RoundLimits
from linkscope.plan.candidates import PERMUTATIONS
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.workload_row import INTERFACES, WorkloadRow

CLOCKS = ("device", "host", "batch")


@dataclass(frozen=True)
class Selection:
    """Empty fields narrow nothing.

    ``sizes`` replaces those of bandwidth rows, messages and collectives; other latencies and regions keep theirs. A row
    that takes none of ``sizes`` is left out. ``hosts``: those, alike, on which processes are started; ``slots``:
    for how many processes they have room in all, 0 where nobody says. ``permutations``: of each random pattern.
    """

    devices: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    clock: str | None = None
    hosts: int = 1
    slots: int = 0
    permutations: int = PERMUTATIONS

    def rows_of(self, suite: Suite, traits_of: Callable[[str], MethodTraits] = assumed_method) -> list[SuiteRow]:
        """The test as this selection leaves them; ``traits_of`` a method say if it sends empty messages."""
        narrowed = (self._narrow(row, traits_of) for row in suite.rows)
        return [row for row in narrowed if row.methods]

    def workloads_of(self, suite: Suite) -> list[WorkloadRow]:
        """The suite's workloads with the interfaces that this selection leaves them; their clock is the host's."""
        narrowed = (
            replace(row, interfaces=tuple(one for one in row.interfaces if self._wants(INTERFACES[one])))
            for row in suite.workloads
        )
        return [row for row in narrowed if row.interfaces]

    def _wants(self, method: str) -> bool:
        return not self.methods or method in self.methods

    def _narrow(self, row: SuiteRow, traits_of: Callable[[str], MethodTraits]) -> SuiteRow:
        takes_empty = all(traits_of(one).takes_empty for one in row.methods)
        methods = tuple(method for method in row.methods if self._wants(method))
        messages = takes_empty or "each" in row.processes
        one_size = row.figure == "latency" and not (row.collectives or messages)
        if self.sizes and not (one_size or row.by_region or row.sizes == (0,)):
            empty_too = takes_empty and row.figure == "latency"
            sizes = tuple(size for size in self.sizes if size > 0 or empty_too)
            methods = methods if sizes else ()
        else:
            sizes = row.sizes
        clocks = (self.clock,) if self.clock else row.clocks
        return replace(row, methods=methods, sizes=sizes, clocks=clocks, declared=row)


def parse_devices(text: str, node: Node) -> tuple[str, ...]:
    """Ids of "gpu:0,gpu:2" or "gpu:0-3,numa:1". Raises LinkscopeError for one that ``node`` lacks."""
    known = [device.id for device in node.devices if device.kind in ("gpu", "numa")]
    wanted: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(gpu|numa):(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise LinkscopeError(f"malformed device {part!r}: write gpu:0,gpu:2 or gpu:0-3,numa:1")
        kind, first, last = match.group(1), int(match.group(2)), int(match.group(3) or match.group(2))
        wanted += [f"{kind}:{number}" for number in range(first, min(last, first + 1023) + 1)]
    for device in wanted:
        if device not in known:
            raise LinkscopeError(f"unknown device {device!r}: {node.name} has {', '.join(known) or 'none'}")
    return tuple(dict.fromkeys(wanted))


def allowed_devices(node: Node, devices: tuple[str, ...]) -> frozenset[str]:
    """Ids that flows may use. Naming GPUs alone keeps all NUMA nodes; naming NUMA nodes alone leaves out all GPUs."""
    if not devices:
        return frozenset(device.id for device in node.devices)
    if any(device.startswith("numa:") for device in devices):
        return frozenset(devices)
    return frozenset(devices) | {device.id for device in node.of_kind("numa")}


def parse_methods(text: str, known: list[str]) -> tuple[str, ...]:
    """Names of "copy-engine,kernel-copy". Raises LinkscopeError for one that is not in ``known``."""
    wanted = tuple(name.strip() for name in text.split(","))
    for name in wanted:
        if name not in known:
            raise unknown("method", name, sorted(known), "linkscope list methods")
    return wanted


def parse_clock(text: str) -> str:
    """ "device", "host" or "batch"; raises LinkscopeError for another word."""
    if text not in CLOCKS:
        raise unknown("clock", text, CLOCKS)
    return text


def parse_precision(text: str) -> float:
    """0.01 of "1%" or "0.01"; between 0.01 % and 50 %."""
    return parse_share("precision", text, 0.0001)


def parse_share(what: str, text: str, least: float) -> float:
    """0.01 of "1%" or "0.01"; between ``least`` and 50 %. Raises LinkscopeError that names ``what``."""
    match = re.fullmatch(r"\s*(\d*\.?\d+)\s*(%?)\s*", text)
    value = float(match.group(1)) * (0.01 if match.group(2) else 1.0) if match else -1.0
    if not least <= value <= 0.5:
        raise LinkscopeError(f"malformed {what} {text!r}: write 1% or 0.01, from {least * 100:g}% to 50%")
    return value


def parse_rounds(text: str) -> RoundLimits:
    """Read "3" (exactly three rounds) or "3:6" (three, and up to six where the interval is wider than asked)."""
    match = re.fullmatch(r"\s*(\d{1,4})\s*(?::\s*(\d{1,4})\s*)?", text)
    least, most = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (0, 0)
    if not 1 <= least <= most:
        raise LinkscopeError(f"malformed rounds {text!r}: write 3, or 3:6 for three to six")
    return RoundLimits(least, most)


def selection(
    node: Node, known_methods: list[str], devices: str | None, methods: str | None, sizes: str | None, clock: str | None
) -> Selection:
    """The command line's words, checked against what there is. Raises LinkscopeError for the first wrong one."""
    return Selection(
        devices=parse_devices(devices, node) if devices else (),
        methods=parse_methods(methods, known_methods) if methods else (),
        sizes=tuple(parse_sizes(sizes, least=0)) if sizes else (),
        clock=parse_clock(clock) if clock else None,
    )
