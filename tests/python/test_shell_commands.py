"""Completion and the manual page hold what the commands declare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import Bench, bench

from linkscope.machine.described import machine_names

__all__ = ["bench"]

SOURCE = Path(__file__).resolve().parents[2] / "python"


def asked(line: str) -> dict[str, str]:
    """What a bash sets in the environment to complete the last word of the line."""
    words = line.split(" ")
    return {"_LINKSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}


@pytest.fixture
def offered(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What a bash is offered for the last word of a line."""

    def found(line: str) -> list[str]:
        for name, value in asked(line).items():
            monkeypatch.setenv(name, value)
        return bench.cli().out.split()

    return found


def test_a_shell_asks_a_process_of_its_own() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **asked("linkscope run nvb")}
    command = [sys.executable, "-m", "linkscope"]
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.stdout.split() == ["nvbandwidth"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("linkscope topo", "topology"),
        ("linkscope run --bud", "--budget"),
        ("linkscope list mach", "machines"),
        ("linkscope list memories pin", "pinned"),
        ("linkscope reproduce pearson2", "pearson23"),
    ],
)
def test_a_begun_word_is_completed(offered: Callable[[str], list[str]], line: str, wanted: str) -> None:
    assert offered(line) == [wanted]


def test_machines_are_offered_for_their_option(offered: Callable[[str], list[str]]) -> None:
    assert offered("linkscope run --machine ") == machine_names()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_told_where_to_ask(bench: Bench, shell: str) -> None:
    script = bench.cli("completion", shell)
    assert (script.code, f"_LINKSCOPE_COMPLETE=complete_{shell}" in script.out) == (0, True)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_a_zsh_that_finds_the_file_itself_completes_the_first_word(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "_linkscope").write_text(bench.cli("completion", "zsh").out)
    command = tmp_path / "linkscope"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{SOURCE}" exec "{sys.executable}" -m linkscope "$@"\n')
    command.chmod(0o755)
    typed = "words=(linkscope run nvb); CURRENT=3; _arguments() { print -r -- $@ }"
    ended = subprocess.run(
        ["zsh", "-f", "-c", f"fpath=({tmp_path}); autoload -Uz _linkscope; {typed}; _linkscope"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "nvbandwidth" in ended.stdout


def test_the_manual_page_has_every_command_and_option(bench: Bench) -> None:
    page = bench.cli("man").out
    for word in ("run ", "app halo", "list ", "completion "):
        assert f"\n.SS {word}" in page
    assert "\\-\\-budget" in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_set_without_a_warning(bench: Bench) -> None:
    page = bench.cli("man").out
    ended = subprocess.run(["groff", "-man", "-ww", "-Tascii"], input=page, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
