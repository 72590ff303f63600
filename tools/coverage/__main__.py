"""Coverage: which test covers what other tools and studies measure, and where it has been run.

    python tools/coverage                       writes docs/coverage.md anew
    python tools/coverage --record RUN...       takes what run files show into evidence.jsonl, then writes the page
    python tools/coverage --points SUITE        counts its points on the recorded node, and Comm|Scope's time for them

Each writes anew, too, what `linkscope list suites` shows of the node h200x4 (suites/extents.json in the package).
Names and their sources stand in names.yaml, rows in the suites (`covers`, and `peer` for nvbandwidth).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from tools.coverage.evidence import Evidence  # noqa: E402
from tools.coverage.names import load_names  # noqa: E402
from tools.coverage.page import page  # noqa: E402
from tools.coverage.points import points_of  # noqa: E402

from linkscope.errors import LinkscopeError  # noqa: E402
from linkscope.launch.outlook import KEPT_EXAMPLES, computed_example  # noqa: E402
from linkscope.plan.suites import suite_names  # noqa: E402

PAGE = ROOT / "docs" / "coverage.md"
EVIDENCE = HERE / "evidence.jsonl"
NODE = ROOT / "tests" / "fixtures" / "machines" / "h200x4-recorded.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/coverage", description="docs/coverage.md and what it stands on")
    parser.add_argument("--record", nargs="+", type=Path, metavar="RUN", help="run files to take as evidence")
    parser.add_argument("--points", metavar="SUITE", help="count a suite's points on the recorded node")
    arguments = parser.parse_args()
    try:
        if arguments.points:
            print(points_of(arguments.points, NODE))
            return 0
        evidence = Evidence.read(EVIDENCE)
        for run in arguments.record or ():
            evidence.take(run)
        evidence.write(EVIDENCE)
        PAGE.write_text(page(load_names(), evidence), encoding="utf-8")
        KEPT_EXAMPLES.write_text(extents(), encoding="utf-8")
    except LinkscopeError as error:
        print(f"coverage: {error}", file=sys.stderr)
        return 1
    return 0


def extents() -> str:
    """Return the cases and seconds of each packaged suite on the example node, as JSON with a line for each."""
    found = {name: computed_example(name) for name in sorted(suite_names())}
    lines = [f' "{name}": {json.dumps({"cases": one.cases, "seconds": one.seconds})}' for name, one in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
