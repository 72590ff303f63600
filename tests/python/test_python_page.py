"""docs/python.md: its programs run, each call in its tables is one of linkscope's, and the page is short."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

import linkscope

TEXT = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
PROGRAM = "".join(re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
MOST_WORDS = 1000


def test_its_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: dict[str, object] = {}
    exec(compile(PROGRAM, "docs/python.md", "exec"), said)
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert said["FORMS"] == tuple(re.findall(r"FORMS, render  # (.+)", TEXT)[0].split(", "))


def test_the_calls_in_its_tables_are_linkscopes() -> None:
    calls = set(re.findall(r"^\| `([a-z_]+)\(", TEXT, re.MULTILINE))
    assert len(calls) > 15
    assert calls <= {*linkscope.__all__}


def test_it_is_short() -> None:
    assert len(TEXT.split()) <= MOST_WORDS
