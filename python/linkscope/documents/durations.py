"""The grammar of durations: "60s", "1.5m", "500ms"."""

from __future__ import annotations

import re

from linkscope.errors import LinkscopeError

_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Seconds of "60s", "1.5m", "500ms", "2h", "60"."""
    match = re.fullmatch(r"\s*(\d*\.?\d+)\s*(ms|s|m|min|h)?\s*", text)
    seconds = float(match.group(1)) * _SECONDS[match.group(2) or ""] if match else 0.0
    if seconds <= 0:
        raise LinkscopeError(f"malformed duration {text!r}: write 60s, 1.5m or 500ms")
    return seconds


def with_unit(text: str) -> str:
    """The duration with its unit: "60s" of "60"."""
    return f"{text.strip()}s" if re.fullmatch(r"[\d.]+", text.strip()) else text
