"""Environment variants: an engine process each, started with the variables that its cases name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from launching import Bench, bench, real_engine, statuses

from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request, prepare
from linkscope.launch.run import resume, run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["bench", "real_engine"]

Json = dict[str, Any]
ROW: Json = {
    "name": "copy",
    "title": "Copies",
    "pattern": "first-device",
    "source": {"on": "numa", "memory": "pageable"},
    "destination": {"on": "numa", "memory": "pageable"},
    "method": "memcpy",
    "executor": "source",
    "sizes": "4K,8K",
    "cache": "warm",
    "show": "list",
}
PLAIN, SEEDED, WRONG = (
    {"name": "default"},
    {"name": "seeded", "set": {"LINKSCOPE_SEED": 77}},
    {"name": "wrong", "set": {"LINKSCOPE_SEED": "many"}},
)


def write_suite(folder: Path, *variants: Json) -> str:
    path = folder / "varied.yaml"
    answers = "Do variants get their variables?"
    path.write_text(
        yaml.safe_dump({"name": "varied", "answers": answers, "rows": [{**ROW, "environment": [*variants]}]})
    )
    return str(path)


def by_variant(found: RunFile) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in found.rows:
        grouped.setdefault(row.labels["environment"], []).append(row)
    return grouped


@pytest.fixture
def measured(tmp_path: Path, real_engine: None) -> RunFile:
    """The suite with all three variants, run by the real host engine."""
    suite = write_suite(tmp_path, PLAIN, SEEDED, WRONG)
    return run(Request(suites=(suite,), engine="host", rounds="1"), tmp_path / "run.jsonl")


def test_an_engine_gets_its_variants_variables_and_no_others(measured: RunFile) -> None:
    rows = by_variant(measured)
    assert [row.status for row in rows["default"] + rows["seeded"]] == ["ok"] * 4
    assert [row.environment for row in rows["seeded"]] == [{"LINKSCOPE_SEED": "77"}] * 2
    assert [row.status for row in rows["wrong"]] == ["failed"] * 2
    for row in rows["wrong"]:
        assert "LINKSCOPE_SEED: 'many' is not a whole number" in (row.reason or "")


def test_rows_stand_in_the_plans_order_whatever_ran_first(measured: RunFile) -> None:
    assert [row.id for row in measured.rows] == list(measured.plan_ids)
    assert [row.id.split("/")[3:] for row in measured.rows][::3] == [["default", "4KiB"], ["seeded", "8KiB"]]


def test_a_run_cut_short_is_completed_under_the_same_variables(measured: RunFile) -> None:
    lines = measured.path.read_text().splitlines()
    kept = [line for line in lines if '"record":"row"' not in line or '"varied/copy/numa:0/default' in line]
    measured.path.write_text("\n".join(kept) + "\n")
    assert len(RunFile.read(measured.path).missing) == 4
    with pytest.raises(LinkscopeError, match="sets variables by"):
        resume(measured.path)
    completed = resume(
        measured.path, Request(suites=(str(measured.path.with_name("varied.yaml")),), engine="host", rounds="1")
    )
    assert completed.missing == ()
    assert {name: {row.status for row in rows} for name, rows in by_variant(completed).items()} == {
        "default": {"ok"}, "seeded": {"ok"}, "wrong": {"failed"},
    }  # fmt: skip


def test_each_variant_is_one_engine_process(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    log = bench.folder / "started"
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.delenv("LINKSCOPE_SEED", raising=False)
    suite = write_suite(bench.folder, PLAIN, SEEDED, {"name": "again"})
    assert bench.cli("run", suite, "-o", "a.jsonl").code == 0
    assert [json.loads(line) for line in log.read_text().splitlines()] == [
        {"seed": None, "cases": 4},
        {"seed": "77", "cases": 2},
    ]
    assert len(statuses(bench.records(Path("a.jsonl")))) == 6


def test_cases_are_named_by_their_variant(tmp_path: Path, real_engine: None) -> None:
    job = prepare(Request(suites=(write_suite(tmp_path, PLAIN, SEEDED),), engine="host"))
    assert [case.id for case in job.cases] == [
        f"varied/copy/numa:0/{name}/{size}" for name in ("default", "seeded") for size in ("4KiB", "8KiB")
    ]
