"""Topology pastes: nvidia-smi's and AMD's matrices become pairs of devices, and what sticks out of them is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.answers.topology_oddities import topology_findings
from linkscope.errors import LinkscopeError
from linkscope.importers.peer_output import PeerOutput, Source, Topology
from linkscope.importers.topology_matrix import read, recognises
from linkscope.messages.catalog import commands, sentence
from linkscope.messages.finding import Level

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOPOLOGIES = FIXTURES / "topologies"
SAMPLES = sorted(TOPOLOGIES.glob("*.txt"))


def taken(name: str) -> PeerOutput:
    return read(Source.read(TOPOLOGIES / f"{name}.txt"))


def of(text: str) -> PeerOutput:
    return read(Source(Path("paste"), text))


def joined(output: PeerOutput) -> Topology:
    assert output.topology is not None
    return output.topology


def matrix(*rows: str) -> Topology:
    """A topology of GPUs by the rows of its matrix, without a head."""
    return joined(of("\n".join(f"GPU{at} {row}" for at, row in enumerate(rows))))


def codes(topology: Topology) -> list[str]:
    return [one.code for one in topology_findings(topology)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_recognised_and_all_rows_read(path: Path) -> None:
    source = Source.read(path)
    assert recognises(source.text)
    output = read(source)
    rows = {number for number, line in enumerate(source.lines, 1) if line.startswith(("GPU", "NIC", "0000:", "mlx"))}
    assert rows <= output.read
    assert output.figures == ()


@pytest.mark.parametrize("path", sorted((FIXTURES / "importers").iterdir()), ids=lambda path: path.name)
def test_no_other_output_is_taken_for_one(path: Path) -> None:
    assert not recognises(path.read_text())


def test_the_old_form_has_cards_by_name() -> None:
    output = taken("nvidia-old")
    assert (output.tool, len(output.gpus)) == ("nvidia-smi", 4)
    pairs = joined(output).pairs
    assert pairs["gpu:2", "gpu:3"] == pairs["gpu:3", "gpu:2"] == "NV1"
    assert pairs["gpu:3", "nic:mlx5_1"] == "PIX"
    assert joined(output).numa == {}


def test_the_new_form_has_a_legend_of_cards_and_numa_nodes() -> None:
    output = taken("nvidia-new")
    assert joined(output).pairs["gpu:2", "nic:mlx5_bond_0"] == "NODE"
    assert joined(output).numa == {"gpu:0": 0, "gpu:1": 0, "gpu:2": 1, "gpu:3": 1}
    assert output.numa_nodes == 2


def test_without_a_head_and_with_rows_cut_columns_are_told_by_their_place() -> None:
    output = taken("nvidia-cut")
    assert len(output.gpus) == 6
    assert joined(output).pairs["gpu:5", "gpu:4"] == "NV18"
    assert joined(output).pairs["gpu:4", "nic:NIC4"] == "PXB"
    assert [sentence(one) for one in output.findings] == ["nvidia-smi topo -m is cut; lacks GPU0, GPU5"]


def test_rows_of_cards_tell_where_gpus_end() -> None:
    pairs = joined(of("GPU0 X PIX SYS\nNIC0 PIX X SYS\nNIC1 SYS SYS X\n")).pairs
    assert pairs["gpu:0", "nic:NIC1"] == "SYS"
    assert ("gpu:0", "gpu:1") not in pairs


def test_a_table_of_markdown_is_one() -> None:
    text = "| | GPU0 | GPU1 |\n|---|---|---|\n| GPU0 | X | NV4 |\n| GPU1 | NV4 | X |\n"
    assert recognises(text)
    assert joined(of(text)).pairs == {("gpu:0", "gpu:1"): "NV4", ("gpu:1", "gpu:0"): "NV4"}


def test_of_two_nodes_the_first_counts() -> None:
    text = "GPU0 X NV4\nGPU1 NV4 X\n"
    assert of(text + text).findings == ()
    output = of(text + text.replace("NV4", "SYS"))
    assert joined(output).pairs["gpu:0", "gpu:1"] == "NV4"
    assert [one.code for one in output.findings] == ["links.several"]


def test_amd_smi_tells_types_and_access() -> None:
    output = taken("amd-smi")
    assert (output.tool, output.gpus[1].pci, joined(output).vendor) == ("amd-smi", "0000:21:00", "amd")
    assert joined(output).pairs["gpu:3", "gpu:2"] == "PCIE"
    assert [one.code for one in output.findings] == ["links.no-access"]
    found = topology_findings(joined(output))
    assert [(one.code, one.where) for one in found] == [("links.pair-by-pcie", ("gpu:2<>gpu:3",))]


def test_rocm_smi_tells_types_and_numa_nodes() -> None:
    output = taken("rocm-smi")
    assert set(joined(output).pairs.values()) == {"XGMI"}
    assert joined(output).numa == {"gpu:0": 0, "gpu:1": 1, "gpu:2": 2}
    assert codes(joined(output)) == ["links.all-xgmi"]


def test_weights_tell_what_types_would() -> None:
    text = (TOPOLOGIES / "amd-smi.txt").read_text().partition("LINK TYPE")[0]
    assert joined(of(text)).pairs == joined(taken("amd-smi")).pairs


def test_no_row_is_an_error_of_one_line() -> None:
    with pytest.raises(LinkscopeError, match="no row says"):
        of("GPU0 GPU1\n")


def test_a_gpu_without_links_is_out_of_the_fabric() -> None:
    [found] = topology_findings(joined(taken("nvidia-cut")))[:1]
    assert (found.code, found.level, found.where) == ("links.out-of-fabric", Level.ERROR, ("gpu:3",))
    assert found.facts["others"] == 5
    assert "nvidia-smi nvlink --status -i 3" in commands(found)


def test_a_gpu_with_fewer_links_is_named_before_its_far_cards() -> None:
    found = topology_findings(joined(taken("nvidia-new")))
    assert [(one.code, one.where) for one in found] == [
        ("links.fewer", ("gpu:3",)),
        ("links.far-card", ("gpu:2", "gpu:3")),
    ]


def test_a_pair_with_fewer_links_is_named() -> None:
    rows = ("X NV4 NV4 NV4", "NV4 X NV4 NV4", "NV4 NV4 X NV3", "NV4 NV4 NV3 X")
    [found] = topology_findings(matrix(*rows))
    assert (found.code, found.where) == ("links.fewer-between", ("gpu:2<>gpu:3",))


def test_a_pair_without_links_in_a_mesh_is_named() -> None:
    rows = ("X NV4 NV4 NV4", "NV4 X NV4 NV4", "NV4 NV4 X SYS", "NV4 NV4 SYS X")
    assert codes(matrix(*rows)) == ["links.pair-apart"]


def test_nodes_built_with_unlike_pairs_have_no_fault() -> None:
    found = topology_findings(joined(taken("nvidia-old")))
    assert [(one.code, one.level) for one in found] == [("links.unlike-without", Level.NOTE)]
    assert list(found[0].facts["apart"]) == ["gpu:0<>gpu:3", "gpu:1<>gpu:2"]
    bridges = ("X NV4 SYS SYS SYS", "NV4 X SYS SYS SYS", "SYS SYS X NV4 SYS", "SYS SYS NV4 X SYS", "SYS SYS SYS SYS X")
    assert codes(matrix(*bridges)) == ["links.unlike-without"]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (("X NV18 NV18", "NV18 X NV18", "NV18 NV18 X"), "links.all-nvlink"),
        (("X PIX SYS", "PIX X SYS", "SYS SYS X"), "links.pcie-only"),
        (("X NV2 NV1", "NV2 X NV2", "NV1 NV2 X"), "links.unlike"),
    ],
)
def test_what_is_whole_says_what_joins_the_gpus(rows: tuple[str, ...], code: str) -> None:
    assert codes(matrix(*rows)) == [code]


def test_every_line_is_short_and_whole() -> None:
    for path in SAMPLES:
        output = read(Source.read(path))
        for found in (*output.findings, *topology_findings(joined(output))):
            assert 0 < len(sentence(found)) <= 100, sentence(found)


def test_peer_access_below_a_topology_is_no_other_topology() -> None:
    joined_by = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t0-15\t0\nGPU1\tPHB\t X \t0-15\t0\n\n"
    access = " \tGPU0\tGPU1\t\n GPU0\tX\t{0}\t\n GPU1\t{0}\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    found = of(joined_by + access.format("CNS"))
    assert [(one.code, one.facts) for one in found.findings] == [
        ("links.no-access", {"pairs": ["gpu:0>gpu:1", "gpu:1>gpu:0"]})
    ]
    assert joined(found).pairs["gpu:0", "gpu:1"] == "PHB"
    assert not of(joined_by + access.format("OK")).findings
    assert recognises(access.format("OK"))
    assert (of(access.format("NS")).topology, len(of(access.format("NS")).gpus)) == (None, 2)
