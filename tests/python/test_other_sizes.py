"""Other sizes: which suite rows do not have the sizes that --sizes asked for, before a run and of one."""

from __future__ import annotations

from typing import Any

from linkscope.launch.job import Request, prepare
from linkscope.results.other_sizes import MOST_NAMED, other_sizes

PART = "at fewer sizes than --sizes named, as the suite goes no further"


def case(name: str, size: int, suite: str = "s") -> dict[str, Any]:
    return {"suite": suite, "name": name, "flows": [{"bytes": size}]}


def test_rows_that_end_before_or_begin_after_the_sizes_asked_for_are_named_with_theirs() -> None:
    cases = [case("short", 1 << 10), case("short", 1 << 20), case("whole", 1 << 10), case("whole", 1 << 30)]
    cases += [case("high", 1 << 20), case("high", 1 << 30), case("barrier", 0)]
    cases += [case("chase", 2 << 30)]
    own, some = other_sizes(cases, "1K:1G:4x")
    assert own == "at sizes of their own: chase (2 GiB)"
    assert some == f"{PART}: short (1 KiB to 1 MiB), high (1 MiB to 1 GiB)"


def test_where_all_end_at_one_size_that_is_said_once() -> None:
    cases = [case(name, size) for name in ("one", "other") for size in (1 << 10, 1 << 20)]
    assert other_sizes(cases, "1K:1G:4x") == [f"{PART}: all suite rows (1 KiB to 1 MiB)"]


def test_sizes_that_members_share_out_are_those_asked_for() -> None:
    assert other_sizes([case("all-reduce", 1008), case("all-reduce", (1 << 30) - 16)], "1K:1G:4x") == []


def test_without_sizes_and_with_what_a_damaged_file_holds_nothing_is_told() -> None:
    assert not any(other_sizes([case("short", 1)], asked) for asked in (None, "", "9:1", 7))


def test_more_rows_than_fit_are_counted() -> None:
    (told,) = other_sizes([case(f"row-{number}", 8) for number in range(MOST_NAMED + 2)], "1M")
    assert f"row-{MOST_NAMED - 1}" in told
    assert f"row-{MOST_NAMED}" not in told
    assert told.endswith("2 more")


def test_before_a_run_its_notes_name_rows_with_sizes_of_their_own_but_no_message() -> None:
    notes = prepare(Request(("default",), machine="h200x4", sizes="1K:1G:4x")).notes
    assert any("ping-pong (8 B)" in note for note in notes)
    messages = prepare(Request(("p2p-processes",), machine="h200x4", sizes="1K:1G:4x")).notes
    assert not any("gpu-latency" in note for note in messages)


def test_rows_of_one_name_in_several_suites_are_several() -> None:
    cases = [case("local", 8, "a"), case("local", 1 << 30, "b"), case("local", 8, "b")]
    assert other_sizes(cases, "8:1G:2x") == [f"{PART}: a/local (8 B)"]


def test_messages_of_no_bytes_are_of_no_size() -> None:
    assert other_sizes([case("latency", size) for size in (0, 8, 1024)], "0,8,1K") == []
    assert other_sizes([case("latency", 0)], "0") == []
