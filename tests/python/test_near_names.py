"""Near names: what a mistyped name may have meant, and errors that do not pour out every name there is."""

from __future__ import annotations

import pytest

from linkscope.near_names import near_names, unknown
from linkscope.plan.suite import suite_names

NAMES = ("copy-engine", "kernel-copy", "memcpy", "p2pBandwidthLatencyTest", "mpi")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("memcopy", "memcpy"),
        ("copy-engin", "copy-engine"),
        ("P2PBANDWIDTH", "p2pBandwidthLatencyTest"),
        ("kernel", "kernel-copy"),
    ],
)
def test_the_nearest_name_comes_first(typed: str, meant: str) -> None:
    assert near_names(typed, NAMES)[0] == meant


@pytest.mark.parametrize("typed", ["", "m", "teleport"])
def test_what_is_near_nothing_suggests_nothing(typed: str) -> None:
    assert near_names(typed, NAMES) == []


def test_of_many_names_an_error_says_where_they_are_and_of_few_which() -> None:
    many, few = (
        str(unknown("suite", "zzz", suite_names(), "linkscope list suites")),
        str(unknown("method", "zzz", NAMES, "methods")),
    )
    assert "linkscope list suites" in many
    assert not any(name in many for name in suite_names() if name != "host")
    assert all(name in few for name in NAMES)
