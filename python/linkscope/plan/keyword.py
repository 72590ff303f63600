"""Keyword: a word by which a user picks cases, as pytest's -k picks tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscope.errors import LinkscopeError
from linkscope.near_names import near_names
from linkscope.plan.other_tools import meant_instead
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.suite import load_suite, suite_names

Cases = list[PlannedCase]


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
    near = near_names(word, _names(cases))
    hint = f"did you mean {' or '.join(near)}?" if near else "--dry-run lists the rows that cases are named after"
    said = LinkscopeError(f"-k: no case has {word!r} in its id, title or another tool's name for it: {hint}")
    return meant_instead(word, map(load_suite, suite_names())) or said


def _texts(one: PlannedCase) -> tuple[str, ...]:
    labels = one.case.get("labels", {})
    return one.id, str(labels.get("title", "")), _peer(one)


def _peer(one: PlannedCase) -> str:
    return str((one.case.get("labels", {}).get("peer") or {}).get("case", ""))


def _names(cases: Iterable[PlannedCase]) -> list[str]:
    """Of rows, and of other tools' tests."""
    return list(dict.fromkeys(name for one in cases for name in (str(one.case["name"]), _peer(one)) if name))
