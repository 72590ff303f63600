"""Choose: for each kind of movement, and each memory a user may be bound to, the best interface by size."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import polars

from linkscope.analysis.figure_costs import COSTS, OF_RUNS, in_each_run, of_one_path, with_costs
from linkscope.analysis.launch_cost import Launched, launch_seconds, mixes_launches, with_launches
from linkscope.analysis.library_settings import settings
from linkscope.analysis.movement import ends, movement, role, there_and_back
from linkscope.analysis.size_ranges import (
    AS_GOOD,
    Cost,
    Crossover,
    Rivals,
    SizeRange,
    crossovers,
    decided,
    difference,
    equals,
    excess,
    size_ranges,
    with_equals,
)
from linkscope.analysis.steadiness import Steadiness, steadiness, steadiness_of_runs
from linkscope.analysis.way import Way, interface, shared_form
from linkscope.analysis.way import names as way_names
from linkscope.displayed import Displayed
from linkscope.results.run_file import RunFile

Json = dict[str, Any]

ASKED = frozenset(
    (
        *("collective", "type", "in_place", "operation", "region", "in", "stride", "chunk", "fill", "addresses"),
        *("scope", "access", "touch", "order", "hops", "locality", "until", "node", "nodes", "what", "work_us"),
        *("ordering", "to", "window", "recorded", "graph"),
    )
)
"""Parameters that say what is to be done. All others say how, and are the user's to choose."""
DEFAULTS = frozenset({("non_temporal", "0")})
"""Parameters that some rows name and others leave as they are: the same way."""
ANY = "any memory"
_CACHES = ("flushed", "warm")
"""States of the caches that are told; "rotated" is the usual one."""
BY_HOST = "host clock"
ONE_RUN = "in part of one run"
"""The condition of what of several runs one alone has."""
GRAPH_OF = "graph of "
"""Begins the condition of calls that one graph holds."""
_SAID = {"recorded": GRAPH_OF + "{word}"}
_OF_MODEL = ("modelled", "assumed")
_KEYS = (
    *("method", "executor", "source", "source_memory", "destination", "destination_memory", "members", "processes"),
    *(
        "members_memory",
        "collective",
        "parameters",
        "environment",
        "tier",
        "hosts",
        "together",
        "load",
        "regime",
        "cache",
    ),
    *("figure", "modelled", "workload", "deck", "state_memory", "rank_order"),
)


@dataclass(frozen=True)
class OldQuestion:
    """What is to be moved. ``memory``: to which kinds the user is bound, "pinned > device", or ``ANY``.

    ``movement`` such as "GPU to GPU" or "all-reduce on 4 GPUs"; ``tier``: speed class of the path, "" within a device;
    ``conditions``: whatever else figures must share to be rivals (clock, flows at once, load, cache state, strides).
    """

    movement: str
    tier: str
    memory: str
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class AtSize:
    """Of every rival measured at ``bytes`` what it costs more than the best there, 0.12 for 12 %; who are equals there;
    of whom the interval, or of several runs that of the ratio to the best, reaches beyond ``UNKNOWN_FROM``; and of
    every rival the ``least`` that it costs more, by its interval and the best one's."""

    bytes: int
    excess: tuple[tuple[str, float], ...]
    best: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    least: tuple[tuple[str, float], ...] = ()

    @property
    def told(self) -> tuple[tuple[float, str], ...]:
        """(Excess, name) of those told apart from the best, of known ones alone where the best is known, too."""
        apart = tuple((share, name) for name, share in self.excess if name not in self.best)
        known = {name for name, _ in self.excess} - {*self.unknown}
        return tuple(one for one in apart if one[1] in known) if known & {*self.best} else ()


