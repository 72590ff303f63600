"""CITATION.cff names the version that is released, and has what the format asks for."""

from __future__ import annotations

from pathlib import Path

import yaml

from linkscope import __version__

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version_and_complete() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["version"] == __version__
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
