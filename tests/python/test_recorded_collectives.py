"""Collectives of four H200, direct beside NCCL, as recorded: what docs/performance.md says of them.

Paths in the recording are not those of the node.
"""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest
from result_schema import validate

from linkscope.analysis.collective import Collective
from linkscope.results.run_file import RunFile

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-direct.jsonl"
KINDS = ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all")
SIZES = {"1 Mi": 1 << 20, "4 Mi": 4 << 20, "16 Mi": 16 << 20, "64 Mi": 64 << 20, "256 Mi": 256 << 20, "1 Gi": 1 << 30}


@pytest.fixture(scope="module")
def bus() -> dict[tuple[str, str, int], float]:
    """GB/s by row, kind and size."""
    found = {}
    for row in RunFile.read(RECORDED).with_status("ok"):
        flow = row.case["flows"][0]
        kind = flow["parameters"]["collective"]
        members = tuple(member["device"] for member in flow["members"])
        seconds = statistics.mean(one.seconds.median for one in row.flows)
        rate = Collective(kind, members).bus_factor * flow["bytes"] / seconds * 1e-9
        found[row.case["name"], kind, flow["bytes"]] = rate
    return found


def test_every_line_is_of_the_schema_and_every_row_was_verified() -> None:
    for line in RECORDED.read_text().splitlines():
        validate(json.loads(line))
    run = RunFile.read(RECORDED)
    assert {row.status for row in run.rows} == {"ok"}
    assert all(row.raw["verified"]["bytes"] > 0 for row in run.rows)


def test_the_table_of_large_collectives_is_that_of_the_run(bus: dict[tuple[str, str, int], float]) -> None:
    text = (ROOT / "docs" / "performance.md").read_text()
    begin = text.index("**Large collectives, direct beside NCCL's**")
    lines = re.findall(r"^\| (\d+ [MG]i) \|(.*)\|$", text[begin : text.index("**At 1 GiB", begin)], re.MULTILINE)
    assert [size for size, _ in lines] == list(SIZES)
    for size, cells in lines:
        told = [cell.strip(" *") for cell in cells.split("|")]
        measured = [bus[row, kind, SIZES[size]] for kind in KINDS for row in ("direct", "xccl")]
        for text_of, rate in zip(told, measured, strict=True):
            unit = 10 ** -len(text_of.partition(".")[2])
            assert float(text_of) == pytest.approx(rate, abs=unit / 2 * 1.01), (size, text_of)


def test_what_is_told_of_a_gibibyte_is_the_runs(bus: dict[tuple[str, str, int], float]) -> None:
    told = re.search(r"all-reduce has ([\d.]+) of NCCL's", (ROOT / "docs" / "performance.md").read_text())
    assert told is not None
    ratio = bus["direct", "all-reduce", 1 << 30] / bus["xccl", "all-reduce", 1 << 30]
    assert float(told[1]) == pytest.approx(ratio, abs=0.0005)
    (row,) = [one for one in RunFile.read(RECORDED).rows if one.id == "ring/direct/4GPUs/all-reduce/1GiB"]
    assert "algorithm ring" in row.notes
