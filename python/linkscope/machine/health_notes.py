"""Health notes: what one reading of counters and states says, before anything was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from linkscope.machine.health import HARMLESS, is_grave, link_of
from linkscope.machine.state import GpuState, MachineState
from linkscope.messages.finding import Finding, note, warning

_REGISTERED = "completed"
_LEAST_BUSY = 0.1
"""Share of the last second from which an idle machine's GPU works for somebody."""
_FLAGS = ("row-remap-failure",)
"""Counters that have a finding of their own."""


def health_notes(state: MachineState) -> Iterator[Finding]:
    """Yield what should be looked at: warnings of states that are faults, notes of counters that are not 0.

    Counters say nothing of when: since the driver was loaded, or ever.
    """
    yield from _faults(state)
    yield from _counted(state)
    if state.health.log is False and state.gpus:
        yield note("health.no-log")
    numbers: dict[str, list[str]] = {}
    for event in state.health.events:
        if is_grave(event):
            numbers.setdefault(event.pci, []).append(f"{event.kind} {event.number}" if event.number else event.kind)
    for pci, some in numbers.items():
        yield note("health.logged", pci=pci, reports=list(dict.fromkeys(some)))


def _faults(state: MachineState) -> Iterator[Finding]:
    failed = tuple(gpu.id for gpu in state.gpus if state.health.counts.get(gpu.id, {}).get("row-remap-failure"))
    if failed:
        yield replace(warning("health.remap-failed"), where=failed)
    for gpu in state.gpus:
        if gpu.fabric is not None and (gpu.fabric != _REGISTERED or gpu.fabric_status or gpu.fabric_faults):
            facts = {"state": gpu.fabric, "faults": list(gpu.fabric_faults) or ["unregistered"]}
            yield replace(warning("health.fabric", **facts), where=(gpu.id,))
    cliques = {(gpu.cluster, gpu.clique) for gpu in state.gpus if gpu.fabric == _REGISTERED}
    if len(cliques) > 1:
        yield warning("health.cliques", cliques=len(cliques))
    yield from unseen_work(state)


def unseen_work(state: MachineState) -> Iterator[Finding]:
    """Yield the GPUs that work for processes that nobody sees here."""
    for gpu in filter(works_unseen, state.gpus):
        yield replace(warning("health.busy", share=gpu.busy), where=(gpu.id,))


def works_unseen(gpu: GpuState) -> bool:
    """Return whether a GPU works although no process is seen on it: containers do not see those of others."""
    return not gpu.processes and gpu.busy is not None and gpu.busy >= _LEAST_BUSY


def _counted(state: MachineState) -> Iterator[Finding]:
    """Yield what GPUs counted, and what their links did with the link that counted most."""
    of_gpus, of_links = Counter[str](), Counter[str]()
    sums: dict[str, int] = {}
    for place, counts in state.health.counts.items():
        if link_of(place):
            of_links.update(counts)
            sums[place] = sum(counts.values())
            continue
        ever = {name.removesuffix("-ever"): count for name, count in counts.items() if name.endswith("-ever")}
        now = {name: count for name, count in counts.items() if name not in HARMLESS and name not in _FLAGS}
        if found := {**ever, **now}:
            of_gpus.update(found)
            sums[place] = sum(found.values())
    if of_gpus:
        gpus = tuple(place for place in sums if not link_of(place))
        yield replace(note("health.counted", counted=dict(of_gpus)), where=gpus)
    links = {place: link for place in sums if (link := link_of(place))}
    if links:
        most = max(links, key=lambda place: sums[place])
        facts = {"counted": dict(of_links), "links": len(links), "gpu": links[most][0], "link": links[most][1]}
        where = tuple(dict.fromkeys(gpu for gpu, _ in links.values()))
        yield replace(note("health.links-counted", **facts, most=sums[most]), where=where)
