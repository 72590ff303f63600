"""What stands between comments of docs/from-other-tools.md: `<!-- made: NAME -->` to `<!-- end -->`.

An answer is the first lines of what `linkscope explain` prints of the block before it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from linkscope.importers.counted import Counted, table, words

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "from-other-tools.md"
WRITTEN = 1_795_737_600
"""When the pastes are said to be written, which the answers print: 27 November 2026."""
COLUMNS, OWN = "80", "linkscope"
_ANSWER = re.compile(
    r"(^```\n(?P<paste>(?:(?!```).*\n)*)```\n\n<!-- made: answer -->\n)(?:.*\n)*?(<!-- end -->\n)", re.M
)
_COUNTED = re.compile(r"(<!-- made: counted -->\n)(?:.*\n)*?(<!-- end -->\n)")
_MOST_BLOCKS, _MOST_LINES = 2, 7


def renewed(page: str) -> str:
    """Return the page with each part made anew."""
    page = _ANSWER.sub(lambda found: f"{found[1]}{answer(found['paste'])}{found[3]}", page)
    return _COUNTED.sub(lambda found: f"{found[1]}{counted_table()}{found[2]}", page)


def pastes(page: str) -> list[str]:
    """Return the pastes that have an answer."""
    return [found["paste"] for found in _ANSWER.finditer(page)]


def answer(paste: str) -> str:
    """Return what explain says first of a paste, as a terminal of 80 columns has it. Raises RuntimeError."""
    command = [sys.executable, "-m", "linkscope", "explain", "paste.txt"]
    environment = {**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1", "TZ": "UTC", "PYTHONPATH": str(ROOT / "python")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paste.txt"
        path.write_text(paste, encoding="utf-8")
        os.utime(path, (WRITTEN, WRITTEN))
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    blocks = done.stdout.split("\n\n")[:_MOST_BLOCKS]
    lines = [line.rstrip() for line in "\n\n".join(blocks).splitlines()][:_MOST_LINES]
    return "\n".join(["```", "$ linkscope explain paste.txt", *lines, "```", ""])


def counted_table() -> str:
    """Return what each tool counts, a line a tool: of its newest version, for most of its tests, and what differs."""
    lines = ["| tool | counts | clock | calls before | launched by | result |", "|---|---|---|---|---|---|"]
    for tool, entries in groupby(table(), lambda one: one.tool):
        if tool == OWN:
            continue
        now = [one for one in entries if not one.versions.startswith("-")]
        usual = now[-1]
        cells = (
            *(tool.replace("|", r"\|"), _bytes(now)),
            *(words("clock")[usual.clock], _warmup(usual), words("launches")[usual.launches]),
            words("result")[usual.result],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _bytes(entries: Iterable[Counted]) -> str:
    """Return what most tests count, then what others do by their names."""
    *others, usual = entries
    said = [words("bytes")[usual.bytes]]
    said += [
        f"`{one.test.strip('*_')}`: {words('bytes')[one.bytes]}"
        for one in others
        if one.bytes not in ("none", usual.bytes)
    ]
    return "; ".join(said)


def _warmup(entry: Counted) -> str:
    return f"{entry.warm:,}".replace(",", "") if entry.warm else words("warmup")[entry.warmup]
