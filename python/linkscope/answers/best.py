"""Best methods: what was done in several ways, what each costs by size, and which is best where.

A task is a group of comparable results. Its rivals are ways: methods with their settings. Only sizes that several
rivals have count, on the paths that all of them have, by the median over these. Whether a collective works in place is
a setting too: some implementations know one form alone, and frameworks take them beside the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars

from linkscope.answers.way_names import IN_PLACE, Way, way_names
from linkscope.figures.columns import ASKED, LIKENESS, OF_ONE_FLOW
from linkscope.statistics.best import LEAST_BOUND, Cost, in_each_run
from linkscope.statistics.ranges import (
    Crossover,
    Rivals,
    SizeRange,
    crossovers,
    decided,
    excess,
    shared_sizes,
    size_ranges,
    with_ties,
)
from linkscope.statistics.ranks import OF_RANGE

Line = Mapping[str, Any]

ANY = "any"
"""Stands for the memories of a task where the user may choose them, too."""
_TIMES = ("seconds", "seconds_low", "seconds_high")
_RATES = ("gbps", "gbps_high", "gbps_low")
_COSTS = ("cost", "cost_low", "cost_high")
_OF_RUNS = "cost_of_runs"
_SHARED = [name for name in LIKENESS if name != "figure"]
_KEYS = [
    *(*_SHARED, "figures", "parameters", "memories", "method", "role", "way"),
    *("environment", "workload", "deck", "state_memory", "rank_order"),
]
_PLACE = ["source", "destination", "members", "class"]
_NOT_ASKED = ("collective", IN_PLACE)
"""Parameters that the movement says, or that are a setting here."""


@dataclass(frozen=True)
class Task:
    """Name what is to be done. ``line``: the columns of LIKENESS and the workload's; ``asked``: parameters that say
    what is to be done, "recorded=20"; ``memories``: "pinned>device", or ``ANY`` where they are part of the way.
    """

    line: Line
    asked: tuple[str, ...]
    memories: str

    @property
    def key(self) -> tuple[Any, ...]:
        """Return what is equal for equal tasks."""
        return (*self.line.values(), self.asked, self.memories)

    @property
    def movement(self) -> str:
        """Return the code of what moves from where to where."""
        return str(self.line["movement"])


@dataclass(frozen=True)
class Choice:
    """Which way is best for a task, by size in bytes.

    ``rivals``: what every way costs, in seconds, at the sizes that count or are left out; ``ranges`` and ``crossovers``
    ascend. ``undecided``: sizes where intervals leave the best open; ``assumed``: sizes where a model's time is mostly
    a latency that no source gives. Both are in no range. ``always``: the way to take where one must do for all sizes,
    and what it costs more at most; None where none has all sizes. ``first``: where its first result is, and its class.
    ``test``: the test with most sizes, "default d2d-by-size". ``shared``: settings of all ways that the task does not
    say, "form=graph". ``ways``: what stands behind each name. ``part``: only one of several runs has some of it;
    ``once``: all was measured in one run of a node that is not calibrated. ``disagreement``: how far results of one
    way, size and path are apart at most where their intervals are disjoint, 0.12 for 12%.
    """

    task: Task
    rivals: Rivals
    ranges: tuple[SizeRange, ...]
    crossovers: tuple[Crossover, ...]
    always: tuple[str, float] | None
    undecided: tuple[int, ...]
    assumed: tuple[int, ...]
    first: Line
    test: str
    shared: tuple[str, ...]
    ways: Mapping[str, Way]
    part: bool
    once: bool
    disagreement: float

    @property
    def sizes(self) -> list[float]:
        """Return the sizes that are in a range."""
        return [s for s in shared_sizes(self.rivals) if any(span.first <= s <= span.last for span in self.ranges)
                and s not in self.undecided and s not in self.assumed]  # fmt: skip

    @property
    def ties(self) -> bool:
        """Return whether no way is known to be faster at any size."""
        return all(not span.excess for span in self.ranges)

    @property
    def methods(self) -> frozenset[str]:
        """Return the methods of its rivals; where it is one, the choice is only of its settings."""
        return frozenset(name.split()[0].rstrip(",") for name in self.rivals)


def choices(results: polars.DataFrame, runs: int = 1) -> list[Choice]:
    """Return a choice for every task with two ways or more, in the order of the run: with each pair of memories and,
    where several were measured, with any. It has no ranges where no size decides.

    ``runs``: of how many runs the results are (figures/joined.py). Results beside background traffic do not count.
    """
    usable = costs(results, runs)
    keys = usable.select(_KEYS).unique(maintain_order=True)
    pairs = [(_task(key), _way(key)) for key in keys.iter_rows(named=True)]
    free = [(replace(task, memories=ANY), replace(way, memory=task.memories)) for task, way in pairs]
    several = {key for key, (_, ways) in _ways(free).items() if len({way.memory for way in ways}) > 1}
    return [
        *_choices(usable, keys, pairs),
        *(choice for choice in _choices(usable, keys, free) if choice.task.key in several),
    ]


def costs(results: polars.DataFrame, runs: int = 1) -> polars.DataFrame:
    """Return the results that move bytes, with the cost of each in seconds and its interval (``cost``, ``cost_low``,
    ``cost_high``): the time of one flow, or of several flows that of as many bytes at their rate."""
    of_one = polars.col("figure").is_in(OF_ONE_FLOW)
    times = [
        polars.when(~of_one | polars.col(time).is_null())
        .then(polars.col("bytes") / (polars.col(rate) * 1e9))
        .otherwise(polars.col(time))
        .alias(name)
        for time, rate, name in zip(_TIMES, _RATES, _COSTS, strict=True)
    ]
    answered = (polars.col("class") == "processes") & (polars.col("call") == "ping-pong")
    return (
        results.filter(polars.col("status") == "ok", polars.col("background") == 0, polars.col("bytes") > 0)
        .filter((polars.col("gbps") > 0) | answered, ~polars.col("isolated").fill_null(False))
        .with_columns(times)
        .filter(polars.col("cost") > 0)
        .with_columns(_of_runs(runs), *_of_few_samples())
        .with_columns(
            polars.max_horizontal("cost_low", polars.col("cost") * LEAST_BOUND),
            polars.when(of_one).then(polars.lit("")).otherwise("figure").alias("figures"),
            polars.when(polars.col("workload").is_null()).then("processes").otherwise(1).alias("processes"),
            _path_key().alias("path_key"),
            part=polars.lit(runs > 1) & (polars.col("replicates") == 1),
            once=polars.lit(runs == 1) & (polars.col("noise") == 0) & ~polars.col("modelled"),
        )
        .unique(["id", "place"], keep="first", maintain_order=True)
    )


def _of_runs(runs: int) -> polars.Expr:
    """Return the cost in each of several runs, where all have it; else null."""
    values, cost = polars.col("replicate_values"), polars.col("cost")
    by_rate = values.list.eval(1 / polars.element()) * (cost * polars.col("gbps"))
    by_time = values * (cost / polars.col("seconds"))
    every = polars.lit(runs > 1) & (values.list.len() == runs)
    return (
        polars.when(every)
        .then(polars.when(polars.col("unit") == "GB/s").then(by_rate).otherwise(by_time))
        .alias(_OF_RUNS)
    )


def _of_few_samples() -> list[polars.Expr]:
    """Return wider bounds for costs whose interval is the range of a few samples of one replicate."""
    cost, low, high = (polars.col(name) for name in _COSTS)
    over_range = polars.col("n").replace_strict(OF_RANGE, default=None, return_dtype=polars.Float64)
    few = (polars.col("replicates") == 1) & (polars.col("noise") == 0) & over_range.is_not_null() & (low > 0)
    factor = (high / low).pow(over_range)
    return [
        polars.when(few).then(bound).otherwise(as_it_is).alias(name)
        for bound, as_it_is, name in ((cost / factor, low, "cost_low"), (cost * factor, high, "cost_high"))
    ]


def _path_key() -> polars.Expr:
    """Return what is equal for results on the same path; "" where the flows of a case have no one path."""
    source = polars.col("source").fill_null(polars.col("executor"))
    destination = polars.col("destination").fill_null(polars.col("executor"))
    pair = polars.concat_list(source, destination).list.sort().list.join("<>")
    together = polars.col("together")
    return (
        polars.when(polars.col("workload").is_not_null()).then(polars.lit(""))
        .when(together == "").then("path")
        .when(together == "both").then(pair)
        .when(together == "one-to-many").then(source)
        .when(together == "many-to-one").then(destination)
        .otherwise(polars.lit(""))
    )  # fmt: skip


def _task(key: Line) -> Task:
    words = (key["parameters"] or "").split()
    asked = tuple(word for word in words if (name := word.split("=", 1)[0]) in ASKED and name not in _NOT_ASKED)
    tier = "" if key["tier"] in ("local", "mixed", "unknown") or key["workload"] else key["tier"]
    names = (*_SHARED, "figures", "workload", "deck")
    return Task({name: tier if name == "tier" else key[name] for name in names}, asked, key["memories"])


def _way(key: Line) -> Way:
    words = key["way"].removeprefix(key["method"]).removesuffix(key["environment"]).strip()
    settings = words.removeprefix(key["role"]).strip()
    pairs = [
        (name, value)
        for word in re.split(r" (?=[\w-]+=)", settings)
        for name, _, value in [word.partition("=")]
        if value
    ]
    pairs += [(IN_PLACE, "yes")] if f"{IN_PLACE}=yes" in (key["parameters"] or "").split() else []
    return Way(key["method"], key["role"], tuple(pairs), key["environment"], workload=bool(key["workload"]))


TaskWay = tuple[Task, Way]
"""Task and way of a line of keys."""


def _ways(pairs: Iterable[TaskWay]) -> dict[tuple[Any, ...], tuple[Task, tuple[Way, ...]]]:
    tasks: dict[tuple[Any, ...], tuple[Task, dict[Way, None]]] = {}
    for task, way in pairs:
        tasks.setdefault(task.key, (task, {}))[1][way] = None
    return {key: (task, tuple(ways)) for key, (task, ways) in tasks.items()}


def _choices(usable: polars.DataFrame, keys: polars.DataFrame, pairs: Sequence[TaskWay]) -> Iterator[Choice]:
    tasks = _ways(pairs)
    numbers = {key: number for number, key in enumerate(tasks)}
    coded = keys.with_columns(
        polars.Series("task", [numbers[task.key] for task, _ in pairs], polars.Int32),
        polars.Series("name", [tasks[task.key][1].index(way) for task, way in pairs], polars.Int32),
    )
    rivalled = [number for number, (_, ways) in enumerate(tasks.values()) if len(ways) > 1]
    lines = usable.join(
        coded.filter(polars.col("task").is_in(rivalled)), on=_KEYS, nulls_equal=True, maintain_order="left"
    )
    tests, firsts = _tests(lines), lines.select("task", *_PLACE).unique("task", keep="first").rows_by_key("task")
    numbered = list(tasks.values())
    for (number,), some in _medians(lines).group_by("task", maintain_order=True):
        task, ways = numbered[int(str(number))]
        first = dict(zip(_PLACE, firsts[number][0], strict=True))
        yield _choice(task, ways, some, first, tests[int(str(number))])


def _medians(lines: polars.DataFrame) -> polars.DataFrame:
    """Return the cost of each way and size of a task: the median over the paths that all its ways have."""
    by = ["task", "bytes", "name"]
    at_size, ways = ["task", "bytes"], polars.col("name").n_unique()
    common = ways.over(*at_size, "path_key") == ways.over(at_size)
    return (
        lines.group_by(*by, "path_key")
        .agg(*_of_one_path())
        .filter(common | ~common.any().over(at_size))
        .group_by(by)
        .agg(
            *(polars.col(name).median() for name in _COSTS),
            polars.col(_OF_RUNS).explode(),
            polars.col("of_samples", "disagreement").max(),
            polars.col("modelled", "assumed", "part", "once").any(),
        )
        .sort(by)
    )


def _of_one_path() -> list[polars.Expr]:
    """Return what several cases found on one path, as the same of two tests: medians of costs and of bounds.

    Where two intervals are disjoint the bounds hold all of them, and ``disagreement`` is what the greatest cost is more
    than the least. Flows of no one path, and a model's, agree.
    """
    cost, low, high = (polars.col(name) for name in _COSTS)
    one_path = polars.col("path_key").first() != ""
    disjoint = one_path & ~polars.col("modelled").any() & (low.max() > high.min())
    return [
        cost.median(),
        polars.when(disjoint).then(low.min()).otherwise(low.median()).alias("cost_low"),
        polars.when(disjoint).then(high.max()).otherwise(high.median()).alias("cost_high"),
        polars.when(disjoint).then(cost.max() / cost.min() - 1).otherwise(0.0).alias("disagreement"),
        polars.col(_OF_RUNS),
        polars.col("of_samples").max(),
        polars.col("modelled", "assumed", "part", "once").any(),
    ]


def _tests(lines: polars.DataFrame) -> dict[int, str]:
    """Return the test with most sizes of each task."""
    words = polars.concat_str("suite", "row", separator=" ")
    counted = lines.group_by("task", words.alias("words"), maintain_order=True).agg(polars.col("bytes").n_unique())
    ordered = counted.sort("bytes", descending=True, maintain_order=True).unique("task", keep="first")
    return dict(ordered.select("task", "words").iter_rows())


def _choice(task: Task, ways: Sequence[Way], lines: polars.DataFrame, first: Line, test: str) -> Choice:
    names, shared = way_names(ways)
    assumed = lines.filter("assumed")["bytes"].unique().sort().to_list()
    every: dict[str, dict[float, Cost]] = {}
    known = lines.filter(~polars.col("bytes").is_in(assumed))
    columns = ("name", "bytes", *_COSTS, _OF_RUNS, "of_samples", "disagreement")
    for way, size, value, low, high, of_runs, within, disagreement in known.select(columns).iter_rows():
        pairs = in_each_run(of_runs) if not disagreement else ()
        every.setdefault(names[way], {})[float(size)] = Cost(value, low, high, pairs, within or 0.0)
    rivals, lost = decided(every)
    ranges = size_ranges(rivals)
    sizes = shared_sizes(rivals)
    worst = [
        (name, extra[2])
        for name in rivals
        if set(sizes) <= set(rivals[name]) and (extra := excess(rivals, name, sizes)) is not None
    ]
    return Choice(
        task=task,
        rivals=every,
        ranges=with_ties(rivals, ranges, lost),
        crossovers=crossovers(rivals, ranges),
        always=min(worst, key=lambda way: way[1], default=None),
        undecided=tuple(map(int, lost)),
        assumed=tuple(assumed),
        first=first,
        test=test,
        shared=shared,
        ways=dict(zip(names, ways, strict=True)),
        part=bool(known["part"].any()),
        once=bool(lines["once"].all()),
        disagreement=max(known["disagreement"], default=0.0),
    )
