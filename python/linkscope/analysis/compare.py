"""Compare: what differs between runs of a node beyond its noise, and what the differences have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import polars

from linkscope.analysis.common_cause import CommonCause, findings
from linkscope.analysis.difference import differences
from linkscope.analysis.figures import RATE
from linkscope.analysis.figures_in_parts import figures_of, is_modelled
from linkscope.analysis.setting_changes import DEVICES, setting_changes
from linkscope.analysis.spoilers import spoilers
from linkscope.displayed import Displayed
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device
from linkscope.machine.paths import Paths
from linkscope.messages.catalog import sentence
from linkscope.results.figure_class import FigureClass
from linkscope.results.replicates import WIDEST
from linkscope.results.row import origin_name
from linkscope.results.run_stream import Run
from linkscope.results.same_machine import same_machine
from linkscope.statistics.many import discoveries
from linkscope.statistics.ranks import t975
from linkscope.statistics.students_t import two_sided

Json = dict[str, Any]

ALPHA = 0.001
"""Share of false ones among all differences that are told: at most one in a thousand."""
THRESHOLD = 0.01
"""Differences of less are nobody's concern."""
WORSE, BETTER, SAME, UNCLEAR = "worse", "better", "same", "unclear"
GONE = "gone"
MODEL_HAS_OTHERS = "a model has one clock and one way to launch: its messages and collectives are no measured cases"
FEWEST_SHARED = 2
"""Words of two ids, that one is near the other."""
_CALLERS = {
    **{"MPI": "mpi", "MPI library": "mpi", "nccl": "xccl", "rccl": "xccl"},
    **dict.fromkeys(("PyTorch", "NCCL of PyTorch", "CUDA of PyTorch"), "torch"),
}
"""Which methods, by how their names begin, call the library of which a run tells a version."""
_ENDS = ("source", "destination", "executor", "members")


