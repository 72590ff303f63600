"""docs/it-got-slower.md's screens: what its commands print, of recorded and modelled runs with planted faults.

python tools/screens                        writes docs/it-got-slower.md anew
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python"), str(ROOT / "tests" / "python")]

from tools.screens.screens import PAGE, renewed  # noqa: E402


def main() -> int:
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
