"""Differences: each figure on two sides, of one or several runs of a node, and what its uncertainty is made of."""

from __future__ import annotations

from collections.abc import Sequence

import polars

from linkscope.analysis.figures import RATE
from linkscope.results.figure_class import FigureClass
from linkscope.results.run_stream import Run
from linkscope.statistics.ranks import t975

KEY = ("id", "place", "figure")
"""What no two figures of a run share."""
ASSUMED = {FigureClass.GPU_LARGE: 0.001, FigureClass.GPU: 0.005, FigureClass.PINNED: 0.01}
"""What a figure of a node varies from run to run, as a standard deviation, where nobody knows it of that node: above
what eight runs on two H200 showed in all but a few cases. Other classes, those of host memory and of processes, have no
such number: a figure that kept within 3 % in nine runs is at a fourth of it in the tenth, when a neighbour takes the
cache. No one run tells that from a change, not even on a calibrated node."""
_ASSUMED_FREEDOM = 4.0
_PRIOR = 4.0
"""As many degrees of freedom the variance in the middle of a class counts beside a figure's own (Smyth, Linear models
and empirical Bayes methods for assessing differential expression, 2004)."""
_NORMAL = 1.96
_MANY = 1e6
_NANOSECONDS = 1e9
_OF_FIGURE = ("unit", "class", "title", "row", "method", "executor", "source", "source_memory", "destination")
SHARED = (*_OF_FIGURE, "destination_memory", "members", "members_memory", "paths")
"""Columns of the frame of figures that tell what figures have in common."""


def differences(
    base: Sequence[tuple[Run, polars.DataFrame]], new: Sequence[tuple[Run, polars.DataFrame]]
) -> polars.DataFrame:
    """A line for every figure that runs of both sides have in one unit, in the order of the last new run.

    ``base`` and ``new``: the sides' runs with their frames of figures. Columns: ``KEY``, ``SHARED``, ``several`` (its
    case has other figures too), ``base`` and ``value`` (geometric means of either side's runs, GB/s or ns), ``log`` (of
    new over base), ``sigma`` and ``freedom`` (its standard error and the degrees of freedom of that by Welch and
    Satterthwaite; null where nothing says how much the figure varies from run to run on that node). Variances are drawn
    towards the one in the middle of their class.
    """
    sides = [polars.concat([_of_run(run, frame, i) for i, (run, frame) in enumerate(side)]) for side in (base, new)]
    before, after = (_of_side(side) for side in sides)
    last = sides[1].unique(KEY, keep="last", maintain_order=True).select(*KEY, *SHARED, "several")
    pairs = last.join(before, on=[*KEY, "unit"], maintain_order="left").join(
        after.drop("unit"), on=KEY, suffix="_new", maintain_order="left"
    )
    pairs = _pooled(pairs)
    for runs, name in zip(sides, ("inside", "inside_new"), strict=True):
        pairs = pairs.join(_inside(runs, pairs, name), on=KEY, maintain_order="left")
    return _judged(pairs).select(
        *KEY,
        *SHARED,
        "several",
        polars.col("log").exp().alias("base"),
        polars.col("log_new").exp().alias("value"),
        (polars.col("log_new") - polars.col("log")).alias("log"),
        "sigma",
        "freedom",
    )


def _of_run(run: Run, frame: polars.DataFrame, number: int) -> polars.DataFrame:
    """A line for every figure above 0: its logarithm, and what its replicates, samples and the node's calibration say
    of its variance."""
    said = run.header.get("noise") or {}
    freedom = int(said.get("freedom", int(said.get("turns", 2)) - 1))
    rate = polars.col("unit").cast(polars.String) == RATE
    value = polars.when(rate).then("gbps").otherwise("seconds")
    low = polars.when(rate).then("gbps_low").otherwise("seconds_low")
    logs = polars.col("replicate_values").list.eval(polars.element().log())
    count = polars.col("replicate_values").list.len().cast(polars.Float64)
    return (
        frame.filter(polars.col("unit").is_not_null(), value > 0, low > 0)
        .with_columns(polars.col(polars.Categorical).cast(polars.String))
        .select(
            *KEY,
            *SHARED,
            (polars.len().over("id") > 1).alias("several"),
            polars.lit(number).alias("run"),
            (polars.when(rate).then(value).otherwise(value * _NANOSECONDS)).log().alias("log"),
            count.alias("replicates"),
            polars.when(count > 1).then(logs.list.var() * (count - 1)).alias("squares"),
            ((polars.col("of_samples") / _NORMAL).pow(2) / count).fill_null(0.0).alias("of_samples"),
            polars.when(polars.col("noise") > 0).then((polars.col("noise") / t975(freedom)).pow(2)).alias("calibrated"),
            polars.lit(float(freedom)).alias("calibrated_freedom"),
        )
    )


