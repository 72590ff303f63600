"""Control: a stranger neither gets in nor stands in the way."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from linkscope.launch.group.control import (
    CONTROL_VARIABLE,
    LOOPBACK,
    TOKEN_VARIABLE,
    Control,
    Event,
    RankJoined,
    RankLeft,
    RankLine,
    RejectedProcess,
)
from linkscope.results.run_file import SCHEMA


@pytest.fixture
def control() -> Iterator[Control]:
    """Of two processes."""
    listening = Control(2, "1.0", "host")
    yield listening
    listening.close()


def call(control: Control) -> socket.socket:
    host, _, port = control.address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)))


def hello(control: Control, **other: Any) -> bytes:
    said = {"record": "hello", "schema": SCHEMA, "version": "1.0", "backend": "host", "token": control.token}
    return json.dumps({**said, "rank": 1, "host": "node7", "pid": 7, **other}).encode() + b"\n"


def events_of(control: Control, least: int) -> list[Event]:
    """The next so many, and what comes along with the last. Fails where they do not come within a while."""
    events: list[Event] = []
    for _ in range(600):
        events += control.poll(0.1)
        if len(events) >= least:
            return events
    raise AssertionError(f"only {events} came")


def first_event(control: Control) -> Event:
    return events_of(control, 1)[0]


def joins(control: Control) -> bool:
    """Whether a process of the group still gets in, before anything else happens."""
    with call(control) as process:
        process.sendall(hello(control))
        return isinstance(first_event(control), RankJoined)


@pytest.mark.parametrize(
    "words",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[" * 60000 + b"\n",
        b"{}\n",
        b"[1]\n",
        b"\xff\xfe\n",
        b"x" * (3 << 17),
        b'{"record":"hello","token":"\\ud800","rank":0}\n',
    ],
)
def test_strangers_are_turned_away_whatever_they_say(control: Control, words: bytes) -> None:
    with call(control) as stranger:
        stranger.sendall(words)
        assert joins(control)
        stranger.settimeout(0.1)
        closed = False
        for _ in range(600):
            control.poll(0)
            try:
                closed = stranger.recv(1) == b""
            except ConnectionResetError:
                closed = True
            except TimeoutError:
                continue
            break
        assert closed


def test_who_says_nothing_keeps_nobody_out(control: Control) -> None:
    """More of them than are kept, each with half a line."""
    with ExitStack() as held:
        for _ in range(300):
            stranger = held.enter_context(call(control))
            stranger.sendall(b'{"record":')
            control.poll(0.01)
        assert joins(control)


@pytest.mark.parametrize("wrong", [{"rank": float("inf")}, {"pid": "x"}, {"root_port": [1]}, {"token": "wrong"}])
def test_a_hello_that_makes_no_sense_is_a_strangers(control: Control, wrong: dict[str, Any]) -> None:
    with call(control) as stranger:
        stranger.sendall(hello(control, **wrong))
        assert joins(control)


def test_lines_of_a_process_come_whole_however_they_arrive(control: Control) -> None:
    with call(control) as process:
        process.sendall(hello(control) + b'{"record":')
        assert isinstance(first_event(control), RankJoined)
        process.sendall(b'"start"}\n')
        said = first_event(control)
        assert isinstance(said, RankLine)
        assert (said.rank, said.line) == (1, b'{"record":"start"}')


def test_what_was_said_counts_as_before_an_end_that_is_seen_along_with_it(control: Control) -> None:
    with call(control) as first, call(control) as second:
        first.sendall(hello(control, rank=0))
        second.sendall(hello(control, rank=1))
        events_of(control, 2)
        first.sendall(b'{"record":"failure"}\n')
        second.close()
        events = events_of(control, 2)
    (said,) = (event for event in events if isinstance(event, RankLine))
    (left,) = (event for event in events if isinstance(event, RankLeft))
    assert said.moment < left.moment


def test_ends_are_told_in_their_order_whatever_there_is_to_read_first(control: Control) -> None:
    """Rank 0 has said something and gone after rank 1 had: its line is the first that there is to read."""
    with call(control) as first, call(control) as second:
        first.sendall(hello(control, rank=0))
        second.sendall(hello(control, rank=1))
        events_of(control, 2)
        first.sendall(b'{"record":"start"}\n')
        assert isinstance(first_event(control), RankLine)  # the selector looks at this one first from now on
        second.close()
        first.close()
        left = events_of(control, 2)
    assert [event.rank for event in sorted((one for one in left if isinstance(one, RankLeft)), key=by_moment)] == [1, 0]


def by_moment(event: RankLeft) -> float:
    return event.moment


def test_another_version_is_a_misfit_that_is_named(control: Control) -> None:
    with call(control) as process:
        process.sendall(hello(control, version="0.9"))
        event = first_event(control)
        assert isinstance(event, RejectedProcess)
        assert event.reason.startswith("rank 1 (host node7) runs an engine of version 0.9, the one here is 1.0")


def test_it_listens_at_its_own_address_alone(control: Control) -> None:
    assert control.address.startswith(f"{LOOPBACK}:")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", int(control.address.rpartition(":")[2])))


def test_the_token_is_long_random_and_in_the_environment_alone(control: Control) -> None:
    other = Control(2, "1.0", "host")
    other.close()
    assert control.variables == {CONTROL_VARIABLE: control.address, TOKEN_VARIABLE: control.token}
    assert len(control.token) == 32
    assert control.token != other.token
    assert control.token not in repr(control)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_an_address_of_ipv6_stands_in_brackets() -> None:
    listening = Control(2, "1.0", "host", "::1")
    try:
        assert listening.address.startswith("[::1]:")
        assert joins(listening)
    finally:
        listening.close()