@dataclass(frozen=True)
class OldChoice:
    """The answer to one question, of at least two rivals.

    ``ranges`` and ``crossovers`` by size in bytes, ascending; where two ranges meet, there may be no crossover, if no
    size has figures of both. ``always``: the rival to take where one must do for all sizes, and what it costs more than
    the best, at most; None where none was measured at all of them. ``sizes``: all that two rivals or more have.
    ``paths``: on how many pairs of devices (or sets of members) each figure was measured; their median counts.
    ``launches_aside``: kernels that were launched once stand beside copies that were called one by one; ``launched``:
    then the estimate with a launch for each, where ways cross and the run has what one adds. ``row``: that of the suite
    with most of its sizes, "default d2d-by-size". ``assumed``: the sizes that are left out, as the figure of a rival is
    mostly an assumed latency there. ``unknown``: those left out, as intervals beyond ``UNKNOWN_FROM`` leave open there
    which is best. ``path``: the first of ``paths``, "gpu:0>gpu:1". ``disagreement``: where cases measured one way on
    one path and their intervals are disjoint, by how much they differ at most (0.12 for 12 %), which way, which size.
    ``form``: how all launch their calls, "form=graph", also among the question's conditions; empty where ways differ.
    ``of_one_run``: of several runs one alone has some of its figures, of which the intervals hold within that run; also
    among the conditions, unless that is so of all answers. ``waited``: the same was also timed by the host's clock,
    which holds every launch.
    """

    question: OldQuestion
    rivals: tuple[str, ...]
    ranges: tuple[SizeRange, ...]
    crossovers: tuple[Crossover, ...]
    always: tuple[str, float] | None
    sizes: tuple[AtSize, ...]
    paths: int
    modelled: bool
    row: str
    launches_aside: bool
    launched: Launched | None
    assumed: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    path: str = ""
    disagreement: tuple[float, str, int] | None = None
    form: str = ""
    of_one_run: bool = False
    waited: bool = False

    @property
    def stake(self) -> float:
        """What the worst choice costs more than the best where that is surest, 0.12 for 12 %; 0 where none is told
        apart."""
        return self.dearest[0] if self.dearest is not None else 0.0

    @property
    def dearest(self) -> tuple[float, str, AtSize] | None:
        """Where the wrong way surely costs most, and which; of sizes at which both are known, if any."""
        known = [(share, name, at) for at in self.sizes for share, name in at.told]
        every = [(share, name, at) for at in self.sizes for name, share in at.excess if name not in at.best]
        return max(known or every, key=lambda one: (dict(one[2].least).get(one[1], one[0]), one[0]), default=None)

    @property
    def spread(self) -> float:
        """By how much medians differ at any size, at most, be they told apart or not: 0.12 for 12 %."""
        return max((share for at in self.sizes for _, share in at.excess), default=0.0)

    @property
    def interfaces(self) -> frozenset[str]:
        """Methods of its rivals; of one alone the question is only how to set it."""
        return frozenset(map(interface, self.rivals))

    @property
    def equals(self) -> bool:
        """Whether no way is known to be faster at any size: one range, and nobody beside the best in it."""
        return all(not one.excess for one in self.ranges)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Choices(Displayed):
    """``answers`` in the order of the run. ``unrivalled``: what the run measured in one way alone. ``undecided``: in
    several, of which intervals beyond ``UNKNOWN_FROM`` tell the best at no size. ``settings``: what
    libraries were told to do without, as the engine noted it. ``assumed``: how many figures are mostly a latency
    that no source gives; nothing is ranked at their sizes. ``empty``: how many figures are of messages of 0 B, which
    are not ranked. ``left_out``: how many cases no time was left for. ``word``: in the title of each, where a
    reader asked for no others."""

    answers: tuple[OldChoice, ...]
    unrivalled: tuple[OldQuestion, ...]
    modelled: bool
    undecided: tuple[OldQuestion, ...] = ()
    settings: tuple[str, ...] = ()
    assumed: int = 0
    empty: int = 0
    steadiness: Steadiness = field(default_factory=Steadiness)
    word: str = ""
    left_out: int = 0

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {
            "answers": [answer.to_json() for answer in self.answers],
            "unrivalled": [asdict(question) for question in self.unrivalled],
            "modelled": self.modelled,
            "undecided": [asdict(question) for question in self.undecided],
            "settings": list(self.settings),
            "assumed": self.assumed,
            "empty": self.empty,
            "steadiness": asdict(self.steadiness),
            "word": self.word,
            "left_out": self.left_out,
        }


Told: TypeAlias = tuple[OldQuestion, Way, str]
"""What a figure is held against others for: the question, how it was done, on which path."""


