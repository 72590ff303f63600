"""Causes: which are named, where intervals decide, and how many a first screen has."""

from __future__ import annotations

from dataclasses import replace

import planted_faults as faults
import pytest
import recorded
from test_checked_results import explain, found

from linkscope.answers.causes import RunSurroundings, causes
from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return recorded.healthy()


def test_a_numa_node_is_nearer_where_its_interval_is_above_the_nearests(healthy: RunFile) -> None:
    host = {"kind": "host", "gpus": ["gpu:0"], "unit": "GB/s", "destination": "gpu:0"}
    host |= {"row": "h2d", "movement": "host>gpu", "way": "copy-engine", "memories": "pinned>device", "bytes": 1 << 29}
    near = {**host, "source": f"numa:{healthy.node.device('gpu:0').numa}", "value_low": 40.0}
    far = {**host, "source": "numa:9", "value_low": 50.0, "value_high": 60.0}
    for high, nearer in ((46.0, True), (47.0, False)):
        around = RunSurroundings(Run(healthy), [{**near, "value_high": high}, far])
        named = [one.finding for one in causes(around, "gpu:0") if one.finding.code == "explain.numa-nearer"]
        assert [one.facts["nearer"] for one in named] == [["numa:9"]] * nearer


def test_a_method_that_was_checked_on_one_kind_of_path_alone_is_not_the_cause(healthy: RunFile) -> None:
    def kept(row: Row) -> bool:
        flow = row.case["flows"][0]
        return flow["method"] != "copy-engine" or any(end.startswith("numa:") for end in faults.ends(flow))

    slow = faults.slow_engine("copy-engine")
    of_host = replace(healthy, rows=tuple(filter(kept, healthy.rows)))
    named, others = ({one["cause"] for one in found(explain(slow(run)))} for run in (healthy, of_host))
    assert named == {"explain.slow-method"}
    assert others
    assert "explain.slow-method" not in others


def test_the_first_screen_has_three_problems_and_counts_the_others(healthy: RunFile) -> None:
    run = faults.lanes_down("gpu:1")(faults.pcie_narrow("gpu:2", 4)(healthy))
    answer = explain(faults.late_memory("gpu:0")(faults.capped("gpu:1")(run)))
    named = [problem["cause"] for problem in found(answer)]
    assert len(set(named)) == 4
    assert [one.code for one in answer.findings if one.code in named] == named[:3]
    assert [one.code for one in answer.details if one.code in named] == named[3:]
    assert [one.facts["more"] for one in answer.findings if one.code == "explain.more-problems"] == [1]
