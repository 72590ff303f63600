"""Health: what counts errors of GPUs and their links at one moment, and what moved between two moments.

Sources: NVML (nvml_counters.py), AMD's and the kernel's files (amd_counters.py, pcie_errors.py), the kernel's log
(kernel_log.py). Everything is read and nothing is cleared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from linkscope.machine import amd_counters, pcie_errors, sysfs
from linkscope.machine.files import Files
from linkscope.machine.kernel_log import KINDS, LogEvent

Counts = Mapping[str, int]
_LINK = re.compile(r"(gpu:\d{1,6})/(\d{1,4})")
_PROGRAMS = frozenset({13, 31, 43, 45, 63, 68, 69, 92, 94, 137})
"""Xids that programs cause, or that say that an error was mended (docs.nvidia.com/deploy/xid-errors)."""
GRAVE = frozenset(
    {
        *("ecc-uncorrected", "row-remap-uncorrected", "row-remap-failure", "page-retired-uncorrected"),
        *("nvlink-recovery-failed", "pcie-fatal", "ras-uncorrected", "xgmi-uncorrected"),
    }
)
"""Counters of errors that nothing mends: data or work was lost."""
HARMLESS = frozenset({"pcie-recovery", "ecc-corrected-ever", "ecc-uncorrected-ever"})
"""Counters that move without an error (a PCIe link changes its speed), or that others count already."""
RATED = frozenset(
    {
        *("pcie-replay", "pcie-correctable", "pcie-nak-received", "pcie-nak-sent"),
        *("pcie-receiver", "pcie-bad-tlp", "pcie-bad-dllp", "pcie-lcrc", "pcie-lane"),
    }
)
"""Counters that move on healthy machines now and then: PCIe sends again what was damaged."""
LEAST_RATE = 8 / 60
"""Errors a second from which a warning is due: DCGM's limit of 8 PCIe replays a minute."""


@dataclass(frozen=True)
class Health:
    """The counters of one moment. Places are GPUs, "gpu:1", and their NVLinks, "gpu:1/7".

    ``counts``: by place, those that are not 0. ``read``: by counter, at how many places it could be read. ``links``:
    the active NVLinks of each GPU. ``held``: by GPU, how long each limit held its clock down, in seconds or in cycles
    of its firmware. ``cycles``: all such cycles of a GPU. ``bit_error_rates``: of links of which NVML says them.
    ``answering``: GPUs that NVML answered about. ``events``: failures in the kernel's log; ``log``: whether this user
    may read it, None where nobody tried.
    """

    counts: Mapping[str, Counts] = field(default_factory=dict)
    read: Counts = field(default_factory=dict)
    links: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    held: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    cycles: Counts = field(default_factory=dict)
    bit_error_rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    answering: tuple[str, ...] = ()
    events: tuple[LogEvent, ...] = ()
    log: bool | None = None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Health:
        """Return what ``dataclasses.asdict`` gave; names and kinds of events that it does not know are left out."""
        known = {name: data[name] for name in Health.__dataclass_fields__ if name in data}
        events = map(LogEvent.from_json, known.get("events", ()))
        known["events"] = tuple(event for event in events if event.kind in KINDS)
        known["links"] = {gpu: tuple(links) for gpu, links in known.get("links", {}).items()}
        known["answering"] = tuple(known.get("answering", ()))
        return Health(**known)


class Change(NamedTuple):
    """Compare two moments. ``moved``: increments by place and counter. ``down``: NVLinks that were active
    and no longer are. ``held``: by GPU and limit, the share of the time that it held the clock down."""

    moved: Mapping[str, Counts]
    down: Mapping[str, Sequence[int]]
    events: Sequence[LogEvent]
    held: Mapping[str, Mapping[str, float]]


