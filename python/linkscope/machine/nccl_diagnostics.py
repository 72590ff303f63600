"""NCCL diagnostics: what NCCL and RCCL print of the paths between GPUs where NCCL_RUN_DIAGNOSTICS=1.

Lines are those of src/diagnostics.cc and src/diagnostics/p2p.cc, "HOST:PID NCCL DIAG [OK]   p2p: ...", of NCCL 2.31.2
and of the source after it, which words the summary anew. They go to the standard output of rank 0's process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

VARIABLE = "NCCL_RUN_DIAGNOSTICS"
SINCE = (2, 31)
"""The first version that has them."""
_MARK = "NCCL DIAG "
_PASSED = re.compile(r"\[OK\]\s+p2p: .*?(\d+) (?:peer accesses|directed GPU P2P edges)")
_PARTIAL = re.compile(r"\[INFO\]\s+p2p: (?:only )?(\d+)/(\d+) ")
_PAIR = re.compile(
    r"\[INFO\]\s+p2p: (?P<what>[^=]+?) srcRank=\d+ src\w+?Dev=(?P<source>\d+) .*?"
    r"dstRank=\d+ dst\w+?Dev=(?P<target>\d+) "
    r".*?path=(?P<path>\S+) handle=(?P<handle>[^\s;]+)"
)
_OTHER = re.compile(r"\[INFO\]\s+(?!p2p: temporarily enabled)(.+)")
"""Other remarks, but that the process of the check has peer access for a while."""
_COMPLETED = re.compile(r"completed in ([\d.]+) ms across (\d+) ranks")


@dataclass(frozen=True)
class FailedAccess:
    """An access of one GPU to another's memory that failed. ``what``, ``path`` and ``handle`` in NCCL's words."""

    source: int
    destination: int
    what: str
    path: str
    handle: str


@dataclass(frozen=True)
class Diagnosis:
    """One report. ``passed`` of ``tested`` accesses, both None where NCCL tested none; ``others``: what else it
    remarks; ``ranks`` None: the report did not end."""

    passed: int | None
    tested: int | None
    failed: tuple[FailedAccess, ...]
    others: tuple[str, ...]
    ranks: int | None
    seconds: float | None


def diagnosis(text: str) -> Diagnosis | None:
    """Return the report in what a program printed; None where there is none."""
    lines = [line.partition(_MARK)[2].strip() for line in text.splitlines() if _MARK in line]
    if not lines:
        return None
    passed = tested = ranks = seconds = None
    others = []
    for line in lines:
        if found := _PASSED.match(line):
            passed = tested = int(found[1])
        elif found := _PARTIAL.match(line):
            passed, tested = int(found[1]), int(found[2])
        elif found := _COMPLETED.search(line):
            seconds, ranks = float(found[1]) / 1000, int(found[2])
        elif (found := _OTHER.match(line)) and not _PAIR.match(line):
            others.append(found[1])
    return Diagnosis(passed, tested, tuple(_failed(lines)), tuple(others), ranks, seconds)


def _failed(lines: list[str]) -> Iterator[FailedAccess]:
    for line in lines:
        if found := _PAIR.match(line):
            ends = int(found["source"]), int(found["target"])
            yield FailedAccess(*ends, found["what"], found["path"], found["handle"])


def has_diagnostics(version: str) -> bool:
    """Return whether a version such as "2.28.9" has them."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= SINCE
