"""Our own: choices as JSON (schema/choices.schema.json) and as a C header, for programs that pick at run time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars

from linkscope.analysis.choose import Choice, choose
from linkscope.analysis.figures_in_parts import is_modelled
from linkscope.analysis.size_ranges import borders
from linkscope.errors import LinkscopeError
from linkscope.report.exports.origin import origin
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import Run

Json = dict[str, Any]
VERSION = 1
"""Of both forms. Readers refuse another."""


def as_json(run: Run, figures: polars.DataFrame) -> str:
    """All choices; a range holds from ``first`` to ``last`` bytes, both included, and they leave no gap, but end at the
    smallest and the largest size that is told where others are left out; what was measured, ``measured`` says."""
    choices = [
        {
            "movement": one.question.movement,
            "tier": one.question.tier,
            "memory": one.question.memory,
            "conditions": list(one.question.conditions),
            "ranges": list(_ranges(one)),
            "left_out": sorted(_left_out(one)),
        }
        for one in _answers(run, figures)
    ]
    modelled = is_modelled(run, figures)
    head = {"format": "linkscope choices", "version": VERSION, "modelled": modelled, "origin": origin(run)}
    return json.dumps({**head, "choices": choices}, indent=1, allow_nan=False) + "\n"


def header(run: Run, figures: polars.DataFrame) -> str:
    """The same as a table in C99 or C++, with a function that looks a choice up; no library is needed."""
    lines = [
        f"  {{{', '.join([*map(_c, _asked(one)), *(f'{size}ull' for size in _sizes(span)), _c(span['use'])])}}},"
        for one in _answers(run, figures)
        for span in _ranges(one)
    ]
    return _HEADER.format(
        origin="\n".join(f"// {_c(line)}" for line in origin(run)),
        version=VERSION,
        modelled=int(is_modelled(run, figures)),
        lines="\n".join(lines),
    )


def _answers(run: Run, figures: polars.DataFrame) -> tuple[Choice, ...]:
    found = choose(figures, joined=len(run.joined) if isinstance(run, RunFile) else 0).answers
    if not found:
        raise LinkscopeError(
            "this run has nothing to choose: measure something in several ways, as linkscope run peer host-device does"
        )
    return found


def _left_out(one: Choice) -> set[int]:
    return {*one.unknown, *one.assumed}


def _ranges(one: Choice) -> Iterator[Json]:
    ends, left_out = list(borders(one.ranges, one.crossovers)), _left_out(one)
    smallest, largest = int(one.ranges[0].first), int(one.ranges[-1].last)
    begin = smallest if any(size < smallest for size in left_out) else 0
    end = largest if any(size > largest for size in left_out) else None
    for span, first, last in zip(one.ranges, [begin, *(last + 1 for last in ends)], [*ends, end], strict=True):
        measured = [int(span.first), int(span.last)]
        yield {"first": first, "last": last, "measured": measured, "use": span.best[0], "equals": list(span.best[1:])}


def _asked(one: Choice) -> tuple[str, ...]:
    question = one.question
    return question.movement, question.tier, question.memory, ", ".join(question.conditions)


def _sizes(span: Json) -> tuple[int, ...]:
    return span["first"], _last(span["last"]), *span["measured"]


def _last(last: int | None) -> int:
    return (1 << 64) - 1 if last is None else last


def _c(text: str) -> str:
    """A string literal; what is not printable ASCII becomes a question mark."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?") + '"'


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
