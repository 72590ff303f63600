"""Parts of README.md that stand between `<!-- made: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.pastes.parts import PAGE, answer, pastes
from tools.performance.figures import Figures
from tools.performance.page import ratio_lines

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "sizes.svg"
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl"
COLUMNS = "80"
FIRST_LINES = 6
"""The run's head, its verdict, and what a pair of GPUs reaches."""


def renewed(readme: str) -> str:
    """Return README.md with each part made anew."""
    return re.sub(
        r"(<!-- made: (\w+) -->\n).*?(<!-- end -->\n)",
        lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}",
        readme,
        flags=re.DOTALL,
    )


def _show() -> str:
    """Return the first lines that `linkscope show` prints of the recorded run, as a terminal of 80 columns has them."""
    named = RECORDED.relative_to(ROOT)
    command = [sys.executable, "-m", "linkscope", "show", str(named)]
    environment = {**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "python")}
    printed = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in printed.splitlines()[:FIRST_LINES]]
    return "\n".join(["```", f"$ linkscope show {named} | head -n {FIRST_LINES}", *lines, "```", ""])


def _paste() -> str:
    """Return the second paste of docs/from-other-tools.md with its answer."""
    paste = pastes(PAGE.read_text(encoding="utf-8"))[1]
    _, _, answered = answer(paste).partition("\n")
    return f"```\n$ cat paste.txt\n{paste}{answered}"


def _ratios() -> str:
    return f"```\n{ratio_lines(Figures.load())}```\n"


PARTS: Mapping[str, Callable[[], str]] = {"show": _show, "paste": _paste, "ratios": _ratios}
