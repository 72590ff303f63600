"""Likeness: which results may be compared, and what in them is the user's to choose. The one definition of both."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from linkscope.figures.columns import ASKED, DEFAULTS, LIKENESS

Line = Mapping[str, Any]

_NO_TIERS = ("local", "mixed", "unknown")


def way(line: Line) -> str:
    """Return what the user may choose, as figures/columns.py says."""
    how = [word for word in _parameters(line) if _name(word) not in ASKED and tuple(word.split("=", 1)) not in DEFAULTS]
    if line["workload"]:
        state = [f"state={line['state_memory']}"] if line["state_memory"] else []
        how += [*state, f"processes={line['processes']}", f"order={(line['rank_order'] or '').replace(' ', ',')}"]
    return " ".join(filter(None, (line["method"], line["role"], *how, line["environment"])))


def likeness(line: Line) -> int:
    """Return a number that is equal for results that may be compared."""
    asked = [word for word in _parameters(line) if _name(word) in ASKED]
    tier = "" if line["tier"] in _NO_TIERS or line["workload"] else line["tier"]
    shared = (*(tier if name == "tier" else line[name] for name in LIKENESS), *asked)
    return int.from_bytes(hashlib.blake2b(repr(shared).encode(), digest_size=8).digest(), "big")


def _parameters(line: Line) -> list[str]:
    return (line["parameters"] or "").split()


def _name(word: str) -> str:
    return word.split("=", 1)[0]
