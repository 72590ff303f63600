"""Names of things by what they are (names.toml), and the files of this folder as data."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
NAMES = "names"
"""File of the names of things: movements, column headings, memories."""


def named(kind: str, code: str) -> str:
    """Return the name of a thing of a kind ("movement", "head", "class"), or its code where it needs no other.

    A code without a name of its own is named by the first pattern of [KIND-pattern] that it matches, whose groups are
    named in turn.
    """
    names: dict[str, str] = entries(NAMES).get(kind, {})
    if code in names:
        return names[code]
    for pattern, template in entries(NAMES).get(f"{kind}-pattern", {}).items():
        found = re.fullmatch(pattern, code)
        if found:
            return str(template).format(*(named(kind, group) for group in found.groups()))
    return code


@cache
def entries(file: str) -> dict[str, Any]:
    """Return the sections of a file of messages."""
    found: dict[str, Any] = tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))
    return found
