"""Limits: what figures of known devices must reach, as a file by hand or made from good runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import msgspec
import yaml
from msgspec import Meta

from linkscope.documents.yaml_file import read_yaml
from linkscope.errors import LinkscopeError

SCHEMA = 1
MOST_BYTES = 16 << 20
Count = Annotated[int, Meta(ge=1, le=1 << 20)]
Value = Annotated[float, Meta(gt=0, le=1e18)]


class Limit(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """One limit, for every result that has all of ``match``: names of columns (figures/columns.py) with their values,
    and ``models``, the devices' models from source to destination.

    ``least_gbps``: of rates; ``most_seconds``: of times; one of them. ``seen``: least and most of the good runs;
    ``paths``: between how many pairs of devices (or sets of members) each of these had such a result.
    """

    match: dict[str, str | int]
    least_gbps: Value | None = None
    most_seconds: Value | None = None
    seen: tuple[Value, Value] | None = None
    paths: Count | None = None

    @property
    def words(self) -> str:
        """Return ``match`` in one line."""
        return " ".join(f"{name}={value}" for name, value in self.match.items())


class Limits(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A limits file. ``devices``: how many of each model every node must have. ``made`` and ``runs``: when, and from
    which run files."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    limits: Annotated[list[Limit], Meta(min_length=1)]
    devices: dict[str, Count] = {}
    made: str = ""
    runs: list[str] = []

    def text(self) -> str:
        """Return the limits as a file."""
        data = msgspec.to_builtins(self)
        return "# What healthy nodes reach, for `linkscope check`: docs/fleet.md\n" + yaml.safe_dump(
            data, sort_keys=False, width=160, default_flow_style=None
        )


def load_limits(path: Path) -> Limits:
    """Return the limits of a file, also of one that version 0.1 made.

    Raises LinkscopeError, one line that names the entry, where the file cannot be read or is none.
    """
    found = read_yaml(path, "limits file", most_bytes=MOST_BYTES).typed(Limits)
    found.limits = [msgspec.structs.replace(limit, match=_renamed(limit.match)) for limit in found.limits]
    for number, limit in enumerate(found.limits):
        if (limit.least_gbps is None) == (limit.most_seconds is None):
            raise LinkscopeError(f"{path}: limits[{number}] needs least_gbps or most_seconds, one of them")
    return found


def _renamed(match: dict[str, str | int]) -> dict[str, str | int]:
    """Return a match with the columns of today: ``regime`` held the clock, ``together`` words with numbers of flows."""
    found = {name: value for name, value in match.items() if name != "regime"}
    clock = str(match.get("regime", "")).partition(",")[0]
    if clock.endswith(" clock"):
        found["clock"] = clock.removesuffix(" clock")
    words = str(match.get("together", ""))
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    if words == "both ways":
        found |= {"together": "both", "flows": 2}
    elif numbers:
        kind = "one-path" if words.endswith("on one path") else "many-both" if words.endswith("both ways") else "many"
        if " to " in words:
            kind = "one-to-many" if numbers[0] == 1 else "many-to-one"
        found |= {"together": kind, "flows": max(numbers)}
    return found
