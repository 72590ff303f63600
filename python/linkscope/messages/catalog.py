"""Catalog: the messages of messages/*.toml by code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.messages.finding import Facts, Finding
from linkscope.messages.names import FOLDER, NAMES, entries
from linkscope.messages.template import fill


@dataclass(frozen=True)
class Wording:
    """Hold the texts of a code. A text is a template whose placeholders are facts (messages/template.py).

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
    found = entries(file)[section]
    return Wording(code, **{**found, "commands": tuple(found.get("commands", ()))})


def codes() -> Iterator[str]:
    """Yield every code that has a message."""
    for path in sorted(FOLDER.glob("*.toml")):
        if path.stem != NAMES:
            yield from (f"{path.stem}.{section}" for section in entries(path.stem))


def sentence(finding: Finding) -> str:
    """Return the line that a finding says."""
    return fill(message(finding.code).line, _facts(finding))


def verdict(finding: Finding) -> str:
    """Return the word before a headline, such as SLOW or B FASTER; "" where its message has none."""
    return fill(message(finding.code).verdict, _facts(finding))


def commands(finding: Finding) -> list[str]:
    """Return what a finding says to type, as it runs."""
    return [fill(command, _facts(finding)) for command in message(finding.code).commands]


def _facts(finding: Finding) -> Facts:
    return {"where": finding.where, "source": finding.source, "results": finding.results, **finding.facts}


def problem(code: str, /, **facts: Any) -> LinkscopeError:
    """Return the error for bad input that a code says."""
    return LinkscopeError(fill(message(code).line, facts), code=code)
