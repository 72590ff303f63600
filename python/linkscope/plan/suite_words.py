"""Suite words: which suite has cases with a word in their ids, however its hyphens are typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow

_JOINTS = re.compile(r"[-_ ]")
_SHORTEST = 3
"""Letters of a word that is looked for."""


def as_spelt(word: str, texts: Iterable[str]) -> str:
    """``word`` as the first of ``texts`` that has it spells it, "ping-pong" of "pingpong"; "" where none has it."""
    bare = _bare(word)
    if len(bare) < _SHORTEST:
        return ""
    pattern = re.compile("[-_ ]?".join(map(re.escape, bare)))
    return next((found[0] for text in texts if (found := pattern.search(text.lower()))), "")


def suite_with(word: str, suites: Iterable[Suite]) -> str:
    """Return the arguments of `linkscope run` for cases with ``word`` in their ids: the suite of which most rows have
    the whole word as their name, or as a collective, method or parameter that ids name; "" where there is none. What
    measures as a study or another tool does is only named where nothing else has the word.
    """
    bare = _bare(word)
    most, found = (False, 0), ""
    for suite in suites:
        spelt = [one for row in suite.rows for one in _words(row) if _bare(one) == bare]
        weight = suite.listed_under != "reference", len(spelt)
        if spelt and len(bare) >= _SHORTEST and weight > most:
            most, found = weight, f"{suite.name} -k {spelt[0]}"
    return found


def _bare(word: str) -> str:
    return _JOINTS.sub("", word.strip().lower())


def _words(row: SuiteRow) -> Iterator[str]:
    """List the words of a row that its cases' ids have: its name, and the values of axes that ids name."""
    yield row.name
    parameters = (value if isinstance(value, list) else [value] for value in row.parameters.values())
    for values in (row.collectives, row.methods, *parameters):
        if len(values) > 1 or row.names_all:
            yield from (str(one) for one in values)
