"""The notebook in examples: its cells run in order, on a described node."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_run.ipynb"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert {"ok"} <= {row.status for row in names["run"].rows} <= {"ok", "skipped"}
    assert (
        0 < names["best"].height == names["figures"].filter(names["figures"]["gbps"].is_not_null())["paths"].n_unique()
    )
    assert not list(tmp_path.iterdir())
    shutil.rmtree(names["run"].path.parent)
