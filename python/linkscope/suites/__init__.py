"""Packaged suites: those that are part of linkscope, which anybody can run by their names."""

from __future__ import annotations

from pathlib import Path

SUITES = Path(__file__).resolve().parent


def packaged_suites() -> frozenset[str]:
    """Their names."""
    return frozenset(path.stem for path in SUITES.glob("*.yaml"))
