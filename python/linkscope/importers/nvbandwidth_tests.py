"""nvbandwidth's tests: what each moves, by its name, and which it is where only the title of its table is there."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from linkscope.importers.peer_output import Movement

Version = tuple[int, ...]
TITLE = re.compile(
    r"(?:memcpy|memory|multicast|Device to Device|Bisect).{0,60}(?:\((?:row|column)\)|All Gpus|CE BW).{0,60}"
)
PART = re.compile(r"_((?:read|write)[12]|total)$")
"""The part of a test with three tables: a direction, or both."""
_COPY = re.compile(r"memcpy (CE|SM|TMA) (CPU|GPU)\(row\) (->|<-|<->) GPU\(column\)(?: (Read|Write|Total)([12])?)? .*")
_FIRST = {
    ("CPU", "->"): "host_to_device_memcpy_",
    ("CPU", "<-"): "device_to_host_memcpy_",
    ("CPU", "<->"): "host_to_device_bidirectional_memcpy_",
    ("GPU", "->"): "device_to_device_memcpy_read_",
    ("GPU", "<-"): "device_to_device_memcpy_write_",
    ("GPU", "<->"): "device_to_device_bidirectional_memcpy_read_",
}
_LOCAL = {"_read_sm": "kernel-read", "_write_sm": "kernel-write"}
_CHASES = {"sm": "pointer-chase", "tma": "bulk-chase", "counted": "counted-put"}
_METHODS = {"sm": "kernel-copy", "tma": "kernel-bulk-copy"}


@dataclass(frozen=True)
class Place:
    """Place a result. ``part``: of a test's three tables; ``width``: how many GPUs the table has."""

    row: int
    column: int
    width: int
    part: str = ""


def has_rows(test: str) -> bool:
    """Return whether a test's table has a row for each GPU."""
    return test.removeprefix("multinode_").startswith("device_to_device")


def part_of(title: str) -> str:
    """Return which of three tables a title is of: "read1", "total"; "" where there is but one."""
    match = _COPY.fullmatch(title)
    return f"{match[4].lower()}{match[5] or ''}" if match and match[4] else ""


def first_test(title: str, with_diagonal: bool) -> str:
    """Return the first of its tests that has such a title. ``with_diagonal``: whether the table has the N/A of a GPU
    with itself; "" where no test has."""
    if match := _COPY.fullmatch(title):
        test = _FIRST[match[2], match[3]]
        if match[2] == "GPU" and match[3] != "<->" and not with_diagonal:
            test = "all_to_one_read_" if match[3] == "->" else "all_to_one_write_"
        return (test.replace("read", "write") if match[4] == "Write" else test) + match[1].lower()
    starts = {
        "memory latency": "host_device_latency_sm",
        "Device to Device Latency TMA": "device_to_device_latency_tma",
        "Device to Device Latency": "device_to_device_latency_sm",
        "memcpy local GPU": "device_local_copy",
    }
    return next((test for start, test in starts.items() if title.startswith(start)), "")


def moves(test: str, place: Place, version: Version) -> Movement | None:
    """Return what a test's result moves; None for what moves no copy from one place to another.

    In a table of reads the row's GPU drives, and the data come to it from the column's. Up to 0.6 the kernel of a
    bidirectional test between host and GPU copied one way, beside another that was not counted; since, each warp copies
    another way. Up to 0.5 copy engines' bidirectional tests between GPUs counted one direction.
    """
    name, by = test.removeprefix("multinode_"), test.rpartition("_")[2]
    here, there = f"gpu:{place.row}", f"gpu:{place.column}"
    method = _CHASES.get(by, "pointer-chase") if "latency" in name else _METHODS.get(by, "copy-engine")
    both, device = "bidirectional" in name, ("device", "device")
    if has_rows(test):
        reads = "_read" in name or "latency" in name
        source, destination = (there, here) if (reads or both) and not place.part.endswith("2") else (here, there)
        opposed = both and (place.part not in ("", "total") or (version < (0, 6) and by == "ce"))
        found = Movement("peer", method, source, destination, destination if reads else source, device)
        return replace(found, both=both and not opposed, opposed=opposed)
    if name.startswith("device_local"):
        return Movement("local", _LOCAL.get(name[12:], method), there, there, there, device)
    if name.startswith("host_device_latency"):
        return Movement("to-gpu", method, "", there, there, ("pinned", "device"))
    if name.startswith(("all_to_one", "one_to_all", "all_from_one")):
        into = name.startswith(("all_to_one_write", "one_to_all_read"))
        found = Movement("peer", method, "" if into else there, there if into else "", "", device)
        return replace(found, at_once=max(place.width - 1, 1))
    if both and by == "sm" and version >= (0, 7):
        method = "kernel-exchange"
    at_once = place.width if name.startswith(("host_to_all", "all_to_host")) else 1
    if name.startswith(("host_to_device", "host_to_all")):
        return Movement("to-gpu", method, "", there, there, ("pinned", "device"), opposed=both, at_once=at_once)
    if name.startswith(("device_to_host", "all_to_host")):
        return Movement("to-host", method, there, "", there, ("device", "pinned"), opposed=both, at_once=at_once)
    return None
