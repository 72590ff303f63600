"""Hosts: the names of those that a user has listed, as launchers spell them, and one process for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

_PART = re.compile(r"(?:\[[^]]*\]|[^,\[])+")
_RANGES = re.compile(r"\[([^]]*)\]")


def named_hosts(listed: str | None, file: str | None = None) -> tuple[str, ...]:
    """Each host once, in order, of a list ("a:4,b:4"; Slurm's "node[06-07,9]") or of a hostfile (a host a line,
    whatever else it says). Empty where nothing is listed, and where the file cannot be read: its launcher says so.
    """
    if file is None:
        return tuple(dict.fromkeys(name for part in _PART.findall(listed or "") for name in _spelt_out(part)))
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return ()
    words = (line.partition("#")[0].split() for line in lines)
    return tuple(dict.fromkeys(first[0].partition(":")[0] for first in words if first))


def one_a_host(
    told: tuple[str, ...], processes: int, hosts: Sequence[str], words: Sequence[str], placing: re.Pattern[str]
) -> tuple[str, ...]:
    """``told`` where there is a process for each of several ``hosts`` and none of a launcher's ``words`` is ``placing``
    them: left alone, it may fill the first host before it goes on to the next.
    """
    placed = any(placing.fullmatch(word) for word in words)
    return told if len(hosts) > 1 and processes == len(hosts) and not placed else ()


def _spelt_out(part: str) -> list[str]:
    """ "node06", "node07" of "node[06-07]"; "a" of "a:4"."""
    if "[" not in part:
        return [part.partition(":")[0].strip()]
    fixed = _RANGES.split(part)[::2]
    choices = [_numbers(ranges) for ranges in _RANGES.findall(part)]
    return ["".join(map("".join, zip(fixed, [*chosen, ""], strict=True))) for chosen in product(*choices)]


def _numbers(ranges: str) -> list[str]:
    """ "06", "07", "9" of "06-07,9"."""
    found = []
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            return [ranges]
        found += [f"{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]
    return found