def choose(figures: polars.DataFrame, runs: Sequence[RunFile] = (), joined: int = 0) -> Choices:
    """Of the frame of ``analysis/figures.py``, of one run, or of several ``runs`` that were joined: what can be done in
    two ways or more, in the order of the run, with each pair of memories and, where several were measured, with any.

    Only figures of one regime, without background traffic, are rivals. Of several paths of one tier those on which all
    rivals of a size were measured count, by their median. Sizes at which the figure of any rival is mostly an assumed
    latency are left out. ``joined``: of how many runs the figures are, where those are not at hand.
    """
    usable = with_costs(figures, len(runs) or joined).with_columns(of_one_run=polars.col("id").is_in(_of_one(runs)))
    keys = usable.select(_KEYS).unique(maintain_order=True)
    told = [(_question(key), _way(key), _path(key)) for key in keys.iter_rows(named=True)]
    free = _of_any_memory(told)
    several = {
        question
        for question, found in _ways(free).items()
        if question.memory == ANY and len({way.memory for way in found}) > 1
    }
    launch = launch_seconds(figures)
    found = [
        *_answers(usable, keys, told, launch),
        *(one for one in _answers(usable, keys, free, launch) if one.question in several),
    ]
    answers = [one for one in found if one.ranges]
    answered = {(one.question.movement, one.question.tier, one.question.conditions) for one in answers}
    unknown = [one.question for one in found if one.unknown and not one.ranges]
    assumed = int(usable["assumed"].sum())
    alone = [q for q, ways in _ways(free).items() if q not in unknown and (not assumed or len(ways) < 2)]
    undecided, unrivalled = (
        tuple(q for q in some if (q.movement, q.tier, q.conditions) not in answered) for some in (unknown, alone)
    )
    modelled = bool(figures["modelled"].any())
    answered |= {(q.movement, q.tier, q.conditions) for q in undecided}
    asked = [(q.movement, q.tier, q.conditions) in answered for q, _, _ in told]
    asked_of = usable.join(
        keys.filter(polars.Series(asked, dtype=polars.Boolean)), on=_KEYS, how="semi", nulls_equal=True
    )
    steady = steadiness_of_runs(runs, set(asked_of["id"])) if runs else steadiness(asked_of)
    by_host = {_alike(one.question) for one in answers if one.question.conditions[0] == BY_HOST}
    answers = [replace(one, waited=one.launches_aside and _alike(one.question) in by_host) for one in answers]
    answers = [replace(one, question=_with_form(one.question, one.form)) for one in answers]
    if not all(one.of_one_run for one in answers):
        answers = [_with_runs(one) for one in answers]
    return Choices(
        answers=tuple(answers),
        unrivalled=unrivalled,
        modelled=modelled,
        undecided=undecided,
        settings=settings(usable),
        assumed=assumed,
        empty=_empty(figures),
        steadiness=steady,
        left_out=figures.filter("left_out")["id"].n_unique(),
    )


def costs_by_size(figures: polars.DataFrame) -> Iterator[tuple[OldQuestion, list[str], polars.DataFrame]]:
    """Of every question, with any memory where it was measured in several, in the order of the run: the names of its
    ways, and a line for each size and way, with its number as ``way``, its ``cost`` in seconds and whether that is
    ``assumed``. A question with one way alone is among them."""
    usable = with_costs(figures).with_columns(of_one_run=False)
    keys = usable.select(_KEYS).unique(maintain_order=True)
    told = _of_any_memory([(_question(key), _way(key), _path(key)) for key in keys.iter_rows(named=True)])
    for question, ways, lines, _ in _costs(usable, keys, told, fewest=1):
        kinds = {way.memory for way in ways}
        told_with = replace(question, memory=kinds.pop()) if len(kinds) == 1 else question
        yield _with_form(told_with, shared_form(ways)), way_names(ways), lines


def _alike(question: OldQuestion) -> OldQuestion:
    """The same by whatever clock."""
    return replace(question, conditions=question.conditions[1:])


def _with_runs(answer: OldChoice) -> OldChoice:
    """With the condition that one of several runs alone has some of its figures, where that sets it apart."""
    if not answer.of_one_run:
        return answer
    return replace(answer, question=replace(answer.question, conditions=(*answer.question.conditions, ONE_RUN)))


def _of_one(runs: Sequence[RunFile]) -> list[str]:
    """Ids of cases that one of several runs has alone."""
    counts = Counter(row.id for run in runs for row in run.with_status("ok"))
    return [case_id for case_id, count in counts.items() if count == 1] if len(runs) > 1 else []


def _with_form(question: OldQuestion, form: str) -> OldQuestion:
    """With how its calls are launched, where no way's name and no other condition says it."""
    said = not form or any(word.startswith(GRAPH_OF) for word in question.conditions)
    return question if said else replace(question, conditions=(*question.conditions, form))


def _of_any_memory(told: Iterable[Told]) -> list[Told]:
    return [(replace(question, memory=ANY), replace(way, memory=question.memory), path) for question, way, path in told]


