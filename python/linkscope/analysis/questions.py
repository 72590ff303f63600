"""Questions: what engineers ask of a run, and which analysis answers each with a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars

from linkscope.analysis.anisotropy import anisotropy
from linkscope.analysis.bounds import best_latencies
from linkscope.analysis.by_flow import apart
from linkscope.analysis.collectives import collectives
from linkscope.analysis.engines import engines
from linkscope.analysis.figures import figures
from linkscope.analysis.fits import fits
from linkscope.analysis.interference import interference
from linkscope.analysis.numa import numa
from linkscope.analysis.peaks import peaks
from linkscope.analysis.saturation import saturation
from linkscope.analysis.scaling import scaling
from linkscope.analysis.threads import threads
from linkscope.analysis.tiers import tiers
from linkscope.machine.paths import Paths
from linkscope.near_names import unknown
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

_RATES = (1e-12, 1e9)
_TIMES = (1e-15, 1e9)


@dataclass(frozen=True)
class Measured:
    """What a run has to say: its figures (``analysis/figures.py``), the paths of its node, its rows."""

    figures: polars.DataFrame
    paths: Paths
    rows: Sequence[Row]

    @staticmethod
    def of(run: RunFile) -> Measured:
        """Of a run that was read; figures that nothing can have are left out."""
        possible = [
            polars.col(f"{name}{bound}").is_between(least, most).fill_null(True)
            for name, least, most in (("gbps", *_RATES), ("seconds", *_TIMES))
            for bound in ("", "_low", "_high")
        ]
        return Measured(figures(run).filter(possible), Paths(run.node), run.rows)

    @cached_property
    def by_id(self) -> dict[str, Row]:
        """The rows by id."""
        return {row.id: row for row in self.rows}


@dataclass(frozen=True)
class Analysis:
    """``answer``: a frame without lines where the run has not what it ``needs``."""

    asks: str
    needs: str
    answer: Callable[[Measured], polars.DataFrame]


QUESTIONS: dict[str, Analysis] = {
    "peaks": Analysis(
        "How near does each method come to the hardware's limit, and to which?",
        "a rate on a path whose peak the topology knows",
        lambda measured: peaks(measured.figures),
    ),
    "tiers": Analysis(
        "Do rates fall into the speed classes that the topology has?",
        "rates of two pairs of devices by one method",
        lambda measured: tiers(measured.figures, measured.paths),
    ),
    "fits": Analysis(
        "What are latency and bandwidth, by t = alpha + n / beta?",
        "times of one transfer at four sizes",
        lambda measured: fits(measured.figures),
    ),
    "saturation": Analysis(
        "From which size on does a path give 50, 80, 90 % of its rate?",
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
    "engines": Analysis(
        "Which method gets most out of each kind of link?",
        "rates of two methods on one path",
        lambda measured: engines(measured.figures),
    ),
    "scaling": Analysis(
        "What do flows at once reach, and what holds them back?",
        "the rate of several flows at once",
        lambda measured: scaling(measured.figures, measured.paths, measured.by_id),
    ),
    "threads": Analysis(
        "From how many threads on do CPUs get no more out of memory?",
        "one copy by CPUs, not of warm caches, with two numbers of threads",
        lambda measured: threads(measured.figures),
    ),
    "interference": Analysis(
        "What does a path lose beside other traffic, and where?",
        "a figure beside other flows and the same one alone",
        lambda measured: interference(measured.figures, measured.paths, measured.by_id),
    ),
    "collectives": Analysis(
        "How near do collectives come to their bounds?",
        "a latency or bus bandwidth of a collective",
        lambda measured: collectives(measured.figures, best_latencies(apart(measured.rows))),
    ),
}


def analyze(run: RunFile, names: Sequence[str] = ()) -> dict[str, polars.DataFrame]:
    """The answers to the questions of these names, or else to all that the run can answer; by name.

    Raises LinkscopeError for a name that is none.
    """
    wrong = [name for name in names if name not in QUESTIONS]
    if wrong:
        raise unknown("question", wrong[0], QUESTIONS)
    measured = Measured.of(run)
    answers = {name: _finite(QUESTIONS[name].answer(measured)) for name in names or QUESTIONS}
    return {name: answer for name, answer in answers.items() if names or len(answer)}


def _finite(table: polars.DataFrame) -> polars.DataFrame:
    """Null where a number is beyond all measure."""
    numbers = polars.selectors.float()
    return table.with_columns(polars.when(numbers.is_finite()).then(numbers))
