"""GPU models: a name is enough to tell links and rates, and what is expected of them has a source."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from linkscope.machine.expected import expected, expected_collective
from linkscope.machine.gpu_models import GpuModel, gpu_model, links_gbps, links_of
from linkscope.machine.node import Node
from linkscope.machine.nominal import NVSWITCH
from linkscope.machine.paths import Path as Way
from linkscope.machine.paths import Paths

Json = dict[str, Any]
EXPECTED = Path(__file__).resolve().parents[2] / "machines" / "expected"
DATED = re.compile(r"\b20[12]\d\b|[a-z]{6,}[12]\d\b|^tests/fixtures/")
"""A year, a paper's short name with its year, or a fixture of this repository, which says when it was taken."""


@dataclass(frozen=True)
class Told:
    """What a topology says."""

    pairs: dict[tuple[str, str], str]
    numa: dict[str, int] = field(default_factory=dict)


def told(rows: Sequence[str]) -> Told:
    """Return the topology of rows of words as nvidia-smi prints them."""
    cells = {(i, j): word for i, row in enumerate(rows) for j, word in enumerate(row.split()) if i != j}
    return Told({(f"gpu:{i}", f"gpu:{j}"): word for (i, j), word in cells.items()})


def node(names: Sequence[str], topology: Told | None = None, peer_gbps: float | None = None) -> Node:
    found = Node("pasted", *links_of(names, topology, peer_gbps))
    assert not found.problem
    return found


def way(of: Node, source: str = "gpu:0", destination: str = "gpu:1") -> Way:
    found = Paths(of).between(source, destination)
    assert found is not None
    return found


def peer(name: str, count: int = 2, topology: Told | None = None, peer_gbps: float | None = None) -> float | None:
    """Return the line rate between the first two of so many GPUs."""
    return way(node([name] * count, topology, peer_gbps)).peak_gbps


def model(name: str) -> GpuModel:
    found = gpu_model(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "memory", "links", "host"),
    [
        ("NVIDIA A100-SXM4-40GB", 1555, ("nvlink", 300), 31.51),
        ("A100-SXM4-80GB", 2039, ("nvlink", 300), 31.51),
        ("NVIDIA A100-PG509-200", 1555, ("nvlink", 300), 31.51),
        ("NVIDIA A100-SXM-64GB", 1638, ("nvlink", 300), 31.51),
        ("NVIDIA A100-PCIE-40GB", 1555, ("nvlink", 300), 31.51),
        ("NVIDIA A100 80GB PCIe", 1935, ("nvlink", 300), 31.51),
        ("NVIDIA A800-SXM4-80GB", 2039, ("nvlink", 200), 31.51),
        ("NVIDIA A800 80GB PCIe", 1935, ("nvlink", 200), 31.51),
        ("NVIDIA H100 80GB HBM3", 3352, ("nvlink", 450), 63.02),
        ("NVIDIA H100 PCIe", 2039, ("nvlink", 300), 63.02),
        ("NVIDIA H100 NVL", 3938, ("nvlink", 300), 63.02),
        ("NVIDIA H20", 4022, ("nvlink", 450), 63.02),
        ("NVIDIA H20-3e", 4814, ("nvlink", 450), 63.02),
        ("NVIDIA H200", 4814, ("nvlink", 450), 63.02),
        ("NVIDIA H200 NVL", 4814, ("nvlink", 450), 63.02),
        ("NVIDIA H800", 3352, ("nvlink", 200), 63.02),
        ("NVIDIA GH200 120GB", 4022, ("nvlink", 450), 450),
        ("NVIDIA GH200 480GB", 4022, ("nvlink", 450), 450),
        ("NVIDIA GH200 144G HBM3e", 4900, ("nvlink", 450), 450),
        ("NVIDIA B200", 8000, ("nvlink", 900), 63.02),
        ("NVIDIA B300 SXM6 AC", 8000, ("nvlink", 900), 63.02),
        ("NVIDIA GB200", 8000, ("nvlink", 900), 225),
        ("NVIDIA GB300", 8000, ("nvlink", 900), 225),
        ("NVIDIA L40S", 864, None, 31.51),
        ("NVIDIA L20", 864, None, 31.51),
        ("NVIDIA RTX A6000", 768, ("nvlink", 56.25), 31.51),
        ("NVIDIA RTX 6000 Ada Generation", 960, None, 31.51),
        ("NVIDIA GeForce RTX 4090", 1008, None, 31.51),
        ("NVIDIA GeForce RTX 5090", 1792, None, 63.02),
        ("NVIDIA GeForce RTX 5060 Ti", 448, None, 31.51),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 1792, None, 63.02),
        ("Tesla V100-SXM2-16GB", 898, ("nvlink", 150), 15.75),
        ("Tesla V100-SXM3-32GB", 981, ("nvlink", 150), 15.75),
        ("Tesla V100-PCIE-32GB", 898, None, 15.75),
        ("Tesla V100S-PCIE-32GB", 1134, None, 15.75),
        ("Tesla P100-SXM2-16GB", 732, ("nvlink", 80), 15.75),
        ("Tesla P100-PCIE-12GB", 549, None, 15.75),
        ("AMD Radeon Instinct MI50", 1024, ("xgmi", 92), 31.51),
        ("AMD Instinct MI100", 1229, ("xgmi", 46), 31.51),
        ("AMD Instinct MI210", 1638, ("xgmi", 150), 31.51),
        ("AMD Instinct MI250X", 1638, ("xgmi", 200), 31.51),
        ("AMD Instinct MI300A", 5300, ("xgmi", 128), 5300),
        ("AMD Instinct MI300X", 5300, ("xgmi", 64), 63.02),
        ("AMD Instinct MI325X", 6000, ("xgmi", 64), 63.02),
        ("AMD Instinct MI350X", 8000, ("xgmi", 76.8), 63.02),
        ("AMD Instinct MI355X", 8000, ("xgmi", 76.8), 63.02),
    ],
)
def test_a_name_tells_memory_links_and_the_host(
    name: str, memory: float, links: tuple[str, float] | None, host: float
) -> None:
    found = model(name)
    assert (found.links and (found.links.kind, found.links.count * found.links.gbps)) == links
    one = node([name])
    assert one.device("gpu:0").name == name
    assert one.device("gpu:0").memory_gbps == memory
    assert way(one, "numa:0", "gpu:0").peak_gbps == host
    assert way(one, "gpu:0", "gpu:0").peak_gbps == memory


