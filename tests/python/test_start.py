"""What commands need before they answer: nothing large for --version and help, kept figures for the list of suites."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from linkscope.launch.outlook import KEPT_EXAMPLES, computed_example, example_estimate
from linkscope.plan.suites import suite_names

SOURCE = Path(__file__).resolve().parents[2] / "python"
LARGE = {"polars", "rich.console", "yaml", "msgspec", "jinja2", "linkscope.plan.suites", "linkscope.answers.answer"}
FEW = 300
PROGRAM = """
import atexit, sys
atexit.register(lambda: print("loaded:", *sys.modules, file=sys.stderr))
from linkscope.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_nothing_large_is_imported_for_it(option: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, option],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(ended.stderr.split()) & LARGE == set()


def test_what_is_kept_of_suites_is_what_they_come_to() -> None:
    kept = json.loads(KEPT_EXAMPLES.read_text(encoding="utf-8"))
    assert sorted(kept) == sorted(suite_names()), "python tools/coverage writes it anew"
    for name in suite_names():
        if kept[name]["cases"] <= FEW:
            found, computed = example_estimate(name), computed_example(name)
            assert (found.cases, found.seconds) == (computed.cases, pytest.approx(computed.seconds)), name