def _empty(figures: polars.DataFrame) -> int:
    """How many are ok and of messages of 0 B."""
    ok = polars.col("status").cast(polars.String) == "ok"
    return figures.filter(ok, polars.col("bytes") == 0, there_and_back()).height


def _question(key: Json) -> OldQuestion:
    asked = [(name, word) for name, word in _parameters(key) if name in ASKED and name != "collective"]
    conditions = [
        key["regime"],
        *([f"{key['together']} at once"] if key["together"] else []),
        *([key["load"]] if key["load"] != "once" else []),
        *([f"{key['cache']} caches"] if key["cache"] in _CACHES and not key["workload"] else []),
        *(_SAID.get(name, "{name} {word}").format(name=name, word=word) for name, word in asked),
        *([f"between {key['hosts']}"] if key["hosts"] else []),
    ]
    memory = " > ".join(kind for kind in (key["source_memory"], key["destination_memory"]) if kind)
    tier = "" if key["tier"] in ("local", "mixed", "unknown") or key["workload"] else key["tier"]
    return OldQuestion(movement(key), tier, key["members_memory"] or memory, tuple(conditions))


def _way(key: Json) -> Way:
    how = tuple((name, word) for name, word in _parameters(key) if name not in ASKED and (name, word) not in DEFAULTS)
    return Way(key["method"], role(key), how, key["environment"], workload=_of_workload(key))


def _of_workload(key: Json) -> tuple[tuple[str, str], ...]:
    if not key["workload"]:
        return ()
    state = [("state", key["state_memory"])] if key["state_memory"] else []
    return (*state, ("processes", str(key["processes"])), ("order", key["rank_order"].replace(" ", ",")))


def _path(key: Json) -> str:
    if key["workload"]:
        return ""
    source, destination = key["source"] or key["executor"], key["destination"] or key["executor"]
    if key["together"] == "both ways":
        return "<>".join(sorted((source, destination)))
    if key["together"]:
        one_source, one_destination = key["together"].startswith("1 to"), key["together"].endswith("to 1")
        return str(source if one_source else destination if one_destination else "")
    return ends(key)


def _parameters(key: Json) -> list[tuple[str, str]]:
    pairs = (word.partition("=") for word in key["parameters"].split())
    return [(name, value) for name, _, value in pairs]


def _ways(told: Iterable[Told]) -> dict[OldQuestion, tuple[Way, ...]]:
    found: dict[OldQuestion, dict[Way, None]] = {}
    for question, way, _ in told:
        found.setdefault(question, {})[way] = None
    return {question: tuple(ways) for question, ways in found.items()}


def _answers(
    usable: polars.DataFrame, keys: polars.DataFrame, told: Sequence[Told], launch: float | None
) -> Iterator[OldChoice]:
    """A choice for every question with two ways or more, without ranges where no size tells; ``told`` has an entry for
    each line of ``keys``. ``launch``: what one adds, in seconds, if known."""
    first = {question: path for question, _, path in reversed(told)}
    for question, ways, lines, row in _costs(usable, keys, told, fewest=2):
        assumed = lines.filter("assumed")["bytes"].unique().sort().to_list()
        found = _choice(question, ways, lines.filter(~polars.col("bytes").is_in(assumed)), row, launch)
        yield replace(found, assumed=tuple(assumed), path=first[question])


def _costs(
    usable: polars.DataFrame, keys: polars.DataFrame, told: Sequence[Told], fewest: int
) -> Iterator[tuple[OldQuestion, tuple[Way, ...], polars.DataFrame, str]]:
    """What each of the ways of a question costs by size, of the questions with so many ways, and the suite and row that
    has most of the sizes."""
    ways = _ways(told)
    numbers = {question: number for number, question in enumerate(ways)}
    coded = keys.with_columns(
        polars.Series("question", [numbers[question] for question, _, _ in told], polars.Int32),
        polars.Series("way", [ways[question].index(way) for question, way, _ in told], polars.Int32),
        polars.Series("path", [path for _, _, path in told], polars.Categorical),
    )
    rivalled = [number for number, found in enumerate(ways.values()) if len(found) >= fewest]
    by = ["question", "bytes", "way"]
    joined = usable.lazy().join(
        coded.lazy().filter(polars.col("question").is_in(rivalled)), on=_KEYS, nulls_equal=True, maintain_order="left"
    )
    rows = _rows(joined)
    costs = (
        joined.group_by(*by, "path")
        .agg(*of_one_path(), polars.col(*_OF_MODEL, "of_one_run").any())
        .with_columns(paths=polars.col("path").n_unique().over("question"))
        .filter(_comparable())
        .group_by(by)
        .agg(
            *(polars.col(name).median() for name in COSTS),
            polars.col(OF_RUNS).explode(),
            polars.col("of_samples").max(),
            polars.col(*_OF_MODEL, "of_one_run").any(),
            polars.col("paths").first(),
            polars.col("disagreement").max(),
        )
        .sort(by)
        .collect()
    )
    questions = list(ways)
    for (number,), lines in costs.group_by("question", maintain_order=True):
        question = questions[int(str(number))]
        yield question, ways[question], lines, rows[int(str(number))]


