"""Own forms: choices as JSON (schema/choices.schema.json) and as a C header, for programs that pick at run time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.answers.best import ANY, Choice, choices
from linkscope.codecs.tuner.exported import Exported
from linkscope.messages.catalog import problem
from linkscope.statistics.ranges import borders

Json = dict[str, Any]
VERSION = 1
"""Version of both forms. Readers refuse another."""


def as_json(source: Exported) -> str:
    """Return all choices; a range holds from ``first`` to ``last`` bytes, both included.

    Ranges leave no gap, but end at the smallest and the largest size that is told where others are left out; what was
    measured, ``measured`` says.
    """
    found = [
        {**asdict(question), "ranges": list(_ranges(one)), "left_out": sorted(_left_out(one))}
        for question, one in _answers(source)
    ]
    head = {"format": "linkscope choices", "version": VERSION, "modelled": source.modelled, "origin": source.origin}
    return json.dumps({**head, "choices": found}, indent=1, allow_nan=False) + "\n"


def header(source: Exported) -> str:
    """Return the same as a table in C99 or C++, with a function that looks a choice up; no library is needed."""
    lines = [
        f"  {{{', '.join([*map(_c, question.words), *(f'{size}ull' for size in _sizes(span)), _c(span['use'])])}}},"
        for question, one in _answers(source)
        for span in _ranges(one)
    ]
    return _HEADER.format(
        origin="\n".join(f"// {_c(line)}" for line in source.origin),
        version=VERSION,
        modelled=int(source.modelled),
        lines="\n".join(lines),
    )


def _answers(source: Exported) -> list[tuple[Question, Choice]]:
    found = [one for one in choices(source.results, len(source.runs)) if one.ranges]
    if not found:
        raise problem("tuner.nothing")
    apart = not all(one.part for one in found)
    return [(Question.of(one, apart), one) for one in found]


def _left_out(one: Choice) -> set[int]:
    return {*one.undecided, *one.assumed}


def _ranges(one: Choice) -> Iterator[Json]:
    ends, left_out = list(borders(one.ranges, one.crossovers)), _left_out(one)
    smallest, largest = int(one.ranges[0].first), int(one.ranges[-1].last)
    begin = smallest if any(size < smallest for size in left_out) else 0
    end = largest if any(size > largest for size in left_out) else None
    for span, first, last in zip(one.ranges, [begin, *(last + 1 for last in ends)], [*ends, end], strict=True):
        measured = [int(span.first), int(span.last)]
        yield {"first": first, "last": last, "measured": measured, "use": span.best[0], "equals": list(span.best[1:])}


def _sizes(span: Json) -> tuple[int, ...]:
    last = (1 << 64) - 1 if span["last"] is None else span["last"]
    return span["first"], last, *span["measured"]


def _c(text: str) -> str:
    """Return a string literal; what is not printable ASCII becomes a question mark."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?") + '"'


_ONE_RUN = "in part of one run"
_CLOCKS = {"model": "the model's clock", "device": "device clock", "host": "host clock", "batch": "batch clock"}
_TOGETHER = {
    "both": "both ways",
    "one-path": "{flows} flows on one path",
    "one-to-many": "1 to {flows}",
    "many-to-one": "{flows} to 1",
    "many": "{flows} flows",
    "many-both": "{flows} flows, both ways",
}
_CACHES = ("flushed", "warm")


@dataclass(frozen=True)
class Question:
    """``movement`` such as "GPU to GPU" or "all-reduce on 4 GPUs"; ``tier``: speed class of the path, "" within a
    device; ``memory``: "pinned > device" or "any memory"; ``conditions``: first the clock."""

    movement: str
    tier: str
    memory: str
    conditions: tuple[str, ...]

    @staticmethod
    def of(choice: Choice, apart: bool) -> Question:
        """Return the question of a choice; ``apart``: other choices have results of every run."""
        memory = "any memory" if choice.task.memories == ANY else choice.task.memories.replace(">", " > ")
        told = [*_conditions(choice), *([_ONE_RUN] if choice.part and apart else [])]
        return Question(_movement(choice), str(choice.task.line["tier"]), memory, tuple(told))

    @property
    def words(self) -> tuple[str, ...]:
        """Return movement, tier, memory and conditions, each as one text."""
        return self.movement, self.tier, self.memory, ", ".join(self.conditions)


