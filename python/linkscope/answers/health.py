"""Health: what failed or moved in GPUs and links while a run lasted, whether or not anything was slow.

A counter that moved is a warning that names the GPU or link. What nothing mends (data lost, a link down, a GPU that
failed) is an error: it decides an outcome that speed alone would not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from linkscope.figures.run import Run
from linkscope.machine.health import (
    GRAVE,
    HARMLESS,
    LEAST_RATE,
    RATED,
    Change,
    Health,
    change,
    is_grave,
    joined,
    link_of,
)
from linkscope.machine.kernel_log import LogEvent
from linkscope.machine.state import MachineState
from linkscope.messages.finding import Finding, Level, error, note, warning

_FEW_LINKS = 2
"""Links that are named one by one; of more, the one that moved most."""
_LEAST_HELD, _MUCH_HELD = 0.02, 0.1
"""Shares of a run from which a clock that was held down is worth a word, and may be why kernels were slow."""
_LEVELS = tuple(Level)
_CHILDREN = "local"
"""The launcher that starts processes as children of this program."""
_GONE = "resumed"
"""State records that follow a time when nothing was measured."""


def health_findings(run: Run) -> list[Finding]:
    """Return what failed (errors first) and what moved (warnings, then notes) while the run lasted.

    ``where`` of a finding are GPUs. A run whose file has one reading of the counters, or none, gives none.
    """
    lasted, moved = _during(run)
    if moved is None:
        return []
    found = [*_events(run, moved.events), *_links(moved), *_counted(moved, lasted), *_held(moved)]
    found += [note("health.no-log")] if run.states[0].gpus and run.states[0].health.log is False else []
    return sorted(found, key=lambda one: _LEVELS.index(one.level))


def failures(run: Run) -> list[Finding]:
    """Return the errors of ``health_findings``."""
    return [one for one in health_findings(run) if one.level is Level.ERROR]


def held_down(run: Run) -> Mapping[str, Mapping[str, float]]:
    """Return by GPU and limit the share of the run that it held the clock down, where that may be why kernels
    were slow."""
    _, moved = _during(run)
    held = moved.held if moved is not None else {}
    return {
        gpu: known
        for gpu, shares in held.items()
        if (known := {reason: share for reason, share in shares.items() if share >= _MUCH_HELD})
    }


def others_cpus(run: Run) -> float | None:
    """Return how many CPUs other programs kept busy while the run lasted, the mean over it.

    None for a run without readings, and for one whose processes a launcher started: they are not this program's own.
    """
    if any(record.get("launcher", _CHILDREN) != _CHILDREN for record in run.file.states):
        return None
    known = [
        (seconds, after - before)
        for old, new in _spans(run)
        if (seconds := _seconds(old, new)) and (before := old.others_cpu_s) and (after := new.others_cpu_s)
    ]
    lasted = sum(seconds for seconds, _ in known)
    return max(0.0, sum(busy for _, busy in known) / lasted) if lasted else None


def _spans(run: Run) -> list[tuple[MachineState, MachineState]]:
    """Return the readings before and after each part of the run, in order; none of a machine model."""
    readings: list[tuple[str, MachineState]] = [
        (str(record.get("when", "")), MachineState.from_json(record["state"]))
        for record in ({"state": run.header.get("state")}, *run.file.states)
        if record.get("state") and not run.modelled
    ]
    return [(old, new) for (_, old), (when, new) in pairwise(readings) if when != _GONE]


def _during(run: Run) -> tuple[float, Change | None]:
    """Return how long the run lasted, as far as its readings tell, and what moved meanwhile."""
    pairs = [(old, new) for old, new in _spans(run) if Health() not in (old.health, new.health)]
    if not pairs:
        return 0.0, None
    times = [_seconds(old, new) for old, new in pairs]
    changes = [change(old.health, new.health, lasted) for (old, new), lasted in zip(pairs, times, strict=True)]
    return sum(one or 0.0 for one in times), joined(changes, times)


def _seconds(before: MachineState, after: MachineState) -> float | None:
    if before.at_s is None or after.at_s is None or after.at_s <= before.at_s:
        return None
    return after.at_s - before.at_s


def _events(run: Run, events: Sequence[LogEvent]) -> Iterator[Finding]:
    """Yield what drivers reported, each number of a device once."""
    times = Counter((one.kind, one.number, one.pci, is_grave(one)) for one in events)
    for (kind, number, pci, grave), count in times.items():
        gpu = next((one.id for one in run.node.of_kind("gpu") if pci and (one.pci or "").startswith(pci)), pci)
        facts: dict[str, Any] = {"gpu": gpu, "times": count}
        if kind == "xid":
            found = (error if grave else warning)("health.xid", number=number, xid=str(number), **facts)
        elif kind == "sxid":
            found = error("health.sxid", number=number, pci=pci, times=count)
        else:
            found = error("health.gpu-reset", **facts)
        yield replace(found, where=(gpu,) if gpu.startswith("gpu:") else ())


def _links(moved: Change) -> Iterator[Finding]:
    """Yield links that went down and links whose counters moved, the most by one first."""
    for gpu, down in moved.down.items():
        found = error("health.link-down", gpu=gpu, down=len(down), links=[str(link) for link in down])
        yield replace(found, where=(gpu,))
    counted = [(link, counts) for place, counts in moved.moved.items() if (link := link_of(place))]
    counted.sort(key=lambda one: -sum(one[1].values()))
    if len(counted) <= _FEW_LINKS:
        for (gpu, number), counts in counted:
            found = _graver(counts)("health.nvlink", gpu=gpu, link=number, moved=dict(counts))
            yield replace(found, where=(gpu,))
        return
    total: Counter[str] = Counter()
    for _, counts in counted:
        total.update(counts)
    (gpu, number), most = counted[0]
    facts = {"links": len(counted), "moved": dict(total), "gpu": gpu, "link": number, "most": sum(most.values())}
    where = tuple(sorted({gpu for (gpu, _), _ in counted}))
    yield replace(_graver(total)("health.nvlinks", **facts), where=where)


def _counted(moved: Change, lasted: float) -> Iterator[Finding]:
    """Yield GPUs whose counters of memory, PCIe and other parts moved, the parts one by one."""
    for part, code in (("pcie", "health.pcie"), ("xgmi", "health.xgmi"), ("", "health.memory")):
        for place, counts in moved.moved.items():
            mine = {
                name: count
                for name, count in counts.items()
                if link_of(place) is None and name not in HARMLESS and _part(name) == part
            }
            if not mine:
                continue
            seldom = all(name in RATED and lasted and count < LEAST_RATE * lasted for name, count in mine.items())
            make = note if seldom else _graver(mine)
            yield replace(make(code, gpu=place, moved=mine), where=(place,))


def _held(moved: Change) -> Iterator[Finding]:
    for gpu, shares in moved.held.items():
        reason, share = max(shares.items(), key=lambda one: one[1])
        if share >= _LEAST_HELD:
            yield replace(note("health.held-down", gpu=gpu, share=share, reason=reason), where=(gpu,))


def _part(name: str) -> str:
    head = name.split("-", 1)[0]
    return head if head in ("pcie", "xgmi") else ""


def _graver(counts: Mapping[str, int]) -> Any:
    return error if GRAVE & counts.keys() else warning
