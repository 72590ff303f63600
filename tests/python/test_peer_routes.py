"""Peer routes: constructed PCIe trees and recorded machines in, routes and findings out."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import recorded
from launching import Bench, bench

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.peers import peers
from linkscope.figures.run import Run
from linkscope.machine import sysfs
from linkscope.machine.doctor import examine
from linkscope.machine.files import RecordedFiles
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.peer_routes import PeerRoute, peer_routes
from linkscope.machine.recording import load_recording
from linkscope.machine.state import GpuState, MachineState
from linkscope.messages.finding import Level
from linkscope.render import render
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["bench"]

FIXTURES = Path(__file__).parents[1] / "fixtures/machines"
PORT, SWITCH, DOWN = "0000:15:01.0", "0000:16:00.0", ("0000:17:00.0", "0000:17:01.0")
GPUS = ("0000:18:00.0", "0000:19:00.0", "0000:5a:00.0")
"""Two below one switch, a third at a root port of its own."""
BRIDGES = ((PORT, SWITCH, DOWN[0]), (PORT, SWITCH, DOWN[1]), ("0000:50:01.0",))
EVERY = [[f"gpu:{i}", f"gpu:{j}"] for i in range(3) for j in range(3) if i != j]


def node(sockets: bool = False, links: tuple[Link, ...] = ()) -> Node:
    numa = (Device("numa:0", "numa", package=0), Device("numa:1", "numa", package=int(sockets)))
    model = "NVIDIA GeForce RTX 4090"
    gpus = [Device(f"gpu:{i}", "gpu", model, memory_bytes=24 << 30, pci=pci, numa=i // 2) for i, pci in enumerate(GPUS)]
    host = [Link(gpu.id, f"numa:{gpu.numa}", "pcie", 31.5) for gpu in gpus]
    between = Link("numa:0", "numa:1", "upi" if sockets else "on-die")
    return Node("three GPUs", (*numa, *gpus), (*host, between, *links))


def files(redirecting: tuple[str, ...] = ()) -> RecordedFiles:
    targets = {
        f"{sysfs.PCI}/{gpu}": "/sys/devices/pci0000:15/" + "/".join((*above, gpu))
        for gpu, above in zip(GPUS, BRIDGES, strict=True)
    }
    blobs = {f"{sysfs.PCI}/{bridge}/config": configuration(bridge in redirecting) for b in BRIDGES for bridge in b}
    return RecordedFiles(targets=targets, blobs=blobs)


def configuration(redirects: bool) -> str:
    space = bytearray(4096)
    space[0x100:0x104] = (0x000D | 1 << 16).to_bytes(4, "little")
    space[0x106:0x108] = (0x1D if redirects else 0).to_bytes(2, "little")
    return base64.b64encode(zlib.compress(bytes(space))).decode()


def state(**changes: Any) -> MachineState:
    return MachineState(gpus=tuple(GpuState(f"gpu:{i}", **changes) for i in range(3)))


def routes(
    redirecting: tuple[str, ...] = (), of: Node | None = None, allowed: Any = EVERY, **changes: Any
) -> dict[str, PeerRoute]:
    description = {} if allowed is None else {"peer_access": allowed}
    found = peer_routes(of or node(), state(**changes), files(redirecting), description)
    return {"<>".join(route.gpus): route for route in found}


def test_gpus_below_one_switch_and_at_ports_of_their_own() -> None:
    found = routes()
    assert [route.route for route in found.values()] == ["pcie-switch", "root-complex", "root-complex"]
    assert found["gpu:0<>gpu:1"].via == (SWITCH,)
    assert routes(of=node(sockets=True))["gpu:0<>gpu:2"].route == "sockets"


@pytest.mark.parametrize(
    ("redirecting", "via"),
    [(DOWN[:1], DOWN[:1]), (DOWN, DOWN), ((PORT,), None)],
)
def test_a_bridge_below_the_shared_switch_sends_the_pair_to_the_root(
    redirecting: tuple[str, ...], via: tuple[str, ...] | None
) -> None:
    pair = routes(redirecting)["gpu:0<>gpu:1"]
    assert (pair.route, pair.via) == (("redirected", via) if via else ("pcie-switch", (SWITCH,)))


def test_no_peer_access_is_host_memory_and_unsaid_access_is_none_of_it() -> None:
    one_way = [pair for pair in EVERY if pair != ["gpu:1", "gpu:0"]]
    assert routes(allowed=one_way)["gpu:0<>gpu:1"].route == "host"
    assert routes(allowed=None)["gpu:0<>gpu:1"].route == "pcie-switch"


def test_a_function_that_sysfs_does_not_show_has_no_known_route() -> None:
    found = peer_routes(node(), state(), RecordedFiles(), {})
    assert {route.route for route in found} == {"unknown"}


def test_links_of_their_own_come_before_pcie_whatever_bridges_do() -> None:
    linked = node(links=(Link("gpu:0", "gpu:1", "nvlink", 50.0, 2, "nvlink-2"),))
    pair = routes(DOWN, of=linked)["gpu:0<>gpu:1"]
    assert (pair.route, pair.via, pair.over_pcie) == ("nvlink", ("nvlink-2",), False)


@pytest.mark.parametrize(("name", "kinds"), [("h200x4-recorded", {"nvswitch"}), ("frontier", {"xgmi"})])
def test_routes_of_whole_machines(name: str, kinds: set[str]) -> None:
    machine = load_recording(FIXTURES / f"{name}.json")
    found = peer_routes(machine.node(), machine.state(), machine.files, machine.description)
    gpus = len(machine.node().of_kind("gpu"))
    assert len(found) == gpus * (gpus - 1) // 2
    assert {route.route for route in found} == kinds


def answer(found: dict[str, PeerRoute], run: Run | None = None, settings: Any = ()) -> Answer:
    return peers(node(), list(found.values()), settings, run)


def test_settings_that_lengthen_routes_are_findings_with_pairs_and_bridges() -> None:
    found = answer(routes(DOWN, iommu="DMA-FQ", acs_redirect=True))
    acs, iommu = found.findings
    assert (found.headline.code, found.headline.facts) == ("peers.detours", {"detours": 1, "pairs": 3})
    assert (acs.code, acs.where, acs.facts) == ("peers.acs", ("gpu:0<>gpu:1",), {"bridges": list(DOWN)})
    assert (iommu.code, len(iommu.where), iommu.facts) == ("peers.iommu", 3, {"kind": "DMA-FQ"})
    assert answer(routes(acs_redirect=False)).findings == ()
    assert [one.code for one in answer(routes()).findings] == ["peers.acs-unread"]
    assert answer(routes()).headline.code == "peers.direct"


def test_a_window_smaller_than_memory_and_a_gpu_without_links_are_findings_of_doctor() -> None:
    linked = node(links=(Link("gpu:0", "gpu:1", "nvlink", 50.0, 2),))
    found = {one.code: one for one in examine(linked, state(bar1_bytes=256 << 20), {"cuda": {}})}
    assert found["doctor.bar1-small"].facts == {"size": 256 << 20, "memory": 24 << 30}
    assert (found["doctor.bar1-small"].level, found["doctor.out-of-fabric"].where) == (Level.NOTE, ("gpu:2",))
    apart = {one.code: one for one in examine(node(), state(bar1_bytes=256 << 20), {"cuda": {}})}
    assert apart["doctor.bar1-small"].level is Level.WARNING
    assert "doctor.out-of-fabric" not in apart
    whole = examine(node(), state(bar1_bytes=32 << 30), {"cuda": {}})
    assert "doctor.bar1-small" not in {one.code for one in whole}


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return RunFile.read(recorded.HEALTHY)


def test_a_run_gives_rates_in_both_directions(healthy: RunFile) -> None:
    table = answer(routes(), Run(healthy)).tables[0]
    (pair,) = table.frame.filter(table.frame["pair"] == "gpu:0<>gpu:1").to_dicts()
    assert table.key == "peers.measured"
    assert pair["there"] == pytest.approx(396.6, abs=0.2)
    assert pair["back"] == pytest.approx(396.4, abs=0.2)
    assert 0.8 < pair["of_peak"] < 1


@pytest.mark.parametrize(("redirecting", "code"), [(DOWN, "peers.wrong-acs"), ((), "peers.wrong-data")])
def test_wrong_data_of_a_pair_fails_and_stands_beside_the_bridges(
    healthy: RunFile, redirecting: tuple[str, ...], code: str
) -> None:
    reason = "byte 5 of 536870912 arrived wrong in gpu:1 device"
    rows = [
        Row.from_json({**row.raw, "status": "failed", "reason": reason, "flows": []})
        if row.id.startswith("default/d2d/gpu:0>gpu:1/")
        else row
        for row in healthy.rows
    ]
    found = answer(routes(redirecting), Run(replace(healthy, rows=tuple(rows))))
    wrong = found.findings[0]
    assert (found.outcome, wrong.code, wrong.where) == (Outcome.FAILS, code, ("gpu:0<>gpu:1",))
    assert wrong.facts.get("bridges", ()) == redirecting
    assert all("gpu:0>gpu:1" in case for case in wrong.results)
    assert len(wrong.results) >= 1


def test_the_screen_has_one_row_a_pair_within_its_width() -> None:
    lines = render(answer(routes(DOWN, bar1_bytes=256 << 20))).splitlines()
    assert sum(line.startswith("gpu:") for line in lines) == 3
    assert max(map(len, lines)) <= 80


def test_doctor_asks_one_question_at_a_time(bench: Bench) -> None:
    assert bench.cli("doctor", "--peers", "--nccl").code == 2
    assert bench.cli("doctor", "--run", "a.jsonl").code == 2
    assert bench.cli("doctor", "--peers", "--json").code == 3
    assert bench.cli("doctor", "--nccl").code == 3
