"""Sizes, selection, budget and suites: what users type becomes numbers or one clear line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscope.documents.durations import parse_duration
from linkscope.documents.sizes import LARGEST_BYTES, early_ends, format_bytes, parse_counts, parse_size, parse_sizes
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.plan.budget import (
    LEAST_POINT_BUDGET_S,
    Costs,
    SamplingOptions,
    estimate_s,
    limits,
    share_out,
    timeout_s,
)
from linkscope.plan.select import allowed_devices, parse_devices, parse_precision

NODE = Node("two", tuple(Device(f"{kind}:{i}", kind) for kind in ("numa", "gpu") for i in range(2)), ())


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("4K", 4096), ("512MiB", 512 << 20), ("1.5G", 3 << 29), ("64b", 64), ("2 KiB", 2048)]
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "K", "4Q", "-1", "0", "1.3", "4KB", "1e3", "4K:", "4K:1M", "4K:1M:x", "4K:1M:1x", "1M:4K:2x", "999T", "4K;8K"],
)
def test_malformed_sizes_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(LinkscopeError) as refusal:
        parse_sizes(text)
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_ranges_step_by_the_factor_and_end_at_the_last_step_inside() -> None:
    assert parse_sizes("4K:64K:4x") == [4 << 10, 16 << 10, 64 << 10]
    assert parse_sizes("4K:63K:4x") == [4 << 10, 16 << 10]
    assert len(parse_sizes("64:1G:2x")) == 25
    assert parse_sizes("1M,1K,1M") == [1 << 10, 1 << 20]


@pytest.mark.parametrize(
    ("typed", "meant"), [("1:4MB", "1:4M:2x"), ("64K: 1GiB", "64K:1G:2x"), ("8:64M:4", "8:64M:4x")]
)
def test_a_malformed_range_that_is_clear_is_named_as_it_is_written(typed: str, meant: str) -> None:
    with pytest.raises(LinkscopeError, match=f"write {meant}$"):
        parse_sizes(typed)


@pytest.mark.parametrize("typed", ["8:", "1:2:3:4", "4M:1", "1:x"])
def test_of_another_malformed_range_nothing_is_guessed(typed: str) -> None:
    with pytest.raises(LinkscopeError, match="FIRST:LAST:FACTORx"):
        parse_sizes(typed)


def test_ranges_whose_end_is_no_step_are_told_with_the_size_where_they_end() -> None:
    assert early_ends("8:1M:8x") == ["8:1M:8x ends at 256 KiB"]
    assert early_ends("3, 4K:63K:4x,4K:64K:4x,0:7:4x") == ["4K:63K:4x ends at 16 KiB", "0:7:4x ends at 4 B"]
    assert early_ends("64K,512M") == early_ends("8:256K:8x") == []


@given(st.integers(1, LARGEST_BYTES), st.integers(1, LARGEST_BYTES), st.floats(1.01, 100))
def test_ranges_ascend_within_their_bounds(one: int, other: int, factor: float) -> None:
    first, last = sorted((one, other))
    sizes = parse_sizes(f"{first}:{last}:{factor:.2f}x")
    assert sizes[0] == first
    assert sizes[-1] <= last
    assert sizes == sorted(set(sizes))


@given(st.integers(1, LARGEST_BYTES))
def test_whole_multiples_of_a_unit_are_read_back_as_written(size: int) -> None:
    text = format_bytes(size)
    if "." not in text:
        assert parse_size(text) == size


def test_counts_know_the_most_there_is() -> None:
    assert parse_counts("1:max:2x", 6) == [1, 2, 4, 6]
    assert parse_counts("max", 6) == [6]
    assert parse_counts("1,4,16", 6) == [1, 4]


def test_devices_by_list_and_range() -> None:
    assert parse_devices("gpu:0-1,numa:1", NODE) == ("gpu:0", "gpu:1", "numa:1")
    with pytest.raises(LinkscopeError, match="unknown device 'gpu:7'"):
        parse_devices("gpu:7", NODE)
    with pytest.raises(LinkscopeError, match="malformed device"):
        parse_devices("gpu0", NODE)


def test_naming_gpus_keeps_the_host_and_naming_the_host_leaves_gpus_out() -> None:
    assert allowed_devices(NODE, ("gpu:1",)) == {"gpu:1", "numa:0", "numa:1"}
    assert allowed_devices(NODE, ("numa:1",)) == {"numa:1"}


def test_precision_and_durations() -> None:
    assert parse_precision("1%") == pytest.approx(0.01)
    assert parse_precision("0.005") == pytest.approx(0.005)
    assert parse_duration("1.5m") == pytest.approx(90)
    assert parse_duration("500ms") == pytest.approx(0.5)
    for wrong in ("", "1", "90%", "0%", "x"):
        with pytest.raises(LinkscopeError, match="precision"):
            parse_precision(wrong)
    for wrong in ("", "0s", "5 parsecs", "-1s"):
        with pytest.raises(LinkscopeError, match="duration"):
            parse_duration(wrong)


def test_a_budget_is_shared_out_and_never_below_what_a_figure_needs() -> None:
    cases = [{"flows": [{"method": "memcpy", "bytes": 1 << 20}]}] * 10
    generous, tight = share_out(cases, 0.01, 3.0), share_out(cases, 0.01, 0.001)
    assert 0.15 < generous.point_budget_s < 0.3
    assert tight.point_budget_s == LEAST_POINT_BUDGET_S
    assert share_out(cases, 0.01, None).point_budget_s > generous.point_budget_s


def test_a_budget_is_shared_by_need_so_that_large_cases_come_to_as_many_samples() -> None:
    small = {"flows": [gpu_flow("copy-engine", 4096)]}
    large = {"flows": [gpu_flow("copy-engine", 1 << 32)]}
    content = large | {"point_budget_s": 0.05}
    cases = [small] * 20 + [large] * 2 + [content]
    setup = sum(estimate_s(case, SamplingOptions(point_budget_s=0.0)) for case in cases)
    options = share_out(cases, 0.01, setup + Costs().starts_s(cases) + 0.5)
    budgets = [limits(case, options)["point_budget_s"] for case in (small, large, content)]
    assert budgets[1] == pytest.approx(budgets[0] * (1 << 32) / 300e9 / 0.001, rel=0.01), (
        "samples of the one are longer"
    )
    assert budgets[2] == 0.05
    assert 20 * budgets[0] + 2 * budgets[1] + budgets[2] == pytest.approx(0.5, rel=0.01)
    assert "point_budget_s" not in limits(small, share_out(cases, 0.01, None))


def test_a_case_content_with_less_sampling_is_estimated_by_it() -> None:
    case = {"flows": [{"method": "memcpy", "bytes": 1 << 34}], "point_budget_s": 0.1}
    whole = estimate_s({"flows": case["flows"]}, SamplingOptions(point_budget_s=0.5))
    assert whole - estimate_s(case, SamplingOptions(point_budget_s=0.5)) == pytest.approx(0.4)
    assert estimate_s(case, SamplingOptions(point_budget_s=0.05)) < estimate_s(
        case, SamplingOptions(point_budget_s=0.5)
    )


def test_pages_that_migrate_are_expected_to_spend_the_time_they_have() -> None:
    still, migrating = ({"flows": [gpu_flow(method, 4096)]} for method in ("copy-engine", "page-fault"))
    assert estimate_s(still, SamplingOptions()) < 0.1
    assert estimate_s(migrating, SamplingOptions(point_budget_s=0.3)) == pytest.approx(0.3, abs=0.02)
    assert estimate_s(migrating | {"point_budget_s": 0.12}, SamplingOptions()) == pytest.approx(0.12, abs=0.02)


def test_copies_staged_through_the_host_scatter_as_those_of_host_memory() -> None:
    straight = gpu_flow("copy-engine", 4096)
    staged = straight | {"parameters": {"peer_access": "off"}}
    assert estimate_s({"flows": [staged]}, SamplingOptions()) > 2 * estimate_s({"flows": [straight]}, SamplingOptions())


def test_many_messages_under_way_take_their_time_whatever_the_budget() -> None:
    def messages(**parameters: str | int) -> dict[str, Any]:
        ends = {end: {"device": "numa:0", "rank": rank} for rank, end in enumerate(("source", "destination"))}
        flow = {"method": "mpi", "bytes": 1 << 30, "executor": "numa:0", "parameters": parameters, **ends}
        return {"flows": [flow], "processes": 2, "point_budget_s": 0.1}

    one, four, window, both = (
        estimate_s(messages(**parameters), SamplingOptions())
        for parameters in (
            {"call": "send"},
            {"call": "window", "window": 4},
            {"call": "window"},
            {"call": "both-ways", "window": 64},
        )
    )
    repeat = (four - one) / 3
    assert repeat > 0.5  # six gibibytes and more
    assert window - one == pytest.approx(63 * repeat)
    assert both - one == pytest.approx(127 * repeat)
    assert timeout_s(messages(call="window"), SamplingOptions()) > 2 * window


def test_a_case_may_be_silent_for_longer_than_it_may_sample() -> None:
    case = {"flows": [{"method": "memcpy", "bytes": 1 << 30}] * 12}
    options = share_out([case], 0.01, None)
    assert timeout_s(case, options) > 30 + options.point_budget_s


def gpu_flow(method: str, size: int, **parameters: str | int) -> dict[str, Any]:
    end = {"device": "gpu:0", "memory": "managed"}
    return {"method": method, "bytes": size, "source": end, "destination": end, "parameters": parameters}


def test_page_faults_and_allocations_are_expected_to_take_longer_than_copies() -> None:
    def seconds(method: str, budget: float) -> float:
        return estimate_s({"flows": [gpu_flow(method, 1 << 28)]}, SamplingOptions(point_budget_s=budget))

    for budget in (0.0, 0.05):
        times = [seconds(method, budget) for method in ("copy-engine", "prefetch", "page-fault", "first-touch")]
        assert times == sorted(times)
        assert len(set(times)) == 4


def test_a_call_is_expected_to_take_no_longer_than_its_samples() -> None:
    call = {"flows": [{"method": "launch", "bytes": 1}]}
    assert estimate_s(call, SamplingOptions()) < estimate_s(
        {"flows": [gpu_flow("copy-engine", 1 << 30)]}, SamplingOptions()
    )


def test_a_regions_allocation_is_filled_and_checked_whole() -> None:
    def planned(allocation: str) -> dict[str, Any]:
        return {"flows": [gpu_flow("copy-engine-3d", 4096, region="64x64x1", **{"in": allocation})]}

    small, large = planned("64x64x1"), planned("3072x768x768")
    assert estimate_s(large, SamplingOptions()) > estimate_s(small, SamplingOptions())
    assert timeout_s(large, SamplingOptions()) > timeout_s(small, SamplingOptions())


@pytest.mark.parametrize("text", ["1:64T:1.0000001x", "1:10001:1.00001x", ",".join(map(str, range(1, 10_002)))])
def test_too_many_values_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(LinkscopeError, match="stands for more than 10,000 values"):
        parse_sizes(text)


@pytest.mark.parametrize("text", ["9" * 5000, f"1:8:{'9' * 5000}x", "²", "1:8:1x"])
def test_numbers_beyond_reason_are_refused(text: str) -> None:
    for parse in (parse_sizes, lambda words: parse_counts(words, 8)):
        with pytest.raises(LinkscopeError):
            parse(text)