def _of_side(runs: polars.DataFrame) -> polars.DataFrame:
    """A line for every figure of a side."""
    several = polars.len() > 1
    return runs.group_by(KEY, maintain_order=True).agg(
        polars.col("unit").last(),
        polars.col("log").mean(),
        polars.len().cast(polars.Float64).alias("runs"),
        polars.when(several).then(polars.col("log").var() * (polars.len() - 1)).alias("run_squares"),
        polars.when(several).then(polars.len() - 1).otherwise(0).cast(polars.Float64).alias("run_freedom"),
        polars.col("squares").sum(),
        (polars.col("replicates") - 1).filter(polars.col("squares").is_not_null()).sum().alias("squares_freedom"),
        polars.col("calibrated").first(),
        polars.col("calibrated_freedom").first(),
    )


def _pooled(pairs: polars.DataFrame) -> polars.DataFrame:
    """With the variances within and between runs and their degrees of freedom, drawn towards the class's middle."""
    for name, squares, freedom in (("within", "squares", "squares_freedom"), ("between", "run_squares", "run_freedom")):
        degrees = polars.col(freedom) + polars.col(f"{freedom}_new")
        total = polars.col(squares).fill_null(0.0) + polars.col(f"{squares}_new").fill_null(0.0)
        pairs = pairs.with_columns(
            polars.when(degrees > 0).then(total / degrees).alias(name),
            polars.when(degrees > 0).then(degrees).alias(f"{name}_freedom"),
        )
        middle, own = polars.col(name).median().over("class"), polars.col(name)
        apart = ~_of_known_class() & (own > middle)
        degrees = polars.col(f"{name}_freedom")
        pairs = pairs.with_columns(
            polars.when(apart).then(own).otherwise((_PRIOR * middle + degrees * own) / (_PRIOR + degrees)).alias(name),
            polars.when(apart).then(degrees).otherwise(degrees + _PRIOR).alias(f"{name}_freedom"),
        )
    return pairs


def _judged(pairs: polars.DataFrame) -> polars.DataFrame:
    """With ``sigma`` and ``freedom``."""
    variances = {one.key: deviation**2 for one, deviation in ASSUMED.items()}
    assumed = polars.col("class").replace_strict(variances, default=None, return_dtype=polars.Float64)
    pairs = pairs.with_columns(assumed.alias("assumed"))
    between = [polars.max_horizontal("between", f"inside{side}") / polars.col(f"runs{side}") for side in ("", "_new")]
    several = polars.col("between").is_not_null()
    within_freedom = polars.col("within_freedom").fill_null(_ASSUMED_FREEDOM)
    parts = [
        (
            polars.when(several)
            .then(between[0] + between[1])
            .otherwise(polars.col("inside") + polars.col("inside_new")),
            polars.when(several).then("between_freedom").otherwise(within_freedom),
        ),
        *(_known(side, several) for side in ("", "_new")),
    ]
    total = parts[0][0] + parts[1][0] + parts[2][0]
    weight = sum((part.pow(2) / freedom for part, freedom in parts), polars.lit(0.0))
    judged = _of_known_class() | (polars.min_horizontal("runs", "runs_new") >= 2)
    return pairs.with_columns(
        polars.when(judged).then(total.sqrt()).alias("sigma"),
        polars.when(judged).then(polars.when(weight > 0).then(total.pow(2) / weight).otherwise(_MANY)).alias("freedom"),
    )


def _inside(runs: polars.DataFrame, pairs: polars.DataFrame, name: str) -> polars.DataFrame:
    """Mean over a side's runs of the variance that a run's replicates leave, and no less than its samples do."""
    own = polars.col("within").fill_null(0.0) / polars.max_horizontal("replicates", polars.lit(1.0))
    found = runs.select(*KEY, "replicates", "of_samples").join(pairs.select(*KEY, "within"), on=KEY)
    return found.group_by(KEY).agg(polars.max_horizontal(own, "of_samples").mean().alias(name))


def _known(side: str, several: polars.Expr) -> tuple[polars.Expr, polars.Expr]:
    """The variance from run to run of a side of one run, as calibrated or assumed."""
    calibrated = polars.col(f"calibrated{side}")
    variance = polars.when(several).then(0.0).otherwise(polars.coalesce(calibrated, "assumed"))
    freedom = polars.when(calibrated.is_not_null()).then(f"calibrated_freedom{side}").otherwise(_ASSUMED_FREEDOM)
    return variance, freedom


def _of_known_class() -> polars.Expr:
    return polars.col("class").is_in([one.key for one in ASSUMED])