def test_an_unknown_name_tells_nothing() -> None:
    assert gpu_model("") is None
    assert gpu_model("NVIDIA Graphics Device") is None
    unknown = node(["", "NVIDIA Graphics Device"])
    assert [device.id for device in unknown.devices] == ["numa:0", "gpu:0", "gpu:1"]
    assert unknown.links == ()
    assert node([]).links == ()


@pytest.mark.parametrize(
    ("name", "count", "gbps"),
    [
        ("NVIDIA A100-SXM4-80GB", 8, 300),
        ("NVIDIA H100 80GB HBM3", 8, 450),
        ("NVIDIA H200", 4, 450),
        ("NVIDIA B300 SXM6 AC", 7, 900),
        ("NVIDIA GB200", 4, 900),
        ("NVIDIA H800", 8, 200),
        ("Tesla V100-SXM3-32GB", 16, 150),
    ],
)
def test_boards_with_a_gpu_switch_have_all_links_to_it(name: str, count: int, gbps: float) -> None:
    found = node([name] * count)
    assert {link.b for link in found.links if link.kind == "nvlink"} == {NVSWITCH}
    for one, other in itertools.combinations(range(count), 2):
        path = way(found, f"gpu:{one}", f"gpu:{other}")
        assert (path.peak_gbps, path.hops) == (gbps, 1)
    assert links_gbps(found, [gpu.id for gpu in found.of_kind("gpu")]) == ("nvlink", gbps)


@pytest.mark.parametrize(("name", "gbps"), [("AMD Instinct MI300X", 64), ("AMD Instinct MI355X", 76.8)])
def test_all_to_all_links_are_direct(name: str, gbps: float) -> None:
    found = node([name] * 8)
    assert {(link.kind, link.peak_gbps) for link in found.links if link.b.startswith("gpu")} == {("xgmi", gbps)}
    kind, rate = links_gbps(found, [f"gpu:{i}" for i in range(8)]) or ("", 0.0)
    assert kind == "xgmi"
    assert rate == pytest.approx(7 * gbps)
    assert links_gbps(found, ["gpu:0", "gpu:1"]) == ("xgmi", gbps)
    assert links_gbps(found, ["gpu:0"]) is None


