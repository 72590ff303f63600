"""p2pBandwidthLatencyTest of the CUDA samples: its matrices. Format: p2pBandwidthLatencyTest.cu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linkscope.importers.peer_output import GBPS, MOST_GPUS, SECONDS, Figure, Gpu, PeerOutput, Source, single

TOOL = "p2pBandwidthLatencyTest"
SUITES = ("schieffer24",)
_BYTES = 160_000_000
_DEVICE = re.compile(
    r"Device: \d+, (.{0,200}), pciBusID: ([0-9a-f]+), pciDeviceID: ([0-9a-f]+), pciDomainID:([0-9a-f]+)"
)
_TITLE = re.compile(
    r"(?:(Uni|Bi)directional )?P2P=(Enabled|Disabled) (Bandwidth|Latency) ?(?:\(P2P (Writes|Reads)\) )?Matrix .*"
)
_HEAD = re.compile(r"\s*(D\\D|GPU|CPU)((?: +\d+)+) *")
_ASSUMED = "p2pBandwidthLatencyTest prints no size: 40 million ints by copy engines are assumed"


@dataclass(frozen=True)
class _Title:
    """What a matrix is of. ``kind``: unidirectional, bidirectional or latency; ``peers``: on or off."""

    kind: str
    peers: str
    reads: bool


def recognises(text: str) -> bool:
    """Whether a text looks like its."""
    return "P2P (Peer-to-Peer) GPU Bandwidth Latency Test" in text[:4096] or "P2P Connectivity Matrix" in text[:65536]


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError. What is between GPUs without peer access is no figure of P2P=Enabled; the copies within a
    GPU, which count twice there, are left out."""
    gpus: list[Gpu] = []
    figures: list[Figure] = []
    title: _Title | None = None
    connected: set[tuple[int, int]] = set()
    lines = iter(enumerate(source.lines, 1))
    for number, line in lines:
        if match := _DEVICE.fullmatch(line.strip()):
            gpus.append(Gpu(match[1], f"{match[4]:0>4}:{match[2]:0>2}:{match[3]:0>2}"))
        elif match := _TITLE.fullmatch(line.strip()):
            kind = "latency" if match[3] == "Latency" else f"{match[1]}directional".lower()
            title = _Title(kind, "on" if match[2] == "Enabled" else "off", match[4] == "Reads")
        elif match := _HEAD.fullmatch(line):
            cells = list(_cells(source, lines, number, len(match[2].split())))
            if title is None:
                connected = {(i, j) for i, j, word in cells if word == "1"}
            else:
                apart = [one for one in cells if _told(title, one, connected)]
                figures += _figures(source, number, title, match[1], apart)
    if not figures:
        raise source.wrong(0, f"{TOOL} printed no results between two GPUs")
    count = 1 + max(int(name.removeprefix("gpu:")) for one in figures for name in (one.row, one.column))
    listed = gpus if len(gpus) >= count else [Gpu()] * count
    return PeerOutput(TOOL, "", SUITES, tuple(figures), tuple(listed))


def _told(title: _Title, cell: tuple[int, int, str], connected: set[tuple[int, int]]) -> bool:
    """Whether a cell is of two GPUs, with the peer access that its matrix is about; of both ways, which two cells
    tell, the first."""
    i, j, _ = cell
    once = i < j if title.kind == "bidirectional" else i != j
    return once and (title.peers == "off" or (i, j) in connected)


def _cells(source: Source, lines: Iterator[tuple[int, str]], head: int, columns: int) -> Iterator[tuple[int, int, str]]:
    """A matrix below its head: (row, column, word)."""
    if columns > MOST_GPUS:
        raise source.wrong(head, f"{columns} GPUs are more than any node has")
    for row in range(columns):
        number, line = next(lines, (0, ""))
        words = line.split()
        if len(words) != columns + 1 or words[0] != str(row):
            raise source.wrong(number, f"a matrix of {columns} GPUs has no row {row} here: was it cut short?")
        yield from ((row, column, word) for column, word in enumerate(words[1:]))


def _figures(
    source: Source, line: int, title: _Title, head: str, cells: list[tuple[int, int, str]]
) -> Iterator[Figure]:
    """Of the rows' GPUs to the columns'; a GPU that reads drives the copy from the other."""
    for i, j, word in cells:
        latency = title.kind == "latency"
        ends = (j, i) if title.reads else (i, j)
        facts = {"peer_access": title.peers, "api": "peer", "side": "pull" if title.reads else "push"}
        if title.kind == "bidirectional":
            facts.pop("side")
        if latency:
            facts["clock"] = "host" if head == "CPU" else "device"
        yield Figure(
            f"{TOOL} {title.kind}",
            single(source.number(word, line, f"row {i}, column {j}") * (1e-6 if latency else 1)),
            SECONDS if latency else GBPS,
            f"gpu:{ends[0]}",
            f"gpu:{ends[1]}",
            None if latency else _BYTES,
            facts,
            notes=() if latency else (_ASSUMED,),
        )
