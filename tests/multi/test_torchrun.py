"""Groups among the ranks of torchrun, as it tells them of each other: they start engines whenever these are wanted."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from multi_run import IDS, MultiRun, wait_until

HOST = socket.gethostname()


@pytest.fixture(autouse=True)
def nothing_is_left(multi_run: MultiRun) -> Iterator[None]:
    yield
    wait_until(lambda: not multi_run.engines())
    assert multi_run.leftovers() == []


def start(multi_run: MultiRun, ranks: int, *arguments: str) -> list[subprocess.Popen[str]]:
    """What torchrun starts (torch.distributed.elastic), without PyTorch."""
    told = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "TORCHELASTIC_RUN_ID": "none"}
    for name, value in (told | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}).items():
        multi_run.monkeypatch.setenv(name, str(value))
    started = []
    for rank in range(ranks):
        multi_run.monkeypatch.setenv("RANK", str(rank))
        multi_run.monkeypatch.setenv("LOCAL_RANK", str(rank))
        started.append(multi_run.start(*arguments))
    return started


def test_rank_0_leads_and_the_others_become_its_engines(multi_run: MultiRun) -> None:
    for process in start(multi_run, 2):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    assert [group["launcher"] for group in multi_run.groups] == ["inside"]
    assert sorted(one["pid"] for one in multi_run.joined) == sorted(
        one["pid"] for one in multi_run.groups[0]["processes"]
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_engine_is_named_and_fresh_ones_take_over(multi_run: MultiRun, rank: int) -> None:
    multi_run.faults(**{f"r{rank}_/8KiB": "kill"})
    leader, follower = start(multi_run, 2)
    out, err = leader.communicate(timeout=60)
    assert leader.returncode == 1, out + err
    assert follower.wait(timeout=60) == 0
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST})")
    assert list(multi_run.statuses.values()).count("ok") == 3
    assert len(multi_run.groups) == 2


def test_a_stop_signal_is_heeded_at_once_where_another_rank_does_not_answer(multi_run: MultiRun) -> None:
    """It cannot be sent home either."""
    multi_run.faults(**{"r1_/16KiB": "hang"})
    leader, follower = start(multi_run, 2)
    multi_run.await_rows(leader, 2)
    follower.send_signal(signal.SIGSTOP)
    leader.send_signal(signal.SIGTERM)
    _, err = leader.communicate(timeout=5)
    assert leader.returncode == 130, err
    assert multi_run.records[-1] == {"record": "state", "when": "interrupted"}
    multi_run.kill(follower)


def test_as_many_ranks_as_no_case_wants_are_refused_and_sent_home(multi_run: MultiRun) -> None:
    leader, *others = start(multi_run, 3)
    _, err = leader.communicate(timeout=60)
    assert leader.returncode == 2
    assert "no case here has 3 processes" in err
    assert [other.wait(timeout=60) for other in others] == [0, 0]
    assert not Path("a.jsonl").exists()