def test_hives_packages_and_apus() -> None:
    hives = node(["AMD Instinct MI100"] * 8)
    assert [way(hives, "gpu:0", other).tier for other in ("gpu:3", "gpu:4")] == ["xgmi-1", "pcie4-x16"]
    dies = node(["AMD Instinct MI250X"] * 8)
    assert [way(dies, "gpu:2", other).peak_gbps for other in ("gpu:3", "gpu:4")] == [200, None]
    apus = node(["AMD Instinct MI300A"] * 4)
    assert way(apus).peak_gbps == 128
    assert way(apus, "numa:2", "gpu:2").peak_gbps == 5300


def test_what_only_a_topology_tells_is_a_link_of_unknown_rate() -> None:
    assert peer("Tesla V100-SXM2-16GB", 4) is None
    assert peer("NVIDIA A100-SXM4-40GB", 4) is None
    assert peer("NVIDIA GH200 120GB", 2) is None
    assert peer("NVIDIA RTX A6000", 6) is None
    assert links_gbps(node(["Tesla V100-SXM2-16GB"] * 4), ["gpu:0", "gpu:1"]) is None
    assert peer("NVIDIA GH200 120GB", 4) == 150


def test_the_fastest_copy_tells_boards_and_bridges_apart() -> None:
    assert peer("NVIDIA A100-SXM4-40GB", 4, peer_gbps=93) == 100
    assert peer("NVIDIA A100-SXM4-40GB", 4, peer_gbps=262) == 300
    assert peer("NVIDIA H100 80GB HBM3", 4) == 450
    assert peer("NVIDIA H100 80GB HBM3", 4, peer_gbps=130) == 150
    assert peer("NVIDIA H100 80GB HBM3", 8, peer_gbps=130) == 450, "no board of eight is without a switch"
    assert peer("NVIDIA RTX A6000", 2, peer_gbps=50) == 56.25
    assert peer("NVIDIA RTX A6000", 6, peer_gbps=26.3) == 31.51
    assert peer("NVIDIA RTX A6000", 4, peer_gbps=50) is None, "which of them have a bridge is not known"
    assert peer("NVIDIA H100 NVL") == 300


def test_gpus_without_links_meet_over_pcie() -> None:
    found = node(["NVIDIA L40S"] * 2)
    assert (way(found).peak_gbps, way(found).hops, way(found).tier) == (31.51, 1, "pcie4-x16")
    assert peer("NVIDIA GeForce RTX 5090") == 63.02
    mixed = node(["NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 4090"])
    assert way(mixed).peak_gbps == 31.51


def test_a_topology_tells_the_gpu_switch_and_who_is_out_of_it() -> None:
    rows = ["X NV18 SYS NV18", "NV18 X SYS NV18", "SYS SYS X SYS", "NV18 NV18 SYS X"]
    found = node(["NVIDIA B200"] * 4, told(rows))
    assert {link.a for link in found.links if link.b == NVSWITCH} == {"gpu:0", "gpu:1", "gpu:3"}
    assert (way(found).peak_gbps, way(found, "gpu:0", "gpu:2").tier) == (900, "pcie5-x16")


def test_a_topology_tells_direct_links() -> None:
    cube = told(["X NV2 NV1 SYS", "NV2 X SYS NV2", "NV1 SYS X NV2", "SYS NV2 NV2 X"])
    found = node(["Tesla V100-SXM2-16GB"] * 4, cube)
    assert [way(found, *two).peak_gbps for two in (("gpu:0", "gpu:1"), ("gpu:0", "gpu:2"))] == [50, 25]
    board = told(["X NV4 NV4 NV4", "NV4 X NV4 NV4", "NV4 NV4 X NV4", "NV4 NV4 NV4 X"])
    four = node(["NVIDIA A100-SXM4-40GB"] * 4, board)
    assert way(four).peak_gbps == 100
    assert links_gbps(four, [f"gpu:{i}" for i in range(4)]) == ("nvlink", 300)
    bridges = told(["X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NV12", "SYS SYS NV12 X"])
    pairs = node(["NVIDIA A100 80GB PCIe"] * 4, bridges)
    assert [way(pairs, "gpu:0", other).peak_gbps for other in ("gpu:1", "gpu:2")] == [300, 31.51]
    assert peer("NVIDIA H200", 2, told(["X NV18", "NV18 X"])) == 450
    assert peer("a GPU unheard of", 2, told(["X NV4", "NV4 X"])) is None


