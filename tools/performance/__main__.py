"""Performance: linkscope's figures beside those of other tools, with the target of each.

    python tools/performance                    writes docs/performance.md anew

Figures come from the run files that figures.yaml names, and else from figures.yaml itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.performance.figures import Figures  # noqa: E402
from tools.performance.page import page  # noqa: E402


def main() -> int:
    (ROOT / "docs" / "performance.md").write_text(page(Figures.load()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
