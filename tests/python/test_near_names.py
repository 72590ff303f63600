"""Near names: what a mistyped name may have meant, and errors that do not pour out every name there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import near_names, unknown
from linkscope.plan.suites import load_suite, suite_names
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
        str(unknown("method", "zzz", NAMES)),
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


@pytest.mark.parametrize(
    ("typed", "command"), [("frontier", "linkscope run --machine frontier"), ("a.jsonl", "linkscope show a.jsonl")]
)
def test_what_is_no_suite_but_something_else_is_told_its_command(typed: str, command: str) -> None:
    with pytest.raises(LinkscopeError, match=command):
        load_suite(typed)


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("-n", "-n"),
        ("--np", "--np"),
        ("-t", "-k NAME"),
        ("-N", "--hosts"),
        ("--nodes", "--hosts"),
    ],
)
def test_another_tools_option_leads_to_what_does_it_here(
    option: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "p2p-processes", option, "2"])
    assert left.value.code == 2
    assert word in capsys.readouterr().err


def test_a_described_node_without_its_option_leads_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    for name, hinted in (("h200x4", True), ("nosuch", False)):
        with pytest.raises(SystemExit) as left:
            main(["topology", name])
        assert left.value.code == 2
        assert (f"--machine {name}" in capsys.readouterr().err) is hinted


def test_of_a_folder_a_run_file_in_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="without a run file"):
        RunFile.read(tmp_path)
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(LinkscopeError, match=r"a\.jsonl"):
        RunFile.read(tmp_path)
