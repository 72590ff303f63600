"""Choose rows: choices as the lines of one table that fits a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations, groupby
from textwrap import wrap

from linkscope.answers.best import ANY, Choice
from linkscope.messages import numbers
from linkscope.messages.methods import method_name, setting_name
from linkscope.messages.names import named
from linkscope.results.noise_class import NoiseClass
from linkscope.statistics.ranges import Rivals, SizeRange

_WIDTH, _GAPS, _INDENT = 80, 4, "__"
"""Width of a screen, of the gaps between three columns, and the marks for the indent below a heading."""
_MOST_NAMES = 26
"""Characters of who is fastest."""
_MOST_SIZES = 3
"""Sizes without an answer that are named one by one."""
_ROLES = ("push", "pull")
"""Settings that brief rows leave to --full where methods differ."""
_THEN = "; "
"""Parts who is fastest at first, and who is from a larger size on."""


class Join(Enum):
    """Which rows of one answer may become one: those of the same sizes and of several movements or several kinds of
    links; those of both, and of any sizes; these with the number of movements in place of their names."""

    ALIKE = 0
    LOOSE = 1
    COUNTED = 2


Part = tuple[str, str, str]
"""Movement where the heading does not say it, speed class, and whatever else tells a task from others."""


@dataclass(frozen=True)
class ScreenRow:
    """A line of the table. ``parts``: what it is about, several where rows were joined; ``every``: all of these
    movements below its heading; ``sizes``: first and last, () where the heading or ``fastest`` says them; ``words``:
    what stands in their place; ``others``: least and most extra time of methods that are not best, 0.12 for 12%.
    ``brief``: it is about all sizes of a task; ``counted``: it says how many movements it is about, not which."""

    heading: str
    parts: tuple[Part, ...]
    every: frozenset[Part]
    sizes: tuple[float, ...]
    words: str
    fastest: str
    others: tuple[float, float] | None
    brief: bool
    counted: bool = False

    @property
    def movements(self) -> list[str]:
        """Return the movements that the heading does not say."""
        return list(dict.fromkeys(movement for movement, *_ in self.parts if movement))

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Return what tells the row from others of its movements; () where there are none."""
        return [] if self.every == {*self.parts} else list(dict.fromkeys((tier, rest) for _, tier, rest in self.parts))

    @property
    def what(self) -> str:
        """Return what the row is about."""
        names, kinds = self.movements, self.kinds
        told = kinds[0] if len(kinds) == 1 else ()
        if len(kinds) > 1:
            others = {rest for _, rest in kinds}
            kind = named("choice", "links" if len(others) == 1 else "variants")
            told = (kind.format(len(kinds)), *(others if len(others) == 1 else ()))
        sizes = numbers.sizes(*self.sizes) if self.sizes else self.words
        if self.counted:
            copies = any(" " in name for name in names)  # as in "GPU -> GPU"; collectives are one word
            names = [named("choice", "movements" if copies else "collectives").format(len(names))]
        return ", ".join(filter(None, (*names, *told, sizes)))

    @property
    def extra(self) -> str:
        """Return the extra time of others in words."""
        if self.others is None:
            return ""
        return numbers.change(self.others[1]) if self.brief else numbers.change_range(*self.others)

    def joined(self, other: ScreenRow, how: Join, room: int) -> ScreenRow | None:
        """Return one row for both, which have one heading and answer; None where they are not to be joined, or do not
        fit into ``room`` characters."""
        if (self.heading, self.words, self.fastest) != (other.heading, other.words, other.fastest):
            return None
        alike = self.movements == other.movements
        apart = self.sizes != other.sizes or (not alike and (self.kinds or other.kinds))
        if apart and (how is Join.ALIKE or bool(self.sizes) != bool(other.sizes)):
            return None
        extras, sizes = [*(self.others or ()), *(other.others or ())], (*self.sizes, *other.sizes)
        both = replace(
            self,
            parts=tuple(dict.fromkeys((*self.parts, *other.parts))),
            every=self.every | other.every,
            sizes=(min(sizes), max(sizes)) if sizes else (),
            others=(min(extras), max(extras)) if extras else None,
            counted=False,
        )
        if how is Join.COUNTED and len(both.what) > room and not alike:
            return replace(both, counted=True)
        return both if alike or len(both.what) <= room else None


