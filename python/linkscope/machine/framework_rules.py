"""Framework rules: what frameworks pick for an all-reduce by size, from machines/expected/thresholds.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import msgspec

from linkscope.documents.sizes import parse_size
from linkscope.machine.expected import read_expected

_OTHERS = 0
"""Stands for numbers of GPUs that a rule does not name."""


class FrameworkRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A framework's default; the head of machines/expected/thresholds.yaml says what each field means."""

    framework: str
    export: str
    architecture: str
    picks: dict[int, list[str]]
    source: str
    form: Literal["", "graph", "eager"] = ""


class Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe how a kernel is measured; the head of machines/expected/thresholds.yaml explains each field."""

    own: list[str] = []
    stands_in: list[str] = []
    algorithm: Literal["", "one-shot", "two-shot"] = ""
    table: Literal["", "vllm", "flashinfer"] = ""


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernels: dict[str, Kernel]
    rules: list[FrameworkRule]


@dataclass(frozen=True)
class Pick:
    """A kernel that takes all sizes to ``last`` bytes, included, that no pick before it takes; None: all others.
    ``measured_as``: methods and settings that they must not contradict, its own first, then what stands in for it.
    ``own``: the methods that are its own. ``algorithm``, ``table``: as in machines/expected/thresholds.yaml."""

    kernel: str
    last: int | None
    measured_as: tuple[tuple[str, Mapping[str, str]], ...]
    own: frozenset[str]
    algorithm: str
    table: str


def framework_rules(architecture: str, gpus: int) -> list[tuple[FrameworkRule, tuple[Pick, ...]]]:
    """Return the rules for an all-reduce among so many GPUs of an architecture, "sm_90" or "", and what they pick."""
    return [
        (rule, tuple(map(_pick, found)))
        for rule in _rules().rules
        if architecture.startswith(rule.architecture) and (found := rule.picks.get(gpus, rule.picks.get(_OTHERS)))
    ]


def _pick(text: str) -> Pick:
    name, *bound = text.split()
    last = parse_size(bound[1]) - (bound[0] == "below") if bound else None
    kernel = _rules().kernels[name]
    measured_as = [words.split() for words in (*kernel.own, *kernel.stands_in)]
    fitting = tuple((method, dict(w.split("=", 1) for w in settings)) for method, *settings in measured_as)
    own = frozenset(words.split()[0] for words in kernel.own)
    return Pick(name, last, fitting, own, kernel.algorithm, kernel.table)


@cache
def _rules() -> _Rules:
    return read_expected("thresholds.yaml").typed(_Rules)
