"""Hosts whose names have no address are told before anything starts, and no name server is waited for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from launching import Bench, bench

from linkscope.launch.launcher.resolver import MOST_LOOKED_UP, unresolved

__all__ = ["bench"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names that were looked up; those that begin with "no" are unknown, and of "slow" no answer comes."""
    names: list[str] = []
    ended = threading.Event()

    def look_up(host: str, port: object) -> list[object]:
        del port
        names.append(host)
        if host.startswith("slow"):
            ended.wait()
        if host.startswith("no"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield names
    ended.set()


def test_names_without_an_address_are_told_and_not_those_without_an_answer(asked: list[str]) -> None:
    assert unresolved(["a", "no1", "slow", "no2"], patience_s=0.2) == ["no1", "no2"]
    assert sorted(asked) == ["a", "no1", "no2", "slow"]


def test_of_a_long_list_the_first_are_looked_up(asked: list[str]) -> None:
    assert len(unresolved([f"no{number}" for number in range(5000)])) == MOST_LOOKED_UP
    assert len(asked) == MOST_LOOKED_UP


def test_a_dry_run_names_hosts_without_an_address_and_goes_on(bench: Bench, asked: list[str]) -> None:
    ended = bench.cli("run", bench.suite, "--hosts", "a:4,no1:4", "--dry-run")
    assert ended.code == 0
    assert "no1" in ended.out
    assert "no1" not in bench.cli("run", bench.suite, "--hosts", "a:4", "--dry-run").out
