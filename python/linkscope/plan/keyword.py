"""Keyword: a word by which a user picks cases, as pytest's -k picks tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from linkscope.errors import LinkscopeError
from linkscope.near_names import near_names
from linkscope.plan.other_tools import meant_instead
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.suite import load_suite, suite_names
from linkscope.plan.suite_words import as_spelt, suite_with

Cases = list[PlannedCase]
_WORD = re.compile(r"[a-z][a-z_-]{2,}[a-z]")


def picked(cases: Sequence[PlannedCase], keyword: str) -> Cases:
    """Those that have the word in their id, their table's title or the name of another tool's test that they repeat;
    capital letters or not. Of "push and gpu:1" both words, of "push or pull" one of them; "and" binds closer, as in
    pytest's. In the order of ``cases``. Raises LinkscopeError for a part that none has.
    """
    wanted = {one.id for part in keyword.lower().split(" or ") for one in _with_all(cases, part)}
    return [one for one in cases if one.id in wanted]


def _with_all(cases: Sequence[PlannedCase], words: str) -> Cases:
    found = list(cases)
    for word in words.split(" and "):
        before, bare = found, word.strip()
        found = [one for one in before if bare and any(bare in text.lower() for text in _texts(one))]
        if not found:
            raise _nothing_with(bare, before)
    return found


def _nothing_with(word: str, cases: Sequence[PlannedCase]) -> LinkscopeError:
    suites = [load_suite(name) for name in suite_names()]
    instead = meant_instead(word, suites)
    if instead is not None:
        return instead
    spelt = as_spelt(word, (text for one in cases for text in _texts(one)))
    near, elsewhere = [spelt] if spelt else near_names(word, _names(cases)), suite_with(word, suites)
    if near and (spelt or not elsewhere):
        hint = f"did you mean {' or '.join(near)}?"
    elif elsewhere:
        hint = f"`linkscope run {elsewhere}` has such cases"
    else:
        hint = "--dry-run lists the rows that cases are named after"
    return LinkscopeError(f"-k: no case has {word!r} in its id, title or another tool's name for it: {hint}")


def _texts(one: PlannedCase) -> tuple[str, ...]:
    labels = one.case.get("labels", {})
    return one.id, str(labels.get("title", "")), _peer(one)


def _peer(one: PlannedCase) -> str:
    return str((one.case.get("labels", {}).get("peer") or {}).get("case", ""))


def _names(cases: Iterable[PlannedCase]) -> list[str]:
    """Of rows and of other tools' tests, then the words of ids and titles."""
    known = list(cases)
    named = (name for one in known for name in (str(one.case["name"]), _peer(one)) if name)
    words = (word for one in known for text in _texts(one) for word in _WORD.findall(text.lower()))
    return list(dict.fromkeys((*named, *words)))
