"""Narrowed choices: the questions that a reader asks for, by a word of their titles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches

from linkscope.analysis.choose import Choices, Question
from linkscope.errors import LinkscopeError
from linkscope.report.choose_text import title


def with_word(found: Choices, word: str) -> Choices:
    """Only what is asked with ``word`` in its title, capital letters or not, such as "host to GPU".

    Raises LinkscopeError where none is.
    """
    if not word.strip():
        raise LinkscopeError("--table: name a word of the titles that you want")
    answers = tuple(one for one in found.answers if _has(one.question, word))
    undecided, unrivalled = (
        tuple(question for question in some if _has(question, word)) for some in (found.undecided, found.unrivalled)
    )
    if not (answers or undecided or unrivalled):
        every = (*(one.question for one in found.answers), *found.undecided, *found.unrivalled)
        raise LinkscopeError(f"--table: no question has {word!r} in its title: {_hint(word, every)}")
    return replace(found, answers=answers, undecided=undecided, unrivalled=unrivalled, word=word)


def _has(question: Question, word: str) -> bool:
    return word.lower() in title(question).lower()


def _hint(word: str, questions: Iterable[Question]) -> str:
    names = list(dict.fromkeys(name for one in questions for name in (one.movement, one.tier, one.memory) if name))
    close = get_close_matches(word, names, n=1)
    return f"did you mean {close[0]}?" if close else "`choose RUN --full` has all titles"
