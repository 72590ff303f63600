"""Questions: the one list of what linkscope can answer of runs, and how an answer is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from linkscope.answers.answer import Answer
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

QUESTIONS: dict[str, str] = {
    "app": "app",
    "order": "order",
    "reproduce": "reproduce",
    "explain": "explain",
    "check": "check",
    "analyze": "analyze.overview",
    "analyze/peaks": "analyze.peaks",
    "analyze/tiers": "analyze.tiers",
    "analyze/fits": "analyze.fits",
    "analyze/saturation": "analyze.saturation",
    "analyze/anisotropy": "analyze.anisotropy",
    "analyze/numa": "analyze.numa",
    "analyze/engines": "analyze.engines",
    "analyze/scaling": "analyze.scaling",
    "analyze/threads": "analyze.threads",
    "analyze/interference": "analyze.interference",
    "analyze/collectives": "analyze.collectives",
    "analyze/layers": "analyze.layers",
    "analyze/blocks": "analyze.blocks",
    "analyze/queueing": "analyze.queueing",
    "analyze/overlap": "analyze.overlap",
    "calibrate": "calibrate",
    "compare": "compare",
    "ab": "ab",
    "choose": "choose",
    "rerun": "rerun",
    "show": "show",
}
"""Question -> module of answers/ that has ``answer(*runs, **options) -> Answer``. Modules load when they are asked."""

Question = Callable[..., Answer]


def ask(question: str, *runs: Run | RunFile | str | os.PathLike[str], **options: Any) -> Answer:
    """Return the answer to a question of runs, read or named.

    ``options`` are those of the question's ``answer`` function. Raises LinkscopeError where a run cannot be read or a
    question does not fit it, KeyError for a question that is not in ``QUESTIONS``. A run keeps answers
    without options, as show, choose and the page need what explain says.
    """
    answer: Question = import_module(f"linkscope.answers.{QUESTIONS[question]}").answer
    read = [Run.of(run) for run in runs]
    if len(read) != 1 or options:
        return answer(*read, **options)
    known: dict[str, Answer] = read[0].answers
    if question not in known:
        known[question] = answer(read[0])
    return known[question]
