"""Escaped: text from files, made fit for terminals and pages."""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls, line ends, and marks that turn the direction of text."""
MOST_DEPTH = 100
"""Deepest nesting of lists and objects. Known files are far below; Python's stack ends beyond."""


def escaped(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with the control characters of all its texts as escape sequences.

    Raises ValueError where it is nested more than ``MOST_DEPTH`` deep.
    """
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), value)
    if not isinstance(value, (dict, list)):
        return value
    if depth == MOST_DEPTH:
        raise ValueError(f"nested more than {MOST_DEPTH} deep")
    if isinstance(value, list):
        return [escaped(one, depth + 1) for one in value]
    return {escaped(name): escaped(one, depth + 1) for name, one in value.items()}
