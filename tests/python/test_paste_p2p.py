"""Pasted p2pBandwidthLatencyTest: peers, copies within a GPU, and GPUs that are no peers."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.importers import p2p_bandwidth_latency_test as p2p
from linkscope.importers.peer_output import Figure, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert p2p.recognises(text)
    return p2p.read(Source(Path("paste"), text))


def of_test(found: PeerOutput, test: str, varies: str = "") -> list[Figure]:
    """The results of a table."""
    return [
        one for one in found.figures if one.test == f"{p2p.TOOL} {test}" and one.moves and one.moves.varies == varies
    ]


def test_tables_without_their_head_are_read() -> None:
    text = (SAMPLES / "p2pBandwidthLatencyTest-cut.txt").read_text()
    found = output(text)
    assert found.read == frozenset(range(1, len(text.split("\n")) + 1))
    assert len(found.gpus) == 3
    off = of_test(found, "unidirectional", "peer access off")
    assert [one.value.median for one in off] == [8.11, 8.12, 8.21, 8.22, 8.31, 8.32]
    assert {one.facts["peer_access"] for one in off} == {"off"}


def test_who_reads_drives_the_copy_from_the_other() -> None:
    found = output((SAMPLES / "p2pBandwidthLatencyTest-cut.txt").read_text())
    moves = of_test(found, "unidirectional")[0].moves
    assert moves is not None
    assert (moves.source, moves.destination, moves.executor) == ("gpu:1", "gpu:0", "gpu:0")


def test_gpus_without_peer_access_are_said_and_are_no_result_of_peers() -> None:
    found = output((SAMPLES / "p2pBandwidthLatencyTest-cut.txt").read_text())
    assert {(one.row, one.column) for one in of_test(found, "unidirectional")} == {
        ("gpu:1", "gpu:0"),
        ("gpu:0", "gpu:1"),
        ("gpu:2", "gpu:1"),
        ("gpu:1", "gpu:2"),
    }
    (apart,) = [one for one in found.findings if one.code == "import.no-peer-access"]
    assert (apart.facts["count"], apart.facts["pairs"]) == (2, ["gpu:0 -> gpu:2", "gpu:2 -> gpu:0"])


def test_the_diagonal_is_a_copy_within_a_gpu_that_counts_twice() -> None:
    found = output((SAMPLES / "p2pBandwidthLatencyTest.txt").read_text())
    one, both = (of_test(found, f"{kind} local")[0].moves for kind in ("unidirectional", "bidirectional"))
    assert one is not None
    assert both is not None
    assert (one.kind, one.counts, one.at_once, both.at_once) == ("local", "read-and-written", 1, 2)
    latency = of_test(found, "latency local", "host clock")[0]
    assert latency.value.median == pytest.approx(1.30e-6)


def test_a_cut_row_counts_from_its_left() -> None:
    found = output((SAMPLES / "p2pBandwidthLatencyTest-cut.txt").read_text())
    (pair,) = of_test(found, "bidirectional")
    assert pair.moves is not None
    assert (pair.row, pair.column, pair.value.median, pair.moves.both) == ("gpu:0", "gpu:1", 47.11, True)
    assert [one.facts["missing"] for one in found.findings if one.code == "import.cut"] == ["rows 0, 1, 2"]


def test_kernels_and_sizes_are_said_by_the_command() -> None:
    table = (
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 800.11  91.11\n"
    )
    found = output(f"$ ./p2pBandwidthLatencyTest --sm_copy --numElems=1000\n{table}")
    (pair,) = of_test(found, "kernel")
    assert pair.moves is not None
    assert pair.moves.method == "kernel-copy"
    assert not pair.notes


def test_simple_p2p_is_read_and_its_wrong_data_leave_it_out() -> None:
    line = "cudaMemcpyPeer / cudaMemcpy between GPU0 and GPU1: 23.51GB/s\n"
    (pair,) = output(line).figures
    assert (pair.test, pair.row, pair.column) == ("simpleP2P", "gpu:0", "gpu:1")
    assert pair.value.median == pytest.approx(23.51 * 2**30 / 1e9)  # its GB are GiB
    found = output(f"{line}Verification error @ element 1: val = nan, ref = 4.000000\n")
    assert not found.figures
    assert [one.code for one in found.findings] == ["import.wrong-data"]


def test_a_title_that_was_shortened_is_one() -> None:
    title = "Unidirectional P2P=Enabled Bandwidth (GB/s)"
    found = output(f"{title}\n   D\\D     0      1\n     0 1500.1  230.5\n     1  231.5 1502.2\n")
    assert [one.value.median for one in of_test(found, "unidirectional")] == [230.5, 231.5]


def test_simple_p2p_names_the_gpus_and_those_that_are_no_peers() -> None:
    line = "> Peer access from NVIDIA L4 (GPU{}) -> NVIDIA L4 (GPU{}) : {}\n"
    pair = "cudaMemcpyPeer / cudaMemcpy between GPU0 and GPU1: 19.12GB/s\n"
    found = output(line.format(0, 1, "Yes") + line.format(0, 2, "No") + pair)
    assert [gpu.name for gpu in found.gpus] == ["NVIDIA L4"] * 3
    assert [(one.code, one.facts["pairs"]) for one in found.findings] == [("import.no-peer-access", ["gpu:0 -> gpu:2"])]
