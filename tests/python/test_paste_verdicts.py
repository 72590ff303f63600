"""Verdicts on pastes: what explain answers of other tools' outputs, by codes and numbers."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.compare import answer as compare
from linkscope.answers.explain import answer as explain
from linkscope.answers.stand_out import groups_of
from linkscope.cli.main import app
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.importers.opened import is_paste, opened

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"


def matrix(rates: dict[tuple[int, int], float], usual: float, gpus: int = 4) -> str:
    rows = [
        f" {i} " + "".join(f"{'N/A' if i == j else f'{rates.get((i, j), usual):.2f}':>10}" for j in range(gpus))
        for i in range(gpus)
    ]
    head = "".join(f"{j:>10}" for j in range(gpus))
    title = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
    return "\n".join(
        ["nvbandwidth Version: v0.8", "Running device_to_device_memcpy_read_ce.", title, f"   {head}", *rows, ""]
    )


def osu(options: str, rates: dict[int, float]) -> str:
    rows = [f"{size:<10} {rate:20.2f}" for size, rate in rates.items()]
    return "\n".join(
        [
            f"$ srun -N1 -n2 ./osu_bw {options}",
            "# OSU MPI-CUDA Bandwidth Test v7.5",
            "# Size      Bandwidth (MB/s)",
            *rows,
        ]
    )


def nccl(
    gpus: int, hosts: int, busbw: float, warmup: int = 5, iterations: int = 20, name: str = "NVIDIA H100 80GB HBM3"
) -> str:
    ranks, size = gpus * hosts, 8 << 30
    algbw = busbw / (2 * (ranks - 1) / ranks)
    time = size / algbw / 1e3
    devices = [
        f"#  Rank {rank:2} Group  0 Pid {4000 + rank} on secret-{rank // gpus} device {rank % gpus:2} "
        f"[0000:{16 + rank % gpus:02x}:00] {name}"
        for rank in range(ranks)
    ]
    options = f"step: 2(factor) warmup iters: {warmup} iters: {iterations} agg iters: 1 validation: 1 graph: 0"
    return "\n".join(
        [
            "# nccl-tests version 2.17.1 nccl-headers=22803 nccl-library=22803",
            "# Collective test starting: all_reduce_perf",
            f"# nThread 1 nGpus 1 minBytes {size} maxBytes {size} {options}",
            "# Using devices",
            *devices,
            "#       size         count      type   redop    root     time   algbw   busbw #wrong",
            f"{size:12} {size // 4:13}     float     sum      -1 {time:8.1f} {algbw:7.2f} {busbw:7.2f}      0",
            "# Out of bounds values : 0 OK",
            "# Avg bus bandwidth    : 1",
        ]
    )


TOPOLOGY = """        GPU0    GPU1    CPU Affinity    NUMA Affinity
GPU0     X      NV4     0-17            0
GPU1    NV4      X      0-17            0
"""
OUT_OF_FABRIC = """        GPU0    GPU1    GPU2    GPU3
GPU0     X      NV18    NODE    NV18
GPU1    NV18     X      NODE    NV18
GPU2    NODE    NODE     X      NODE
GPU3    NV18    NV18    NODE     X
"""
NAMES = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1-2)\nGPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-3-4)\n"
DEEPEP = "[tuning] SMs 24, NVL chunk 4: 310.00 GB/s (NVL), avg_t: 168.89 us\n"
WRONG = "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H200 (00000000:18:00)\nDevice 1: NVIDIA H200 (00000000:2a:00)\n"
WRONG += "Running device_to_device_memcpy_read_ce.\n Invalid value when checking the pattern at 0x70a640000000\n"

VERDICTS: dict[str, tuple[str, Outcome, str]] = {
    "all pairs alike at a whole bundle's rate": (matrix({}, 771.0), Outcome.HOLDS, "paste.usual"),
    "one cell behind": (matrix({(2, 0): 300.0, (0, 2): 300.0}, 390.0), Outcome.FAILS, "paste.outliers"),
    "one GPU slow to all": (matrix({(1, j): 300.0 for j in (0, 2, 3)}, 390.0), Outcome.FAILS, "paste.device"),
    "slower one way than back": (matrix({(0, 1): 38.0}, 48.0, gpus=2), Outcome.FAILS, "paste.asymmetric"),
    "wrong data": (WRONG, Outcome.FAILS, "import.wrong-data"),
    "through the card of one host": (
        osu("D D", {1 << 20: 23900.0, 4 << 20: 24010.0}),
        Outcome.UNTESTED,
        "paste.likely-only",
    ),
    "through the card where links are": (
        NAMES + TOPOLOGY + osu("D D", {1 << 20: 23900.0, 4 << 20: 24010.0}),
        Outcome.FAILS,
        "explain.slow-path",
    ),
    "over links": (osu("D D", {1 << 20: 90100.0, 4 << 20: 119010.0}), Outcome.HOLDS, "paste.usual"),
    "own rows counted": (DEEPEP, Outcome.UNCLEAR, "fingerprint.own-rows-of-any"),
    "a topology without a fault": (TOPOLOGY, Outcome.HOLDS, "paste.topology"),
    "a GPU out of the fabric": (OUT_OF_FABRIC, Outcome.FAILS, "links.out-of-fabric"),
    "links by a topology beside": (NAMES + TOPOLOGY + osu("D D", {4 << 20: 92000.0}), Outcome.HOLDS, "explain.ok"),
    "slow by a topology beside": (
        NAMES + TOPOLOGY + osu("D D", {4 << 20: 31000.0}),
        Outcome.FAILS,
        "explain.slow-path",
    ),
    "eight GPUs as the ring has it": (nccl(8, 1, 366.0), Outcome.UNCLEAR, "explain.maybe-nvls-import"),
    "eight GPUs as NVLS alone has it": (nccl(8, 1, 478.0), Outcome.HOLDS, "explain.ok-partly"),
    "eight GPUs far below": (nccl(8, 1, 210.0), Outcome.FAILS, "explain.slow-collective"),
    "two hosts as fast as one": (nccl(8, 2, 440.0), Outcome.HOLDS, "paste.as-one-host"),
    "two hosts behind one that sums in its switch": (nccl(8, 2, 340.0), Outcome.UNTESTED, "paste.several-hosts"),
    "two hosts by a network": (nccl(8, 2, 90.0), Outcome.UNTESTED, "paste.several-hosts"),
    "cold": (nccl(8, 1, 9.0, warmup=0, iterations=1), Outcome.UNTESTED, "import.cold"),
}


def judged(tmp_path: Path, text: str) -> Answer:
    path = tmp_path / "paste.txt"
    path.write_text(text)
    return explain(Run.of(path))


@pytest.mark.parametrize(("text", "outcome", "code"), VERDICTS.values(), ids=VERDICTS)
def test_a_paste_has_its_verdict(tmp_path: Path, text: str, outcome: Outcome, code: str) -> None:
    found = judged(tmp_path, text)
    assert (found.outcome, found.headline.code) == (outcome, code)


@pytest.mark.parametrize(("text", "outcome", "code"), VERDICTS.values(), ids=VERDICTS)
def test_its_run_file_has_the_same(tmp_path: Path, text: str, outcome: Outcome, code: str) -> None:
    path = tmp_path / "paste.txt"
    path.write_text(text)
    found = explain(Run.of(import_file(path, tmp_path / "run.jsonl", Wanted())))
    assert (found.outcome, found.headline.code) == (outcome, code)


def test_what_falls_behind_is_named_with_its_rate(tmp_path: Path) -> None:
    facts = judged(tmp_path, VERDICTS["one cell behind"][0]).headline.facts
    assert (sorted(facts["paths"]), facts["rate"], facts["usual"]) == (["gpu:0>gpu:2", "gpu:2>gpu:0"], 300.0, 390.0)


def test_the_card_is_named_as_the_likely_path(tmp_path: Path) -> None:
    """PCIe 4.0 has such a rate, too: where no GPU is named it is no fault."""
    found = judged(tmp_path, VERDICTS["through the card of one host"][0])
    (card,) = [one for one in found.findings if one.code == "fingerprint.network"]
    assert (card.facts["gbits"], round(card.facts["share"], 2)) == (200, 0.96)


def test_groups_are_those_that_reach_their_own_faster() -> None:
    apart = {(f"gpu:{i}", f"gpu:{j}"): 26.0 if i // 2 == j // 2 else 21.0 for i in range(4) for j in range(4) if i != j}
    found = groups_of(apart)
    assert found is not None
    assert (found.members, found.within, found.across) == ((("gpu:0", "gpu:1"), ("gpu:2", "gpu:3")), 26.0, 21.0)
    assert groups_of({**apart, ("gpu:0", "gpu:2"): 12.0}) is None
    assert groups_of(dict.fromkeys(apart, 26.0)) is None


def test_rows_that_nobody_reads_are_counted_and_named(tmp_path: Path) -> None:
    found = judged(tmp_path, matrix({}, 771.0) + "\n17 18 19 20\n1.5 2.5 3.5\n")
    (unread,) = [one for one in found.findings if one.code == "import.unread"]
    assert (unread.facts["rows"], unread.facts["line"]) == (2, "17 18 19 20")


def test_no_host_address_or_user_of_a_paste_goes_on(tmp_path: Path) -> None:
    text = f"secretuser@secret-0:~/work$ mpirun -H 10.1.2.3 all_reduce_perf\n{nccl(8, 2, 420.0)}\n"
    path = tmp_path / "paste.txt"
    path.write_text(text)
    import_file(path, tmp_path / "run.jsonl", Wanted())
    page = tmp_path / "page.html"
    explain(Run.of(path)).report(page)
    told = CliRunner().invoke(app, ["explain", str(path), "--full"]).output
    as_json = CliRunner().invoke(app, ["explain", str(path), "--json"]).output
    for written in (told, as_json, (tmp_path / "run.jsonl").read_text(), page.read_text()):
        assert not [word for word in ("secret", "10.1.2.3", "4003") if word in written.replace(str(tmp_path), "")]


@pytest.mark.parametrize(
    ("row", "quoted"),
    [
        ("secret-node-17 12.3 45.6 7", "... 12.3 45.6 7"),
        ("secretuser 1.5 5.6 7.8", "... 1.5 5.6 7.8"),
        ("10.1.2.3 1.2 3.4 5.6", "... 1.2 3.4 5.6"),
        ("/home/secretuser/all_reduce_perf 8 9", "... 8 9"),
        ("new_copy_sm 8 MB 9 10", "new_copy_sm 8 MB 9 10"),
    ],
)
def test_a_row_that_nobody_reads_is_quoted_without_names(tmp_path: Path, row: str, quoted: str) -> None:
    found = judged(tmp_path, f"{matrix({}, 771.0)}\n{row}\n")
    assert [one.facts["line"] for one in found.findings if one.code == "import.unread"] == [quoted]


def test_every_command_takes_a_paste(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "paste.txt"
    path.write_text(matrix({}, 771.0))
    codes = {
        words[0]: CliRunner().invoke(app, [*words]).exit_code
        for words in (
            ["explain", str(path)],
            ["show", str(path)],
            ["choose", str(path)],
            ["compare", str(path), str(path)],
            ["report", str(path), "-o", str(tmp_path / "page.html")],
        )
    }
    assert codes == {"explain": 0, "show": 0, "choose": 0, "compare": 0, "report": 0}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert explain(Run(opened(Path("-")))).headline.code == "paste.usual"


def test_a_run_file_is_no_paste(tmp_path: Path) -> None:
    renamed = tmp_path / "run.txt"
    renamed.write_bytes((RUNS / "h200x4-default.jsonl").read_bytes())
    assert not is_paste(renamed)
    assert not is_paste(tmp_path / "none.txt")


def test_two_pastes_say_how_many_results_differ(tmp_path: Path) -> None:
    old, new = tmp_path / "old.log", tmp_path / "new.log"
    old.write_text(nccl(8, 1, 366.0))
    new.write_text(nccl(8, 1, 300.0))
    found = compare(Run.of(old), Run.of(new))
    facts = found.headline.facts
    assert (found.headline.code, facts["total"], facts["down"], facts["up"]) == ("compare.pasted", 1, 1, 0)
    assert facts["shift"] == pytest.approx(300 / 366 - 1, rel=1e-3)


def test_a_tool_whose_lines_are_of_no_use_is_named_beside_others(tmp_path: Path) -> None:
    found = judged(tmp_path, f"{matrix({}, 771.0)}\n# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n")
    named = [one for one in found.findings if one.code in ("import.unusable", "import.no-rows", "import.cut")]
    assert len(named) == 1
    assert found.headline.code == "paste.usual"
