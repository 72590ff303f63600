"""What `linkscope doctor` examines and how it prints what it finds."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import ENGINES, NO_DESCRIPTION, describe, find_engines, machine_description
from linkscope.machine.discover import discover
from linkscope.machine.doctor import Finding, examine
from linkscope.machine.state import read_state

_STYLES = {"problem": "bold red", "warning": "yellow", "note": "dim"}
INDENT = (0, 0, 0, 8)


def findings() -> list[Finding]:
    """All findings about this machine, gravest first; works without any engine, which is itself a finding."""
    found = find_engines()
    engines = {name: _described(name, found) for name in ENGINES}
    description = machine_description()
    return examine(discover(description), read_state(description), engines)


def show(found: list[Finding], console: Console) -> None:
    """Prints each finding with why it matters and what to do."""
    for finding in found:
        console.print(Text.assemble((f"{finding.severity:8}", _STYLES[finding.severity]), finding.what))
        console.print(Padding(Text(finding.why_it_matters, style="dim"), INDENT))
        if finding.remedy:
            console.print(Padding(Text(f"-> {finding.remedy}"), INDENT))
    grave = sum(finding.severity == "problem" for finding in found)
    console.print(
        f"{len(found)} findings, {grave} of them problems" if found else "nothing found that would spoil a measurement"
    )


def _described(name: str, found: dict[str, Any]) -> dict[str, Any] | None:
    if name not in found:
        return None
    try:
        return describe(found[name])
    except LinkscopeError as error:
        return {**NO_DESCRIPTION, "problem": str(error)}
