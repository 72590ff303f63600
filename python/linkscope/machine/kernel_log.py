"""Kernel log: what NVIDIA's and AMD's drivers say there of GPUs and switches that failed. Read, never cleared."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KMSG = Path("/dev/kmsg")
KINDS = {
    "xid": re.compile(r"NVRM: Xid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<number>\d+)"),
    "sxid": re.compile(r"nvidia-nvswitch\d*: SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<number>\d+)"),
    "gpu-reset": re.compile(r"amdgpu (?P<pci>[0-9a-fA-F:.]+): (?:amdgpu: )?GPU reset begin"),
}
_RECORD = re.compile(r"\d+,\d+,(?P<at_us>\d+),[^;]*;(?P<text>.*)")
"""A record of /dev/kmsg: priority, sequence, microseconds, flags; text."""
_LINE = re.compile(r"(?:<\d+>)?\[\s*(?P<s>\d+)\.(?P<us>\d{6})\] (?P<text>.*)")
"""A line of syslog(2)."""
_MOST_RECORD = 8192
_MOST_EVENTS = 200
_READ_ALL, _SIZE = 3, 10
"""Actions of syslog(2)."""


@dataclass(frozen=True)
class LogEvent:
    """A failure that a driver reported. ``kind``: xid, sxid (of an NVSwitch) or gpu-reset. ``at_us``: since the machine
    started. ``pci``: domain:bus:device as the driver writes it, in lower case."""

    kind: str
    at_us: int
    pci: str
    number: int = 0

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> LogEvent:
        """Return what ``dataclasses.asdict`` gave; names that it does not know are left out."""
        return LogEvent(**{name: data[name] for name in LogEvent.__dataclass_fields__ if name in data})


def read() -> tuple[LogEvent, ...] | None:
    """Return the failures in the kernel's log, the last 200 of them; None where this user may not read it."""
    try:
        return events(_records(_KMSG))
    except OSError:
        text = _by_syslog()
        return None if text is None else events(text.splitlines())


def events(lines: Iterable[str]) -> tuple[LogEvent, ...]:
    """Return the failures that lines of /dev/kmsg or of syslog(2) tell of."""
    found: list[LogEvent] = []
    for line in lines:
        record = _RECORD.match(line)
        written = None if record else _LINE.match(line)
        if record:
            at_us, text = int(record["at_us"]), record["text"]
        elif written:
            at_us, text = int(written["s"]) * 1_000_000 + int(written["us"]), written["text"]
        else:
            continue
        for kind, pattern in KINDS.items():
            if said := pattern.search(text):
                number = int(said.groupdict().get("number") or 0)
                found.append(LogEvent(kind, at_us, said["pci"].lower(), number))
    return tuple(found[-_MOST_EVENTS:])


def _records(path: Path) -> list[str]:
    """Return all records that the log still holds. Raises OSError where it is closed to this user."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    found: list[str] = []
    try:
        while True:
            try:
                data = os.read(descriptor, _MOST_RECORD)
            except BlockingIOError:
                return found
            except BrokenPipeError:  # older records made room; the next read goes on after them
                continue
            if not data:
                return found
            found.append(data.split(b"\n", 1)[0].decode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def _by_syslog() -> str | None:
    """Return the log by syslog(2), which containers without /dev/kmsg have where the kernel restricts nobody."""
    call = getattr(ctypes.CDLL(None), "klogctl", None)
    size = call(_SIZE, None, 0) if call is not None else -1
    if call is None or size <= 0:
        return None
    buffer = ctypes.create_string_buffer(size)
    length = call(_READ_ALL, buffer, size)
    return None if length < 0 else buffer.raw[:length].decode("utf-8", "replace")
