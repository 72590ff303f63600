"""Escaped: text from files, made fit for terminals and pages."""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls, line ends, and marks that turn the direction of text."""


def escaped(value: Any) -> Any:
    """A JSON value with the control characters of all its texts as escape sequences that can be read."""
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), value)
    if isinstance(value, dict):
        return {escaped(name): escaped(one) for name, one in value.items()}
    return [escaped(one) for one in value] if isinstance(value, list) else value
