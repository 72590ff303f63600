"""Fixtures of the tests that need a GPU: the engine of this machine, and a function that runs cases with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkscope.launch.engines import Engine, describe, find_engines

Json = dict[str, Any]
Runner = Callable[[list[Json]], dict[str, Json]]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The CUDA or HIP engine. Skips where there is none or it finds no GPU."""
    reasons = []
    for name, path in find_engines().items():
        if name == "host":
            continue
        description = describe(path)
        if any(device["id"].startswith("gpu:") for device in description["devices"]):
            return Engine(name, path, description)
        reasons.append(f"{name}: {description.get('problem', 'no GPU')}")
    pytest.skip("; ".join(reasons) or "no GPU engine is built")


@pytest.fixture(scope="session")
def gpus(engine: Engine) -> int:
    """How many GPUs there are."""
    return sum(device["id"].startswith("gpu:") for device in engine.description["devices"])


@pytest.fixture
def run(engine: Engine, tmp_path: Path) -> Runner:
    """Runs cases in one engine and returns their rows by id. Asserts that the engine ends well."""

    def run_cases(cases: list[Json]) -> dict[str, Json]:
        options = {"max_samples": 8, "point_budget_s": 0.2}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"schema": 1, "options": options, "cases": cases}))
        ended = subprocess.run([engine.path, "run", plan], capture_output=True, text=True, timeout=300, check=False)
        assert ended.returncode == 0, ended.stderr
        records = [json.loads(line) for line in ended.stdout.splitlines()]
        assert records[-1] == {"record": "done", "rows": len(cases)}
        return {record["id"]: record for record in records if record["record"] == "row"}

    return run_cases
