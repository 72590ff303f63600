"""Counted: the table of what tools count is whole, finds a tool's test, and tells what two count differently."""

from __future__ import annotations

import pytest

from linkscope.importers.counted import Counted, counted, differ, table, words
from linkscope.messages.catalog import sentence

TOOLS = (
    *("nvbandwidth", "nccl-tests", "rccl-tests", "OSU", "OMB-Py", "p2pBandwidthLatencyTest", "TransferBench"),
    *("rocm_bandwidth_test", "Comm|Scope", "nvloom", "NVSHMEM perftest", "nixlbench", "kvbench", "ucx_perftest"),
    *("perftest", "DeepEP", "multichase", "Kineto", "NCCL Inspector"),
)
COLUMNS = ("bytes", "clock", "warmup", "launches", "result")


def of(tool: str, test: str = "", version: str = "") -> Counted:
    found = counted(tool, test, version)
    assert found is not None
    return found


def test_every_word_of_the_table_is_explained_and_used() -> None:
    for column in COLUMNS:
        used = {getattr(one, column) for one in table()}
        assert used == set(words(column)), column
    assert all(one.source for one in table())
    assert {one.unit for one in table()} == {10**6, 10**9, 1 << 20}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_an_entry_for_any_test(tool: str) -> None:
    assert of(tool, "whatever").test == "*"


def test_names_of_tools_need_not_be_exact() -> None:
    assert of("commscope") is of("Comm|Scope")
    assert of("nvshmem", "shmem_put_bw").tool == "NVSHMEM perftest"
    assert counted("iperf", "") is None


@pytest.mark.parametrize(
    ("tool", "test", "bytes_"),
    [
        ("nvbandwidth", "nvbandwidth device_to_device_memcpy_read_ce", "payload"),
        ("nvbandwidth", "host_to_device_bidirectional_memcpy_sm", "one-of-two"),
        ("nvbandwidth", "device_to_device_bidirectional_memcpy_read_ce", "each-of-two"),
        ("nvbandwidth", "all_to_host_memcpy_ce", "sum"),
        ("nvbandwidth", "host_device_latency_sm", "none"),
        ("OSU", "osu_bibw", "both-directions"),
        ("OSU", "osu_mbw_mr", "sum"),
        ("OSU", "osu_bw", "payload"),
        ("OSU", "osu_allreduce", "none"),
        ("p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest local unidirectional", "read-and-written"),
        ("p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest bidirectional", "both-directions"),
        ("DeepEP", "dispatch", "own-rows"),
        ("rccl-tests", "all_reduce_perf", "bus"),
        ("nvloom", "bidir_memcpy_read_ce", "both-directions"),
    ],
)
def test_a_test_has_the_bytes_that_it_counts(tool: str, test: str, bytes_: str) -> None:
    assert of(tool, test).bytes == bytes_


def test_nvbandwidth_warms_up_otherwise_since_0_11() -> None:
    test = "all_to_one_read_ce"
    for version, warmup in (("0.6", "streams"), ("0.10", "streams"), ("0.11", "before"), ("0.12.1", "before")):
        assert of("nvbandwidth", test, version).warmup == warmup, version
    told = differ(of("nvbandwidth", test, "0.10"), of("nvbandwidth", test, "0.11"))
    assert [one.code for one in told] == ["counted.warmup-changed"]
    alone = "device_to_device_memcpy_read_ce"
    assert differ(of("nvbandwidth", alone, "0.10"), of("nvbandwidth", alone, "0.11")) == []


def test_two_tools_are_told_apart_by_what_changes_a_result_most() -> None:
    told = differ(of("OSU", "osu_bibw"), of("nvbandwidth", "device_to_device_memcpy_read_ce"))
    assert [one.code for one in told][:3] == ["counted.bytes", "counted.clock", "counted.launches"]
    assert sentence(told[0]) == "bytes: both directions (OSU), payload (nvbandwidth)"
    assert differ(of("OSU", "osu_bw"), of("OSU", "osu_bw")) == []


def test_what_options_decide_is_no_difference() -> None:
    codes = [one.code for one in differ(of("linkscope"), of("nccl-tests"))]
    assert "counted.launches" not in codes
    assert "counted.clock" not in codes


def test_every_difference_is_one_short_line() -> None:
    for one in table():
        for other in table():
            assert all(len(sentence(found)) <= 100 for found in differ(one, other)), (one.tool, other.tool)