@dataclass(frozen=True, eq=False)
class Change:
    """One figure on both sides, in ``unit`` (GB/s or ns). ``ratio`` is new over base, ``low`` to ``high`` its 95 %
    interval, both None where nothing says how much the figure varies from run to run; ``p``: of no difference.

    ``key``: id, table row, table column and figure; ``several``: whether its case has other figures, too. ``verdict``:
    worse or better (real, and larger than the threshold), same (the interval lies within the threshold), or unclear.
    """

    key: tuple[str, str, str, str]
    several: bool
    table: str
    unit: str
    base: float
    new: float
    ratio: float
    low: float | None
    high: float | None
    p: float
    verdict: str

    @property
    def name(self) -> str:
        """Its id, and its place where the case has several figures."""
        id_, row, column, figure = self.key
        return f"{id_} ({' > '.join(word for word in (row, column, figure) if word)})" if self.several else id_

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        id_, row, column, figure = self.key
        place = {"id": id_, "row": row, "column": column, "figure": figure, "table": self.table}
        names = ("unit", "base", "new", "ratio", "low", "high", "p", "verdict")
        return {**place, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """``figures``: every figure of both sides, a line each (see ``judged``). ``findings``: what is worse or better, by
    what it has in common, the gravest first. ``lost``: (id, status, reason) of cases that were ok in the base and are
    not now, or are gone with a device that the machine no longer has. ``gone`` and ``added``: ids that one side only
    has tried. Of ``gone``, ``left_out`` are those that the new side skipped for lack of time, ``not_reached`` those
    that it ended before; the rest are not in its plan. ``differences``: (what, base, new) of software, machine and the
    way of measuring. ``other_machine``: the sides are of machines with other devices, so differences are no changes.
    ``calibrated``: the new run knows what its node's figures vary by. ``unknown``: figures of which nothing says how
    much they vary from run to run. ``no_machine``: imports that say nothing of the machine they are of. ``spoiled``:
    (run, by what) of the state that its machine was in, as a load.
    """

    base: tuple[str, ...]
    new: tuple[str, ...]
    alpha: float
    threshold: float
    modelled: bool
    figures: polars.DataFrame
    findings: tuple[CommonCause, ...]
    lost: tuple[tuple[str, str, str], ...]
    gone: tuple[str, ...]
    left_out: tuple[str, ...]
    not_reached: tuple[str, ...]
    added: tuple[str, ...]
    differences: tuple[tuple[str, str, str], ...]
    other_machine: bool
    calibrated: bool
    no_machine: tuple[str, ...] = ()
    spoiled: tuple[tuple[str, str], ...] = ()

    @property
    def changes(self) -> Iterator[Change]:
        """Every figure of both sides, in the order of the new run."""
        return changes_of(self.figures)

    def count(self, *verdicts: str) -> int:
        """How many figures are worse, better, same or unclear."""
        return int(self.figures["verdict"].is_in(verdicts).sum())

    @property
    def unknown(self) -> int:
        return int(self.figures["margin"].null_count())

    @property
    def farthest(self) -> Change | None:
        """Of the figures that are unclear, the one whose sides are farthest apart; None where none is unclear."""
        unclear = self.figures.filter(polars.col("verdict") == UNCLEAR)
        return next(changes_of(unclear.top_k(1, by=polars.col("log").abs())), None)

    @property
    def seen_from(self) -> dict[str, float]:
        """By class of figures that can be judged, the change that would have shown in half of them, 0.02 for 2 %."""
        words = polars.col("class").cast(polars.String)
        seen = polars.max_horizontal(2 * polars.col("margin").median(), math.log1p(self.threshold))
        middle = self.figures.filter(polars.col("margin").is_not_null()).group_by(words).agg(seen)
        found = {str(name): math.expm1(seen) for name, seen in middle.iter_rows()}
        return {kind.key: found[kind.key] for kind in FigureClass if kind.key in found}

    @property
    def worse(self) -> bool:
        """Whether something got worse: a figure, or a case that no longer works."""
        return any(found.worse for found in self.findings) or bool(self.lost)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        names = (
            "base",
            "new",
            "alpha",
            "threshold",
            "modelled",
            "lost",
            "gone",
            "left_out",
            "not_reached",
            "added",
            "differences",
            "worse",
            "unknown",
            "other_machine",
            "calibrated",
            "seen_from",
            "spoiled",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "findings": [found.to_json() for found in self.findings],
            "changes": [change.to_json() for change in self.changes],
        }


def compare(base: Sequence[Run], new: Sequence[Run], alpha: float = ALPHA, threshold: float = THRESHOLD) -> Comparison:
    """Figures of the same id are held against each other, on logarithms, by Welch's t test.

    Variance comes from between the runs of a side where there are several; else from the replicates of each run and the
    node's noise between runs: as calibrated, or ``difference.ASSUMED``, or unknown. Of all figures at most ``alpha`` of
    those told are false (Benjamini and Hochberg 1995). Raises LinkscopeError where a side is empty or the two have no
    figure in common.
    """
    if not base or not new:
        raise LinkscopeError("there is nothing to compare: name a run, or a folder with runs, for either side")
    sides = [[(run, figures_of(run)) for run in runs] for runs in (base, new)]
    outcomes = [_outcomes([frame for _, frame in side]) for side in sides]
    gone = _only_in(*outcomes)
    missing = _missing_devices(base[-1], new)
    lost = (*_lost(*outcomes), *_gone_with(missing, [frame for _, frame in sides[0]], gone))
    found = differences(*sides)
    if not len(found) and not lost:
        some_modelled = len({bool(frame["modelled"].any()) for side in sides for _, frame in side}) > 1
        why = MODEL_HAS_OTHERS if some_modelled else _nearest(*(side["id"] for side in outcomes))
        raise LinkscopeError(f"{base[0].path} and {new[0].path} have no figure in common: {why}")
    figures = judged(found, alpha, threshold)
    gone = tuple(name for name in gone if name not in {one for one, _, _ in lost})
    left_out = {name for _, frame in sides[1] for name in frame.filter("left_out")["id"]}
    planned = {name for run in new for name in run.plan_ids}
    called = _tried(frame for side in sides for _, frame in side)
    changed = tuple(one for one in setting_changes(base[-1], new[-1]) if _concerns(one[0], called))
    return Comparison(
        base=tuple(str(run.path) for run in base),
        new=tuple(str(run.path) for run in new),
        alpha=alpha,
        threshold=threshold,
        modelled=any(is_modelled(run, frame) for side in sides for run, frame in side),
        figures=figures,
        findings=findings(figures, changes_of, Paths(new[-1].node)),
        lost=lost,
        gone=gone,
        left_out=tuple(name for name in gone if name in left_out),
        not_reached=tuple(name for name in gone if name in planned - left_out),
        added=_only_in(*reversed(outcomes)),
        differences=changed,
        other_machine=any(what == DEVICES for what, _, _ in changed) and not same_machine(base[-1], new[-1]),
        calibrated=bool(new[-1].header.get("noise")),
        no_machine=tuple(str(run.path) for run in (*base, *new) if not knows_machine(run)),
        spoiled=tuple((str(run.path), sentence(one)) for run in (*base, *new) for one in spoilers(run)),
    )


def _tried(frames: Iterable[polars.DataFrame]) -> set[str]:
    """Methods of all cases that were not skipped."""
    tried = (frame.filter(polars.col("status").cast(polars.String) != "skipped") for frame in frames)
    return {str(method) for frame in tried for method in frame["method"].cast(polars.String).unique()}


def _concerns(setting: str, methods: Iterable[str]) -> bool:
    """Whether a setting can matter to cases of these methods: a library's version to those that call it."""
    caller = _CALLERS.get(setting)
    return caller is None or any(method.startswith(caller) for method in methods)


def _nearest(base: Iterable[str], new: Iterable[str]) -> str:
    """In what the cases of two sides differ that have most words of their ids in common, without the size, as
    "the nearest cases, of collectives/xccl-calls, differ in 2GPUs against 4GPUs"; and what to compare."""
    advice = "compare runs of the same suites on the same devices, called and timed alike"
    sides = [dict.fromkeys(tuple(name.split("/")[:-1]) for name in ids) for ids in (base, new)]
    pairs = [(a, b) for a in sides[0] for b in sides[1] if len({*a} & {*b}) >= FEWEST_SHARED]
    if not pairs:
        return advice
    one, other = max(pairs, key=lambda pair: len({*pair[0]} & {*pair[1]}) / len({*pair[0]} | {*pair[1]}))
    if {*one} == {*other}:
        return "their cases differ in size, or have no figure on one of the two sides"
    alone = ["/".join(word for word in a if word not in b) or "nothing" for a, b in ((one, other), (other, one))]
    row = "/".join(a for a, b in zip(one[:2], other[:2], strict=False) if a == b)
    return f"the nearest cases{f', of {row},' if row else ''} differ in {alone[0]} against {alone[1]}; {advice}"


def knows_machine(run: Run) -> bool:
    """Whether a run says of which machine it is: an import that was not given one has bare numbers of NUMA nodes."""
    nodes = [device for device in run.node.devices if device.kind == "numa"]
    return not origin_name(run.header) or any(device != Device(device.id, "numa") for device in nodes)


def judged(differences_: polars.DataFrame, alpha: float, threshold: float) -> polars.DataFrame:
    """The frame of ``differences`` with ``margin``, the half width of the 95 % interval of ``log`` (null where nothing
    is known of it), ``p`` (of no difference; null where it is above ``alpha`` anyway) and ``verdict``."""
    bound, size = math.log1p(threshold), polars.col("log").abs()
    margin = polars.min_horizontal(_t975("freedom") * polars.col("sigma"), polars.lit(WIDEST))
    frame = differences_.with_columns(polars.when(polars.col("sigma").is_not_null()).then(margin).alias("margin"))
    frame = frame.with_columns(polars.Series("p", _p_values(frame, alpha), polars.Float64))
    real = polars.Series("real", discoveries(frame["p"], int(frame["sigma"].count()), alpha))
    better = (polars.col("log") > 0) == (polars.col("unit") == RATE)
    same = polars.col("margin").is_not_null() & (real | (size + polars.col("margin") <= bound))
    return frame.with_columns(
        polars.when(real & (size > bound))
        .then(polars.when(better).then(polars.lit(BETTER)).otherwise(polars.lit(WORSE)))
        .otherwise(polars.when(same).then(polars.lit(SAME)).otherwise(polars.lit(UNCLEAR)))
        .alias("verdict")
    )


def _t975(name: str) -> polars.Expr:
    whole = polars.max_horizontal(polars.col(name).floor(), polars.lit(1.0)).cast(polars.Int64)
    return whole.map_elements(t975, return_dtype=polars.Float64)


def _p_values(frame: polars.DataFrame, alpha: float) -> list[float | None]:
    """Student's, of those that may be below ``alpha``: where the normal distribution's is not, it is not either."""
    least = NormalDist().inv_cdf(1 - alpha / 2)
    return [
        None if sigma is None or abs(log) < least * sigma else _p(log, sigma, freedom)
        for log, sigma, freedom in frame.select("log", "sigma", "freedom").iter_rows()
    ]


def _p(log: float, sigma: float | None, freedom: float) -> float:
    """Of no difference."""
    if sigma is None:
        return 1.0
    return two_sided(log / sigma, freedom) if sigma else float(log == 0)


def changes_of(figures: polars.DataFrame) -> Iterator[Change]:
    """A change for each line of ``judged``'s frame."""
    names = ("id", "place", "figure", "several", "title", "unit", "base", "value", "log", "sigma", "freedom", "margin")
    for id_, place, figure, several, title, unit, base, new, log, sigma, freedom, margin, p, verdict in figures.select(
        *names, "p", "verdict"
    ).iter_rows():
        row, _, column = place.partition("|")
        yield Change(
            key=(id_, row, column, figure),
            several=several,
            table=title,
            unit=RATE if unit == RATE else "ns",
            base=base,
            new=new,
            ratio=math.exp(log),
            low=None if margin is None else math.exp(log - margin),
            high=None if margin is None else math.exp(log + margin),
            p=_p(log, sigma, freedom) if p is None else p,
            verdict=verdict,
        )


def _outcomes(frames: Sequence[polars.DataFrame]) -> polars.DataFrame:
    """Of every case of a side whether it was ok in any run, and else what became of it in the last that tried it: one
    that a budget left out was not tried, as one that was not asked for.
    """
    cases = [frame.unique("id", maintain_order=True).select("id", "status", "reason", "left_out") for frame in frames]
    words = polars.concat([case.with_columns(polars.col("status", "reason").cast(polars.String)) for case in cases])
    good = polars.col("status") == "ok"
    tried = words.filter(~polars.col("left_out"))
    return tried.group_by("id", maintain_order=True).agg(
        good.any().alias("good"),
        polars.col("status").filter(~good).last(),
        polars.col("reason").filter(~good).last(),
    )


def _lost(base: polars.DataFrame, new: polars.DataFrame) -> tuple[tuple[str, str, str], ...]:
    """Cases that were ok in any run of the base, and in none of the new ones that tried them."""
    lost = new.filter(~polars.col("good")).join(base.filter("good").select("id"), on="id", maintain_order="left")
    reasons = polars.col("reason").fill_null("no reason recorded")
    return tuple(
        (str(name), str(status), str(why)) for name, status, why in lost.select("id", "status", reasons).rows()
    )


def _missing_devices(base: Run, new: Sequence[Run]) -> list[str]:
    """Ids of the base's devices that no new run has, where all are of one machine."""
    if not all(same_machine(base, run) for run in new):
        return []
    there = {device.id for run in new for device in run.node.devices}
    return [device.id for device in base.node.devices if device.id not in there]


def _gone_with(
    missing: Sequence[str], base: Sequence[polars.DataFrame], gone: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Those of ``gone`` that were ok in the base and use a device that is missing."""
    told = polars.concat_str([polars.col(end).cast(polars.String) for end in _ENDS], separator=" ", ignore_nulls=True)
    ok = (polars.col("status").cast(polars.String) == "ok") & polars.col("id").is_in(gone)
    used = polars.concat([frame.filter(ok).select("id", told.alias("ends")) for frame in base])
    for name, ends in used.group_by("id", maintain_order=True).agg(polars.col("ends").str.join(" ")).iter_rows():
        lacks = [device for device in missing if device in ends.split()]
        if lacks:
            yield name, GONE, f"{', '.join(lacks)} is no longer there"


def _only_in(one: polars.DataFrame, other: polars.DataFrame) -> tuple[str, ...]:
    return tuple(one.join(other, on="id", how="anti")["id"].sort())
