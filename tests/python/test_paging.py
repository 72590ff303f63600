"""Paging: what is longer than a terminal goes to the reader's pager, and nothing else does."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from linkscope.cli.paging import paged


def terminal(height: int) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=80, height=height, force_terminal=True, color_system=None), stream


def test_only_what_is_longer_than_the_terminal_goes_to_the_pager(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    script = tmp_path / "pager.py"
    script.write_text(f"import sys\nopen({str(kept)!r}, 'w').write(sys.stdin.read())\n")
    environment = {"PAGER": f"{sys.executable} {script}"}
    for height, by_pager in ((20, False), (5, True)):
        console, stream = terminal(height)
        with paged(console, environment) as shown:
            for number in range(10):
                shown.print(f"line {number}")
        assert kept.exists() == by_pager
        assert ("line 9" in stream.getvalue()) != by_pager
    assert kept.read_text().count("line") == 10


@pytest.mark.parametrize("pager", ["", "cat", "no-such-program-anywhere", "'"])
def test_without_a_pager_it_is_printed(pager: str) -> None:
    console, stream = terminal(3)
    with paged(console, {"PAGER": pager}) as shown:
        shown.print("\n".join("abcdefgh"))
    assert stream.getvalue().split() == list("abcdefgh")


def test_a_pipe_has_no_pager(tmp_path: Path) -> None:
    stream = io.StringIO()
    with paged(Console(file=stream, height=3), {"PAGER": f"{sys.executable} -c pass"}) as shown:
        shown.print("\n".join("abcdefgh"))
    assert stream.getvalue().split() == list("abcdefgh")