def test_a_topology_tells_pcie_switches() -> None:
    rows = ["X PIX SYS SYS", "PIX X SYS SYS", "SYS SYS X PXB", "SYS SYS PXB X"]
    found = node(["NVIDIA RTX A6000"] * 4, told(rows))
    assert way(found, "gpu:2", "gpu:3").widest == ("gpu:2", "switch:pcie-1", "gpu:3")
    across = way(found, "gpu:0", "gpu:2")
    assert (across.hops, across.peak_gbps) == (1, 31.51)
    assert way(found, "numa:0", "gpu:3").peak_gbps == 31.51


def test_a_topology_of_amd_tells_who_is_joined() -> None:
    pairs = {("gpu:0", "gpu:1"): "XGMI", ("gpu:1", "gpu:0"): "XGMI"}
    assert peer("AMD Instinct MI300X", 2, Told(pairs)) == 64
    assert peer("AMD Instinct MI210", 2, Told(pairs)) is None
    assert peer("AMD Instinct MI210", 2, Told(dict.fromkeys(pairs, "PCIE"))) == 31.51


def entries(part: str, file: str = "links") -> list[Json]:
    found: list[Json] = yaml.safe_load((EXPECTED / f"{file}.yaml").read_text())[part]
    return found


@pytest.mark.parametrize(
    ("file", "part"), [("links", "entries"), ("links", "latencies"), ("links", "collectives"), ("gpus", "models")]
)
def test_every_entry_has_a_dated_source(file: str, part: str) -> None:
    found = entries(part, file)
    assert found
    assert [one["source"] for one in found if not DATED.search(one["source"])] == []
    for one in found:
        re.compile(one["device"])


def test_shares_are_shares() -> None:
    shares = [share for one in entries("entries") for way in one["shares"].values() for share in way.values()]
    shares += [share for one in entries("collectives") for share in one["shares"].values()]
    assert all(0 < share < 1.1 for share in shares)
    assert {way for one in entries("entries") for way in one["shares"]} <= {
        *(f"{way}{both}" for way in ("peer-write", "peer-read") for both in ("", "+both")),
        *(f"{way}{both}" for way in ("host-to-gpu", "gpu-to-host") for both in ("", "+both")),
        "local",
    }
    assert all(0 < one["tolerance"] <= 0.5 for one in (*entries("entries"), *entries("collectives")))


