"""nixl: what an agent is asked for by either process, pushed and pulled. PyTorch and NIXL are stood in for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from torch_stood_in import engine

__all__ = ["engine"]  # a fixture

STATES = ["PROC", "PROC", "DONE"]


def told(flow: Any, executor: str, **parameters: str) -> Any:
    ends = {
        name: {"device": f"gpu:{rank}", "memory": "device", "first_touch": f"gpu:{rank}", "advice": "", "rank": rank}
        for rank, name in enumerate(("source", "destination"))
    }
    rank = int(executor[-1])
    whole = {"method": "nixl", "executor": executor, "rank": rank, "bytes": 4096, "members": []}
    return flow.Flow.of({**whole, **ends, "parameters": parameters})


def connected(engine: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, executor: str, **parameters: str) -> Any:
    """Both processes' transfers of one flow, and their agents."""
    nixl, flows = engine("nixl"), engine("flow")
    flow, regime = told(flows, executor, **parameters), flows.Regime("host", "warm")
    monkeypatch.setattr(nixl.memory, "supports", lambda end: None)
    exports, sides = [], []
    for rank in (0, 1):
        agent, arena, site = MagicMock(), MagicMock(), flows.Site(rank, 2, "host", 1.0, 0)
        agent.get_agent_metadata.return_value = b"agent"
        agent.add_remote_agent.return_value = b"other"
        agent.get_xfer_descs.side_effect = lambda pieces, kind: (kind, pieces)
        agent.transfer.side_effect = STATES[:1]
        agent.check_xfer_state.side_effect = STATES[1:]
        arena.pieces[0].data_ptr.return_value = (rank + 1) << 20
        monkeypatch.setattr(nixl, "Arena", lambda *of, arena=arena: arena)
        api = MagicMock(**{"nixl_agent.return_value": agent})
        monkeypatch.setattr(nixl.installation, "load", {"nixl": api}.get)
        group = MagicMock(**{"export.return_value": {}, "vote.return_value": lambda vote: vote})
        method = nixl.Nixl(group)
        method.check(flow, regime)
        held = method.hold(flow, regime, site)
        exports.append(method.export_handles(site))
        sides.append((method, held, site, agent, arena))
    found = []
    for method, held, site, agent, arena in sides:
        method.import_handles(flow, exports, site)
        found.append((method.assemble(flow, regime, site, held).transfer, agent, arena))
    return found


@pytest.mark.parametrize(("executor", "operation"), [("gpu:0", "WRITE"), ("gpu:1", "READ")])
def test_the_executor_pushes_or_pulls_and_the_other_only_has_memory(
    engine: Any, monkeypatch: pytest.MonkeyPatch, executor: str, operation: str
) -> None:
    sides = connected(engine, monkeypatch, executor, count="4")
    drives, idle = sides if executor == "gpu:0" else reversed(sides)
    transfer, agent, _ = drives
    asked = agent.initialize_xfer.call_args.args
    own = int(executor[-1])
    lists = [[((rank + 1 << 20) + piece * 1024, 1024, rank) for piece in range(4)] for rank in (own, 1 - own)]
    assert asked == (operation, ("VRAM", lists[0]), ("VRAM", lists[1]), "other", b"")
    transfer.arm(1)
    transfer.call()
    assert agent.check_xfer_state.call_count == 2
    other, unused, _ = idle
    other.arm(1)
    other.call()
    assert not unused.initialize_xfer.called
    assert not unused.transfer.called


def test_the_destination_is_checked_and_the_source_filled(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (pushing, _, source), (receiving, _, destination) = connected(engine, monkeypatch, "gpu:0")
    for transfer in (pushing, receiving):
        transfer.arm(7)
        transfer.call()
    destination.compare.return_value = "byte 3 arrived wrong"
    assert (pushing.verify(7), receiving.verify(7)) == (None, "byte 3 arrived wrong")
    assert source.fill.called
    assert destination.poison.called
    destination.compare.assert_called_once_with(7, 1)


class Pieces:
    """What lies at the places of an arena."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def data_ptr(self) -> int:
        return 1 << 20

    def view(self, count: int, _: int) -> Pieces:
        self.held = list(range(count))
        return self

    def split(self, width: int, dimension: int) -> list[Pieces]:
        assert (width, dimension) == (1 << 20, 1)
        return [self]

    def __getitem__(self, order: list[int]) -> list[int]:
        return [self.held[place] for place in order]

    def copy_(self, held: list[int]) -> None:
        self.held = held


@pytest.mark.parametrize("executor", ["gpu:0", "gpu:1"])
def test_scattered_pieces_lie_in_another_order_at_either_end_and_arrive_in_that_of_the_pattern(
    engine: Any, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    sides = connected(engine, monkeypatch, executor, count="64", scatter="yes")
    (filling, _, source), (_, agent, _) = sides[0], sides[int(executor[-1])]
    lists = [pieces for _, pieces in agent.initialize_xfer.call_args.args[1:3]]
    orders = {device: [at % (1 << 20) // 64 for at, _, _ in pieces] for pieces in lists for _, _, device in pieces[:1]}
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(64))
    assert len({tuple(order) for order in (*orders.values(), range(64))}) == 3
    source.pieces = [Pieces()]
    filling.arm(1)
    arrived = dict(zip(orders[1], source.pieces[0][orders[0]], strict=True))
    assert [arrived[place] for place in range(64)] == list(range(64))


def test_a_transfer_that_ends_in_an_error_fails(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (transfer, agent, _), _ = connected(engine, monkeypatch, "gpu:0")
    agent.transfer.side_effect = ["ERR"]
    with pytest.raises(engine("faults").ChildError, match="ERR"):
        transfer.call()


@pytest.mark.parametrize("installed", ["nixl", "nixl_cu13", None])
def test_nixl_is_named_where_it_is_missing_or_does_not_load(
    engine: Any, monkeypatch: pytest.MonkeyPatch, installed: str | None
) -> None:
    installation = engine("installation")
    monkeypatch.setattr(
        installation.importlib.util,
        "find_spec",
        lambda name: SimpleNamespace() if name in ("torch", installed) else None,
    )
    monkeypatch.setattr(installation, "torch_problem", lambda: None)
    missing = "NIXL is not installed (pip install nixl)"
    assert installation.problems()["nixl"] == (None if installed else missing)
    wanted = f"NIXL cannot be loaded: No module named '{installed}'" if installed else missing
    assert installation.loading_problem("nixl") == wanted
    if installed:
        for name in (installed, f"{installed}._api"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        assert installation.loading_problem("nixl") is None


def test_versions_name_nixl_and_nvshmem(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    installation = engine("installation")
    there = {"nixl-cu13": "1.5.1", "nvidia-nvshmem-cu12": "3.4.5"}

    def version(name: str) -> str:
        if (said := there.get(name.replace("_", "-"))) is None:
            raise PackageNotFoundError(name)
        return said

    monkeypatch.setattr(installation, "version", version)
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    found = installation.versions()
    assert (found["NIXL"], found["NVSHMEM"]) == ("1.5.1", "3.4.5")
    assert "vLLM" not in found


def test_pieces_of_unequal_size_and_a_third_driver_are_refused(engine: Any) -> None:
    nixl, flows = engine("nixl"), engine("flow")
    method = nixl.Nixl(MagicMock())
    for flow, clock in ((told(flows, "gpu:0", count="3"), "host"), (told(flows, "gpu:0"), "device")):
        with pytest.raises(engine("faults").ChildError):
            method.check(flow, flows.Regime(clock, "warm"))
