"""Screenshots: pages that `linkscope report` writes of recorded runs, as Chromium draws them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.render.page import write_page

PLACE = "reference/screenshots.md"
RUNS = {
    "default": ("Four H200, `linkscope run default`", "runs/h200x4-default.jsonl"),
    "collectives": ("Four H200, direct collectives beside NCCL", "runs/h200x4-packets.jsonl"),
    "halo": ("One H100, a halo exchange of four ranks", "applications/h100-halo-4-ranks.jsonl"),
}
"""Heading and recorded run, below tests/fixtures, by the picture's name."""
_SIZE = "1280,1600"
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of Chromium; None where it is not installed."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def add(root: Path, folder: Path, program: str) -> str:
    """Draw the pages of ``RUNS`` below ``folder``, and return the text of the page that shows them.

    Raises LinkscopeError where Chromium draws nothing.
    """
    lines = ["# Screenshots", "", "Pages that `linkscope report` writes of recorded runs.", ""]
    (folder / PLACE).parent.mkdir(parents=True, exist_ok=True)
    for name, (heading, run) in RUNS.items():
        picture = (folder / PLACE).with_name(f"{name}.png")
        with TemporaryDirectory() as scratch:
            page = Path(scratch) / "page.html"
            write_page([Run.of(os.path.relpath(root / "tests" / "fixtures" / run))], page)
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000"]
            options += [f"--user-data-dir={scratch}/profile", f"--window-size={_SIZE}", f"--screenshot={picture}"]
            done = subprocess.run([program, *options, page.as_uri()], capture_output=True, timeout=120, check=False)
        if done.returncode or not picture.is_file():
            raise LinkscopeError(f"Chromium drew no screenshot of {run}")
        lines += [f"## {heading}", "", f"![{heading}]({name}.png)", ""]
    return "\n".join(lines)
