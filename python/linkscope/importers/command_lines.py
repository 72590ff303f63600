"""Command lines in a paste: which program was started, with which words, by how many ranks on how many hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_OPEN_MPI = ("mpirun", "mpiexec", "orterun", "prterun", "prun", "aprun")
"""Launchers whose -N is the ranks of each host."""
_LAUNCHERS = frozenset((*_OPEN_MPI, "mpiexec.hydra", "mpirun_rsh", "srun", "jsrun", "flux", "ibrun", "torchrun"))
_ENDS = re.compile(r"[|;<]|[\d&]{0,2}>|&$|&&")
_SETTING = re.compile(r"\w{1,60}=\S{0,200}")
_RANKS = ("-np", "--np", "-n", "--ntasks", "--nproc_per_node", "--nproc-per-node")
_EACH = ("--ntasks-per-node", "-npernode", "--npernode", "-ppn", "--ppn", "-perhost", "--tasks-per-node")
_HOSTS = ("-N", "--nodes", "--nnodes")
_NAMED = ("-host", "--host", "-hosts", "-H")
_MOST_WORDS = 400
_MOST_LINES = 40


@dataclass(frozen=True)
class Command:
    """A program started by a line that ends at ``line``, from 1. ``words`` stand behind its name, ``before`` in front
    of it. ``ranks`` and ``hosts``: 0 where its launcher does not say them."""

    line: int
    program: str
    words: tuple[str, ...]
    ranks: int = 0
    hosts: int = 0
    before: tuple[str, ...] = ()

    def value(self, *names: str) -> str:
        """Return what stands behind an option, ``-d cuda``, ``-dcuda`` or ``--device=cuda``; "" where it is not."""
        return _value(self.words, names).strip("'\"")

    def has(self, *names: str) -> bool:
        """Return whether an option is given, with or without a value."""
        return any(word.partition("=")[0] in names for word in self.words)

    @property
    def options_only(self) -> bool:
        """Return whether all words are options and their values, so that none is prose."""
        pairs = zip(("", *self.words), self.words, strict=False)
        return all(word.startswith("-") or before.startswith("-") for before, word in pairs)


def commands(lines: Sequence[str], program: re.Pattern[str]) -> dict[int, Command]:
    """Return the command lines that start a program whose name fits, by the line each ends at."""
    found = (_command(number, text, program) for number, text in _whole(lines))
    return {one.line: one for one in found if one is not None}


def _whole(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield lines with those that a backslash continues, and the number of the last."""
    held: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.endswith("\\") and len(held) < _MOST_LINES:
            held.append(line[:-1])
        else:
            yield number, " ".join((*held, line))
            held = []


def _command(number: int, text: str, program: re.Pattern[str]) -> Command | None:
    if not program.search(text):
        return None
    words = text.split()[:_MOST_WORDS]
    names = [word.rpartition("/")[2].strip("'\"") for word in words]
    at = next((i for i, name in enumerate(names) if program.fullmatch(name)), None)
    if at is None:
        return None
    prompt = max((i + 1 for i, word in enumerate(words[: min(at, 3)]) if word == "+" or word[-1] in "$#%>"), default=0)
    before = [word for word in words[prompt:at] if not _SETTING.fullmatch(word)]
    launchers = [i for i, name in enumerate(names[:at]) if name in _LAUNCHERS]
    if before and not launchers and not prompt and "/" not in words[at]:
        return None
    end = next((i for i, word in enumerate(words[at + 1 :], at + 1) if _ENDS.match(word)), len(words))
    launcher = words[launchers[0] : at] if launchers else []
    ranks, hosts = _launched(launcher)
    asked = tuple(word.strip("'\"`") for word in words[at + 1 : end])
    return Command(number, names[at], asked, ranks, hosts, tuple(words[prompt:at]))


def _launched(words: Sequence[str]) -> tuple[int, int]:
    """Return how many ranks a launcher starts, on how many hosts; 0 where its words do not say it."""
    if not words:
        return 0, 0
    open_mpi = words[0].rpartition("/")[2] in _OPEN_MPI
    ranks = _number(words, _RANKS)
    each = _number(words, (*_EACH, "-N") if open_mpi else _EACH)
    by_place = re.search(r"ppr:(\d{1,4}):(?:node|host)", " ".join(words))
    each = each or (int(by_place[1]) if by_place else 0)
    hosts = 0 if open_mpi else _number(words, _HOSTS)
    if any(word.startswith("--nproc") for word in words):
        return ranks * max(hosts, 1), max(hosts, 1)
    places = [place.partition(":") for place in _value(words, _NAMED).split(",") if place]
    slots = sum(int(count) if count.isdigit() and len(count) < 5 else 1 for _, _, count in places)
    if places and (slots == ranks or (open_mpi and not ranks)):
        return slots, len({name for name, _, _ in places})
    if ranks == 2 and not hosts and re.search(r"--?map-by[= ]node\b|--?bynode\b", " ".join(words)):
        return 2, 2
    if each and hosts and not ranks:
        ranks = each * hosts
    if each and ranks and not hosts and ranks % each == 0:
        hosts = ranks // each
    return ranks, hosts


def _number(words: Sequence[str], names: Sequence[str]) -> int:
    text = _value(words, names)
    return int(text) if text.isdigit() and len(text) < 7 else 0


def _value(words: Sequence[str], names: Sequence[str]) -> str:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else next(iter(words[at + 1 : at + 2]), "")
        short, rest = word[:2], word[2:]
        if short in names and rest.isalnum() and (rest.isdigit() or short not in ("-n", "-N")):
            return rest
    return ""
