"""Choose rows: choices as the lines of one table that fits a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from textwrap import wrap

from linkscope.answers.best import ANY, Choice
from linkscope.messages import numbers
from linkscope.messages.methods import method_name, setting_name
from linkscope.messages.names import named
from linkscope.statistics.ranges import Rivals, SizeRange

_WIDTH, _GAPS, _INDENT = 80, 4, "__"
"""Of a screen, of what stands between three columns, and what stands for the indent below a heading."""
_MOST_NAMES = 26
"""Characters of who is fastest."""
_MOST_SIZES = 3
"""Sizes without an answer that are named one by one."""


@dataclass(frozen=True)
class ScreenRow:
    """A line of the table. ``movements``: names that its heading does not say; ``parts``: speed class and
    whatever else it is about, several where rows were joined; ``sizes``: in words; ``others``: least and most extra
    time of methods that are not best, 0.12 for 12%."""

    heading: str
    movements: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    sizes: str
    fastest: str
    others: tuple[float, float] | None

    @property
    def what(self) -> str:
        """Return what the row is about."""
        parts = self.parts[0] if self.parts else ()
        if len(self.parts) > 1:
            others = {rest for _, rest in self.parts}
            kind = named("choice", "links" if len(others) == 1 else "variants")
            parts = (kind.format(len(self.parts)), *(others if len(others) == 1 else ()))
        return ", ".join(filter(None, (*self.movements, *parts, self.sizes)))

    @property
    def extra(self) -> str:
        """Return the extra time of others in words."""
        return numbers.change_range(*self.others) if self.others else ""

    def joined(self, other: ScreenRow) -> ScreenRow | None:
        """Return one row for both, which say the same of several movements or of several kinds of links."""
        if (self.heading, self.sizes, self.fastest) != (other.heading, other.sizes, other.fastest):
            return None
        if self.movements != other.movements and (self.parts or other.parts):
            return None
        extras = [*(self.others or ()), *(other.others or ())]
        return replace(
            self,
            movements=tuple(dict.fromkeys((*self.movements, *other.movements))),
            parts=tuple(dict.fromkeys((*self.parts, *other.parts))),
            others=(min(extras), max(extras)) if extras else None,
        )


def title(choice: Choice) -> str:
    """Return what a choice is about in full: "GPU -> GPU, nvlink-18, device to device, device clock, cold"."""
    tier = str(choice.task.line["tier"])
    words = [named("movement", choice.task.movement), tier, *map(_word, _conditions(choice))]
    return ", ".join(filter(None, words))


def conditions(choice: Choice) -> list[str]:
    """Return the codes of what rivals share beside movement and tier: "clock=device", "recorded=20"."""
    return list(_conditions(choice))


def rows(choices: Sequence[Choice], library: str, lines: int) -> list[ScreenRow]:
    """Return the rows of a screen, most important first, joined where they would take more than ``lines``.

    Where memories are a choice, too, tasks that are bound to one pair of them are left to --full.
    """
    free = {_key(choice) for choice in choices if choice.task.memories == ANY}
    shown = [choice for choice in choices if choice.task.memories == ANY or _key(choice) not in free]
    by_heading: dict[str, list[ScreenRow]] = {}
    for heading, some in _headed(shown):
        methods = {method for choice in some for method in choice.methods}
        bare = len(methods) == 1 and all(setting_name(name) for choice in some for name in choice.rivals)
        head = f"{heading}, {method_name(methods.pop(), library)}" if bare else heading
        head = named("choice", "one-run").format(head) if any(map(uncertain, some)) else head
        for choice, label in zip(some, _labels(some), strict=True):
            by_heading.setdefault(head, []).extend(_of_choice(choice, head, label, library, bare))
    return _joined([row for some in by_heading.values() for row in some], lines)


def height(some: Sequence[ScreenRow]) -> int:
    """Return how many lines rows take with their headings, where columns that are too wide are folded."""
    wide = [max((len(text) for text in texts), default=0) for texts in zip(*map(_texts, some), strict=True)]
    while sum(wide) + _GAPS > _WIDTH:
        wide[wide.index(max(wide))] -= 1
    heads = len([head for head, _ in groupby(some, key=lambda row: row.heading)])
    return heads + sum(max(len(wrap(*cell)) for cell in zip(_texts(row), wide, strict=True)) for row in some)


def _texts(row: ScreenRow) -> tuple[str, str, str]:
    return f"{_INDENT}{row.what}", row.fastest, row.extra or "-"


def best_words(span: SizeRange, rivals: Rivals, library: str, bare: bool = False) -> str:
    """Return who is fastest in a range, in a few words; "tie" where all are."""
    names = [setting_name(name, library) if bare else method_name(name, library) for name in span.best]
    measured = {name for name, costs in rivals.items() if any(span.first <= size <= span.last for size in costs)}
    if len(names) > 1 and measured == set(span.best):
        return named("choice", "tie")
    listed = numbers.listed(names)
    if len(names) > 1 and len(listed) > _MOST_NAMES:
        return named("choice", "tied").format(names[0], len(names) - 1)
    return listed


def others(span: SizeRange) -> tuple[float, float] | None:
    """Return the least and the most extra time of those that are not best in a range."""
    if not span.excess:
        return None
    return min(least for _, least, _ in span.excess), max(most for *_, most in span.excess)


def uncertain(choice: Choice) -> bool:
    """Return whether one run cannot know: CPUs move the bytes, and the node is not calibrated."""
    return choice.once and any(name.startswith("memcpy") for name in choice.rivals)


def _key(choice: Choice) -> tuple[object, ...]:
    return choice.task.key[:-1]


def _headed(choices: Sequence[Choice]) -> Iterator[tuple[str, list[Choice]]]:
    """Yield headings with what stands below them: a movement by size, the collectives, or what has one size."""
    by_size = {choice.task.movement for choice in choices if len(choice.sizes) > 1 or choice.undecided}
    by_size |= {choice.task.movement for choice in choices if choice.task.line["workload"]}
    by_rank: dict[tuple[int, ...], dict[str, list[Choice]]] = {}
    for choice in choices:
        movement, collective = choice.task.movement, _collective(choice)
        if collective:
            heading = named("movement", f"collectives/{collective}")
        elif movement in by_size:
            heading = named("movement", movement)
        else:
            heading = named("choice", "at").format(numbers.size((choice.sizes or [0])[0]))
        by_rank.setdefault(_rank(choice, movement in by_size), {}).setdefault(heading, []).append(choice)
    for _, some in sorted(by_rank.items()):
        yield from some.items()


def _rank(choice: Choice, by_size: bool) -> tuple[int, ...]:
    """Return a sort key: what several runs have, what GPUs do and which method to take come first."""
    settings = len(choice.methods) < 2 and choice.task.memories != ANY
    on_host = "gpu" not in choice.task.movement
    return int(choice.part), int(on_host), int(settings and not on_host), int(not by_size)


def _collective(choice: Choice) -> str:
    """Return where a collective is, "4gpus"; "" of all else."""
    _, _, where = choice.task.movement.partition("/")
    return where if where and where != "processes" and not choice.task.line["workload"] else ""


def _conditions(choice: Choice) -> Iterator[str]:
    line = choice.task.line
    if choice.task.memories:
        yield f"memories={choice.task.memories}"
    yield from (f"{name}={line[name]}" for name in ("clock", "call", "hosts", "figures") if line[name])
    yield from (name for name in ("calls_included", "both_ways") if line[name])
    if line["load"] != "once":
        yield f"load={line['load']}"
    if line["cache"] and not line["workload"]:
        yield f"cache={line['cache']}"
    if line["together"]:
        yield from (f"together={line['together']}", f"flows={line['flows']}")
    yield from choice.task.asked
    if choice.form and not any(word.startswith("recorded=") for word in choice.task.asked):
        yield choice.form
    if choice.part:
        yield "part"


def _word(condition: str) -> str:
    return named("condition", condition)


def _labels(choices: Sequence[Choice]) -> list[tuple[str, str, str]]:
    """Return movement, tier and what else tells choices below one heading apart: conditions that are not common, and
    memories where nothing else does."""
    words = [[*map(_word, _rest(choice))] for choice in choices]
    tiers = [str(choice.task.line["tier"]) for choice in choices]
    movements = [_movement(choice) for choice in choices]
    heads = len(set(movements)) > 1 or not _by_size(choices)
    labels = []
    for choice, movement, tier, own in zip(choices, movements, tiers, words, strict=True):
        alike = [number for number, name in enumerate(movements) if name == movement]
        rest = [word for word in own if word and not all(word in words[other] for other in alike)]
        twins = sum((words[other], tiers[other]) == (own, tier) for other in alike) > 1
        memory = [_word(f"memories={choice.task.memories}")] if twins else []
        several = any(tiers[other] != tier for other in alike)
        labels.append((movement if heads else "", tier if several else "", ", ".join([*rest, *memory])))
    return labels


def _rest(choice: Choice) -> list[str]:
    return [code for code in _conditions(choice) if code != "part" and not code.startswith("memories=")]


def _movement(choice: Choice) -> str:
    if _collective(choice):
        return choice.task.movement.partition("/")[0]
    return named("movement", choice.task.movement)


def _by_size(choices: Sequence[Choice]) -> bool:
    """Return whether choices below one heading have their sizes beside them: they are of one movement."""
    return any(len(choice.sizes) > 1 or choice.undecided or choice.task.line["workload"] for choice in choices)


def _of_choice(
    choice: Choice, heading: str, label: tuple[str, str, str], library: str, bare: bool
) -> Iterator[ScreenRow]:
    at_size = heading == named("choice", "at").format(numbers.size((choice.sizes or [0])[0]))
    movement, *part = label
    movements, parts = tuple(filter(None, (movement,))), ((part[0], part[1]),) if any(part) else ()
    for span in choice.ranges:
        sizes = "" if at_size else numbers.sizes(span.first, span.last)
        if choice.task.line["workload"]:
            sizes = named("choice", "messages")
        words = best_words(span, choice.rivals, library, bare)
        yield ScreenRow(heading, movements, parts, sizes, words, others(span))
    if choice.undecided:
        lost = _some_sizes(choice.undecided)
        yield ScreenRow(heading, movements, parts, lost, named("choice", "no-answer"), None)


def _some_sizes(some: Sequence[int]) -> str:
    if len(some) <= _MOST_SIZES:
        return ", ".join(map(numbers.size, some))
    return named("choice", "sizes").format(len(some), numbers.sizes(some[0], some[-1]))


def _joined(joined: list[ScreenRow], lines: int) -> list[ScreenRow]:
    """Return the rows, those of one heading and answer joined until they fit, those of one movement first."""
    room = _WIDTH - _GAPS - len(_INDENT) - sum(max((len(text) for text in some), default=0) for some in (
        [row.fastest for row in joined], [row.extra for row in joined]))  # fmt: skip
    while height(joined) > lines:
        pairs = [
            (a.movements != b.movements, len(both.what), first, second, both)
            for (first, a), (second, b) in combinations(enumerate(joined), 2)
            if (both := a.joined(b)) is not None and (a.movements == b.movements or len(both.what) <= room)
        ]
        if not pairs:
            break
        *_, first, second, both = min(pairs, key=lambda pair: pair[:4])
        joined[first] = both
        del joined[second]
    return joined
