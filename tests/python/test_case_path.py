"""What a case is about: its path by its ends, its methods without those in the background, its collective."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import pytest

from linkscope.report import case_path


def found(flow: dict[str, Any]) -> str:
    return case_path.path(made.not_ok(made.case("Any", [flow], {}), "skipped", "for the test"))


@pytest.mark.parametrize(
    ("source", "destination", "path"),
    [
        ("gpu:0", "gpu:1", case_path.BETWEEN_GPUS),
        ("gpu:1", "gpu:1", case_path.WITHIN_GPU),
        ("numa:0", "gpu:1", case_path.HOST_AND_GPU),
        ("gpu:1", "numa:0", case_path.HOST_AND_GPU),
        ("numa:0", "numa:1", case_path.HOST),
    ],
)
def test_a_path_is_told_by_its_ends_whichever_way_bytes_go(source: str, destination: str, path: str) -> None:
    assert found(made.flow(source, destination)) == path


def test_of_one_end_the_executor_is_the_other() -> None:
    reads = made.flow("numa:0", "gpu:0")
    del reads["destination"]
    assert found(reads | {"executor": "gpu:0"}) == case_path.HOST_AND_GPU
    assert found(reads | {"executor": "numa:0"}) == case_path.HOST
    del reads["source"]
    assert found(reads) == case_path.CALLS


def test_collectives_and_applications_have_members() -> None:
    flow = {"method": "x", "executor": "gpu:0", "bytes": 4, "members": [], "parameters": {"collective": "broadcast"}}
    row = made.not_ok(
        {"id": "a", "suite": "s", "name": "n", "clock": "host", "flows": [flow], "labels": {}}, "skipped", "no"
    )
    assert case_path.collective(row) == "broadcast"
    row.case["flows"][0]["schedule"] = {}
    assert case_path.path(row) == case_path.APPLICATIONS
    assert case_path.collective(row) == ""


def test_methods_are_those_that_are_measured() -> None:
    flows = [made.flow("gpu:0", "gpu:1"), made.flow("gpu:1", "gpu:0", method="kernel-copy", role="background")]
    assert case_path.methods(made.not_ok(made.case("Any", flows, {}), "skipped", "no")) == ("copy-engine",)