def title(choice: Choice) -> str:
    """Return what a choice is about in full: "GPU -> GPU, nvlink-18, device to device, device clock, cold"."""
    tier = str(choice.task.line["tier"])
    words = [named("movement", choice.task.movement), tier, *map(_word, conditions(choice))]
    return ", ".join(filter(None, words))


def rows(choices: Sequence[Choice], library: str, lines: int) -> list[ScreenRow]:
    """Return the rows of a screen, most important first, joined where they would take more than ``lines``: one for each
    range of sizes, or if these are too many one for each task.

    Where memories are a choice, too, tasks that are bound to one pair of them are left to --full.
    """
    free = {choice.task.key[:-1] for choice in choices if choice.task.memories == ANY}
    shown = [choice for choice in choices if choice.task.memories == ANY or choice.task.key[:-1] not in free]
    found = _joined(list(_rows(shown, library, brief=False)), lines, Join.ALIKE)
    if height(found) <= lines:
        return found
    brief = _joined(list(_rows(shown, library, brief=True)), lines, Join.ALIKE)
    broken = [replace(row, fastest=row.fastest.replace(_THEN, f"{_THEN.strip()}\n")) for row in brief]
    for some in (brief, broken):
        for how in (Join.LOOSE, Join.COUNTED):
            found = _joined(_joined(some, lines, Join.LOOSE), lines, how)
            if height(found) <= lines:
                return found
    return found


def _rows(choices: Sequence[Choice], library: str, brief: bool) -> Iterator[ScreenRow]:
    for heading, some in _headed(choices, brief):
        bare = _settings_alone(some)
        head = f"{heading}, {method_name(min(some[0].methods), library)}" if bare else heading
        head = named("choice", "one-run").format(head) if heading and any(map(uncertain, some)) else head
        labels = _labels(some, heading)
        for choice, label in zip(some, labels, strict=True):
            every = frozenset(other for other in labels if other[0] == label[0])
            for row in _of_choice(choice, heading, library, bare, brief):
                yield replace(row, heading=head, parts=(label,), every=every)


def _settings_alone(some: Sequence[Choice]) -> bool:
    """Return whether all is done by one method, of which settings are to be chosen."""
    methods = {method for choice in some for method in choice.methods}
    return len(methods) == 1 and all(setting_name(name) for choice in some for name in choice.rivals)


def height(some: Sequence[ScreenRow]) -> int:
    """Return how many lines rows take with their headings, where columns that are too wide are folded."""
    wide = _widths(some)
    while sum(wide) + _GAPS > _WIDTH:
        wide[wide.index(max(wide))] -= 1
    heads = len([head for head, _ in groupby(some, key=lambda row: row.heading) if head])
    return heads + sum(max(map(_folded, _texts(row), wide)) for row in some)


def _widths(some: Sequence[ScreenRow]) -> list[int]:
    """Return how wide the columns are, with their headings."""
    heads = ("", named("head", "fastest"), named("head", "most" if any(row.brief for row in some) else "others"))
    columns = zip(heads, *map(_texts, some), strict=True)
    return [max(len(line) for text in texts for line in text.split("\n")) for texts in columns]


def _folded(text: str, wide: int) -> int:
    return sum(len(wrap(line, wide)) for line in text.split("\n"))


def _texts(row: ScreenRow) -> tuple[str, str, str]:
    return f"{_INDENT}{row.what}", row.fastest, row.extra or "-"


