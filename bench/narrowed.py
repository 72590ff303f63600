"""A suite of bench/ cut down to some of its rows, and what it plans: tools take turns at one thing after another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from linkscope.documents.yaml_file import SuiteLoader

Json = dict[str, Any]


def rows_of(suite: Path) -> list[Json]:
    """The rows that ``suite`` holds."""
    rows: list[Json] = _whole(suite)["rows"]
    return rows


def narrowed(suite: Path, path: Path, keep: Callable[[Json], Json | None]) -> Path:
    """``suite`` with the rows that ``keep`` gives back, changed or not, written to ``path``."""
    whole = _whole(suite)
    whole["rows"] = [row for row in map(keep, whole["rows"]) if row is not None]
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


def flows_of(suite: Path, *options: str) -> list[Json]:
    """The first flow of each case that linkscope, given ``options`` for its run, plans of ``suite`` here."""
    command = [sys.executable, "-m", "linkscope", "run", str(suite), *options, "--dry-run", "--json"]
    planned = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [case["flows"][0] for case in planned["cases"]]


def _whole(suite: Path) -> Json:
    whole: Json = yaml.load(suite.read_text(), SuiteLoader)
    return whole
