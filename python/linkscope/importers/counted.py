"""Counted: what each tool's results count (counted.toml), and where two tools' results are not counted alike."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from linkscope.messages.finding import Finding, note

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = Path(__file__).with_suffix(".toml")
_EITHER = "by-option"
"""Word for what a tool leaves to its options: no difference is known."""


@dataclass(frozen=True)
class Counted:
    """Hold what a tool's results count. ``bytes``, ``clock``, ``warmup``, ``launches`` and ``result`` are keys of
    ``words``. ``test``: a pattern of names in small letters. ``warm``: calls before those that count. ``unit``: bytes
    of the unit that the tool prints.
    """

    tool: str
    test: str
    bytes: str
    clock: str
    warmup: str
    launches: str
    result: str
    unit: int
    source: str
    warm: int = 0
    versions: str = ""
    aliases: tuple[str, ...] = ()

    def fits(self, tool: str, test: str, version: str) -> bool:
        """Return whether this is what a test of a version of a tool counts."""
        names = {_plain(name) for name in (self.tool, *self.aliases)}
        return _plain(tool) in names and fnmatchcase(test.lower(), self.test) and _within(version, self.versions)


@cache
def table() -> tuple[Counted, ...]:
    """Return all entries, in the file's order."""
    return tuple(
        Counted(**{**one, "aliases": tuple(one.get("aliases", ()))})
        for one in ({"tool": entry.pop("name"), **entry} for entry in _data()["tool"])
    )


@cache
def words(column: str) -> dict[str, str]:
    """Return what the keys of a column are called: of bytes, clock, warmup, launches or result."""
    return dict(_data()[column])


def counted(tool: str, test: str, version: str = "") -> Counted | None:
    """Return what a test's results count; None for a tool that is not in the table. ``test``: as readers name it, with
    or without the tool. ``version``: the newest where it is not known."""
    name = test.removeprefix(tool).strip()
    return next((one for one in table() if one.fits(tool, name, version)), None)


def differ(first: Counted, second: Counted) -> list[Finding]:
    """Return what is counted differently, what changes a result most first; nothing for what is up to options."""
    found = []
    for code, column in _COLUMNS.items():
        one, other = getattr(first, column), getattr(second, column)
        if first.tool == second.tool and {one, other} == {"streams", "before"}:
            found.append(note("counted.warmup-changed", tool=first.tool))
        elif one != other and _EITHER not in (one, other):
            said = {"first": words(column)[one], "second": words(column)[other]}
            found.append(note(code, tool=first.tool, other=second.tool, **said))
    return found


_COLUMNS = {
    "counted.bytes": "bytes",
    "counted.clock": "clock",
    "counted.launches": "launches",
    "counted.warmup": "warmup",
    "counted.result": "result",
}


def _data() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _within(version: str, versions: str) -> bool:
    """Return whether a version is one of "0.11-" or "-0.10"; one that is not known is the newest."""
    least, _, most = versions.partition("-")
    parts = _parts(version) if version else (1 << 30,)
    return (not least or parts >= _parts(least)) and (not most or parts[: len(_parts(most))] <= _parts(most))


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version))
