"""What studies published comes out of the described nodes, and what a node's recorded run has, out of its model.

Each test names the study's table, figure or section. Figures that a description was fitted to (``fits``) are here too:
a later change must not lose them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median

import pytest
from launching import real_engine

import linkscope
from linkscope.analysis.explain import explain
from linkscope.analysis.headline import headline
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]

RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
PEERS = {"quad": "gpu:0>gpu:1", "dual": "gpu:0>gpu:6", "single": "gpu:0>gpu:2"}
PEAKS = {"quad": 200, "dual": 100, "single": 50}
Ask = Callable[..., RunFile]


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory, real_engine: None) -> Ask:
    """Runs a suite on a described node, once."""
    runs: dict[tuple[str, str, str | None], RunFile] = {}

    def ask(suite: str, machine: str, methods: str | None = None) -> RunFile:
        if (suite, machine, methods) not in runs:
            where = tmp_path_factory.mktemp("runs") / "run.jsonl"
            runs[suite, machine, methods] = linkscope.run(suite, output=where, machine=machine, methods=methods)
        return runs[suite, machine, methods]

    return ask


def figures(run: RunFile, name: str, *words: str) -> dict[str, float]:
    """Of a suite's row: GB/s or seconds by case, of those whose id has all ``words`` between slashes or colons."""
    found = {}
    for row in run.rows:
        if (
            row.case["name"] == name
            and row.status == "ok"
            and set(words) <= set(re.split(r"[/]|(?<=\w):(?=gpu|numa)", row.id))
        ):
            found[row.id] = figure(row)
    assert found, (name, words)
    return found


def figure(row: Row) -> float:
    shown = headline(row)
    assert shown is not None, row.id
    return shown.value.median if shown.higher_is_better else shown.seconds


def one(run: RunFile, name: str, *words: str) -> float:
    (found,) = figures(run, name, *words).values()
    return found


@pytest.mark.parametrize(
    ("name", "words", "shares"),
    [
        ("explicit-d2d", (), {"quad": 0.25, "dual": 0.51, "single": 0.76}),
        ("mapped-d2d", (), {"quad": 0.77, "dual": 0.77, "single": 0.78}),
        ("managed-d2d-coarse", ("xnack-on",), {"quad": 0.74, "dual": 0.76, "single": 0.76}),
        ("prefetch-d2d", (), {"quad": 0.016, "dual": 0.032, "single": 0.064}),
    ],
)
def test_pearson23_table_iii(modelled: Ask, name: str, words: tuple[str, ...], shares: dict[str, float]) -> None:
    run = modelled("pearson23", "frontier")
    for tier, share in shares.items():
        assert one(run, name, PEERS[tier], "1GiB", *words) / PEAKS[tier] == pytest.approx(share, abs=0.011)


def test_pearson23_prefetches_are_slower_by_the_published_factors(modelled: Ask) -> None:
    run = modelled("pearson23", "frontier")
    ratios = {
        size: one(run, "mapped-d2d", PEERS["quad"], size) / one(run, "prefetch-d2d", PEERS["quad"], size)
        for size in ("4KiB", "64KiB", "1MiB", "1GiB")
    }
    assert max(ratios.values()) == pytest.approx(1630, rel=0.05)  # III-A
    assert ratios["1GiB"] == pytest.approx(47, rel=0.05)


def test_pearson23_pageable_memory_is_five_times_slower_and_numa_makes_no_difference(modelled: Ask) -> None:
    run = modelled("pearson23", "frontier")
    for name in ("explicit-h2d", "explicit-d2h"):
        assert one(run, name, "pinned", "1GiB") / one(run, name, "pageable", "1GiB") == pytest.approx(5, rel=0.02)
    every = list(figures(run, "every-node").values())  # III-D
    assert len(every) == 32
    assert max(every) / min(every) < 1.01


