"""Pasted nvloom: its tables and its CSV, of one or several nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.importers import nvloom
from linkscope.importers.peer_output import Figure, Movement, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert nvloom.recognises(text)
    return nvloom.read(Source(Path("paste"), text))


def of_test(found: PeerOutput, test: str) -> list[Figure]:
    """The results of a test case."""
    return [one for one in found.figures if one.test == f"nvloom {test}"]


def moved(figure: Figure) -> Movement:
    """What a result moves."""
    assert figure.moves is not None
    return figure.moves


def test_in_a_table_of_pairs_the_column_is_the_source() -> None:
    found = output((SAMPLES / "nvloom-1.3.txt").read_text())
    assert (found.version, len(found.gpus), found.gpus[2].name) == ("1.3.0", 3, "NVIDIA GB200")
    first = of_test(found, "ce write")[0]
    assert (first.value.median, first.size) == (781.1, 512 << 20)
    assert (moved(first).source, moved(first).destination, moved(first).hosts) == ("gpu:1", "gpu:0", 2)
    chase = of_test(found, "latency")[0]
    assert chase.value.median == pytest.approx(820.1e-9)
    assert (moved(chase).source, moved(chase).executor) == ("gpu:1", "gpu:0")


def test_a_tables_unit_stands_below_it() -> None:
    found = output((SAMPLES / "nvloom-1.3.txt").read_text())
    both = of_test(found, "sm read both ways")[0]
    assert (both.value.median, moved(both).both) == (1510.0, True)


def test_sums_and_halves_say_what_runs_at_once() -> None:
    found = output((SAMPLES / "nvloom-1.3.txt").read_text())
    crowd = of_test(found, "all_to_one_device_to_device_write_ce")
    assert [(moved(one).destination, moved(one).at_once) for one in crowd] == [("gpu:0", 2), ("gpu:1", 2), ("gpu:2", 2)]
    halves = of_test(found, "bisect_device_to_device_write_sm")
    assert (moved(halves[0]).source, moved(halves[0]).destination, moved(halves[0]).at_once) == ("gpu:0", "gpu:1", 3)


def test_no_host_and_no_rack_is_told() -> None:
    found = output((SAMPLES / "nvloom-1.3.txt").read_text())
    assert "node-a" not in repr(found)
    assert "1234" not in repr(found)


def test_lines_of_csv_are_read_without_their_head() -> None:
    text = (SAMPLES / "nvloom.csv").read_text()
    lines = text.split("\n")
    found = output("\n".join(lines[3:9]))
    assert [one.value.median for one in found.figures] == [float(line.split(", ")[-1]) for line in lines[3:9]]
    whole = output(text)
    crowd = of_test(whole, "ce write 3 at once")
    assert [one.value.median for one in crowd] == [130.301, 131.27, 131.736]
    (egm,) = of_test(whole, "ce write device egm")
    assert (moved(egm).kind, moved(egm).memories) == ("to-host", ("device", "pinned"))


def test_a_table_that_is_cut_says_what_is_missing() -> None:
    table = "Running device_to_device_unidir_read_sm\n\t0\t1\t2\t\n0\tN/A\t701.11\t702.11\t\n1\t703.11\t"
    found = output(table)
    assert [one.value.median for one in found.figures] == [701.11, 702.11, 703.11]
    assert [one.facts["missing"] for one in found.findings] == ["rows 1, 2"]
