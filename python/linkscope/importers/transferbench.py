"""TransferBench's preset p2p, as table and as CSV (OUTPUT_TO_CSV=1). Format: RunPeerToPeerBenchmarks of version 1.52.

Of its transfers those that GPUs drive are cases of linkscope; what its CPUs drive is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from linkscope.importers.peer_output import (
    GBPS,
    MOST_GPUS,
    Figure,
    Gpu,
    PeerOutput,
    Source,
    plain_number,
    single,
    version_of,
)

TOOL = "TransferBench"
VERSIONS = ("1.52",)
SUITES = ("peer", "duplex", "host-device")
_TITLE = re.compile(
    r"(Uni|Bi)directional copy peak bandwidth GB/s \[(Local|Remote) read / \w+ write\] \(GPU-Executor: (\w+)\)"
)
_METHODS = {"GFX": "kernel-copy", "DMA": "copy-engine"}
_ROW = re.compile(r"\s*(CPU|GPU) (\d+)\s+(->|<-|<->|min|max|sd) (.*)")
_KINDS = {"CPU": "numa", "GPU": "gpu"}


@dataclass
class _Table:
    """The table being read. ``both``: whether transfers go both ways; ``pulled``: whether destinations drive them;
    ``lines``: of each source and kind of line ("->", "min"), the values by device."""

    method: str = ""
    both: bool = False
    pulled: bool = False
    devices: tuple[str, ...] = ()
    lines: dict[tuple[str, str], tuple[int, dict[str, str]]] = field(default_factory=dict)


def recognises(text: str) -> bool:
    """Whether a text looks like its preset p2p."""
    return re.search(r"^(Uni|Bi)directional copy peak bandwidth GB/s \[", text[:65536], re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError."""
    version, size, tables, last = "", None, [], ""
    for number, line in enumerate((line.replace(",", " ") for line in source.lines), 1):
        if match := re.match(r"TransferBench v(\S+)", line):
            version = version_of(source, match[1], number, VERSIONS, TOOL)
        elif match := re.fullmatch(r"Bytes Per Direction +(\d+) *", line):
            size = source.whole(match[1], number, "bytes")
        elif match := _TITLE.match(line):
            tables.append(_Table(_METHODS.get(match[3], match[3]), match[1] == "Bi", match[2] == "Remote"))
        elif "\\DST" in line and tables:
            found = re.findall(r"(CPU|GPU) +(\d+)", line)
            tables[-1].devices = tuple(f"{_KINDS[kind]}:{int(index)}" for kind, index in found)
        elif (match := _ROW.fullmatch(line)) and tables:
            last = _take(source, number, tables[-1], match, last)
    if size is None:
        raise source.wrong(0, "no line Bytes Per Direction (cut short?)")
    figures = [replace(figure, size=size) for table in tables for figure in _figures(source, table)]
    if not figures:
        raise source.wrong(0, "TransferBench printed no transfers that GPUs drive")
    devices = {device for table in tables for device in table.devices}
    gpus = sum(device.startswith("gpu:") for device in devices)
    return PeerOutput(
        TOOL,
        version,
        SUITES,
        tuple(figures),
        (Gpu(),) * min(gpus, MOST_GPUS),
        numa_nodes=max(len(devices) - gpus, 1),
    )


def _take(source: Source, number: int, table: _Table, match: re.Match[str], last: str) -> str:
    """Takes a line of figures; min, max and sd stand below the direction that they are of, which is returned."""
    words = match[4].split()
    if len(words) != len(table.devices) or not 0 < len(words) <= 2 * MOST_GPUS:
        raise source.wrong(number, f"{len(words)} results of {len(table.devices)} devices (cut short?)")
    kind = match[3] if match[3] in ("->", "<-", "<->") else f"{last} {match[3]}"
    values = dict(zip(table.devices, words, strict=True))
    table.lines[f"{_KINDS[match[1]]}:{int(match[2])}", kind] = (number, values)
    return match[3] if match[3] in ("->", "<-", "<->") else last


def _figures(source: Source, table: _Table) -> Iterator[Figure]:
    """Of every two devices whose transfer a GPU drives."""
    for (here, kind), (line, values) in table.lines.items():
        if kind != ("<->" if table.both else "->"):
            continue
        for there, word in values.items():
            driver = there if table.pulled else here
            ends_are_gpus = here.startswith("gpu:") and there.startswith("gpu:")
            if word == "N/A" or here == there or not driver.startswith("gpu:") or (table.both and not ends_are_gpus):
                continue
            value = single(source.number(word, line, f"{here} to {there}"))
            facts: dict[str, Any] = {"method": table.method, "devices": f"{here}>{there}"}
            facts |= {"side": "pull" if table.pulled else "push"}
            if table.both:
                ways = [table.lines.get((here, way), (line, {})) for way in ("->", "<-")]
                parts = tuple(single(source.number(of.get(there), at, f"{here} and {there}")) for at, of in ways)
                yield Figure(f"{TOOL} p2p", value, GBPS, facts=facts, parts=parts)
            else:
                least, most = (_at(table.lines, here, f"-> {name}", there, value.median) for name in ("min", "max"))
                value = replace(value, min=min(least, value.min), max=max(most, value.max))
                yield Figure(f"{TOOL} p2p", value, GBPS, facts=facts)


def _at(
    lines: Mapping[tuple[str, str], tuple[int, dict[str, str]]], here: str, kind: str, there: str, usual: float
) -> float:
    """The figure of a line that need not be there."""
    _, values = lines.get((here, kind), (0, {}))
    found = plain_number(values.get(there))
    return usual if found is None or found <= 0 else found
