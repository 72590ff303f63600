"""Other sizes: which tests do not have the sizes that --sizes asked for, before a run and of one."""

from __future__ import annotations

from typing import Any

from linkscope.launch.job import Request, prepare
from linkscope.results.other_sizes import sizes_of_their_own


def case(name: str, size: int, suite: str = "s") -> dict[str, Any]:
    return {"suite": suite, "name": name, "flows": [{"bytes": size}]}


def test_tests_that_end_before_or_begin_after_the_sizes_asked_for_have_their_ends() -> None:
    cases = [case("short", 1 << 10), case("short", 1 << 20), case("whole", 1 << 10), case("whole", 1 << 30)]
    cases += [case("high", 1 << 20), case("high", 1 << 30), case("barrier", 0), case("chase", 2 << 30)]
    others, tests = sizes_of_their_own(cases, "1K:1G:4x")
    assert {name: ends for (_, name), ends in others.items()} == {
        "short": (1 << 10, 1 << 20),
        "high": (1 << 20, 1 << 30),
        "chase": (2 << 30, 2 << 30),
    }
    assert {name for _, name in tests} == {"short", "whole", "high", "chase"}


def test_sizes_that_members_share_out_are_those_asked_for() -> None:
    cases = [case("all-reduce", 1008), case("all-reduce", (1 << 30) - 16)]
    assert sizes_of_their_own(cases, "1K:1G:4x")[0] == {}


def test_without_sizes_and_with_what_a_damaged_file_holds_no_test_is_another() -> None:
    assert not any(sizes_of_their_own([case("short", 1)], asked)[0] for asked in (None, "", "9:1", 7))


def test_before_a_run_its_notes_name_tests_with_sizes_of_their_own_but_no_message() -> None:
    notes = prepare(Request(("default",), machine="h200x4", sizes="1K:1G:4x")).notes
    assert any("chase-gpu" in one for one in notes)
    messages = prepare(Request(("p2p-processes",), machine="h200x4", sizes="1K:1G:4x")).notes
    assert not any("gpu-latency" in one for one in messages)


def test_tests_of_one_name_in_several_suites_are_several() -> None:
    cases = [case("local", 8, "a"), case("local", 1 << 30, "b"), case("local", 8, "b")]
    assert set(sizes_of_their_own(cases, "8:1G:2x")[0]) == {("a", "local")}


def test_messages_of_no_bytes_are_of_no_size() -> None:
    assert sizes_of_their_own([case("latency", size) for size in (0, 8, 1024)], "0,8,1K")[0] == {}
    assert sizes_of_their_own([case("latency", 0)], "0") == ({}, set())
