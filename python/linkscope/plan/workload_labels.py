"""Workload labels: the id of a workload's case, and what tables and analyses need of it."""

from __future__ import annotations

from typing import Any

from linkscope.plan.candidates import tier_of
from linkscope.plan.workload_point import Sent, WorkloadPoint, WorkloadSetting

Json = dict[str, Any]

_STAGED = {"none": "no own staging", "full": "full buffers staged"}
_PROCESSES = {"one": "one process", "each": "a process each"}


def workload_id(setting: WorkloadSetting, point: WorkloadPoint, sent: Sent) -> str:
    """suite/row/deck/ranks/interface/memory, then what the row varies besides: the same on every run."""
    row = setting.row
    place = [row.application.name] if row.application.from_file else []
    words = [row.suite, row.name, *place, setting.deck.key, f"{sent.schedule.ranks}-ranks"]
    words += [point.interface, point.memory]
    if len(row.states) > 1 and point.state is not None:
        words.append(f"from-{point.state}")
    if point.staging != "none":
        words.append("staged")
    if len(row.processes) > 1 and not setting.by_mpi(point):
        words.append(f"{point.processes}-process" if point.processes == "one" else "a-process-each")
    words += [point.variant.name] if point.variant.name else []
    words += ["+".join(row.order)] if row.order else []
    words += ["isolated"] if sent.alone else []
    return "/".join(word.replace(" ", "") for word in words)


def workload_labels(setting: WorkloadSetting, point: WorkloadPoint, sent: Sent) -> Json:
    """Return labels (plan.schema.json); answers/app.py reads ``workload``."""
    row, places, ranks = setting.row, setting.places, sent.schedule.ranks
    variant = {"interface": point.interface, "memory": point.memory, "staging": _STAGED[point.staging]}
    if len(row.states) > 1 and point.state is not None:
        variant["state"] = point.state
    if len(row.processes) > 1:
        variant["processes"] = _PROCESSES[point.processes]
    if point.variant.name:
        variant["environment"] = point.variant.name
    pairs = {(places.homes[a], places.homes[b]) for phase in sent.schedule.phases for a, b in phase.pairs}
    tiers = {tier_of(setting.paths, *pair) for pair in pairs}
    return {
        "title": f"{row.title}, {setting.deck.name}, {ranks} ranks{sent.alone}",
        "show": "list",
        "row": "",
        "column": places.shared or f"{ranks} ranks",
        "figure": "latency",
        "variant": variant,
        **({"environment": point.variant.name} if point.variant.name else {}),
        "tier": tiers.pop() if len(tiers) == 1 else "mixed",
        "workload": _workload(setting, point, sent),
    }


def _workload(setting: WorkloadSetting, point: WorkloadPoint, sent: Sent) -> Json:
    notes = [note for note in (setting.deck.chosen, setting.places.shared) if note is not None]
    found: Json = {
        "application": setting.row.application.name,
        "deck": setting.deck.name,
        "ranks": sent.schedule.ranks,
        "interface": point.interface,
        "staging": point.staging,
        "memory": point.memory,
        "state": point.state,
        "order": list(setting.places.homes),
        "messages": sent.schedule.messages().total(),
        "bytes": sent.schedule.bytes,
    }
    if not sent.alone and setting.is_baseline(point):
        found["baseline"] = True
    if sent.alone:
        found["isolated"] = True
    if sent.schedule.own_bytes:
        found["own_bytes"] = [list(one) for one in sent.schedule.own_bytes]
    if notes:
        found["notes"] = notes
    return found
