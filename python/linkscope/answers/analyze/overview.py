"""Overview: the answers to all questions of analyze that a run can answer, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.questions import QUESTIONS, ask
from linkscope.answers.run_head import run_head
from linkscope.figures.run import Run
from linkscope.messages.finding import note
from linkscope.messages.near_names import unknown


def answer(run: Run, questions: Sequence[str] = ()) -> Answer:
    """Return the conclusions of all questions, or of these with their tables. Raises LinkscopeError."""
    known_names = tuple(name.partition("/")[2] for name in QUESTIONS if name.startswith("analyze/"))
    wrong = [name for name in questions if name not in known_names]
    if wrong:
        raise unknown("question", wrong[0], known_names)
    names = tuple(dict.fromkeys(questions)) or known_names
    answers = {name: ask(f"analyze/{name}", run) for name in names}
    if len(names) == 1:
        return answers[names[0]]
    known = {name: one for name, one in answers.items() if one.outcome is not Outcome.UNTESTED}
    lacking = [name for name in names if name not in known]
    head = run_head(run)
    facts = {"answered": len(known), "questions": len(names)}
    return Answer(
        question="analyze",
        runs=(head,),
        headline=note("analyze.answered" if known else "analyze.nothing", **facts),
        outcome=None if known else Outcome.UNTESTED,
        findings=(
            *head.findings,
            *(one.headline for one in known.values()),
            *([note("analyze.not-answered", questions=lacking)] if lacking and known else ()),
        ),
        tables=tuple(
            replace(table, detail=table.detail or not questions) for one in known.values() for table in one.tables
        ),
        next=(note("analyze.next", path=str(run.path), question=next(iter(known))),) if known and not questions else (),
    )
