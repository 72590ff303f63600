"""The schemas of schema/, for what is read and written to be held against."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[2] / "schema"


@cache
def load_schema(name: str) -> dict[str, Any]:
    """The schema of that name: "plan", "result", "suite"."""
    schema: dict[str, Any] = json.loads((_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema
