"""CITATION.cff and CHANGELOG.md name the version that is here and its day; the citation has what its format asks."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from linkscope import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version_and_complete() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["version"] == __version__
    assert {"cff-version", "message", "title", "authors"} <= found.keys()


def test_the_newest_version_of_the_changelog_is_the_one_cited() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    versions = re.findall(r"^## (\d\S*) \((\S+?)[,)]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == (found["version"], found["date-released"])
