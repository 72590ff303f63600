"""Pasted TransferBench: its presets and lists, with and without what stands above them."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.importers import transferbench
from linkscope.importers.peer_output import Figure, Movement, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert transferbench.recognises(text)
    return transferbench.read(Source(Path("paste"), text))


def sample(name: str) -> PeerOutput:
    """What a sample says."""
    return output((SAMPLES / name).read_text())


def moved(figure: Figure) -> Movement:
    """What a result moves."""
    assert figure.moves is not None
    return figure.moves


def of_test(found: PeerOutput, test: str) -> list[Figure]:
    """The results of a preset."""
    return [one for one in found.figures if one.test == f"TransferBench {test}"]


def test_every_pair_of_p2p_counts_also_those_that_cpus_drive() -> None:
    found = sample("transferbench-1.52.txt")
    one_way = [one for one in of_test(found, "p2p") if not moved(one).both]
    assert len(one_way) == 16
    host = next(one for one in one_way if moved(one).kind == "to-gpu")
    assert (moved(host).method, moved(host).executor, moved(host).memories) == (
        "memcpy",
        "numa:0",
        ("pinned", "device"),
    )
    local = [one.value.median for one in one_way if moved(one).kind == "local"]
    assert local == [1100.0, 1100.0, 1100.0]
    both = next(one for one in of_test(found, "p2p") if moved(one).both)
    assert [both.value.median, *(part.median for part in both.parts)] == [97.34, 48.59, 48.75]
    assert len(of_test(found, "p2p both ways")) == 6


def test_a_table_without_what_stands_above_it_is_read() -> None:
    text = (SAMPLES / "transferbench-1.52.txt").read_text()
    bare = output(text[text.index(" SRC+EXE") :])
    assert len(bare.figures) == len(output(text).figures)
    assert {one.size for one in bare.figures} == {None}
    only = output(text[text.index("     SRC\\DST") :])
    assert {one.test for one in only.figures} == {"TransferBench p2p both ways"}


def test_a_table_that_is_cut_says_what_is_missing() -> None:
    text = (SAMPLES / "transferbench-1.52.txt").read_text()
    found = output(text[: text.index("  GPU 01  ->     20.16") + len("  GPU 01  ->     20.16        48.55")])
    assert [one.facts["missing"] for one in found.findings] == ["gpu:2, gpu:1"]
    assert len(found.figures) == 10


@pytest.mark.parametrize("version", ["1.43", "1.62.00", "1.70"])
def test_versions_are_read_as_they_print(version: str) -> None:
    text = (SAMPLES / "transferbench-1.52.txt").read_text().replace("v1.52", f"v{version}")
    found = output(text)
    assert (found.version, found.findings) == (version, ())


def test_a_newer_version_is_read_and_told() -> None:
    found = output((SAMPLES / "transferbench-1.52.csv").read_text() + "\nTransferBench v1.81\n")
    assert [one.code for one in found.findings] == ["import.newer-version"]


def test_all_to_all_counts_each_pair_once() -> None:
    found = sample("transferbench-1.66-a2a.txt")
    assert [one.value.median for one in found.figures] == [45.1, 45.2, 46.1, 46.2, 47.1, 31.2]
    slow = moved(found.figures[-1])
    assert (slow.source, slow.destination, slow.at_once, found.figures[0].size) == ("gpu:2", "gpu:1", 6, 67108864)


def test_lists_say_memory_executor_and_what_runs_at_once() -> None:
    found = sample("transferbench-lists.txt")
    copy, dma, reads = (moved(one) for one in of_test(found, "transfers"))
    assert (copy.kind, copy.method, copy.executor, copy.at_once) == ("peer", "kernel-copy", "gpu:0", 1)
    assert (dma.kind, dma.method, dma.memories, dma.at_once) == ("to-gpu", "copy-engine", ("pinned", "device"), 2)
    assert (reads.kind, reads.method) == ("local", "kernel-read")


def test_scaling_is_told_by_units_and_its_best_is_not_counted_twice() -> None:
    found = of_test(sample("transferbench-lists.txt"), "scaling")
    assert [(moved(one).varies, one.value.median) for one in found[::3]] == [("CUs 1", 14.11), ("CUs 2", 14.12)]


def test_healthchecks_limit_is_its_own() -> None:
    found = sample("transferbench-lists.txt")
    (slow,) = of_test(found, "healthcheck unidirectional")
    assert (moved(slow).kind, slow.value.median) == ("to-gpu", 45.2)
    assert [(one.code, one.facts["limit"]) for one in found.findings] == [("import.other-limit", 48.5)]


def test_rings_one_to_all_and_latencies_are_read() -> None:
    rings = (
        "GPU-DMA Rings benchmark:\n[1024 bytes per Transfer]\n│Device│ DMA BW│\n│     0│  48.11│\n│     1│  48.21│\n"
    )
    one = "Executing (G0 -> G0 -> G*)\n   GPU 1      GPU 2\n    45.111   44.222     2 4 (G0 G0 G1) (G0 G0 G2)\n"
    latency = (
        "Pingpong round-trip latency per lap (us), each pair\n PING\\PONG  GPU 00  GPU 01\n  GPU 00  1.101  2.345\n"
    )
    found = output(rings + one + latency)
    assert [(moved(each).source, moved(each).destination) for each in of_test(found, "rings")] == [
        ("gpu:0", "gpu:1"),
        ("gpu:1", "gpu:0"),
    ]
    assert [(moved(each).destination, each.value.median) for each in of_test(found, "one2all")] == [
        ("gpu:1", 45.111),
        ("gpu:2", 44.222),
    ]
    assert [each.value.median for each in of_test(found, "latency")] == pytest.approx([1.101e-6, 2.345e-6])


def test_network_cards_of_ranks_are_told_apart() -> None:
    table = """\
Unidirectional copy peak bandwidth GB/s (NIC RDMA Using Nearest Device)
Completed 4/4 pairs in  1.656s, estimated remaining time 0.000s.
│SRC+EXE\\DST │                         │  Rank 00   │  Rank 01   │
│            │ NIC Device              │   mlx5_0   │   mlx5_0   │
│            │              Mem Device │   GPU 00   │   GPU 00   │
│    Rank 00 │   mlx5_0         GPU 00 │    31.11   │    31.22   │
│    Rank 01 │   mlx5_0         GPU 00 │    15.33   │    31.44   │
"""
    found = output(table)
    assert [(moved(one).varies, one.value.median) for one in found.figures] == [
        ("rank 0 to 0", 31.11),
        ("rank 0 to 1", 31.22),
        ("rank 1 to 0", 15.33),
        ("rank 1 to 1", 31.44),
    ]
    assert (moved(found.figures[2]).kind, moved(found.figures[2]).hosts) == ("network", 2)
