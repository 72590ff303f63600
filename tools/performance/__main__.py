"""Performance: linkscope's results beside those of other tools, with the target of each.

    python tools/performance          writes docs/performance.md and the CSVs of recorded runs anew

comparisons.yaml says what is compared. The results come from bench/results and from the run files that it names.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.performance.figures import RESULTS, Figures  # noqa: E402
from tools.performance.page import page  # noqa: E402


def main() -> int:
    figures = Figures.load()
    for name, text in figures.made.items():
        (RESULTS / name).write_text(text, encoding="utf-8")
    (ROOT / "docs" / "performance.md").write_text(page(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
