"""Answers on modelled nodes: fits give back the description's latency and bandwidth, tiers are its links'."""

from __future__ import annotations

import polars
import pytest

import linkscope
from linkscope.answers.analyze.tiers import SAME
from linkscope.machine.paths import Paths
from linkscope.results.run_file import RunFile

KERNEL_COPY = {"frontier": (8.7e-6, 0.77), "mi300a": (1e-6, 0.703)}
"""Latency in seconds, without that of links, and share of the path's peak, as machines/NAME.yaml has them."""


@pytest.fixture(scope="module", params=KERNEL_COPY)
def swept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """Kernel copies between four GPUs, by size."""
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    asked = {"machine": request.param, "devices": "gpu:0-3", "methods": "kernel-copy", "sizes": "64:1G:16x"}
    return linkscope.run("sweep", output=where, **asked)


def peaks_of(run: RunFile) -> dict[str, float]:
    """GB/s by path."""
    paths = Paths(run.node)
    ends = [(f"gpu:{a}", f"gpu:{b}") for a in range(4) for b in range(4) if a != b]
    return {f"{a}>{b}": path.peak_gbps for a, b in ends if (path := paths.between(a, b)) and path.peak_gbps}


def test_fits_give_back_what_the_description_says(swept: RunFile) -> None:
    latency, efficiency = KERNEL_COPY[swept.node.name]
    peaks = peaks_of(swept)
    found = linkscope.analyze(swept, "fits").tables[0].frame.to_dicts()
    assert {line["path"] for line in found} == set(peaks)
    for line in found:
        assert line["segments"] == 1
        assert line["beta_gbps"] == pytest.approx(efficiency * peaks[line["path"]], rel=1e-4)
        assert latency <= line["alpha_seconds"] < latency + 1e-6
        assert line["half_bytes"] == pytest.approx(line["alpha_seconds"] * line["beta_gbps"] * 1e9)


def test_speed_classes_are_those_of_the_links(swept: RunFile) -> None:
    found = linkscope.analyze(swept, "tiers").tables[0].frame
    assert found["agree"].unique().to_list() == [SAME]
    pushed = found.filter(polars.col("role") == "push").sort("measured_tier")
    peaks = list(peaks_of(swept).values())
    assert pushed["pairs"].to_list() == [peaks.count(peak) for peak in sorted(set(peaks), reverse=True)]


def test_a_model_has_no_direction(swept: RunFile) -> None:
    assert not linkscope.analyze(swept, "anisotropy").tables[0].frame["beyond"].any()
