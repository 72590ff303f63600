"""Write what would go stale in README.md: its picture, the screen of a run, a paste's answer, ten ratios.

python tools/readme                         writes README.md and docs/images/sizes.svg anew
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.readme.parts import PICTURE, README, RECORDED, renewed  # noqa: E402
from tools.readme.picture import picture  # noqa: E402


def main() -> int:
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(RECORDED), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