def best_words(span: SizeRange, rivals: Rivals, library: str, bare: bool = False, brief: bool = False) -> str:
    """Return who is fastest in a range, in a few words; "tie" where all are. ``bare``: by settings alone; ``brief``:
    without who drives a copy."""
    measured = {name for name, costs in rivals.items() if any(span.first <= size <= span.last for size in costs)}
    if len(span.best) > 1 and measured == set(span.best):
        return named("choice", "tie")
    ways = [" ".join(word for word in name.split() if not (brief and word in _ROLES)) for name in span.best]
    names = [setting_name(way, library) if bare else method_name(way, library) for way in dict.fromkeys(ways)]
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
    return choice.once and choice.first["class"] == NoiseClass.CPU.key


def _headed(choices: Sequence[Choice], brief: bool) -> Iterator[tuple[str, list[Choice]]]:
    """Yield headings with what stands below them: the collectives, a movement by size, or what has one size; in brief
    the clock where there are several, but a movement where settings are the choice.

    What several runs have, what GPUs do and which method to take come first.
    """
    by_movement: dict[str, list[Choice]] = {}
    for choice in choices:
        by_movement.setdefault(choice.task.movement, []).append(choice)
    settings = {movement for movement, some in by_movement.items() if _settings_alone(some)}
    by_size = {
        choice.task.movement
        for choice in choices
        if len(choice.sizes) > 1 or choice.undecided or choice.task.line["workload"]
    }
    clocks = {
        choice.task.line["clock"]
        for choice in choices
        if not ({choice.task.movement} & settings or _collective(choice))
    }
    by_rank: dict[tuple[int, ...], dict[str, list[Choice]]] = {}
    for choice in choices:
        movement, on_host = choice.task.movement, "gpu" not in choice.task.movement
        one_method = len(choice.methods) < 2 and choice.task.memories != ANY
        rank: tuple[int, ...] = int(on_host), int(one_method and not on_host), int(movement not in by_size)
        if collective := _collective(choice):
            heading = named("movement", f"collectives/{collective}")
        elif brief and movement not in settings:
            heading = _word(f"clock={choice.task.line['clock']}") if len(clocks) > 1 else ""
        elif brief or movement in by_size:
            heading = named("movement", movement)
        else:
            heading = named("choice", "at").format(numbers.size((choice.sizes or [0])[0]))
        rank = (int(movement in settings),) if brief else rank
        by_rank.setdefault((int(choice.part), *rank), {}).setdefault(heading, []).append(choice)
    for _, headed in sorted(by_rank.items()):
        yield from headed.items()


def _collective(choice: Choice) -> str:
    """Return where a collective is, "4gpus"; "" of all else."""
    _, _, where = choice.task.movement.partition("/")
    return where if where and where != "processes" and not choice.task.line["workload"] else ""


def conditions(choice: Choice) -> list[str]:
    """Return the codes of what rivals share beside movement and tier: "clock=device", "recorded=20"."""
    line, asked = choice.task.line, choice.task.asked
    load, cache = line["load"] != "once", line["cache"] and not line["workload"]
    graphs = any(word.startswith("recorded=") for word in asked)
    return [
        *([f"memories={choice.task.memories}"] if choice.task.memories else []),
        *(f"{name}={line[name]}" for name in ("clock", "call", "hosts", "figures") if line[name]),
        *(name for name in ("calls_included", "both_ways") if line[name]),
        *(f"{name}={line[name]}" for name, told in (("load", load), ("cache", cache)) if told),
        *(f"{name}={line[name]}" for name in ("together", "flows") if line["together"]),
        *asked,
        *(word for word in choice.shared if not (graphs and word.startswith("form="))),
        *(["part"] if choice.part else []),
    ]


def _word(condition: str) -> str:
    return named("condition", condition)


