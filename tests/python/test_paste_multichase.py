"""multichase's and multiload's output as it is pasted: with -v and without, other chases, threads and nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pasting import moves, told_by

from linkscope.errors import LinkscopeError
from linkscope.importers import multichase
from linkscope.importers.multichase import read
from linkscope.importers.peer_output import Figure, Source

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "multichase-v.txt"
MIB = 1 << 20
OLD = """nr_threads = 2
total_memory = 1073741824 (1024.0 MiB)
stride = 128
tlb_locality = 262144
chase = parallel2
samples (one column per thread, one row per sample):
  110.2  112.2  avg=111.2
  109.0  111.0  avg=110.0
  111.0  113.0  avg=112.0
 110.0
"""
LOADED = """Samples\t, Byte/thd\t, ChaseThds\t, ChaseNS\t, ChaseMibs\t, ChDeviate\t, LoadThds\t, LdMaxMibs\t, LdAvgMibs\t, LdDeviate\t, ChaseArg\t, MemLdArg
5     \t, 536870912  \t, 1       \t, 210.500 \t, 36      \t, 0.020   \t, 15      \t, 100500  \t, 100000  \t, 0.010   \t, chaseload\t, stream-sum
"""  # noqa: E501


told = told_by(multichase)


def only(text: str) -> Figure:
    """Its one result."""
    (figure,) = told(text).figures
    return figure


def test_linkscopes_case_has_nothing_to_tell() -> None:
    found = read(Source.read(SAMPLE))
    assert [(one.test, one.size) for one in found.figures] == [
        ("multichase simple", size) for size in (65536, MIB, 16 * MIB)
    ]
    assert {(moves(one).kind, moves(one).method, moves(one).varies) for one in found.figures} == {
        ("host", "pointer-chase", "")
    }
    assert {tuple(one.facts.items()) for one in found.figures} == {(("memory", "pageable"),)}


def test_other_chases_and_threads_are_results_of_their_own() -> None:
    figure = only(OLD)
    assert (figure.test, figure.size, figure.value.n) == ("multichase parallel2", 1 << 30, 3)
    assert figure.value.median == pytest.approx(111.2e-9)
    assert moves(figure).varies == "2 threads, stride 128"


@pytest.mark.parametrize(
    ("command", "size", "varies", "place"),
    [
        ("$ ./multichase", 256 * MIB, "", ("", "")),
        ("$ multichase -m 4m -s 64", 4 * MIB, "stride 64", ("", "")),
        ("$ ./multichase -m1g -H -n 20", 1 << 30, "page_size 2097152", ("", "")),
        ("$ numactl --membind=2 --cpunodebind=0 ./multichase -m 1g", 1 << 30, "", ("numa:2", "numa:0")),
    ],
)
def test_without_v_the_command_says_what_was_measured(
    command: str, size: int, varies: str, place: tuple[str, str]
) -> None:
    figure = only(f"{command}\na fork's message\n 92.268\n")
    assert (figure.size, figure.value.median) == (size, pytest.approx(92.268e-9))
    assert (moves(figure).varies, (moves(figure).source, moves(figure).executor)) == (varies, place)


def test_several_commands_have_a_number_each() -> None:
    found = told("$ multichase -m 32k\n 1.200\n$ multichase -m 1m\n 3.400\n  99.0\n")
    assert [(one.size, one.value.median) for one in found.figures] == [
        (32 << 10, pytest.approx(1.2e-9)),
        (MIB, pytest.approx(3.4e-9)),
    ]
    assert 5 not in found.read


def test_a_run_with_v_that_stops_counts_and_its_command_is_the_same_run() -> None:
    figure = only("$ ./multichase -v -t 2 -m 1g -s 128 -c parallel2\n" + OLD.removesuffix(" 110.0\n"))
    assert (figure.value.n, moves(figure).varies) == (3, "2 threads, stride 128")
    assert only(OLD.partition("  109.0")[0]).value.n == 1


def test_multiload_has_a_latency_and_a_rate() -> None:
    latency, rate = told(LOADED).figures
    assert (latency.test, latency.value.median, latency.unit) == ("multiload chaseload", pytest.approx(210.5e-9), "s")
    assert (rate.test, rate.value.median, rate.unit) == (
        "multiload stream-sum",
        pytest.approx(100000 * MIB / 1e9),
        "GB/s",
    )
    assert (moves(rate).at_once, moves(latency).varies) == (15, "15 threads of stream-sum")
    (alone,) = told(LOADED.replace("210.500", "0.000  ")).figures
    assert alone.unit == "GB/s"


def test_neither_samples_nor_a_result_is_refused() -> None:
    for text in ("$ multichase -m 4m\nerror: more threads than cpus available\n", OLD.partition("samples")[0]):
        with pytest.raises(LinkscopeError, match="no samples"):
            told(text)
