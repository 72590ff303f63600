"""Suites of one row, written down in a test and expanded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml
from test_patterns import node

from linkscope.machine.node import Node
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite, packaged_methods

Json = dict[str, Any]
PARAMETERS = frozenset({"region", "in", "blocks", "threads", "call", "touch"})
METHODS = frozenset({"copy-engine", "kernel-copy", "memcpy", "page-fault", "copy-engine-3d", "launch", "pointer-chase"})
MEMORIES = frozenset({"pageable", "pinned", "device", "managed", "huge"})
OFFER = EngineCatalog("cuda", dict.fromkeys(METHODS | packaged_methods(), PARAMETERS), MEMORIES)
ROW: Json = {
    "name": "row",
    "title": "Row",
    "pattern": "pairs",
    "source": {"on": "nearest-numa", "memory": "pinned"},
    "destination": {"on": "gpu", "memory": "device"},
    "method": "copy-engine",
    "executor": "gpu",
    "sizes": "1M",
    "show": "list",
}


def suite_of(*rows: Json) -> Suite:
    """A suite of rows, each ``ROW`` with these fields in the place of its own; None takes a field out."""
    numbered = [{**ROW, "name": f"row{number}" if number else "row", **row} for number, row in enumerate(rows)]
    data = {"name": "made", "answers": "Does it expand?", "rows": [_without_none(row) for row in numbered]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.yaml"
        path.write_text(yaml.safe_dump(data))
        return load_suite(str(path))


def expanded(row: Json, machine: Node | None = None, catalog: EngineCatalog = OFFER) -> list[PlannedCase]:
    """All cases of one row on a machine of two GPUs and two NUMA nodes, or the given one."""
    return expand([suite_of(row)], machine or node(2), catalog, Selection())


def _without_none(row: Json) -> Json:
    return {name: value for name, value in row.items() if value is not None}