def build_health(gpus: Sequence[tuple[str, Mapping[str, Any], sysfs.PcieFacts | None]], files: Files) -> Health:
    """Return the health of GPUs, each with NVML's answers about it and what the kernel says of its PCIe link."""
    counts: dict[str, Counts] = {}
    held: dict[str, Mapping[str, float]] = {}
    cycles: dict[str, int] = {}
    links: dict[str, tuple[int, ...]] = {}
    rates: dict[str, Mapping[str, float]] = {}
    for gpu, answers, pcie in gpus:
        counters = answers.get("counters", {})
        if active := tuple(link["lane"] for link in answers.get("nvlinks", ()) if link.get("active")):
            links[gpu] = active
        counts |= {f"{gpu}/{lane}": of_link for lane, of_link in counters.get("links", {}).items()}
        rates |= {f"{gpu}/{lane}": of_link for lane, of_link in counters.get("bit_error_rates", {}).items()}
        held[gpu] = {reason: ns / 1e9 for reason, ns in counters.get("held_ns", {}).items()}
        counts[gpu] = counters.get("counts", {})
        if pcie is not None:
            amd = amd_counters.read(files, pcie.pci)
            bridge = next(iter(pcie.upstream[-1:]), None)
            counts[gpu] = {**counts[gpu], **amd.counts, **pcie_errors.read(files, pcie.pci, bridge)}
            held[gpu] = held[gpu] or amd.held
            cycles |= {gpu: amd.cycles} if amd.cycles is not None else {}
    moved = {place: {name: n for name, n in some.items() if n} for place, some in counts.items()}
    return Health(
        counts={place: some for place, some in moved.items() if some},
        read=dict(Counter(name for some in counts.values() for name in some)),
        links=links,
        held={gpu: some for gpu, some in held.items() if some},
        cycles=cycles,
        bit_error_rates=rates,
        answering=tuple(gpu for gpu, answers, _ in gpus if answers),
    )


def with_log(health: Health, events: Sequence[LogEvent] | None) -> Health:
    """Return the health with what the kernel's log says; None where this user may not read it."""
    return replace(health, events=tuple(events or ()), log=events is not None)


def change(before: Health, after: Health, seconds: float | None) -> Change:
    """Return what moved. A counter of a place where it could not be read before is left out, and one that fell (a
    driver was loaded again) as well. ``seconds``: between the two moments, None where nobody says."""
    came_up = {(gpu, link) for gpu, links in after.links.items() for link in set(links) - {*before.links.get(gpu, ())}}
    moved: dict[str, dict[str, int]] = {}
    for place, counts in after.counts.items():
        was = before.counts.get(place, {})
        link = link_of(place)
        for name, count in counts.items():
            # Without new links, more places would have been read than before if this one was not read then.
            added = after.read.get(name, 0) - before.read.get(name, 0) - (len(came_up) if link else 0)
            was_read = name in was or (added <= 0 and link not in came_up)
            if was_read and count > was.get(name, 0):
                moved.setdefault(place, {})[name] = count - was.get(name, 0)
    down = {
        gpu: sorted(lost)
        for gpu, links in before.links.items()
        if (after.links or gpu in after.answering) and (lost := set(links) - {*after.links.get(gpu, ())})
    }
    events = sorted(set(after.events) - set(before.events), key=lambda one: one.at_us) if before.log else []
    return Change(moved, down, events, _held(before, after, seconds))


def joined(changes: Sequence[Change], seconds: Sequence[float | None]) -> Change:
    """Return what several times after one another have in all; ``seconds``: how long each was."""
    moved: dict[str, Counter[str]] = {}
    down: dict[str, set[int]] = {}
    shares: dict[str, dict[str, float]] = {}
    whole = sum(one or 0.0 for one in seconds)
    for one, lasted in zip(changes, seconds, strict=True):
        for place, counts in one.moved.items():
            moved.setdefault(place, Counter()).update(counts)
        for gpu, links in one.down.items():
            down.setdefault(gpu, set()).update(links)
        for gpu, held in one.held.items():
            for reason, share in held.items() if whole else ():
                of_gpu = shares.setdefault(gpu, {})
                of_gpu[reason] = of_gpu.get(reason, 0.0) + share * (lasted or 0.0) / whole
    events = tuple(dict.fromkeys(event for one in changes for event in one.events))
    return Change(moved, {gpu: sorted(links) for gpu, links in down.items()}, events, shares)


def link_of(place: str) -> tuple[str, int] | None:
    """Return the GPU and the number of an NVLink; None of another place."""
    found = _LINK.fullmatch(place)
    return (found[1], int(found[2])) if found else None


def is_grave(event: LogEvent) -> bool:
    """Return whether an event of the kernel's log is the hardware's, as far as its number says."""
    return event.kind != "xid" or event.number not in _PROGRAMS


def _held(before: Health, after: Health, seconds: float | None) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for gpu, limits in after.held.items():
        cycles = after.cycles.get(gpu, 0) - before.cycles.get(gpu, 0)
        whole = cycles if gpu in after.cycles else seconds
        was = before.held.get(gpu)
        if was is None or not whole or whole <= 0:
            continue
        shares = {reason: (held - was.get(reason, 0.0)) / whole for reason, held in limits.items()}
        found[gpu] = {reason: min(share, 1.0) for reason, share in shares.items() if share > 0}
    return {gpu: shares for gpu, shares in found.items() if shares}
