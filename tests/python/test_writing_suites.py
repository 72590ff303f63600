"""docs/writing-suites.md: its suite and each part of a test in it plan cases, and the page is short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from suite_text import suite_of
from test_patterns import node

from linkscope.documents.yaml_file import SuiteLoader
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.select import Selection
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite

TEXT = (Path(__file__).parents[2] / "docs" / "writing-suites.md").read_text(encoding="utf-8")
WHOLE, *PARTS = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
OF_A_COPY = ("source", "destination", "executor")
MOST_WORDS = 1200


def planned(suite: Suite) -> int:
    """Return the number of cases on a node with four GPUs and everything that the suite names."""
    found = expand([suite], node(4), whole_catalog(suite), Selection())
    return sum(one.skip is None for one in found)


def test_its_suite_plans_cases(tmp_path: Path) -> None:
    path = tmp_path / "placement.yaml"
    path.write_text(WHOLE, encoding="utf-8")
    assert planned(load_suite(str(path))) == 2 * 2 * 4


@pytest.mark.parametrize("text", PARTS)
def test_each_part_of_a_test_plans_cases(text: str) -> None:
    row: dict[str, Any] = yaml.load(text, SuiteLoader)
    absent = dict.fromkeys(OF_A_COPY) if "collective" in row else {}
    assert planned(suite_of({**absent, **row})) > 0


def test_it_is_short() -> None:
    assert len(TEXT.split()) <= MOST_WORDS