def _movement(choice: Choice) -> str:
    line, first = choice.task.line, choice.first
    code, _, where = choice.task.movement.partition("/")
    if line["workload"]:
        deck = str(line["deck"]).removeprefix(line["workload"]).removeprefix(", ")
        return f"{' '.join(filter(None, (line['workload'], deck)))} on {len(first['members'].split())} ranks"
    if where not in ("", "processes"):
        count, kind = where.partition("/")[0].removesuffix("s"), "ranks" if "rank" in where else "GPUs"
        apart = f" in {line['processes']} processes" if where.endswith("/processes") else ""
        return f"{code} on {count.removesuffix('gpu').removesuffix('rank')} {kind}{apart}"
    return _copy(code, first) + (", between processes" if where else "")


def _copy(code: str, first: Mapping[str, Any]) -> str:
    if code in ("gpu", "host"):
        return f"within a {'GPU' if code == 'gpu' else 'NUMA node'}"
    if "-" in code:
        who, verb, whose = code.split("-")
        memory = {"own": "its own", "peer": "another GPU's", "host": "host"}[whose]
        return f"{who.upper()} {verb} {memory} memory"
    source, destination = ("GPU" if first[end].startswith("gpu:") else "host" for end in ("source", "destination"))
    return f"{source} to {destination}"


def _conditions(choice: Choice) -> Iterator[str]:
    line = choice.task.line
    clock = [_CLOCKS[line["clock"]], *(["calls included"] if line["calls_included"] else [])]
    yield ", ".join([*clock, *(["both ways"] if line["both_ways"] else []), *filter(None, [line["call"]])])
    if line["together"]:
        yield _TOGETHER[line["together"]].format(flows=line["flows"]) + " at once"
    if line["load"] != "once":
        yield str(line["load"])
    if line["cache"] in _CACHES and not line["workload"]:
        yield f"{line['cache']} caches"
    graphs = [word for word in choice.task.asked if word.startswith("recorded=")]
    for word in choice.task.asked:
        yield f"graph of {word.partition('=')[2]}" if word in graphs else word.replace("=", " ", 1)
    if line["hosts"]:
        yield f"between {line['hosts']}"
    for word in choice.shared:
        if not word.startswith("form="):
            yield word.replace("=", " ", 1)
        elif not graphs:
            yield word


_HEADER = """// What is best on this node, by size. Include it anywhere; see linkscope_choose at the end.
{origin}
#ifndef LINKSCOPE_CHOICES_H
#define LINKSCOPE_CHOICES_H
#include <stddef.h>
#include <string.h>

#define LINKSCOPE_CHOICES_VERSION {version}
#define LINKSCOPE_CHOICES_MODELLED {modelled} // 1: no figure behind this was measured

typedef struct {{
  const char* movement;
  const char* tier;
  const char* memory;
  const char* conditions;
  unsigned long long first, last; // bytes, both included
  unsigned long long measured_first, measured_last; // told; beyond them, and at others between, a guess
  const char* use;
}} linkscope_choice;

static const linkscope_choice linkscope_choices[] = {{
{lines}
}};

/// The best way to move so many bytes, such as "kernel-copy"; NULL where none is known. Of `tier`, `memory` and
/// `conditions` NULL stands for any: then the first that fits.
static inline const char* linkscope_choose(const char* movement, const char* tier, const char* memory,
                                           const char* conditions, unsigned long long bytes) {{
  for (size_t i = 0; i < sizeof linkscope_choices / sizeof linkscope_choices[0]; ++i) {{
    const linkscope_choice* one = &linkscope_choices[i];
    if (strcmp(one->movement, movement) == 0 && (!tier || strcmp(one->tier, tier) == 0) &&
        (!memory || strcmp(one->memory, memory) == 0) && (!conditions || strcmp(one->conditions, conditions) == 0) &&
        one->first <= bytes && bytes <= one->last)
      return one->use;
  }}
  return NULL;
}}
#endif
"""
