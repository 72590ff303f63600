"""Shared words: what results that differ have in common and results that do not differ lack, as a rule of few words.

A word is a column with a value: a movement, a method, a setting such as form=graph or NCCL_PROTO=simple, a clock, a
kind of memory, a path, or sizes from or up to a limit. A rule takes the word that brings its results closest to those
that differ (F measure of precision and recall), then the next, until no word helps. A variable of the environment that
only some lines set (NCCL_ALGO=ring) may stand for those without it as well: they leave the choice to the library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.messages.methods import memory_name, method_name
from linkscope.messages.names import named
from linkscope.messages.numbers import size
from linkscope.messages.template import written

Line = Mapping[str, Any]

MOST_RULES = 3
"""Rules in one direction; results that are left have nothing in common."""
_COLUMNS = ("movement", "method", "clock", "memories", "role", "path", "processes", "flows", "tier")
_ALWAYS = ("movement", "method")
"""Columns that name results, and are told where all of a rule's results agree, whether or not others do."""
_DEFAULTS = {"type": "float32", "registered": "no", "in_place": "no", "policy": "default"}
"""Defaults of parameters that only some lines name."""
_FROM, _UP_TO, _ALL = "from", "up-to", "all"
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, order=True)
class Word:
    """A column, or the name of a setting, and its value; of "from" and "up-to" the value is a size in bytes.
    ``or_free``: lines that do not set the variable have the word as well."""

    name: str
    value: Any
    or_free: bool = False

    def text(self, library: str) -> str:
        """Return how a screen says it; ``library``: NCCL or RCCL, whichever ran."""
        if self.name in (_FROM, _UP_TO):
            return named("shared", f"{self.name}/{size(self.value)}")
        if self.name == "method":
            return method_name(self.value, library)
        if self.name == "memories":
            return memory_name(self.value, library)
        if self.name in ("movement", "path"):
            return written(str(self.value), "path")
        if self.name in (*_COLUMNS, _ALL):
            return named("shared", f"{self.name}/{self.value}")
        return f"{self.name}={self.value}"


@dataclass(frozen=True)
class Rule:
    """Words that lines share, and the lines that differ and have them all. ``alike``: how many others have them."""

    words: tuple[Word, ...]
    lines: tuple[Line, ...]
    alike: int


def rules(differ: Sequence[Line], alike: Sequence[Line]) -> Iterator[Rule]:
    """Yield what lines that differ share, the rule of most lines first; the last may have no word: nothing in common.

    ``alike``: lines that are known not to differ. Without any of these the words are those that all share.
    """
    left = list(differ)
    for _ in range(MOST_RULES):
        if not left:
            return
        rule = _rule(left, alike)
        if len(rule.lines) < 2 and len(left) > 1:
            break
        yield rule
        left = [line for line in left if not any(line is one for one in rule.lines)]
    if left:
        yield Rule((), tuple(left), len(alike))


def words_apart(lines: Sequence[Line], library: str) -> list[str]:
    """Return for each line the words that not all of these lines have: "type=bfloat16"; "" where it has none."""
    words = [_words(line, ()) for line in lines]
    shared = set[Word]().union(*words).intersection(*words)
    return [", ".join(word.text(library) for word in sorted(own - shared, key=_rank)) for own in words]


def _rule(left: Sequence[Line], alike: Sequence[Line]) -> Rule:
    words: list[Word] = []
    inside, outside = list(left), list(alike)
    candidates = _candidates(left, alike)
    best = _f_measure(len(inside), len(outside), len(left))
    while outside:
        scored = []
        for word, has in candidates.items():
            kept, against = [*filter(has, inside)], [*filter(has, outside)]
            scored.append((-_f_measure(len(kept), len(against), len(left)), _rank(word), word, kept, against))
        score, _, word, kept, against = min(scored, key=lambda one: one[:2])
        if -score <= best + _LEAST_GAIN:
            break
        words, best, inside, outside = [*words, word], -score, kept, against
    told = tuple(_told(words, inside)) or (() if alike else (Word(_ALL, ""),))
    return Rule(told, tuple(inside), len(outside))


def _told(words: Sequence[Word], inside: Sequence[Line]) -> Iterator[Word]:
    """Yield the words of a rule behind those that name its results."""
    for name in _ALWAYS:
        values = {line[name] for line in inside}
        if len(values) == 1:
            yield Word(name, values.pop())
    yield from sorted((word for word in words if word.name not in _ALWAYS), key=_rank)


def _f_measure(found: int, wrong: int, wanted: int) -> float:
    return 2 * found / (found + wrong + wanted)


def _rank(word: Word) -> tuple[int, str, str]:
    """Return the order in which words that explain as much are taken, and told."""
    order = (*_COLUMNS[:2], _FROM, _UP_TO, "", *_COLUMNS[2:])
    place = order.index(word.name if word.name in order else "")
    return (place, f"{word.name} {int(word.or_free)}", str(word.value).zfill(20))


def _candidates(lines: Sequence[Line], others: Sequence[Line]) -> dict[Word, Callable[[Line], bool]]:
    """Return the words of the lines, each with what says whether a line has it."""
    defaults = {name for line in (*lines, *others) for name in _named(line["parameters"])} & _DEFAULTS.keys()
    found: dict[Word, Callable[[Line], bool]] = {}
    for line in lines:
        for word in _words(line, defaults):
            found.setdefault(word, lambda other, word=word: word in _words(other, defaults))  # type: ignore[misc]
        for name, value in _named(line["environment"]).items():
            free = Word(name, value, or_free=True)
            found.setdefault(free, lambda other, word=free: _fits(word, other))  # type: ignore[misc]
    for limit in sorted({line["bytes"] for line in lines if line["bytes"]}):
        found[Word(_FROM, limit)] = lambda other, limit=limit: (other["bytes"] or 0) >= limit  # type: ignore[misc]
        found[Word(_UP_TO, limit)] = lambda other, limit=limit: 0 < (other["bytes"] or 0) <= limit  # type: ignore[misc]
    return found


def _fits(word: Word, line: Line) -> bool:
    return bool(_named(line["environment"]).get(word.name, word.value) == word.value)


def _words(line: Line, defaults: Collection[str]) -> set[Word]:
    settings = {name: _DEFAULTS[name] for name in defaults} | _named(line["parameters"]) | _named(line["environment"])
    columns = {Word(name, line[name]) for name in _COLUMNS if line[name] not in (None, "")}
    return columns | {Word(name, value) for name, value in settings.items()}


def _named(text: str | None) -> dict[str, str]:
    """Return the settings of "form=graph launch=one-thread" by name."""
    return {name: value for name, _, value in (one.partition("=") for one in (text or "").split())}
