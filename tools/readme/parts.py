"""What stands between comments of README.md: `<!-- made: NAME -->` to `<!-- end -->`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.pastes.parts import PAGE, answer, pastes
from tools.performance.figures import Figures
from tools.performance.page import peers_table

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "sizes.svg"
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl"
COLUMNS = "80"


def renewed(readme: str) -> str:
    """README.md with each part made anew."""
    return re.sub(
        r"(<!-- made: (\w+) -->\n).*?(<!-- end -->\n)",
        lambda found: f"{found[1]}{PARTS[found[2]]()}{found[3]}",
        readme,
        flags=re.DOTALL,
    )


def _show() -> str:
    """The verdict and the first matrix of `linkscope show`, as a terminal of 80 columns has it."""
    command = [sys.executable, "-m", "linkscope", "show", str(RECORDED)]
    environment = {**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "python")}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    verdict, matrix, *_ = printed.split("\n\n")
    lines = [line.rstrip() for line in f"{verdict}\n\n{matrix}".splitlines()]
    return "\n".join(["```", *lines, "```", ""])


def _paste() -> str:
    """A paste and its answer: the second of docs/from-other-tools.md."""
    paste = pastes(PAGE.read_text(encoding="utf-8"))[1]
    _, _, answered = answer(paste).partition("\n")
    return f"```\n$ cat paste.txt\n{paste}{answered}"


def _peers() -> str:
    return peers_table(Figures.load())


PARTS: Mapping[str, Callable[[], str]] = {"show": _show, "paste": _paste, "peers": _peers}
