"""Keyword: -k picks cases by id, title or another tool's name, before the run is fitted to its budget."""

from __future__ import annotations

import pytest

from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request
from linkscope.plan.keyword import picked
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.suites import load_suite


def planned(row: str, title: str = "", peer: str = "") -> PlannedCase:
    """A case of the row."""
    labels = {"title": title, **({"peer": {"tool": "nvbandwidth", "case": peer}} if peer else {})}
    return PlannedCase({"id": f"suite/{row}/gpu:0>gpu:1", "suite": "suite", "name": row, "labels": labels})


CASES = [planned("push", "GPU to GPU"), planned("h2d-ce", "Host to GPU", "host_to_device_memcpy_ce"), planned("chase")]


@pytest.mark.parametrize(
    ("word", "rows"),
    [
        ("push", ["push"]),
        ("gpu to GPU", ["push"]),
        ("host_to_device_memcpy_ce", ["h2d-ce"]),
        ("gpu:1", ["push", "h2d-ce", "chase"]),
        ("gpu:1 and Host", ["h2d-ce"]),
    ],
)
def test_a_word_picks_by_id_title_and_other_tools_name(word: str, rows: list[str]) -> None:
    assert [one.case["name"] for one in picked(CASES, word)] == rows


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("host_to_device_ce", "host_to_device_memcpy_ce"),
        (" ", "--dry-run"),
        ("push and host", "no case has all of .push and host."),
        ("H2DCE", "did you mean h2d-ce"),
        ("pingpong", "`linkscope run p2p-processes -k ping-pong`"),
        ("ping-pong", "`linkscope run p2p-processes -k ping-pong`"),
    ],
)
def test_a_word_that_no_case_has_is_one_line_with_what_was_meant(word: str, near: str) -> None:
    with pytest.raises(LinkscopeError, match=near) as told:
        picked(CASES, word)
    assert "\n" not in str(told.value)


def test_a_row_that_lacks_its_devices_here_says_so_and_names_no_command_that_fails_alike() -> None:
    with pytest.raises(LinkscopeError, match=r"xccl-graph-recorded.* need GPUs") as told:
        picked(CASES, "push or graph-recorded and all-reduce", [load_suite("collectives")])
    assert "linkscope run collectives" not in str(told.value)


def test_the_word_is_part_of_the_command_line_and_the_run_file() -> None:
    request = Request(suites=("nvbandwidth",), keyword="h2d")
    assert request.command_line == ["linkscope", "run", "nvbandwidth", "--keyword", "h2d"]
    assert Request.from_json(request.to_json()) == request