def _labels(choices: Sequence[Choice], heading: str) -> list[Part]:
    """Return movement, tier and what else tells choices below one heading apart: conditions that are not common, and
    memories where nothing else does."""
    keys = [(_movement(choice), str(choice.task.line["tier"]), tuple(map(_word, _rest(choice)))) for choice in choices]
    labels = []
    for choice, key in zip(choices, keys, strict=True):
        movement, tier, words = key
        alike = [other for other in keys if other[0] == movement]
        rest = [word for word in words if word and not all(word in others for *_, others in alike)]
        memory = [_word(f"memories={choice.task.memories}")] if alike.count(key) > 1 else []
        shown = tier if any(other != tier for _, other, _ in alike) else ""
        labels.append(("" if movement == heading else movement, shown, ", ".join([*rest, *memory])))
    return labels


def _rest(choice: Choice) -> list[str]:
    return [code for code in conditions(choice) if code != "part" and not code.startswith("memories=")]


def _movement(choice: Choice) -> str:
    if _collective(choice):
        return choice.task.movement.partition("/")[0]
    return named("movement", choice.task.movement)


def _of_choice(choice: Choice, heading: str, library: str, bare: bool, brief: bool) -> Iterator[ScreenRow]:
    at_size = heading == named("choice", "at").format(numbers.size((choice.sizes or [0])[0]))
    words = named("choice", "messages") if choice.task.line["workload"] else ""
    row = ScreenRow(heading, (), frozenset(), (), words, "", None, brief)
    spans = _fewest(choice.ranges) if brief else choice.ranges
    names = [best_words(span, choice.rivals, library, bare, brief and len(choice.methods) > 1) for span in spans]
    if brief and len(spans) > 1:
        begins = [numbers.size(span.first) for span in spans]
        later = [named("choice", "from").format(*pair) for pair in zip(names, begins, strict=True)]
        extras = [extra for span in spans for extra in others(span) or (0.0, 0.0)]
        yield replace(row, fastest=_THEN.join([names[0], *later[1:]]), others=(min(extras), max(extras)))
    else:
        for span, name in zip(spans, names, strict=True):
            sizes = () if at_size or words else (span.first, span.last)
            yield replace(row, sizes=sizes, fastest=name, others=others(span))
    if choice.undecided:
        yield replace(row, words=_some_sizes(choice.undecided), fastest=named("choice", "no-answer"))


def _fewest(ranges: Sequence[SizeRange]) -> list[SizeRange]:
    """Return the fewest ranges in the whole of which one method is best or ties."""
    fewest: list[SizeRange] = []
    for span in ranges:
        same = [name for name in fewest[-1].best if name in span.best] if fewest else []
        if same:
            worse = fewest[-1].excess + span.excess
            ties = tuple((name, 0.0, 0.0) for name in {*fewest[-1].best, *span.best} - {*same} if worse)
            fewest[-1] = replace(fewest[-1], last=span.last, best=tuple(same), excess=worse + ties)
        else:
            fewest.append(span)
    return fewest


def _some_sizes(some: Sequence[int]) -> str:
    if len(some) <= _MOST_SIZES:
        return ", ".join(map(numbers.size, some))
    return named("choice", "sizes").format(len(some), numbers.sizes(some[0], some[-1]))


def _joined(joined: Sequence[ScreenRow], lines: int, how: Join) -> list[ScreenRow]:
    """Return the rows, those of one heading and answer joined until they fit, those of one movement first."""
    joined = list(joined)
    room = _WIDTH - _GAPS - len(_INDENT) - sum(_widths(joined)[1:])
    while height(joined) > lines:
        pairs = [
            (a.movements != b.movements, both.counted, len(both.what), first, second, both)
            for (first, a), (second, b) in combinations(enumerate(joined), 2)
            if (both := a.joined(b, how, room)) is not None
        ]
        if not pairs:
            break
        *_, first, second, both = min(pairs, key=lambda pair: pair[:-1])
        joined[first] = both
        del joined[second]
    return joined
