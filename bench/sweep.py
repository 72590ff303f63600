"""Points per second of the ``sweep`` suite (25 sizes x every GPU pair x 4 methods), verification included.

usage: python bench/sweep.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from linkscope.results.run_file import RunFile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run file")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    output = arguments.keep / "sweep.jsonl"
    begin = time.monotonic()
    subprocess.run([sys.executable, "-m", "linkscope", "run", "sweep", "-o", str(output)], check=True)
    seconds = time.monotonic() - begin
    rows = RunFile.read(output).rows
    ok = [row for row in rows if row.status == "ok"]
    precise = [row for row in ok if row.stopped == "precision"]
    print(f"{len(ok)} of {len(rows)} points in {seconds:.1f} s: {len(ok) / seconds:.1f} points/s, start-up included")
    print(f"{len(precise)} reached the asked precision; every point verified in two passes")


if __name__ == "__main__":
    main()
