"""Workload fields: a workload's row as a suite or a command line writes it, checked."""

from __future__ import annotations

from typing import Any

from linkscope.documents.sizes import parse_counts
from linkscope.errors import LinkscopeError
from linkscope.plan.application import Application, HaloApplication, MoeApplication, ParticleApplication
from linkscope.plan.suite_file import listed
from linkscope.plan.suite_row import Variant
from linkscope.plan.workload_row import MOST_RANKS, Baseline, WorkloadRow
from linkscope.workload.halo import parse_cells
from linkscope.workload.moe import MoeLayer
from linkscope.workload.particles import parse_grid

Json = dict[str, Any]


def workload_row(suite: str, data: Json, variants: tuple[Variant, ...]) -> WorkloadRow:
    """Make a row of fields as plan/suite_file.py has them. Raises LinkscopeError where they are wrong."""
    names = [variant.name for variant in variants]
    if len(set(names)) < len(names):
        raise LinkscopeError("two variants of its environment have one name")
    counts = tuple(str(one) for one in listed(data["ranks"])) if "ranks" in data else ()
    for text in counts:
        parse_counts(text, MOST_RANKS)  # raises where it is no range
    row = WorkloadRow(
        suite=suite,
        name=data["name"],
        title=data["title"],
        application=application(data["workload"]),
        interfaces=tuple(listed(data["interface"])),
        memories=tuple(listed(data["memory"])),
        states=tuple(listed(data.get("state", []))),
        counts=counts,
        stagings=tuple(listed(data.get("staging", "none"))),
        processes=tuple(listed(data.get("processes", "one"))),
        variants=variants,
        order=tuple(data.get("order", ())),
        baseline=_baseline(data["baseline"]) if "baseline" in data else None,
        covers=tuple(data.get("covers", ())),
        point_budget_s=data.get("point_budget_s"),
    )
    if row.baseline is not None and row.baseline.variant not in ("", *names):
        raise LinkscopeError(f"baseline: environment {row.baseline.variant!r} is none of the row's")
    for name, values in (("memory", row.memories), ("state", row.states)):
        if len(set(values)) < len(values):
            raise LinkscopeError(f"{name}: a value is named twice")
    return row


def application(data: Json) -> Application:
    """Return the application that the field ``workload`` names. Raises LinkscopeError."""
    given = {name: value for name, value in data.items() if name != "application"}
    if data["application"] == "halo":
        return _halo(given)
    if data["application"] == "moe":
        return MoeApplication(MoeLayer(**given))
    found = ParticleApplication()
    return ParticleApplication(
        deck_name=given.get("deck", found.deck_name),
        count=given.get("particles"),
        grid=parse_grid(given["grid"]) if "grid" in given else None,
        cycles=given.get("cycles", found.cycles),
        termination=given.get("termination", found.termination),
    )


def _halo(given: Json) -> HaloApplication:
    if "deck" in given and "cells" in given:
        raise LinkscopeError("halo: give a deck or cells, not both")
    found = HaloApplication()
    cells = parse_cells(given["cells"]) if "cells" in given else None
    return HaloApplication(given.get("deck", found.deck_name), cells, given.get("steps", found.steps))


def _baseline(data: Json) -> Baseline:
    memories = tuple(listed(data["memory"]))
    return Baseline(data["interface"], memories, data.get("staging", "none"), data.get("environment", ""))
