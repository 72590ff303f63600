"""False alarms: pastes of healthy nodes whose results scatter for a reason that is no fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.explain import answer as explain
from linkscope.figures.run import Run
from linkscope.importers.imported_run import pasted
from linkscope.machine.gpu_models import gpu_model

MIB = 1 << 20
Judge = Callable[[str], Answer]


@pytest.fixture(name="judged")
def _judged(tmp_path: Path) -> Judge:
    def judge(text: str) -> Answer:
        path = tmp_path / "paste.txt"
        path.write_text(text)
        return explain(Run(pasted([path])))

    return judge


def codes(answer: Answer) -> list[str]:
    return [answer.headline.code, *(one.code for one in answer.findings)]


def matrix(title: str, rows: list[list[float]]) -> str:
    head = "   D\\D  " + "  ".join(str(column) for column in range(len(rows))) + "\n"
    lines = (f"  {index}  " + "  ".join(f"{value:.2f}" for value in row) for index, row in enumerate(rows))
    return f"{title} Matrix (GB/s)\n{head}" + "\n".join(lines) + "\n"


def between(gpus: int, rate: float, local: float, first: float = 0.0) -> list[list[float]]:
    found = [[local if row == column else rate for column in range(gpus)] for row in range(gpus)]
    found[0][0] = first or local
    return found


def all_reduce(rates: dict[int, float], name: str = "AMD Instinct MI300X") -> str:
    ranks = "".join(f"#  Rank {i} Group 0 Pid 91 on node device {i} [0000:{i}5:00] {name}\n" for i in range(8))
    head = f"# nThread 1 nGpus 8 minBytes 8 maxBytes {max(rates) * MIB} step: 2(factor) warmup iters: 5 iters: 20\n"
    times = {size: size * MIB / rate * 1.75 / 1e3 for size, rate in rates.items()}
    rows = (
        f"{size * MIB} {size * MIB // 4} float sum -1 {times[size]:.1f} {rate / 1.75:.2f} {rate:.2f} 0\n"
        for size, rate in rates.items()
    )
    return (
        head + ranks + "#       size         count      type   redop    root     time   algbw   busbw\n" + "".join(rows)
    )


def test_one_disturbed_size_of_a_collective_is_no_slow_link(judged: Judge) -> None:
    answer = judged(all_reduce({1024: 312.0, 2048: 201.0, 4096: 315.0}))
    assert (answer.outcome, "paste.disturbed" in codes(answer)) == (Outcome.HOLDS, True)
    assert judged(all_reduce({1024: 204.0, 2048: 203.0, 4096: 201.0})).outcome is Outcome.FAILS


def test_a_collective_that_rises_with_size_is_not_disturbed(judged: Judge) -> None:
    for rates in ((200.0, 250.0, 315.0), (315.0, 250.0, 200.0)):
        assert "paste.disturbed" not in codes(judged(all_reduce(dict(zip((1024, 2048, 4096), rates, strict=True)))))


def test_the_first_copy_within_a_gpu_may_be_cold(judged: Judge) -> None:
    off, on = (f"Unidirectional P2P={word} Bandwidth" for word in ("Disabled", "Enabled"))
    text = matrix(off, between(4, 21.5, 790.0, first=151.0)) + matrix(on, between(4, 25.9, 795.0))
    assert judged(text).outcome is not Outcome.FAILS
    slow = matrix(off, between(4, 21.5, 790.0, first=151.0)) + matrix(on, between(4, 25.9, 795.0, first=152.0))
    assert judged(slow).outcome is Outcome.FAILS


def test_peers_with_all_their_links_hold_beside_copies_within_a_gpu(judged: Judge) -> None:
    text = matrix("Unidirectional P2P=Enabled Bandwidth", between(8, 381.0, 2490.0))
    assert (judged(text).outcome, judged(text).headline.code) == (Outcome.HOLDS, "paste.usual")


def test_peer_copies_slower_than_through_the_host_name_no_slot(judged: Judge) -> None:
    off, on = (f"Unidirectional P2P={word} Bandwidth" for word in ("Disabled", "Enabled"))
    answer = judged(matrix(off, between(4, 22.4, 915.0)) + matrix(on, between(4, 10.2, 915.0)))
    assert "paste.access-slower" in codes(answer)
    assert not [code for code in codes(answer) if code.startswith("fingerprint.")]


def test_one_direction_beside_another_is_no_peer_of_one_alone(judged: Judge) -> None:
    def table(test: str, arrow: str, rate: float) -> str:
        title = f"memcpy CE CPU(row) {arrow} GPU(column) bandwidth (GB/s)"
        return f"Running {test}.\n{title}\n           0\n 0    {rate:.2f}\n\nSUM {test} {rate:.2f}\n\n"

    text = "nvbandwidth Version: v0.6\n\nDevice 0: NVIDIA GH200 480GB (00000009:01:00)\n\n"
    text += table("device_to_host_memcpy_ce", "<-", 297.1) + table("all_to_host_memcpy_ce", "<-", 296.8)
    text += table("all_to_host_bidirectional_memcpy_ce", "<->", 184.0)
    assert judged(text).outcome is Outcome.HOLDS


def test_host_memory_far_from_a_gpu_is_slower_and_no_fault(judged: Judge) -> None:
    def table(title: str, rows: list[str]) -> str:
        lines = "\n\n".join(f"          {index}         {row}" for index, row in enumerate(rows))
        return f"          {title} copy peak bandwidth GB/s\n\n          D/D       0    1    2    3\n\n{lines}\n\n"

    cpus = "".join(f"          Device: {i},  AMD EPYC 7763 64-Core Processor\n" for i in (0, 1))
    gpus = "".join(f"          Device: {i},  AMD Instinct MI100,  GPU-7{i},  {i}3:0.0\n" for i in (2, 3))
    text = f"          RocmBandwidthTest Version: 2.6.0\n\n{cpus}{gpus}\n"
    one = ["N/A N/A 27.9 25.1", "N/A N/A 24.2 27.8", "27.7 12.1 921.0 49.1", "24.4 27.9 49.3 918.0"]
    both = ["N/A N/A 51.2 25.3", "N/A N/A 24.1 51.3", "51.2 24.1 N/A 97.1", "25.3 51.3 97.1 N/A"]
    answer = judged(text + table("Unidirectional", one) + table("Bidirectional", both))
    assert answer.outcome is Outcome.HOLDS
    assert not [code for code in codes(answer) if code.startswith("fingerprint.")]


def test_one_rank_moves_nothing(judged: Judge) -> None:
    text = "# nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20\n"
    text += "#  Rank  0 Group  0 Pid  17 on  node device  0 [0x00] NVIDIA A10G\n"
    text += "    16777216       4194304     float     sum      -1    92.10  182.16    0.00      0\n"
    assert (judged(text).outcome, judged(text).headline.code) == (Outcome.UNTESTED, "paste.one-rank")


def test_gpus_that_nothing_counts_have_no_number(judged: Judge) -> None:
    text = "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 24, 35.10 GB/s (NVL)\n"
    assert judged(text).runs[0].gpus == ((0, "GPU"),)
    assert judged(all_reduce({1024: 312.0})).runs[0].gpus == ((8, "AMD Instinct MI300X"),)


def test_host_memory_of_one_node_of_two_tells_no_slow_gpu(judged: Judge) -> None:
    title = "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n"
    head = " SRC+EXE\\DST    CPU 00    CPU 01    GPU 00    GPU 01    GPU 02    GPU 03\n"
    first = "  CPU 00  ->     15.90     19.10     10.11     10.02      9.93      7.01\n"
    assert judged(title + head + first).outcome is not Outcome.FAILS


@pytest.mark.parametrize("rate", ["18.90", "10.20"])
def test_gpus_that_pcie_alone_joins_are_judged_by_their_reference(judged: Judge, rate: str) -> None:
    names = "".join(f"> Peer access from NVIDIA L4 (GPU{i}) -> NVIDIA L4 (GPU{1 - i}) : Yes\n" for i in (0, 1))
    answer = judged(f"{names}cudaMemcpyPeer / cudaMemcpy between GPU0 and GPU1: {rate}GB/s\n")
    assert not [code for code in codes(answer) if code.startswith("fingerprint.")]
    assert (answer.outcome, bool(answer.data["problems"])) == (
        (Outcome.HOLDS, False) if rate == "18.90" else (Outcome.FAILS, True)
    )


def grouped(name: str, rates: list[list[float]]) -> str:
    devices = "".join(
        f"Device: {i}, {name}, pciBusID: {i + 1:x}, pciDeviceID: 0, pciDomainID:0\n" for i in range(len(rates))
    )
    title = "Unidirectional P2P=Enabled Bandwidth (P2P Writes)"
    return f"[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n{devices}{matrix(title, rates)}"


def _cube(row: int, column: int) -> float:
    """Return what eight V100 of a hybrid cube mesh reach."""
    if row == column:
        return 770.0
    return 48.3 if row ^ column in (3, 4) else 24.2 if row // 4 == column // 4 else 9.5


def _halves(gpus: int, size: int, within: float, across: float) -> list[list[float]]:
    return [
        [700.0 if i == j else within if i // size == j // size else across for j in range(gpus)] for i in range(gpus)
    ]


@pytest.mark.parametrize(
    ("name", "rates", "outcome"),
    [
        ("NVIDIA L40S", _halves(8, 4, 25.5, 19.0), Outcome.HOLDS),
        ("NVIDIA RTX A6000", _halves(4, 2, 52.7, 19.5), Outcome.UNTESTED),
        ("Tesla V100-SXM2-32GB", [[_cube(i, j) for j in range(8)] for i in range(8)], Outcome.UNTESTED),
        ("NVIDIA H100 80GB HBM3", _halves(8, 4, 394.0, 197.0), Outcome.FAILS),
    ],
)
def test_pairs_that_boards_join_by_less_are_no_peers_of_the_others(
    judged: Judge, name: str, rates: list[list[float]], outcome: Outcome
) -> None:
    answer = judged(grouped(name, rates))
    assert answer.outcome is outcome
    assert not any("small" in one.facts.get("counts", ()) for one in answer.findings)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", False),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", False),
        ("NVIDIA RTX A1000", False),
        ("NVIDIA GeForce RTX 4090", True),
        ("NVIDIA A100-SXM4-80GB", True),
    ],
)
def test_a_part_of_a_gpu_or_a_laptops_is_not_the_model_whose_name_it_has(name: str, *, known: bool) -> None:
    assert (gpu_model(name) is not None) is known


def test_a_workstations_a800_has_a_bridge() -> None:
    model = gpu_model("NVIDIA A800 40GB Active")
    assert model is not None
    assert model.links is not None
    assert (model.memory_gbps, model.links.to) == (1555, "pair")
