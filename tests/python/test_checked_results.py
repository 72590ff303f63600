"""Checked results: what is known of healthy paths, and of peers where nothing is."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import planted_faults as faults
import polars
import pytest
import recorded

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.checked_results import PEERS_SOURCE
from linkscope.answers.questions import ask
from linkscope.machine.expected import expected
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return recorded.healthy()


def explain(run: RunFile) -> Answer:
    return ask("explain", run)


def found(answer: Answer) -> list[Json]:
    """Return the problems, the gravest first."""
    return list(answer.data["problems"])


def checked(answer: Answer) -> polars.DataFrame:
    return answer.table("explain.checked").frame


def slow(answer: Answer) -> polars.DataFrame:
    return checked(answer).filter(polars.col("outcome") == "fails")


def test_steps_lead_from_the_line_rate_to_what_is_expected(healthy: RunFile) -> None:
    frame = checked(explain(healthy)).filter(polars.col("engine_gbps").is_not_null())
    assert frame.height == 98
    assert (frame["line_gbps"] >= frame["engine_gbps"]).all()
    assert (frame["engine_gbps"] >= frame["expected"]).all()


def test_every_reference_is_a_share_of_a_line_rate() -> None:
    for device in ("NVIDIA H200", "AMD Instinct MI250X, one die (GCD)"):
        for link in ("nvlink", "pcie", "memory", "xgmi"):
            for way in ("peer-write", "peer-read", "host-to-gpu", "local"):
                known = expected(device, link, way, "copy-engine")
                assert known is None or (0 < known.share <= 1 and 0 < known.tolerance < 0.5 and known.source)
    assert expected("NVIDIA H200", "nvlink", "peer-write", "copy-engine") is not None
    assert expected("a model nobody knows", "nvlink", "peer-write", "copy-engine") is None


def foreign(run: RunFile) -> RunFile:
    """Return the run as of GPUs that nobody has published anything of."""
    return replace(run, header=json.loads(json.dumps(run.header).replace("NVIDIA H200", "Foreign accelerator")))


def test_a_device_that_nobody_published_is_compared_with_its_peers(healthy: RunFile) -> None:
    answer = explain(foreign(healthy))
    assert (answer.outcome, answer.headline.code) == (Outcome.UNTESTED, "explain.peers-only")
    assert set(checked(answer)["expected_source"]) == {PEERS_SOURCE}
    (problem,) = found(explain(faults.lanes_down_unsaid("gpu:2")(foreign(healthy))))
    assert problem["where"] == ["gpu:2"]


def test_a_latency_that_is_known_of_such_gpus_is_compared_with_that(healthy: RunFile) -> None:
    known = checked(explain(healthy)).filter(polars.col("method") == "pointer-chase")
    assert known.height == 16
    assert PEERS_SOURCE not in set(known["expected_source"])
    late = explain(faults.late(lambda flow: True, 1.3)(healthy))
    assert set(slow(late)["id"]) == set(known["id"])
    assert found(late)


@pytest.mark.parametrize("kind", ["local", "peer"])
def test_a_chase_is_compared_with_other_runs_than_the_one_that_is_recorded(kind: str, healthy: RunFile) -> None:
    """The reference is the median of two runs on two other GPUs."""
    chased = (polars.col("method") == "pointer-chase") & (polars.col("kind") == kind)
    turns = [checked(ask("explain", path)).filter(chased) for path in (recorded.PAIR, recorded.PAIR_AGAIN)]
    (known,) = {value for frame in turns for value in frame["expected"]}
    assert known == pytest.approx(median(value for frame in turns for value in frame["value"]), rel=0.001)
    assert known in set(checked(explain(healthy)).filter(chased)["expected"])


@pytest.mark.parametrize("other", [{"cache": "flushed"}, {"load": "sustained"}, {"memory": "vmm"}], ids=str)
def test_a_known_latency_is_of_its_caches_load_and_memory_alone(other: dict[str, str], healthy: RunFile) -> None:
    rows = []
    for row in healthy.rows:
        if row.name == "chase-gpu":
            raw = copy.deepcopy(row.raw)
            (raw["case"]["flows"][0]["source"] if "memory" in other else raw["case"]).update(other)
            rows.append(Row.from_json(raw))
    answer = explain(faults.late(lambda flow: True, 4.2)(replace(healthy, rows=tuple(rows))))
    assert checked(answer).height == 16
    assert set(checked(answer)["expected_source"]) == {PEERS_SOURCE}
    assert slow(answer).is_empty()


def test_nvbandwidths_own_chase_is_compared_with_its_own_result(tmp_path: Path) -> None:
    run = linkscope.run("nvbandwidth", output=tmp_path / "a.jsonl", machine="h200x4", keyword="d2d-latency-sm")
    sources = checked(explain(run))["expected_source"]
    assert len(sources) == 12
    assert all("nvbandwidth" in source for source in sources)


def test_a_gpu_of_which_nothing_was_checked_is_said(healthy: RunFile) -> None:
    rows = tuple(row for row in healthy.rows if "gpu:3" not in json.dumps(row.case))
    plan = {**healthy.header["plan"], "ids": [row.id for row in rows]}
    answer = explain(replace(healthy, rows=rows, header={**healthy.header, "plan": plan}))
    assert (answer.outcome, answer.headline.code) == (Outcome.HOLDS, "explain.ok-partly")
    (unseen,) = (one for one in answer.findings if one.code == "explain.unseen")
    assert unseen.facts["gpus"] == ["gpu:3"]


def test_what_to_look_at_is_of_the_links_that_are_slow(healthy: RunFile) -> None:
    slow_pair = faults.slow_pair("gpu:2", "gpu:0")
    for run, check in ((healthy, "nvlink"), (faults.over_pcie(healthy), "acs")):
        codes = {one.code for one in explain(slow_pair(run)).findings}
        assert codes & {"explain.check-nvlink", "explain.check-acs"} == {f"explain.check-{check}"}
