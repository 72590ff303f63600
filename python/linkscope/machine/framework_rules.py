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


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernels: dict[str, list[str]]
    rules: list[FrameworkRule]


@dataclass(frozen=True)
class Pick:
    """A kernel that takes all sizes to ``last`` bytes, included, that no pick before it takes; None: all others.
    ``measured_as``: methods and settings that they must not contradict, its own first, then what stands in for it."""

    kernel: str
    last: int | None
    measured_as: tuple[tuple[str, Mapping[str, str]], ...]


def framework_rules(architecture: str, gpus: int) -> list[tuple[FrameworkRule, tuple[Pick, ...]]]:
    """Return the rules for an all-reduce among so many GPUs of an architecture, "sm_90" or "", and what they pick."""
    return [
        (rule, tuple(map(_pick, found)))
        for rule in _rules().rules
        if architecture.startswith(rule.architecture) and (found := rule.picks.get(gpus, rule.picks.get(_OTHERS)))
    ]


def _pick(text: str) -> Pick:
    kernel, *bound = text.split()
    last = parse_size(bound[1]) - (bound[0] == "below") if bound else None
    measured_as = [words.split() for words in _rules().kernels[kernel]]
    return Pick(
        kernel, last, tuple((method, dict(w.split("=", 1) for w in settings)) for method, *settings in measured_as)
    )


@cache
def _rules() -> _Rules:
    return read_expected("thresholds.yaml").typed(_Rules)
