"""The packaged suites, and suite files that people write."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import TINY_SUITE
from test_expand import cases
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.plan.suite import load_suite, suite_names

NVBANDWIDTH_CASES = {
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce", "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce", "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_host_memcpy_ce", "all_to_host_bidirectional_memcpy_ce", "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce", "all_to_one_write_ce", "all_to_one_read_ce", "one_to_all_write_ce",
    "one_to_all_read_ce", "host_to_device_memcpy_sm", "device_to_host_memcpy_sm",
    "host_to_device_bidirectional_memcpy_sm", "device_to_host_bidirectional_memcpy_sm",
    "device_to_device_memcpy_read_sm", "device_to_device_memcpy_write_sm",
    "device_to_device_bidirectional_memcpy_read_sm", "device_to_device_bidirectional_memcpy_write_sm",
    "all_to_host_memcpy_sm", "all_to_host_bidirectional_memcpy_sm", "host_to_all_memcpy_sm",
    "host_to_all_bidirectional_memcpy_sm", "all_to_one_write_sm", "all_to_one_read_sm", "one_to_all_write_sm",
    "one_to_all_read_sm", "host_device_latency_sm", "device_to_device_latency_sm", "device_local_copy",
}  # fmt: skip


@pytest.mark.parametrize("name", suite_names())
def test_packaged_suites_load_and_ask_a_question(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.answers.endswith("?")


def test_nvbandwidths_cases_are_all_there_once() -> None:
    peers = [row.peer["case"] for row in load_suite("nvbandwidth").rows if row.peer is not None]
    assert len(peers) == 35
    assert set(peers) == NVBANDWIDTH_CASES


@pytest.mark.parametrize(
    ("case", "moved", "executor", "column", "figure"),
    [
        ("all_to_one_write_ce", "all to one", "source", "gpu:2", "aggregate"),
        ("all_to_one_read_ce", "one to all", "destination", "gpu:2", "aggregate"),
        ("all_to_one_read_sm", "one to all", "source", "gpu:2", "aggregate"),
        ("one_to_all_write_sm", "one to all", "source", "gpu:2", "aggregate"),
        ("one_to_all_read_ce", "all to one", "destination", "gpu:2", "aggregate"),
        ("one_to_all_read_sm", "all to one", "source", "gpu:2", "aggregate"),
    ],
)
def test_nvbandwidths_gathering_cases_move_and_drive_as_its_source_does(
    case: str, moved: str, executor: str, column: str, figure: str
) -> None:
    found = [one.case for one in cases("nvbandwidth", node(4)) if one.case["labels"]["peer"]["case"] == case]
    picked = next(one for one in found if one["labels"]["column"] == column)
    hub, rim = ("source", "destination") if moved == "one to all" else ("destination", "source")
    assert {flow[hub]["device"] for flow in picked["flows"]} == {column}
    assert {flow[rim]["device"] for flow in picked["flows"]} == {"gpu:0", "gpu:1", "gpu:3"}
    assert all(flow["executor"] == flow[executor]["device"] for flow in picked["flows"])
    assert picked["labels"]["figure"] == figure


def test_nvbandwidths_read_and_write_differ_in_the_driver_and_in_the_rows_meaning() -> None:
    by_peer = {(one.case["labels"]["peer"]["case"], one.case["labels"]["row"], one.case["labels"]["column"]): one.case
               for one in cases("nvbandwidth", node(4))}  # fmt: skip
    read = by_peer["device_to_device_memcpy_read_ce", "gpu:1", "gpu:3"]["flows"][0]
    write = by_peer["device_to_device_memcpy_write_ce", "gpu:1", "gpu:3"]["flows"][0]
    assert (read["source"]["device"], read["destination"]["device"], read["executor"]) == ("gpu:3", "gpu:1", "gpu:1")
    assert (write["source"]["device"], write["destination"]["device"], write["executor"]) == ("gpu:1", "gpu:3", "gpu:1")
    chase = by_peer["device_to_device_latency_sm", "gpu:1", "gpu:3"]["flows"][0]
    assert (chase["source"]["device"], chase["executor"]) == ("gpu:3", "gpu:1")
    assert "destination" not in chase


def test_nvbandwidths_interference_is_sustained_load_and_its_split_kernels_are_halved() -> None:
    for one in cases("nvbandwidth", node(4)):
        peer, flows = one.case["labels"]["peer"]["case"], one.case["flows"]
        measured = [flow for flow in flows if flow.get("role", "measured") == "measured"]
        if peer in ("all_to_host_memcpy_ce", "host_to_all_memcpy_sm"):
            assert (len(measured), len(flows), one.case["load"]) == (4, 4, "sustained")
        if peer == "host_to_all_bidirectional_memcpy_ce":
            assert (len(measured), len(flows), one.case["load"]) == (4, 8, "sustained")
        if "bidirectional" in peer and peer.endswith("sm") and "device_to_device" not in peer:
            assert one.case["labels"]["figure"] == "half"
            assert {flow["method"] for flow in flows} == {"kernel-exchange"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "is not YAML"),
        ("[]", "is not of type 'object'"),
        ("name: x\nanswers: y", "has neither rows nor includes"),
        (TINY_SUITE.replace("pattern: first-device", "pattern: spiral"), "unknown pattern 'spiral'"),
        (TINY_SUITE.replace("sizes: 4K:128K:2x", "sizes: huge"), "malformed size 'huge'"),
        (TINY_SUITE.replace("executor: source", "executor: me"), "executor"),
        (TINY_SUITE.replace("title: Copies", "title: Copies\n    colour: red"), "'colour' was unexpected"),
        (TINY_SUITE + TINY_SUITE.partition("rows:\n")[2], "two rows are named 'copy'"),
        (TINY_SUITE.replace("on: numa", "on: disk"), "'disk' is not one of"),
    ],
)
def test_a_wrong_suite_file_is_one_clear_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(LinkscopeError, match=complaint) as refusal:
        load_suite(str(path))
    assert "\n" not in str(refusal.value)


def test_a_missing_suite_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="No such file"):
        load_suite(str(tmp_path / "none.yaml"))
