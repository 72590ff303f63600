"""Pasted lines of Azure's node health checks: results, their own limits, inactive links."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.importers import azure_nhc
from linkscope.importers.imported_run import pasted
from linkscope.importers.peer_output import PeerOutput, Source
from linkscope.messages.finding import Level

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert azure_nhc.recognises(text)
    return azure_nhc.read(Source(Path("paste"), text))


def test_results_are_nvbandwidths_tests() -> None:
    text = (SAMPLES / "azure-nhc.txt").read_text()
    found = output(text)
    assert [(one.test, one.row, one.column, one.value.median) for one in found.figures][:3] == [
        ("nvbandwidth device_to_device_memcpy_read_ce", "gpu:2", "gpu:3", 201.51),
        ("nvbandwidth host_to_device_memcpy_ce", "", "gpu:1", 12.41),
        ("nvbandwidth device_to_host_memcpy_ce", "", "gpu:2", 24.61),
    ]
    moves = found.figures[0].moves
    assert moves is not None
    assert (moves.source, moves.destination, moves.executor) == ("gpu:3", "gpu:2", "gpu:2")
    assert found.read == frozenset(range(1, len(text.split("\n"))))


def test_a_checks_limit_is_told_as_its_own() -> None:
    found = output((SAMPLES / "azure-nhc.txt").read_text())
    limits = {one.facts["check"]: one.facts["limit"] for one in found.findings if one.code == "import.other-limit"}
    assert limits == {"check_gpu_bw P2P": 238.0, "check_gpu_bw H2D": 21.0, "check_nccl_allreduce": 193.0}


def test_inactive_links_are_counted_over_lines() -> None:
    found = output((SAMPLES / "azure-nhc.txt").read_text())
    (links,) = [one for one in found.findings if one.code == "import.inactive-links"]
    assert (links.facts["gpu"], links.facts["links"], links.level) == ("gpu:0", 3, Level.WARNING)
    (none,) = output("check_nvlink_status: GPU 5 has all nvlinks inactive\n").findings
    assert (none.code, none.level) == ("import.no-links", Level.ERROR)


def test_other_checks_that_failed_are_named() -> None:
    found = output((SAMPLES / "azure-nhc.txt").read_text())
    assert [one.facts["checks"] for one in found.findings if one.code == "import.failed-checks"] == [
        ["check_gpu_count"]
    ]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("check_gpu_bw: D2H test on GPU 2 has a bandwidth of 50.11 GB/s. Expected threshold 48 GB/s.", 50.11),
        ("check_rccl_allreduce: RCCL all reduce bandwidth test passed, 310.51 GB/s", 310.51),
        ("check_ib_bw_gdr: IB write bandwidth test x passed for IB=mlx5_ib0, IB BW=392.8 Gbps", 49.1),
    ],
)
def test_checks_that_pass_have_results_too(line: str, value: float) -> None:
    (figure,) = output(line).figures
    assert figure.value.median == pytest.approx(value)


def test_network_cards_need_no_device_of_the_node(tmp_path: Path) -> None:
    line = "SUCCESS:  nhc:  Health check passed:  check_ib_bw_gdr: IB write bandwidth test passed for IB=mlx5_ib{0}, "
    log = tmp_path / "health.log"
    log.write_text("".join(f"{line.format(one)}IB BW=39{one}.50 Gbps\n" for one in (1, 2)))
    moves = [one.moves for one in output(log.read_text()).figures]
    assert [one.varies for one in moves if one] == ["mlx5_ib1", "mlx5_ib2"]
    assert [row.imported.value for row in pasted([log]).rows if row.imported] == [391.5 / 8, 392.5 / 8]
