"""Keyword: a word by which a user picks cases, as pytest's -k picks tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import near_names
from linkscope.plan.other_tools import meant_instead
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.suite_words import as_spelt, suite_with
from linkscope.plan.suites import load_suite, suite_names

Cases = list[PlannedCase]
MOST_NAMED = 3
"""Rows."""
_WORD = re.compile(r"[a-z][a-z_-]{2,}[a-z]")


def picked(cases: Sequence[PlannedCase], keyword: str, suites: Sequence[Suite] = ()) -> Cases:
    """Return cases with the word in their id, their table's title or the name of another tool's test that they repeat;
    capital letters or not. Of "push and gpu:1" both words, of "push or pull" one of them; "and" binds closer, as in
    pytest's. In the order of ``cases``. Raises LinkscopeError for a part that none has; ``suites``: those asked for, of
    which it can tell rows that this machine has nothing for.
    """
    wanted = {one.id for part in keyword.lower().split(" or ") for one in _with_all(cases, part, suites)}
    return [one for one in cases if one.id in wanted]


def _with_all(cases: Sequence[PlannedCase], words: str, suites: Sequence[Suite]) -> Cases:
    absent = _without_cases(cases, suites)
    found = list(cases)
    for word in words.split(" and "):
        before, bare = found, word.strip()
        found = [one for one in before if _has(one, bare)]
        if not found and len(before) < len(cases) and any(_has(one, bare) for one in cases):
            raise LinkscopeError(f"-k: no case has all of {words.strip()!r}: write `or` for either")
        if not found:
            raise _nothing_with(bare, before, [row for row in absent if bare and bare in row.name.lower()])
    return found


def _has(one: PlannedCase, word: str) -> bool:
    return bool(word) and any(word in text.lower() for text in _texts(one))


def _without_cases(cases: Sequence[PlannedCase], suites: Sequence[Suite]) -> list[SuiteRow]:
    """Rows of ``suites`` that have no case on this machine."""
    had = {(str(one.case["suite"]), str(one.case["name"])) for one in cases}
    return [row for suite in suites for row in suite.rows if (row.suite, row.name) not in had]


def _nothing_with(word: str, cases: Sequence[PlannedCase], absent: Sequence[SuiteRow]) -> LinkscopeError:
    if absent:
        names = list(dict.fromkeys(row.name for row in absent))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        need = "needs" if len(names) == 1 else "need"
        what = "GPUs" if all(row.needs_gpu for row in absent) else "devices"
        told = f"{', '.join(names[:MOST_NAMED])}{more} {need} {what} that this machine lacks"
        return LinkscopeError(f"-k {word}: {told}: `--machine NAME` models a node that has them")
    suites = [load_suite(name) for name in suite_names()]
    instead = meant_instead(word, suites)
    if instead is not None:
        return instead
    spelt = as_spelt(word, (text for one in cases for text in _texts(one)))
    near, elsewhere = [spelt] if spelt else near_names(word, _names(cases)), suite_with(word, suites)
    if near and (spelt or not elsewhere):
        hint = f"did you mean {' or '.join(near)}?"
    elif elsewhere:
        hint = f"`linkscope run {elsewhere}` has some"
    else:
        hint = "`linkscope run SUITE --dry-run` lists tests"
    return LinkscopeError(f"-k: no case has {word!r} in its id, title or another tool's name for it: {hint}")


def _texts(one: PlannedCase) -> tuple[str, ...]:
    labels = one.case.get("labels", {})
    return one.id, str(labels.get("title", "")), _peer(one)


def _peer(one: PlannedCase) -> str:
    return str((one.case.get("labels", {}).get("peer") or {}).get("case", ""))


def _names(cases: Iterable[PlannedCase]) -> list[str]:
    """List names of rows and of other tools' tests, then the words of ids and titles."""
    known = list(cases)
    named = (name for one in known for name in (str(one.case["name"]), _peer(one)) if name)
    words = (word for one in known for text in _texts(one) for word in _WORD.findall(text.lower()))
    return list(dict.fromkeys((*named, *words)))
