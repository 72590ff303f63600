"""Questions: what engineers ask of a run, and which analysis answers each with a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars

from linkscope.analysis.anisotropy import anisotropy
from linkscope.analysis.figures import figures
from linkscope.analysis.fits import fits
from linkscope.analysis.numa import numa
from linkscope.analysis.peaks import peaks
from linkscope.analysis.saturation import saturation
from linkscope.analysis.tiers import tiers
from linkscope.errors import LinkscopeError
from linkscope.machine.paths import Paths
from linkscope.results.run_file import RunFile


@dataclass(frozen=True)
class Measured:
    """What a run has to say: its figures (``analysis/figures.py``) and the paths of its node."""

    figures: polars.DataFrame
    paths: Paths

    @staticmethod
    def of(run: RunFile) -> Measured:
        """Of a run that was read."""
        return Measured(figures(run), Paths(run.node))


@dataclass(frozen=True)
class Analysis:
    """``answer``: a frame without lines where the run has not what it ``needs``."""

    asks: str
    needs: str
    answer: Callable[[Measured], polars.DataFrame]


QUESTIONS: dict[str, Analysis] = {
    "peaks": Analysis(
        "Which share of the hardware's limit does each method reach, and what is that limit?",
        "a rate on a path whose peak the topology knows",
        lambda measured: peaks(measured.figures),
    ),
    "tiers": Analysis(
        "Do measured rates fall into the speed classes that the topology has?",
        "rates of two pairs of devices by one method",
        lambda measured: tiers(measured.figures, measured.paths),
    ),
    "fits": Analysis(
        "What are latency and bandwidth, by lines t = alpha + n / beta through the times?",
        "times of one transfer at four sizes",
        lambda measured: fits(measured.figures),
    ),
    "saturation": Analysis(
        "From which size on does a path give half, 80 and 90 % of what it gives in the end?",
        "rates at four sizes",
        lambda measured: saturation(measured.figures),
    ),
    "anisotropy": Analysis(
        "Which pairs of devices are faster one way than the other?",
        "figures of two devices both ways, one after the other",
        lambda measured: anisotropy(measured.figures),
    ),
    "numa": Analysis(
        "What does memory on another NUMA node than the nearest cost?",
        "figures with host memory on the nearest NUMA node and on another",
        lambda measured: numa(measured.figures, measured.paths.node),
    ),
}


def analyze(run: RunFile, names: Sequence[str] = ()) -> dict[str, polars.DataFrame]:
    """The answers to the questions of these names, or else to all that the run can answer; by name.

    Raises LinkscopeError for a name that is none.
    """
    unknown = [name for name in names if name not in QUESTIONS]
    if unknown:
        raise LinkscopeError(f"no question {unknown[0]!r}: there are {', '.join(QUESTIONS)}")
    measured = Measured.of(run)
    answers = {name: QUESTIONS[name].answer(measured) for name in names or QUESTIONS}
    return {name: answer for name, answer in answers.items() if names or len(answer)}
