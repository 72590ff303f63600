"""Catalog: the messages of messages/*.toml by code, and the names of things by what they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.messages.finding import Facts, Finding
from linkscope.messages.template import fill

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FOLDER = Path(__file__).parent
_NAMES = "names"
"""File of the names of things: movements, column headings, memories."""


@dataclass(frozen=True)
class Wording:
    """What a code says. A text is a template whose placeholders are facts (messages/template.py).

    ``line``: one line of at most 100 characters. ``verdict``: the word before it, such as OK or SLOW, of a headline.
    ``label``: what stands in front of it in a block of details, such as "cause". ``title`` and ``note``: above and
    below a table. ``long``: what `linkscope help CODE` prints. ``commands``: what to type, as it runs.
    """

    code: str
    line: str = ""
    verdict: str = ""
    label: str = ""
    title: str = ""
    note: str = ""
    long: str = ""
    commands: tuple[str, ...] = ()


@cache
def message(code: str) -> Wording:
    """Return the message of a code, "explain.ok" for the section ``ok`` of explain.toml. Raises KeyError."""
    file, _, section = code.partition(".")
    found = _read(file)[section]
    return Wording(code, **{**found, "commands": tuple(found.get("commands", ()))})


def codes() -> Iterator[str]:
    """Yield every code that has a message."""
    for path in sorted(_FOLDER.glob("*.toml")):
        if path.stem != _NAMES:
            yield from (f"{path.stem}.{section}" for section in _read(path.stem))


def sentence(finding: Finding) -> str:
    """Return the line that a finding says."""
    return fill(message(finding.code).line, _facts(finding))


def commands(finding: Finding) -> list[str]:
    """Return what a finding says to type, as it runs."""
    return [fill(command, _facts(finding)) for command in message(finding.code).commands]


def _facts(finding: Finding) -> Facts:
    return {"where": finding.where, "source": finding.source, "results": finding.results, **finding.facts}


def named(kind: str, code: str) -> str:
    """Return the name of a thing of a kind ("movement", "head", "class"), or its code where it needs no other.

    A code without a name of its own is named by the first pattern of [KIND-pattern] that it matches, whose groups are
    named in turn.
    """
    names: dict[str, str] = _read(_NAMES).get(kind, {})
    if code in names:
        return names[code]
    for pattern, template in _read(_NAMES).get(f"{kind}-pattern", {}).items():
        found = re.fullmatch(pattern, code)
        if found:
            return str(template).format(*(named(kind, group) for group in found.groups()))
    return code


@cache
def _read(file: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((_FOLDER / f"{file}.toml").read_text(encoding="utf-8"))
    return found


def problem(code: str, /, **facts: Any) -> LinkscopeError:
    """Return the error for bad input that a code says."""
    return LinkscopeError(fill(message(code).line, facts))
