"""Framework rules: what frameworks pick for an all-reduce by size, from machines/expected/thresholds.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from linkscope.documents.sizes import parse_size
from linkscope.documents.yaml_file import read_yaml
from linkscope.errors import LinkscopeError

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "machines" / "expected", _PACKAGE.parents[1] / "machines" / "expected")
_OTHERS = 0
"""Stands for numbers of GPUs that a rule does not name."""


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    framework: str
    export: str
    architecture: str
    picks: dict[int, list[str]]
    source: str
    form: Literal["", "graph", "eager"] = ""


class _Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernels: dict[str, list[str]]
    rules: list[_Rule]


@dataclass(frozen=True)
class MeasuredAs:
    """A method with the settings that it must not contradict."""

    method: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Pick:
    """A kernel that takes all sizes to ``last`` bytes, included, that no pick before it takes; None: all others.
    ``measured_as``: its own method first, then what stands in for it."""

    kernel: str
    last: int | None
    measured_as: tuple[MeasuredAs, ...]


@dataclass(frozen=True)
class FrameworkRule:
    """A framework's default. ``export``: what `choose --export` calls it, if it has one; ``form``: "graph", "eager" or
    "" for both."""

    framework: str
    export: str
    form: str
    picks: tuple[Pick, ...]
    source: str


def framework_rules(architecture: str, gpus: int) -> list[FrameworkRule]:
    """Return the rules for an all-reduce among so many GPUs of an architecture, "sm_90"; "" where it is unknown."""
    file = _rules()
    return [
        FrameworkRule(rule.framework, rule.export, rule.form, tuple(_pick(text, file) for text in found), rule.source)
        for rule in file.rules
        if architecture.startswith(rule.architecture) and (found := rule.picks.get(gpus, rule.picks.get(_OTHERS)))
    ]


def _pick(text: str, file: _Rules) -> Pick:
    kernel, *bound = text.split()
    last = parse_size(bound[1]) - (bound[0] == "below") if bound else None
    return Pick(kernel, last, tuple(map(_measured_as, file.kernels[kernel])))


def _measured_as(text: str) -> MeasuredAs:
    method, *settings = text.split()
    return MeasuredAs(method, dict(word.split("=", 1) for word in settings))


@cache
def _rules() -> _Rules:
    """Raises LinkscopeError where the installation lacks the file."""
    for place in _PLACES:
        path = place / "thresholds.yaml"
        if path.is_file():
            return read_yaml(path, "file").typed(_Rules)
    raise LinkscopeError("machines/expected/thresholds.yaml is missing from this installation: install linkscope again")
