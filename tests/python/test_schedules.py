"""Schedules keep to the plan's schema, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema_rs import validator_for
from schema_files import load_schema

from linkscope.workload.halo import halo
from linkscope.workload.particles import particles
from linkscope.workload.pattern_file import read_pattern
from linkscope.workload.problem import DECKS
from linkscope.workload.schedule import Schedule

SAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "patterns"
SCHEMA = {"$ref": "#/$defs/schedule", "$defs": load_schema("plan")["$defs"]}
MADE: dict[str, Callable[[], Schedule]] = {
    "halo": lambda: halo(8),
    "one rank's halo": lambda: halo(1, (8, 8), 3),
    "problem 1": particles,
    "problem 2": lambda: particles(DECKS["problem-2"], (3, 2, 2), termination="non-blocking"),
    "one rank's particles": lambda: particles(grid=(1, 1, 1)),
    "listing": lambda: read_pattern(SAMPLES / "listing.json"),
    "table": lambda: read_pattern(SAMPLES / "table.csv"),
    "trace": lambda: read_pattern(SAMPLES / "pipeline.0.et"),
}


@pytest.mark.parametrize("name", MADE)
def test_schedules_fit_the_plan(name: str) -> None:
    found = [f"{one.instance_path}: {one.message}" for one in validator_for(SCHEMA).iter_errors(MADE[name]().to_plan())]
    assert found == []


def test_the_schema_refuses_what_is_no_schedule() -> None:
    plan = particles().to_plan()
    plan["loops"][0]["repeats"] = 0
    assert not validator_for(SCHEMA).is_valid(plan)
