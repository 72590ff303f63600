"""The world of the torch engine's processes (here: threads), over real connections: whose words all of them raise."""

from __future__ import annotations

import platform
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from linkscope.torch_engine.faults import EngineError, Fault
from linkscope.torch_engine.world import Centre, Spoke, World, together

HOST = platform.node()
LONG_S = 60.0
SHORT_S = 0.5

Step = Callable[[World], Any]


def name(rank: int) -> str:
    return f"rank {rank} (host {HOST})"


@dataclass
class Company:
    """What became of the processes, by rank: the error that ended each, and what it told its supervisor of failures."""

    errors: dict[int, EngineError] = field(default_factory=dict)
    told: dict[int, list[str]] = field(default_factory=dict)

    @property
    def words(self) -> dict[int, str]:
        return {rank: str(error) for rank, error in self.errors.items()}


def company(work: Callable[[World], None], size: int, limit_s: float = LONG_S) -> Company:
    """Each process's work, at the same time. An error closes nothing before all have ended."""
    listener = socket.create_server(("127.0.0.1", 0))
    hub = f"127.0.0.1:{listener.getsockname()[1]}"
    found = Company(told={rank: [] for rank in range(size)})

    def live(rank: int) -> None:
        tell = found.told[rank].append
        try:
            world = (
                Centre(listener, "secret", size, hub, limit_s, {}, tell)
                if rank == 0
                else Spoke(rank, "secret", size, hub, limit_s, {}, tell)
            )
            work(world)
        except EngineError as error:
            found.errors[rank] = error

    threads = [threading.Thread(target=live, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
        assert not thread.is_alive()
    return found


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set when a test is over, or by it: who waits for it waits no longer."""
    event = threading.Event()
    yield event
    event.set()


def test_every_process_has_every_word_in_order() -> None:
    seen: dict[int, list[Any]] = {}

    def work(world: World) -> None:
        for _ in range(3):
            seen[world.rank] = together(world, lambda: {"rank": world.rank})

    assert company(work, 3).errors == {}
    assert seen == {rank: [{"rank": 0}, {"rank": 1}, {"rank": 2}] for rank in range(3)}


@pytest.mark.parametrize("first", [0, 1, 2])
def test_who_failed_first_is_named_and_not_who_waited_for_it(first: int, release: threading.Event) -> None:
    """As in a collective: the others wait in it until their library gives up."""

    def step(world: World) -> None:
        if world.rank == first:
            raise RuntimeError("no memory for a ring")
        assert release.wait(LONG_S)
        raise RuntimeError("timed out waiting for the others")

    def work(world: World) -> None:
        together(world, lambda: None)
        if world.rank == first:
            threading.Timer(SHORT_S, release.set).start()
        together(world, lambda: step(world))

    found = company(work, 3)
    assert found.words == dict.fromkeys(range(3), f"{name(first)}: RuntimeError: no memory for a ring")
    assert {error.fault for error in found.errors.values()} == {Fault.BROKEN}


def test_a_failure_that_ends_one_process_ends_all() -> None:
    def step(world: World) -> None:
        raise RuntimeError("CUDA error: unspecified launch failure" if world.rank == 1 else "no such thing")

    found = company(lambda world: together(world, lambda: step(world)), 2)  # type: ignore[arg-type,return-value]
    assert {error.fault for error in found.errors.values()} == {Fault.FATAL}


@pytest.mark.parametrize(("failed", "held_up"), [(0, 1), (1, 2), (2, 1), (1, 0)])
def test_what_one_failed_of_is_told_where_another_is_held_up(failed: int, held_up: int) -> None:
    """Also where that is rank 0, whom all others wait for."""
    done = threading.Barrier(3)

    def step(world: World) -> None:
        if world.rank == failed:
            raise RuntimeError("no memory for a ring")
        if world.rank == held_up:
            done.wait(LONG_S)

    def work(world: World) -> None:
        together(world, lambda: None)
        try:
            together(world, lambda: step(world))
        finally:
            if world.rank != held_up:
                done.wait(LONG_S)

    found = company(work, 3, SHORT_S)
    reason = f"{name(failed)} failed: RuntimeError: no memory for a ring; {name(held_up)} has not come within 0.5 s"
    assert found.told == {0: [], 1: [], 2: [], failed: ["RuntimeError: no memory for a ring"]}
    teller = failed if held_up == 0 else 0
    assert found.words[teller] == reason
    assert found.errors[teller].fault is Fault.FATAL


def test_of_several_that_failed_the_first_comes_first_where_another_is_held_up() -> None:
    """Rank 0 gives up for the sake of rank 1, a little later, while rank 2 is held up."""
    done, given_up = threading.Barrier(3), threading.Event()

    def step(world: World) -> None:
        if world.rank == 2:
            done.wait(LONG_S)
        elif world.rank == 1:
            threading.Timer(SHORT_S / 5, given_up.set).start()
            raise RuntimeError("no memory for a ring")
        else:
            assert given_up.wait(LONG_S)
            raise RuntimeError("timed out\nwaiting for the others")

    def work(world: World) -> None:
        together(world, lambda: None)
        try:
            together(world, lambda: step(world))
        finally:
            if world.rank != 2:
                done.wait(LONG_S)

    failed = f"{name(1)} failed: RuntimeError: no memory for a ring; "
    later = f"{name(0)} failed: RuntimeError: timed out waiting for the others; "
    found = company(work, 3, SHORT_S)
    assert {found.words[0], found.words[1]} == {f"{failed}{later}{name(2)} has not come within 0.5 s"}


def test_a_failure_is_told_before_the_others_are_waited_for(release: threading.Event) -> None:
    def step(world: World) -> None:
        if world.rank == 1:
            raise RuntimeError("no memory for a ring")
        assert release.wait(LONG_S)

    listener = socket.create_server(("127.0.0.1", 0))
    hub = f"127.0.0.1:{listener.getsockname()[1]}"
    ended: list[str] = []

    def other() -> None:
        world = Spoke(1, "secret", 2, hub, LONG_S, {}, lambda reason: release.set())
        with pytest.raises(EngineError) as caught:
            together(world, lambda: step(world))
        ended.append(str(caught.value))

    thread = threading.Thread(target=other)
    thread.start()
    world = Centre(listener, "secret", 2, hub, LONG_S, {})
    with pytest.raises(EngineError, match="no memory for a ring"):
        together(world, lambda: step(world))
    thread.join(LONG_S)
    assert ended == [f"{name(1)}: RuntimeError: no memory for a ring"]


def test_who_takes_nothing_in_is_late_and_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Barrier(2)

    def full(value: Any, limit_s: float) -> None:
        if "words" in value:
            raise TimeoutError

    def work(world: World) -> None:
        together(world, lambda: None)
        try:
            if world.rank == 0:
                monkeypatch.setattr(world._spokes[1], "send", full)  # type: ignore[attr-defined]
                together(world, lambda: None)
            else:
                world._centre.send({"word": [None, None], "failure": None}, LONG_S)  # type: ignore[attr-defined]
        finally:
            done.wait(LONG_S)

    assert company(work, 2, SHORT_S).words == {0: f"{name(1)} has not come within 0.5 s"}


def test_who_is_gone_is_named_before_who_failed_for_its_sake() -> None:
    gone = threading.Event()

    def work(world: World) -> None:
        together(world, lambda: None)
        if world.rank == 1:
            world._centre.close()  # type: ignore[attr-defined]
            gone.set()
            return
        assert gone.wait(LONG_S)

        def step() -> None:
            if world.rank == 2:
                raise RuntimeError("connection reset by peer")

        together(world, step)

    found = company(work, 3)
    assert found.words[0].startswith(f"{name(1)} is gone")
    assert found.words[2].startswith(f"{name(1)} is gone"), "rank 0 has told it"
