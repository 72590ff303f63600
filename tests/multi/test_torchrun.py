"""Crews among the ranks of torchrun, as it tells them of each other: they start engines whenever these are wanted."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from company import IDS, Company, wait_until

HOST = socket.gethostname()


@pytest.fixture(autouse=True)
def nothing_is_left(company: Company) -> Iterator[None]:
    yield
    wait_until(lambda: not company.engines())
    assert company.leftovers() == []


def start(company: Company, ranks: int, *arguments: str) -> list[subprocess.Popen[str]]:
    """What torchrun starts (torch.distributed.elastic), without PyTorch."""
    told = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "TORCHELASTIC_RUN_ID": "none"}
    for name, value in (told | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}).items():
        company.monkeypatch.setenv(name, str(value))
    started = []
    for rank in range(ranks):
        company.monkeypatch.setenv("RANK", str(rank))
        company.monkeypatch.setenv("LOCAL_RANK", str(rank))
        started.append(company.start(*arguments))
    return started


def test_rank_0_leads_and_the_others_become_its_engines(company: Company) -> None:
    for process in start(company, 2):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    assert company.statuses == dict.fromkeys(IDS, "ok")
    assert [crew["launcher"] for crew in company.crews] == ["inside"]
    assert sorted(one["pid"] for one in company.joined) == sorted(one["pid"] for one in company.crews[0]["processes"])


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_engine_is_named_and_fresh_ones_take_over(company: Company, rank: int) -> None:
    company.faults(**{f"r{rank}_/8KiB": "kill"})
    leader, follower = start(company, 2)
    out, err = leader.communicate(timeout=60)
    assert leader.returncode == 1, out + err
    assert follower.wait(timeout=60) == 0
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST})")
    assert list(company.statuses.values()).count("ok") == 3
    assert len(company.crews) == 2


def test_a_stop_signal_is_heeded_at_once_where_another_rank_does_not_answer(company: Company) -> None:
    """It cannot be sent home either."""
    company.faults(**{"r1_/16KiB": "hang"})
    leader, follower = start(company, 2)
    company.await_rows(leader, 2)
    follower.send_signal(signal.SIGSTOP)
    leader.send_signal(signal.SIGTERM)
    _, err = leader.communicate(timeout=5)
    assert leader.returncode == 130, err
    assert company.records[-1] == {"record": "state", "when": "interrupted"}
    company.kill(follower)


def test_as_many_ranks_as_no_case_wants_are_refused_and_sent_home(company: Company) -> None:
    leader, *others = start(company, 3)
    _, err = leader.communicate(timeout=60)
    assert leader.returncode == 2
    assert "started as 3 ranks, and no case here wants 3 processes" in err
    assert [other.wait(timeout=60) for other in others] == [0, 0]
    assert not Path("a.jsonl").exists()