NAMED = (
    *("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe", "NVIDIA A800-SXM4-80GB", "NVIDIA H100 80GB HBM3"),
    *("NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H20", "NVIDIA H200", "NVIDIA H800", "NVIDIA GH200 120GB"),
    *("NVIDIA B200", "NVIDIA B300 SXM6 AC", "NVIDIA GB200", "NVIDIA GB300", "NVIDIA L40S", "NVIDIA L20"),
    *("NVIDIA RTX A6000", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5060 Ti"),
    *("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Tesla V100-SXM2-16GB", "Tesla V100-PCIE-16GB"),
    *("Tesla P100-SXM2-16GB", "AMD Instinct MI50", "AMD Instinct MI100", "AMD Instinct MI210", "AMD Instinct MI250X"),
    *("AMD Instinct MI300A", "AMD Instinct MI300X", "AMD Instinct MI325X", "AMD Instinct MI350X"),
    "AMD Instinct MI355X",
)


@pytest.mark.parametrize("name", NAMED)
def test_of_every_model_it_is_known_what_peers_memory_and_the_host_reach(name: str) -> None:
    found = model(name)
    methods = ("copy-engine", "kernel-copy", "stream")

    def known(link: str, way: str) -> bool:
        return any(expected(name, link, way, method) for method in methods)

    peers = found.links.kind if found.links else "pcie"
    assert known(peers, "peer-write")
    assert known(peers, "peer-read")
    assert known(peers, "peer-write+both") or known(peers, "peer-read+both")
    assert known("memory", "local")
    if not found.on_package:
        host = "c2c" if found.c2c_gbps else "pcie"
        assert all(known(host, f"{way}{both}") for way in ("host-to-gpu", "gpu-to-host") for both in ("", "+both"))


@pytest.mark.parametrize(
    ("name", "way", "gbps"),
    [
        ("NVIDIA B300 SXM6 AC", "peer-write", 775),
        ("NVIDIA A100-SXM4-80GB", "peer-write", 263),
        ("NVIDIA H100 NVL", "peer-write", 264),
        ("Tesla V100-SXM3-32GB", "peer-write", 144),
        ("AMD Instinct MI300X", "peer-write", 47),
        ("AMD Instinct MI355X", "peer-write", 57.4),
        ("NVIDIA RTX A6000", "peer-read", 26.3),
    ],
)
def test_what_published_copies_between_two_gpus_reach_is_expected(name: str, way: str, gbps: float) -> None:
    found = node([name] * 2, peer_gbps=gbps)
    path = Paths(found).between("gpu:0", "gpu:1")
    assert path is not None
    kind = Paths(found).links[path.route[0]].link.kind
    known = expected(name, kind, way, "copy-engine")
    assert known is not None
    assert path.peak_gbps is not None
    assert min(path.peak_gbps * known.share, known.ceiling_gbps or 1e9) == pytest.approx(gbps, rel=0.01)


@pytest.mark.parametrize(
    ("name", "count", "nvls", "gbps"),
    [
        ("NVIDIA H200", 5, True, 414),
        ("NVIDIA H200", 6, True, 436),
        ("NVIDIA H200", 7, True, 460),
        ("NVIDIA H200", 8, False, 366),
        ("NVIDIA B200", 4, False, 673),
        ("NVIDIA B200", 6, True, 778),
        ("NVIDIA B200", 7, True, 811),
        ("NVIDIA B200", 8, True, 838),
        ("NVIDIA A100-SXM4-80GB", 8, False, 232),
        ("AMD Instinct MI300X", 8, False, 313),
        ("AMD Instinct MI300X", 2, False, 47.7),
    ],
)
def test_what_published_all_reduces_reach_is_expected(name: str, count: int, nvls: bool, gbps: float) -> None:
    line = links_gbps(node([name] * count), [f"gpu:{i}" for i in range(count)])
    assert line is not None
    known = expected_collective(name, line[0], "xccl-collective", "all-reduce", count, nvls)
    assert known is not None
    assert line[1] * known.share == pytest.approx(gbps, rel=0.015)
    assert not known.assumed


def test_what_a_like_model_reaches_is_marked_assumed() -> None:
    like = expected("NVIDIA H20", "nvlink", "peer-write", "copy-engine")
    measured = expected("NVIDIA H200", "nvlink", "peer-write", "copy-engine")
    assert like is not None
    assert measured is not None
    assert (like.assumed, measured.assumed, like.share) == (True, False, measured.share)
    collective = expected_collective("NVIDIA A100-SXM4-80GB", "nvlink", "xccl-collective", "all-gather", 8, nvls=False)
    assert collective is not None
    assert collective.assumed


@pytest.mark.parametrize(
    ("measured", "like", "link", "way"),
    [
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A800-SXM4-80GB", "nvlink", "peer-write"),
        ("NVIDIA GeForce RTX 4090", "NVIDIA L40S", "pcie", "host-to-gpu"),
        ("NVIDIA RTX A6000", "NVIDIA L20", "pcie", "peer-read"),
        ("NVIDIA GeForce RTX 5090", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "pcie", "host-to-gpu"),
        ("AMD Instinct MI350X", "AMD Instinct MI355X", "xgmi", "peer-write"),
    ],
)
def test_an_entry_names_the_models_for_which_it_is_assumed(measured: str, like: str, link: str, way: str) -> None:
    one, other = (expected(name, link, way, "copy-engine") for name in (measured, like))
    assert one is not None
    assert other is not None
    assert (one.assumed, other.assumed, one.share) == (False, True, other.share)


def test_a_link_named_by_its_generation_needs_no_model() -> None:
    for generation in (3, 4, 5, 6):
        known = expected("a GPU unheard of", f"pcie{generation}-x8", "host-to-gpu", "copy-engine")
        assert known is not None
        assert known.assumed
    assert expected("a GPU unheard of", "pcie", "host-to-gpu", "copy-engine") is None