def _rows(joined: polars.LazyFrame) -> dict[int, str]:
    """Of each question the suite and its row that has most of the sizes."""
    words = polars.concat_str(*(polars.col(name).cast(polars.String) for name in ("suite", "row")), separator=" ")
    counted = joined.group_by("question", words.alias("words"), maintain_order=True).agg(polars.col("bytes").n_unique())
    ordered = counted.sort("bytes", descending=True, maintain_order=True).unique("question", keep="first")
    return dict(ordered.select("question", "words").collect().iter_rows())


def _comparable() -> polars.Expr:
    """Of one size the paths that all ways have; all where there is none."""
    at_size, ways = ["question", "bytes"], polars.col("way").n_unique()
    common = ways.over(*at_size, "path") == ways.over(at_size)
    return common | ~common.any().over(at_size)


def _choice(
    question: OldQuestion, ways: Sequence[Way], lines: polars.DataFrame, row: str, launch: float | None
) -> OldChoice:
    names = way_names(ways)
    every: dict[str, dict[float, Cost]] = {}
    columns = ("way", "bytes", *COSTS, OF_RUNS, "of_samples", "disagreement")
    for way, size, middle, low, high, of_runs, of_samples, disagreement in lines.select(columns).iter_rows():
        pairs = in_each_run(of_runs) if not disagreement else ()
        every.setdefault(names[way], {})[float(size)] = Cost(middle, low, high, pairs, of_samples or 0.0)
    rivals, unknown = decided(every)
    ranges = size_ranges(rivals)
    measured = Counter(size for costs in rivals.values() for size in costs)
    sizes = [size for size, count in sorted(measured.items()) if count > 1 and _within(size, ranges)]
    everywhere = [name for name in rivals if set(sizes) <= set(rivals[name])]
    crossed = crossovers(rivals, ranges)
    aside = mixes_launches(question.conditions, rivals)
    worst = [(name, found[2]) for name in everywhere if (found := excess(rivals, name, sizes)) is not None]
    return OldChoice(
        question=question,
        rivals=tuple(every),
        ranges=with_equals(rivals, ranges, unknown),
        crossovers=crossed,
        always=min(worst, key=lambda one: one[1], default=None),
        sizes=tuple(_at(rivals, size) for size in sizes),
        paths=next(iter(lines["paths"]), 0),
        modelled=bool(lines["modelled"].any()),
        row=row,
        launches_aside=aside,
        launched=with_launches(rivals, launch) if aside and crossed and launch is not None else None,
        unknown=tuple(map(int, unknown)),
        disagreement=_disagreement(names, lines),
        form=shared_form(ways),
        of_one_run=bool(lines["of_one_run"].any()),
    )


def _disagreement(names: Sequence[str], lines: polars.DataFrame) -> tuple[float, str, int] | None:
    columns = ("way", "bytes", "disagreement")
    way, size, most = lines.sort(columns[-1]).select(columns).row(-1) if len(lines) else (0, 0, 0.0)
    return (most, names[way], size) if most > AS_GOOD else None


def _at(rivals: Rivals, size: float) -> AtSize:
    over = [(name, difference(rivals, name, size)) for name in rivals if size in rivals[name]]
    ordered = tuple(sorted(over, key=lambda one: one[1]))
    best = rivals[ordered[0][0]][size]
    unknown = tuple(name for name, _ in over if rivals[name][size].unknown_beside(best))
    least = tuple((name, math.expm1(rivals[name][size].over(best)[1])) for name, _ in ordered)
    return AtSize(int(size), ordered, tuple(sorted(equals(rivals, size))), unknown, least)


def _within(size: float, ranges: Sequence[SizeRange]) -> bool:
    return any(one.first <= size <= one.last for one in ranges)


Choice = OldChoice
Question = OldQuestion
