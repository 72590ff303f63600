"""Paths of pastes: a cause is named only where the paste excludes others, and no rate is called slow for less."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.explain import answer as explain
from linkscope.figures.run import Run

MIB = 1 << 20
DEVICES = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
MIXED = DEVICES.replace("Send Buffer on DEVICE (D)", "Send Buffer on HOST (H)")


def judged(folder: Path, text: str) -> Answer:
    """What explain answers on a paste."""
    path = folder / "paste.txt"
    path.write_text(text)
    return explain(Run.of(path))


def codes(found: Answer) -> list[str]:
    """What is on the first screen."""
    return [found.headline.code, *(one.code for one in found.findings)]


def osu(*rows: tuple[int, float], buffers: str = DEVICES, command: str = "") -> str:
    table = "\n".join(f"{size:<10}{value:20.2f}" for size, value in rows)
    return f"{command}\n# OSU MPI-CUDA Bandwidth Test v5.6.3\n{buffers}# Size      Bandwidth (MB/s)\n{table}\n"


def write_bw(gbits: float, size: int = 65536) -> str:
    title = "                    RDMA_Write BW Test\n Number of qps   : 1\t\tTransport type : IB\n"
    columns = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    return f"{title}{columns} {size}      5000             {gbits + 0.1:.2f}              {gbits:.2f}            0.1\n"


@pytest.mark.parametrize(
    ("command", "outcome", "code"),
    [
        ("", Outcome.UNTESTED, "fingerprint.network-if"),
        ("$ mpirun -np 2 osu_bw D D", Outcome.UNTESTED, "fingerprint.network-if"),
        ("$ srun -N2 -n2 osu_bw D D", Outcome.HOLDS, "fingerprint.network-card"),
        ("$ srun -N1 -n2 osu_bw D D", Outcome.UNTESTED, "fingerprint.network"),
    ],
)
def test_a_cards_rate_is_of_links_that_a_card_replaced_only_on_one_host(
    tmp_path: Path, command: str, outcome: Outcome, code: str
) -> None:
    found = judged(tmp_path, osu((MIB, 23100.5), (4 * MIB, 23900.25), command=command))
    assert found.outcome is outcome
    assert code in codes(found)


def test_between_host_and_gpu_of_unknown_hosts_it_is_pcie(tmp_path: Path) -> None:
    found = judged(tmp_path, osu((4 * MIB, 23800.5), buffers=MIXED))
    assert found.outcome is Outcome.UNTESTED
    assert "fingerprint.pcie" in codes(found)
    assert not any(code.startswith("fingerprint.network") for code in codes(found))


def test_two_gpus_at_the_rate_of_pcie_are_not_called_fine(tmp_path: Path) -> None:
    found = judged(tmp_path, osu((4 * MIB, 13300.75)))
    assert (found.outcome, "fingerprint.pcie" in codes(found)) == (Outcome.UNTESTED, True)


@pytest.mark.parametrize(
    ("gbits", "outcome", "code"),
    [
        (96.5, Outcome.HOLDS, "fingerprint.network-card"),
        (98.7, Outcome.HOLDS, "fingerprint.network-card"),
        (71.25, Outcome.UNTESTED, "paste.network"),
    ],
)
def test_a_cards_own_test_is_judged_at_its_default_size(
    tmp_path: Path, gbits: float, outcome: Outcome, code: str
) -> None:
    found = judged(tmp_path, write_bw(gbits))
    assert found.outcome is outcome
    assert code in codes(found)
    assert found.headline.facts["results"] == 1


def test_nixl_workers_of_two_hosts_are_not_slow_at_a_cards_rate(tmp_path: Path) -> None:
    command = "$ nixlbench --etcd_endpoints http://{}:2379 --initiator_seg_type VRAM --target_seg_type VRAM\n"
    head = "Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)\n"
    table = f"{head}67108864            1              46.512         1443.0         12.0           15.0\n"
    apart = judged(tmp_path, command.format("node-7") + table)
    assert (apart.outcome, "fingerprint.network-if" in codes(apart)) == (Outcome.UNTESTED, True)
    together = judged(tmp_path, command.format("localhost") + table)
    assert (together.outcome, "fingerprint.network" in codes(together)) == (Outcome.UNTESTED, True)


def test_latencies_that_jump_or_fall_with_the_size_are_named(tmp_path: Path) -> None:
    rows = [(16384, 40.5), (32768, 52.25), (65536, 5100.75), (131072, 5300.5), (262144, 120.25)]
    text = osu(*rows).replace("Bandwidth Test", "Latency Test").replace("Bandwidth (MB/s)", "Latency (us)")
    found = judged(tmp_path, text)
    assert found.outcome is Outcome.UNTESTED
    told = {one.code: one.facts for one in found.findings}
    assert told["fingerprint.time-jumps"]["larger"] == 65536
    assert told["fingerprint.time-falls"]["larger"] == 262144
    assert found.tables[0].key == "paste.times-at"


def commscope(name: str, rates: dict[tuple[int, int, int], float]) -> str:
    """A report of Comm|Scope: exponent of the size, source, destination -> GB/s."""
    entries = [
        {
            **{"name": f"{name}/{power}/{source}/{destination}/manual_time", "iterations": 100, "real_time": 1.0e4},
            **{"cpu_time": 1.0e4, "time_unit": "ns", "bytes_per_second": rate * 1e9, "bytes": float(1 << power)},
        }
        for (power, source, destination), rate in rates.items()
    ]
    return json.dumps({"context": {"date": "2018-06-25 12:43:51"}, "benchmarks": entries})


def test_the_way_back_counts_at_the_largest_size_of_copies_alone(tmp_path: Path) -> None:
    small = {(12, 0, 1): 0.4, (12, 1, 0): 0.2, (28, 0, 1): 47.5, (28, 1, 0): 47.25}
    found = judged(tmp_path, commscope("CUDA_Memcpy_GPUToGPU", small))
    assert found.outcome is not Outcome.FAILS
    slow = judged(tmp_path, commscope("CUDA_Memcpy_GPUToGPU", {**small, (28, 1, 0): 22.5}))
    assert (slow.outcome, slow.headline.code) == (Outcome.FAILS, "paste.asymmetric")
    managed = judged(tmp_path, commscope("UM_Prefetch_GPUToGPU", {**small, (28, 1, 0): 22.5}))
    assert managed.outcome is not Outcome.FAILS


def test_pairs_of_two_groups_may_differ_by_the_way(tmp_path: Path) -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    rates = {(28, a, b): 72.5 if a // 2 == b // 2 else 33.5 for a, b in pairs}
    assert judged(tmp_path, commscope("CUDA_Memcpy_GPUToGPU", rates)).outcome is not Outcome.FAILS
    faults = {**rates, (28, 0, 2): 33.25}
    assert "paste.asymmetric" not in codes(judged(tmp_path, commscope("CUDA_Memcpy_GPUToGPU", faults)))


def test_a_far_gpu_is_no_card_of_half_the_rate(tmp_path: Path) -> None:
    command = "$ ib_write_bw -d mlx5_0 --use_cuda=0 node-7\n"
    far = judged(tmp_path, command + write_bw(92.25))
    assert (far.outcome, "fingerprint.network-card" in codes(far)) == (Outcome.UNTESTED, True)
    assert judged(tmp_path, command + write_bw(97.25)).outcome is Outcome.HOLDS


def test_the_sum_of_many_pairs_is_no_links_rate(tmp_path: Path) -> None:
    title = "# OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.2\n# [ pairs: 8 ] [ window size: 64 ]\n"
    text = f"{title}{DEVICES}# Size                  MB/s        Messages/s\n4194304   97500.25   23225.5\n"
    assert not [code for code in codes(judged(tmp_path, text)) if code.startswith("fingerprint")]


def test_workers_of_one_host_without_gpus_use_no_card(tmp_path: Path) -> None:
    head = "Block Size (B)   Batch Size   B/W (GB/Sec)   Avg Lat. (us)   ...\n"
    text = f"Connecting to ETCD at http://127.0.0.1:2379\n{head}"
    found = judged(tmp_path, f"{text}16777216         64           97.525         1377.5          ...\n")
    assert found.headline.facts["results"] == 1
    assert not [code for code in codes(found) if code.startswith("fingerprint")]


def test_a_collective_whose_larger_size_is_faster_is_named(tmp_path: Path) -> None:
    title = "# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.4\n# Size       Avg Latency(us)\n"
    found = judged(tmp_path, f"{title}32768   805.5\n65536   1605.25\n131072   31.5\n262144   43.25\n")
    assert "fingerprint.time-falls" in codes(found)


def test_a_librarys_log_alone_says_what_to_paste_beside_it(tmp_path: Path) -> None:
    line = "node-7:25:66 [{0}] NCCL INFO Channel 00 : {0}[{0}] -> {1}[{1}] via SHM/direct/direct"
    found = judged(tmp_path, "\n".join([line.format(0, 1), line.format(1, 0)]))
    assert (found.outcome, found.headline.code) == (Outcome.UNTESTED, "paste.log-alone")
    assert [one.facts["pairs"] for one in found.findings if one.code == "fingerprint.through-host-alone"] == [1]
