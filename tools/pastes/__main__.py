"""docs/from-other-tools.md's parts that would go stale: what `linkscope explain` answers, what tools count.

python tools/pastes                         writes docs/from-other-tools.md anew
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.pastes.parts import PAGE, renewed  # noqa: E402


def main() -> int:
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
