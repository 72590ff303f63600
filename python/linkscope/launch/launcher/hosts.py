"""Hosts: those that a user has listed, as launchers spell them, or a batch system gave, for how many processes they
have slots, and one process for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from linkscope.errors import LinkscopeError

_PART = re.compile(r"(?:\[[^]]*\]|[^,\[])+")
MOST_HOSTS = 100_000
"""Hosts of a list; a range may stand for more than memory holds."""
_RANGES = re.compile(r"\[([^]]*)\]")
_SLOTS = re.compile(r"(?:^\S+?:|(?<![\w-])slots\s*=\s*)(\d{1,6})\b")
"""The slots of a host in a list or a hostfile: "node1:4", "node1 slots=4"."""


@dataclass(frozen=True)
class JobSize:
    """``hosts``: on how many processes are started; ``slots``: for how many processes they have room in all, 0 where
    nobody says."""

    hosts: int = 1
    slots: int = 0


def named_hosts(listed: str | None, file: str | None = None) -> tuple[str, ...]:
    """Each host once, in order, of a list ("a:4,b:4"; Slurm's "node[06-07,9]") or of a hostfile (a host a line,
    whatever else it says). Empty where nothing is listed, and where the file cannot be read: its launcher says so.
    Raises LinkscopeError where they are more than ``MOST_HOSTS``.
    """
    if file is None:
        return tuple(dict.fromkeys(name for part in _PART.findall(listed or "") for name in _spelt_out(part)))
    return tuple(dict.fromkeys(line.split()[0].partition(":")[0] for line in _lines(file)))


def size_of_listed(listed: str | None, file: str | None = None) -> JobSize:
    """Return the size of what ``named_hosts`` takes. It has slots where each host gives a number, or is repeated."""
    listed_parts = _PART.findall(listed or "") if file is None else _lines(file)
    parts = [part for text in listed_parts if (part := text.strip())]
    said = [int(found[1]) if (found := _SLOTS.search(part)) else 0 for part in parts]
    slots: Counter[str] = Counter()
    for part, number in zip(parts, said, strict=True):
        slots.update(dict.fromkeys(_spelt_out(part.split()[0]), number or 1))
    known = all(said) or (not any(said) and slots.total() > len(slots))
    return JobSize(max(len(slots), 1), slots.total() if known else 0)


def size_of_job(environment: Mapping[str, str]) -> JobSize:
    """Return the size of this process's batch job: Slurm's tasks, or the lines of PBS's or LSF's file."""
    if "SLURM_JOB_ID" in environment:
        hosts, tasks = (environment.get(name, "") for name in ("SLURM_JOB_NUM_NODES", "SLURM_NTASKS"))
        return JobSize(max(whole(hosts), 1), whole(tasks))
    listed = environment.get("PBS_NODEFILE") or environment.get("LSB_DJOB_HOSTFILE")
    slots = Counter(_lines(listed)) if listed else Counter()
    return JobSize(max(len(slots), 1), slots.total())


def one_a_host(
    told: tuple[str, ...], processes: int, hosts: Sequence[str], words: Sequence[str], placing: re.Pattern[str]
) -> tuple[str, ...]:
    """``told`` where there is a process for each of several ``hosts`` and none of a launcher's ``words`` is ``placing``
    them: left alone, it may fill the first host before it goes on to the next.
    """
    placed = any(placing.fullmatch(word) for word in words)
    return told if len(hosts) > 1 and processes == len(hosts) and not placed else ()


def _lines(file: str) -> list[str]:
    """Without comments and empty ones; none where it cannot be read."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return []
    return [text for line in lines if (text := line.partition("#")[0].strip())]


def whole(text: str) -> int:
    """Return the number, 0 where it is none of up to nine digits."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def _spelt_out(part: str) -> list[str]:
    """ "node06", "node07" of "node[06-07]"; "a" of "a:4"."""
    if "[" not in part:
        return [part.partition(":")[0].strip()]
    fixed = _RANGES.split(part)[::2]
    choices = [_numbers(ranges) for ranges in _RANGES.findall(part)]
    if prod(map(len, choices)) > MOST_HOSTS:
        raise _too_many(part)
    return ["".join(map("".join, zip(fixed, [*chosen, ""], strict=True))) for chosen in product(*choices)]


def _numbers(ranges: str) -> list[str]:
    """ "06", "07", "9" of "06-07,9"."""
    found = []
    for one in ranges.split(","):
        ends = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", one)
        if ends is None:
            return [ranges]
        numbers = range(int(ends[1]), int(ends[2] or ends[1]) + 1)
        if len(numbers) > MOST_HOSTS:
            raise _too_many(one)
        found += [f"{number:0{len(ends[1])}}" for number in numbers]
    return found


def _too_many(part: str) -> LinkscopeError:
    return LinkscopeError(f"--hosts: {part[:40]!r} stands for more than {MOST_HOSTS:,} hosts")