def test_schieffer24_host_bandwidths(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")
    for name, words, gbps in (
        ("h2d-explicit", ("pinned", "sync"), 28.3),
        ("h2d-zero-copy", (), 25.5),
        ("h2d-migration", (), 2.8),
    ):
        found = figures(run, name, *words)
        assert max(found.values()) == pytest.approx(gbps, rel=0.01)  # Fig. 3


def test_schieffer24_streams_scale_with_packages_not_with_dies(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")

    def total(name: str, gpus: int) -> float:
        (found,) = figures(run, name, f"{gpus}GPU{'s' if gpus > 1 else ''}").values()
        return found * gpus

    alone = total("host-stream-spread", 1)
    assert total("host-stream-same-package", 2) / alone == pytest.approx(1, abs=0.05)  # Fig. 4
    assert [total("host-stream-spread", n) / alone for n in (2, 4, 8)] == pytest.approx([2, 4, 4], rel=0.05)  # Fig. 5


def test_schieffer24_latency_classes(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")
    both = figures(run, "p2p-latency", "device-clock")
    by_pair = {tuple(sorted(map(int, re.findall(r"gpu:(\d)", case)))): seconds * 1e6 for case, seconds in both.items()}
    assert set(by_pair) == set(combinations(range(8), 2))
    singles = {(0, 2), (1, 3), (1, 5), (3, 7), (4, 6), (5, 7)}
    assert {pair for pair, us in by_pair.items() if us < 10} == singles  # V-A1
    assert {pair for pair, us in by_pair.items() if 10.5 <= us <= 10.8} == {(0, 1), (2, 3), (4, 5), (6, 7)}
    assert {pair for pair, us in by_pair.items() if 17.8 <= us <= 18.2} == {(1, 7), (3, 5)}
    assert min(by_pair.values()) == pytest.approx(8.7, abs=0.01)


def test_schieffer24_copy_engines_have_two_levels_and_kernels_three(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")
    levels = {round(gbps, 0) for gbps in figures(run, "p2p-bandwidth").values()}
    assert levels == {37, 50}  # Fig. 6c
    for tier, share in {"quad": 0.25, "dual": 0.50, "single": 0.75}.items():
        assert one(run, "peer-copy-by-size", PEERS[tier], "8GiB", "default") / PEAKS[tier] == pytest.approx(
            share, abs=0.01
        )
        assert one(run, "stream-peer-all", PEERS[tier], "8GiB") / PEAKS[tier] / 2 == pytest.approx(0.435, abs=0.006)
    assert one(run, "stream-local", "gpu:0") == pytest.approx(1400, rel=0.01)  # V-B


def test_schieffer24_messages_without_copy_engines_are_10_to_15_percent_below_kernels(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")
    direct = figures(run, "stream-from-peer")
    assert max(figures(run, "mpi-p2p", "default").values()) <= 50  # Fig. 10
    for case, gbps in figures(run, "mpi-p2p", "no-sdma").items():
        pair = case.split("/")[2]
        assert 0.85 <= gbps / direct[f"schieffer24/stream-from-peer/{pair}"] <= 0.90


def test_schieffer24_collectives(modelled: Ask) -> None:
    run = modelled("schieffer24", "frontier")

    def us(row: str, kind: str, members: int, *words: str) -> float:
        return one(run, row, kind, f"{members}GPUs", *words) * 1e6

    small = partial(us, "collectives-xccl-small")
    for kind in ("all-reduce", "reduce-scatter", "all-gather"):
        assert small(kind, 2, "one-thread") == pytest.approx(17.4, rel=0.02)  # VI
    for kind in ("reduce", "broadcast", "all-reduce"):
        assert small(kind, 8, "one-thread") < small(kind, 7, "one-thread")  # Fig. 12
    for kind in ("reduce", "broadcast", "all-reduce", "reduce-scatter", "all-gather"):
        for members in range(2, 9):  # Fig. 11
            mpi, rccl = us("collectives-mpi", kind, members), us("collectives-xccl", kind, members, "one-thread")
            assert (rccl < mpi) == (kind != "broadcast")


def test_schieffer25_direct_access(modelled: Ask) -> None:
    run = modelled("schieffer25", "mi300a")
    assert all(103 <= gbps <= 104.5 for gbps in figures(run, "stream-peer", "8GiB").values())  # Fig. 4
    gpu_gpu = figures(run, "chase-gpus")
    assert {round(seconds * 1e9) for case, seconds in gpu_gpu.items()} == {346, 690}  # Fig. 3
    from_cpu = figures(run, "chase-gpu-from-cpu", "device", "1GiB")
    assert sorted(round(seconds * 1e9) for seconds in from_cpu.values()) == [240, 500]


def test_schieffer25_memcpy_beats_copies_up_to_512_kib(modelled: Ask) -> None:
    run = modelled("schieffer25", "mi300a")
    by_size = {}
    for name in ("memcpy-small", "copy-small"):
        by_size[name] = {case.split("/")[-1]: seconds for case, seconds in figures(run, name).items()}
    memcpy, copies = by_size["memcpy-small"], by_size["copy-small"]
    assert memcpy["16KiB"] < 0.1e-6  # Fig. 5
    assert all(copies[size] == pytest.approx(1e-6, rel=0.1) for size in ("1B", "4KiB", "64KiB"))
    assert memcpy["256KiB"] < copies["256KiB"]
    assert memcpy["1MiB"] > copies["1MiB"]


def test_schieffer25_allocators(modelled: Ask) -> None:
    run = modelled("schieffer25", "mi300a")
    for name in ("memcpy-apu", "memcpy-host"):
        assert all(gbps < 20 for gbps in figures(run, name).values())  # Fig. 6
    touched = ("from-device", "from-gpu-touched", "to-device", "to-gpu-touched")
    assert one(run, "memcpy-apu", *touched) == pytest.approx(10)
    for case, gbps in {**figures(run, "copy-apu"), **figures(run, "copy-host")}.items():
        assert gbps == pytest.approx(90, rel=0.01) if re.search("from-device.*to-device", case) else gbps < 20  # Fig. 7
    for words, low, high in (
        (("gpu-to-gpu", "from-device", "to-device"), 81, 83),
        (("gpu-to-host", "from-device", "to-pageable"), 53, 55),
        (("host-to-gpu", "from-pageable", "to-device"), 11.5, 11.9),
    ):
        assert all(low <= gbps <= high for gbps in figures(run, *words).values())  # Fig. 10a
    assert one(run, "copy-engines-gpu-to-host", "default") == pytest.approx(58.2, rel=0.01)  # Fig. 11
    assert one(run, "copy-engines-gpu-to-host", "no-sdma") == pytest.approx(90.3, rel=0.01)
    for size, wins in (("4KiB", True), ("64KiB", True), ("256KiB", True), ("4MiB", False)):
        on, off = (one(run, "by-size", "from-device", "to-device", size, word) for word in ("default", "no-sdma"))
        assert (off > on) == wins  # Fig. 12
    on, off = (one(run, "copy-engines", "from-device", "to-device", word) for word in ("default", "no-sdma"))
    assert off == pytest.approx(on, rel=0.01)
    assert min(figures(run, "xccl").values()) == pytest.approx(max(figures(run, "xccl").values()))  # Fig. 10b


def test_memory_that_another_device_touched_first_is_no_slow_path(modelled: Ask) -> None:
    found = explain(modelled("schieffer25", "mi300a"))
    assert found.accounts
    assert found.shortfalls == ()


def test_schieffer25_messages(modelled: Ask) -> None:
    run = modelled("schieffer25", "mi300a")

    def us(size: str, row: str, *words: str) -> float:
        return one(run, row, size, *words) * 1e6

    assert us("64B", "message-staged", "ping-pong") == pytest.approx(1.9, rel=0.02)  # Fig. 8
    assert us("64B", "message-mpi", "cray-cpu-staging", "ping-pong") == pytest.approx(1.9, rel=0.02)
    assert us("64B", "message-mpi", "cray-gpu-direct", "ping-pong") == pytest.approx(4.8, rel=0.02)
    assert us("8KiB", "message-mpi", "cray-gpu-direct", "ping-pong") > 2 * us(
        "4KiB", "message-mpi", "cray-gpu-direct", "ping-pong"
    )
    assert us("1B", "message-xccl") == pytest.approx(20, rel=0.02)
    for size, wins in (("512KiB", True), ("1MiB", True), ("2MiB", False)):
        direct = us(size, "message-mpi", "cray-gpu-direct", "ping-pong")
        assert (us(size, "message-staged", "ping-pong") < direct) == wins  # Fig. 9
    assert us("16KiB", "message-xccl") == pytest.approx(us("16KiB", "message-mpi", "default", "send"), rel=0.05)


def test_schieffer25_collectives(modelled: Ask) -> None:
    run = modelled("schieffer25", "mi300a")
    for members in (2, 3, 4):
        mpi, rccl = (
            {case.split("/")[-1]: seconds for case, seconds in figures(run, name, f"{members}GPUs").items()}
            for name in ("all-reduce-mpi", "all-reduce-xccl")
        )
        for size, seconds in mpi.items():
            small = size.endswith("B") and (size[:-1].isdigit() or size in ("1KiB", "2KiB", "4KiB"))
            assert (seconds < rccl[size]) == small, size  # Fig. 14
            assert small or 5 <= seconds / rccl[size] <= 38, size  # Observation 6
        words = ("reduce-scatter", f"{members}GPUs", "16MiB")
        assert 20 <= one(run, "collectives-mpi", *words) / one(run, "collectives-xccl", *words) <= 38  # 6.2


def test_scalarlm25_saturation(modelled: Ask) -> None:
    run = modelled("scalarlm25", "mi300x", "copy-engine,mpi")
    copies = {case.split("/")[-1]: gbps / 50 for case, gbps in figures(run, "peer-copy").items()}
    assert copies["4MiB"] < 0.8 < copies["8MiB"]
    assert copies["8MiB"] < 0.9 < copies["16MiB"]
    assert copies["64KiB"] < 0.2 < copies["128KiB"]
    messages = {case.split("/")[-1]: gbps / 50 for case, gbps in figures(run, "mpi").items()}
    assert messages["4KiB"] == pytest.approx(0.04, rel=0.05)
    assert messages["4MiB"] < 0.5
    assert messages["16MiB"] == pytest.approx(0.8, abs=0.03)
    assert messages["32MiB"] > 0.9


def test_pearson19_pinned_memory(modelled: Ask) -> None:
    power9 = modelled("default", "ac922", "copy-engine")
    assert one(power9, "h2d", "numa:0>gpu:0") == pytest.approx(72, rel=0.01)  # 4.2
    assert one(power9, "h2d", "numa:0>gpu:2") == pytest.approx(41, rel=0.01)
    both = one(power9, "host-both-ways", "gpu:0>numa:0")  # 4.1: about twice
    assert both / one(power9, "h2d", "numa:0>gpu:0") == pytest.approx(2, rel=0.02)
    for machine in ("ac922", "s822lc"):
        copies = modelled("schieffer24", machine, "copy-engine")
        on, off = (one(copies, "p2p-bandwidth", "gpu:0>gpu:1", f"peer-access-{word}") for word in ("on", "off"))
        assert on - off == pytest.approx(10, abs=0.1)  # 4.3
        prefetched, explicit = (modelled("pearson23", machine, method) for method in ("prefetch", "copy-engine"))
        near = {
            size: one(prefetched, "prefetch-h2d", "numa:0>gpu:0", size)
            / one(explicit, "explicit-h2d", "numa:0>gpu:0", "pinned", size)
            for size in ("4KiB", "32MiB", "1GiB")
        }
        assert near["4KiB"] < 0.05  # 4.7
        assert near["32MiB"] < 0.7
        assert near["1GiB"] > 0.95
    power8 = modelled("default", "s822lc", "copy-engine")
    assert one(power8, "h2d", "numa:0>gpu:2") / one(power8, "h2d", "numa:0>gpu:0") > 0.9  # no strong locality


def test_the_model_of_h200x4_is_as_its_node_was_recorded(modelled: Ask) -> None:
    recorded = {row.id: figure(row) for row in RunFile.read(RECORDED).rows}
    run = modelled("default", "h200x4")
    every_cpu = {
        row.id: row.id.replace("threads62", "threads64").replace("non-temporal", "non_temporal") for row in run.rows
    }
    errors = [
        abs(figure(row) / recorded[every_cpu[row.id]] - 1)
        for row in run.rows
        if row.status == "ok" and every_cpu[row.id] in recorded
    ]
    assert len(errors) == 246
    assert median(errors) <= 0.05
    assert sum(error <= 0.15 for error in errors) >= 0.9 * len(errors)
