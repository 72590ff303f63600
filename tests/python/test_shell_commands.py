"""Completion and the manual page hold what the commands declare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launching import Bench, bench

from linkscope.machine.described import machine_names

__all__ = ["bench"]

SOURCE = Path(__file__).resolve().parents[2] / "python"


def offered(line: str) -> list[str]:
    """What a bash is offered for the last word of the line."""
    words = line.split(" ")
    ended = subprocess.run(
        [sys.executable, "-m", "linkscope"],
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "_LINKSCOPE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("linkscope topo", "topology"),
        ("linkscope run nvb", "nvbandwidth"),
        ("linkscope run --bud", "--budget"),
        ("linkscope list mach", "machines"),
        ("linkscope list memories pin", "pinned"),
        ("linkscope reproduce pearson2", "pearson23"),
    ],
)
def test_a_begun_word_is_completed(line: str, wanted: str) -> None:
    assert offered(line) == [wanted]


def test_machines_are_offered_for_their_option() -> None:
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
