"""DeepEP's test prints as results: dispatch and combine, with a rank's own rows counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.importers import deepep
from linkscope.importers.deepep import read
from linkscope.importers.peer_output import PeerOutput, Source

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "deepep-intranode.txt"


def of(text: str, processes: int | None = None) -> PeerOutput:
    assert deepep.recognises(text)
    return read(Source(Path("paste.txt"), text, processes))


def series(output: PeerOutput) -> list[tuple[str, float]]:
    return [(one.moves.varies, one.value.median) for one in output.figures if one.moves is not None]


def test_a_sweep_is_named_by_its_last_line() -> None:
    output = read(Source.read(SAMPLE))
    found = series(output)
    bests = [one for one in found if one[0].startswith("best of")]
    assert (found[: len(bests)], bests[0], bests[-1]) == (
        bests,
        ("best of dispatch FP8", 233.91),
        ("best of combine", 249.05),
    )
    assert found[len(bests)] == ("dispatch FP8, NVL chunk 4, 24 SMs", 201.37)
    assert found[-1] == ("combine, NVL chunk default, 24 SMs", 248.61)
    assert len(found) == 12
    moves = {(one.moves.method, one.moves.collective, one.moves.counts) for one in output.figures if one.moves}
    assert moves == {("deepep", "all-to-all", "own-rows")}
    assert {one.test for one in output.figures} == {"DeepEP test_intranode"}
    assert [
        number for number, line in enumerate(SAMPLE.read_text().split("\n"), 1) if line and number not in output.read
    ] == []


def test_a_sweep_that_is_cut_is_told_by_its_chunks() -> None:
    line = "[tuning] SMs 100, NVL chunk {}: {}.23 GB/s (NVL), avg_t: 168.89 us\n"
    cut = of("".join(line.format(chunk, 350 + chunk) for chunk in (4, 6, 8)), processes=2)
    assert series(cut)[-1] == ("dispatch, NVL chunk 8, 100 SMs", 358.23)
    assert {one.moves.ranks for one in cut.figures if one.moves} == {2}
    assert series(of("".join(line.format(chunk, 350) for chunk in (1, 2, 3))))[0][0] == "combine, NVL chunk 1, 100 SMs"


def test_between_hosts_both_rates_count() -> None:
    text = (
        "[tuning] SMs 24, NVL chunk 4, RDMA chunk 8: 98 + 1391 us, 43.36 GB/s (RDMA), 141.61 GB/s (NVL) \n"
        "[tuning] SMs 24, NVL chunk 4, RDMA chunk 12: 55.58 GB/s (RDMA), 181.41 GB/s (NVL)\n"
        "[tuning] Best combine: SMs 24, NVL chunk 4, RDMA chunk 12, 78.64 + 2681.00 us, "
        "43.63 GB/s (RDMA), 142.50 GB/s (NVL)\n"
    )
    output = of(text)
    assert series(output)[2:4] == [
        ("combine, NVL chunk 4, RDMA chunk 8, 24 SMs, RDMA", 43.36),
        ("combine, NVL chunk 4, RDMA chunk 8, 24 SMs, NVL", 141.61),
    ]
    assert len(output.figures) == 6
    assert {one.moves.hosts for one in output.figures if one.moves} == {2}


def test_low_latency_lines_are_of_ranks() -> None:
    text = (
        "[rank 3] Dispatch + combine bandwidth: 24.38 GB/s, avg_t=904.30 us, min_t=890.59 us, max_t=925.28 us\n"
        "[rank 1] Dispatch bandwidth: 41.20 GB/s, avg_t=182.40 us | Combine bandwidth: 43.10 GB/s, avg_t=337.24 us\n"
        "[rank 0] Dispatch send/recv time: 31.20 + 12.10 us | Combine send/recv time: 33.90 + 15.40 us\n"
    )
    output = of(text)
    assert series(output) == [
        ("dispatch + combine, rank 3", 24.38),
        ("dispatch, rank 1", 41.2),
        ("combine, rank 1", 43.1),
    ]
    assert {one.moves.ranks for one in output.figures if one.moves} == {4}
    assert output.read == {1, 2, 3}


def test_the_second_versions_lines_are_read() -> None:
    text = (
        "   * EP:   1/8 | dispatch: 0 GB/s (SO), 321 GB/s (SU), 168.890 us, 54231040 bytes | copy: 1630 GB/s, 66.5 us\n"
        "   + EP:   0/16 | reduced combine: 47 GB/s (SO), 88 GB/s (SU), 968.890 us, 1 bytes | "
        "reduce: 1630 GB/s, 66.5 us\n"
        " > Rank:   0/  8 | 8 x 67 MB | avg: 1612.100 us, 332.512 GB/s (inplace=1, batched=0)\n"
    )
    output = of(text)
    assert series(output) == [
        ("dispatch, scale-up, rank 1", 321),
        ("reduced combine, scale-out, rank 0", 47),
        ("reduced combine, scale-up, rank 0", 88),
        ("in place, rank 0", 332.512),
    ]
    assert [one.size for one in output.figures] == [None, None, None, 536_000_000]
    assert output.figures[1].moves is not None
    assert (output.figures[1].moves.hosts, output.figures[1].moves.ranks) == (2, 16)


def test_no_rate_is_an_error_and_a_failure_is_told() -> None:
    with pytest.raises(LinkscopeError, match="no line of DeepEP's tests has a rate"):
        read(Source(Path("paste.txt"), "[tuning] SMs 24, NVL chunk 4: nan GB/s (NVL), 0 us\n"))
    failed = of("[tuning] SMs 24, NVL chunk 4: 200.5 GB/s (NVL), 1 us\nAssertionError: Error: diff=0.3\n")
    assert [one.code for one in failed.findings] == ["import.stopped"]
