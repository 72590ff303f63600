"""AzureHPC node health checks: lines of NHC's log. Formats: customTests/azure_gpu_bandwidth.nhc, azure_gpu_nvlink.nhc,
azure_nccl_allreduce.nhc, azure_rccl_allreduce.nhc and azure_ib_write_bw_gdr.nhc.

Its GPU checks are nvbandwidth's copies by copy engines: P2P, between two GPUs, is read by the second. Limits are its
own, by kind of virtual machine, and are not what the hardware reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linkscope.importers.peer_output import GBPS, LARGEST, MOST_GPUS, Figure, Gpu, Movement, PeerOutput, Source, single
from linkscope.messages.finding import Finding, error, note, warning

TOOL = "azurehpc-health-checks"
SUMMARY = "log of the AzureHPC node health checks (NHC)"
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_GPU = re.compile(
    rf"check_gpu_bw: (H2D|D2H|P2P) test on GPU (\d{{1,3}})(?: to GPU (\d{{1,3}}))? "
    rf"(?:failed\. Bandwidth|has a bandwidth of) {_NUMBER}(?: is less than| GB/s\. Expected threshold) {_NUMBER}"
)
_DEBUG = re.compile(rf"\b(H2D|D2H|P2P)_GPU_(\d{{1,3}})(?:_(\d{{1,3}}))?: {_NUMBER} GB/s")
_REDUCED = re.compile(
    rf"\b([NR]CCL) all ?reduce(?: IB loopback)?"
    rf"(?:, BUS BW \(expected >={_NUMBER} GB/s, but measured| bandwidth test passed,) {_NUMBER} GB/s"
)
_CARD = re.compile(
    rf"\bIB=([a-z]\w{{1,20}})[^(]{{0,60}}\(expected > {_NUMBER} Gbps, but measured {_NUMBER} Gbps"
    rf"|passed for IB=([a-z]\w{{1,20}}), IB BW={_NUMBER} Gbps"
)
_INACTIVE = re.compile(r"check_nvlink_status: GPU (\d{1,3}) has (?:(all nvlinks inactive)|nvlinks inactive:)")
_LINK = re.compile(r"\bLink (\d{1,2}): (?:Inactive|<inactive>)")
_FAILED = re.compile(r"Health check failed: {1,4}(\w{1,40}): ")
_TESTS = {
    "H2D": "nvbandwidth host_to_device_memcpy_ce",
    "D2H": "nvbandwidth device_to_host_memcpy_ce",
    "P2P": "nvbandwidth device_to_device_memcpy_read_ce",
}
_BUFFER = 64 << 20
_ASSUMED = "the check prints no size: 64 MiB, the default of its nvbandwidth 0.4, is taken"


@dataclass
class _Read:
    """``limits``: a check's own limit and how many results are below it, by the check's name; ``links``: inactive, by
    GPU; ``failed``: other checks that failed."""

    figures: dict[tuple[str, ...], Figure] = field(default_factory=dict)
    limits: dict[tuple[str, float], int] = field(default_factory=dict)
    links: dict[int, set[int]] = field(default_factory=dict)
    all_links: list[int] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    gpus: set[int] = field(default_factory=set)


def recognises(text: str) -> bool:
    """Return whether a text holds lines of these checks."""
    return re.search(r"\bcheck_(?:gpu_bw|nvlink_status|[nr]ccl_allreduce\w{0,20}|ib_bw\w{0,20}): ", text) is not None


def read(source: Source) -> PeerOutput:
    """Return the results that the checks print, also of those that passed."""
    found, taken = _Read(), set()
    gpu: int | None = None
    for number, line in enumerate(source.lines, 1):
        links = [int(match[1]) for match in _LINK.finditer(line)]
        if match := _INACTIVE.search(line):
            gpu = int(match[1])
            found.links.setdefault(gpu, set()).update(links)
            found.all_links += [gpu] if match[2] else []
        elif links and gpu is not None:
            found.links[gpu].update(links)
        elif not _result(found, number, line) and not _other(found, line):
            continue
        taken.add(number)
    gpus = (Gpu(),) * min(max(found.gpus, default=-1) + 1, MOST_GPUS)
    findings = tuple(_findings(found))
    return PeerOutput(
        TOOL, "", ("nvbandwidth",), tuple(found.figures.values()), gpus, findings=findings, read=frozenset(taken)
    )


def _result(found: _Read, number: int, line: str) -> bool:
    """Take a line with a result; return whether it is one. A figure that stands twice counts once."""
    if (match := _GPU.search(line)) or (match := _DEBUG.search(line)):
        test, first, second = match[1], int(match[2]), match[3]
        if (test == "P2P") != (second is not None):
            return False
        moves = _moves(test, f"gpu:{first}", f"gpu:{int(second or 0)}")
        found.gpus |= {first, int(second)} if second else {first}
        row, column = (moves.destination, moves.source) if second else ("", f"gpu:{first}")
        _add(found, _TESTS[test], float(match[4]), moves, number, (row, column), _BUFFER)
        if match.re is _GPU:
            _limit(found, f"check_gpu_bw {test}", float(match[5]))
    elif match := _REDUCED.search(line):
        name = f"check_{match[1].lower()}_allreduce" + ("_ib_loopback" if "loopback" in line else "")
        device = ("device", "device")
        moves = Movement("collective", "xccl-collective", memories=device, collective="all-reduce", counts="bus")
        _add(found, f"{TOOL} {name}", float(match[3]), moves, number)
        _limit(found, name, float(match[2] or 0))
    elif match := _CARD.search(line):
        name = "check_ib_bw_non_gdr" if "non_gdr" in line else "check_ib_bw_gdr"
        memory = "pageable" if "non_gdr" in line else "device"
        moves = Movement("network", "verbs", memories=(memory, memory), varies=match[1] or match[4])
        _add(found, f"{TOOL} {name}", float(match[3] or match[5]) / 8, moves, number, (f"nic:{moves.varies}", ""))
        _limit(found, name, float(match[2] or 0) / 8)
    else:
        return False
    return True


def _moves(test: str, here: str, there: str) -> Movement:
    if test == "P2P":
        return Movement("peer", "copy-engine", here, there, there, ("device", "device"))
    if test == "H2D":
        return Movement("to-gpu", "copy-engine", "", here, here, ("pinned", "device"))
    return Movement("to-host", "copy-engine", here, "", here, ("device", "pinned"))


def _add(
    found: _Read,
    test: str,
    value: float,
    moves: Movement,
    line: int,
    cell: tuple[str, str] = ("", ""),
    size: int | None = None,
) -> None:
    if 0 < value < LARGEST:
        notes = (_ASSUMED,) if size else ()
        figure = Figure(test, single(value), GBPS, *cell, size, notes=notes, moves=moves, line=line)
        found.figures[(test, *cell) if size else (test, str(line))] = figure


def _limit(found: _Read, name: str, limit: float) -> None:
    if limit > 0:
        found.limits[name, limit] = found.limits.get((name, limit), 0) + 1


def _other(found: _Read, line: str) -> bool:
    """Take a line of a check that failed without a result."""
    match = _FAILED.search(line)
    found.failed |= {match[1]} if match else set()
    return match is not None


def _findings(found: _Read) -> Iterator[Finding]:
    for (name, limit), count in found.limits.items():
        yield note("import.other-limit", tool=TOOL, check=name, limit=limit, results=count)
    for gpu, links in sorted(found.links.items()):
        if gpu in found.all_links:
            yield error("import.no-links", gpu=f"gpu:{gpu}")
        else:
            yield warning("import.inactive-links", gpu=f"gpu:{gpu}", links=len(links), which=sorted(map(str, links)))
    if found.failed:
        yield warning("import.failed-checks", tool=TOOL, checks=sorted(found.failed))
