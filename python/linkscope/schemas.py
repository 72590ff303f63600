"""The JSON schemas, wherever they are: inside an installed package or at the top of a checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "schema", _PACKAGE.parents[1] / "schema")


@cache
def load_schema(name: str) -> dict[str, Any]:
    """The schema ``name`` ("plan", "result", "suite"). Raises LinkscopeError where the installation lacks it."""
    for place in _PLACES:
        path = place / f"{name}.schema.json"
        if path.is_file():
            schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return schema
    raise LinkscopeError(f"{name}.schema.json is missing from this installation: install linkscope again")
