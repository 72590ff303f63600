"""Near names: what a mistyped name may have meant, and errors that do not pour out every name there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.near_names import near_names, unknown
from linkscope.plan.suite import suite_names
from linkscope.results.run_file import RunFile

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


def test_a_run_file_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "node-a.jsonl").write_text("")
    with pytest.raises(LinkscopeError, match=r"did you mean \S*node-a\.jsonl\?"):
        RunFile.read(tmp_path / "node-b.jsonl")
    with pytest.raises(LinkscopeError, match="linkscope run -o FILE"):
        RunFile.read(tmp_path / "zzz.jsonl")
