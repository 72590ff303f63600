"""Variance: how far each of many results differs between two sides of runs, and how uncertain the difference is.

All on logarithms, by Welch's t test. The variance comes from between the runs of a side where there are several; else
from the replicates of each run and from the noise between runs: as calibrated, or assumed, or unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars

from linkscope.statistics.many import discoveries
from linkscope.statistics.ranks import t975
from linkscope.statistics.students_t import two_sided

Frame = polars.DataFrame

LOWER, HIGHER, SAME, UNCLEAR = "lower", "higher", "same", "unclear"
"""Verdicts: really changed, surely within the threshold, or neither."""
_ASSUMED_FREEDOM = 4.0
_PRIOR = 4.0
"""Degrees of freedom of a class's median variance beside a result's (Smyth, Linear models and
empirical Bayes methods for assessing differential expression, 2004)."""
_NORMAL = 1.96
_MANY = 1e6
_WIDEST = math.log(1e12)


def of_results(results: Frame, value: polars.Expr, freedom: float) -> Frame:
    """Return the results of one run, a line each, with the columns that ``differences`` needs.

    ``value``: the logarithm that is compared. ``freedom``: degrees of freedom of the calibrated noise. Columns added:
    ``log``; ``squares``, of the logarithms of ``replicates`` about their mean, null of one; ``of_samples``, the
    variance that samples leave in the value; ``calibrated``, the variance between runs, null where it is unknown.
    """
    logs = polars.col("replicate_values").list.eval(polars.element().log())
    count = polars.col("replicate_values").list.len().cast(polars.Float64)
    noise = polars.col("noise")
    return results.with_columns(
        value.alias("log"),
        count.alias("replicates"),
        polars.when(count > 1).then(logs.list.var() * (count - 1)).alias("squares"),
        ((polars.col("of_samples") / _NORMAL).pow(2) / count).fill_null(0.0).alias("of_samples"),
        polars.when(noise > 0).then((noise / t975(int(freedom))).pow(2)).alias("calibrated"),
        polars.lit(float(freedom)).alias("calibrated_freedom"),
    )


def differences(base: Frame, new: Frame, key: Sequence[str]) -> Frame:
    """Return a line for each ``key`` that both sides have, in the order of ``new``.

    ``base`` and ``new``: ``of_results`` of all runs of a side, with the columns ``class`` of results that share a
    noise, ``usual``, the standard deviation between processes on nodes in general, and ``assumed``, that between runs,
    null where it is unknown. Columns: the key, ``base`` and ``new`` (mean logarithms), ``sigma`` (the standard error of
    their difference) and ``freedom`` (its degrees of freedom by Welch and Satterthwaite). The last two are null where
    nothing shows how much a result varies between runs. Variances are drawn towards the median of their class, those
    within a run towards the usual one where that is larger.
    """
    before = _of_side(base, key).drop("class")
    pairs = _pooled(_of_side(new, key).join(before, on=key, suffix="_base", maintain_order="left"))
    for side, suffix in ((new, ""), (base, "_base")):
        pairs = pairs.join(_inside(side, pairs, key).rename({"inside": f"inside{suffix}"}), on=key)
    pairs = new.select(key).unique(maintain_order=True).join(_uncertain(pairs), on=key, maintain_order="left")
    return pairs.select(*key, polars.col("log_base").alias("base"), polars.col("log").alias("new"), "sigma", "freedom")


def judged(pairs: Frame, alpha: float, threshold: float) -> Frame:
    """Return the frame of ``differences`` with ``change`` (logarithm of new over base), ``margin`` (the half width of
    its 95% interval, null where ``sigma`` is), ``p`` (of no difference) and ``verdict``.

    Of all results with the verdict lower or higher at most the share ``alpha`` is false. Changes of less than the
    relative ``threshold`` are none.
    """
    bound, change = math.log1p(threshold), polars.col("new") - polars.col("base")
    freedom = polars.max_horizontal(polars.col("freedom").floor(), polars.lit(1.0)).cast(polars.Int64)
    widest = polars.min_horizontal(
        freedom.map_elements(t975, return_dtype=polars.Float64) * polars.col("sigma"), polars.lit(_WIDEST)
    )
    known = polars.col("sigma").is_not_null()
    frame = pairs.with_columns(change.alias("change"), polars.when(known).then(widest).alias("margin"))
    frame = frame.with_columns(polars.Series("p", _p_values(frame, alpha), polars.Float64))
    real = polars.Series("real", discoveries(frame["p"], int(frame["sigma"].count()), alpha))
    size = polars.col("change").abs()
    same = known & (real | (size + polars.col("margin") <= bound))
    direction = polars.when(polars.col("change") < 0).then(polars.lit(LOWER)).otherwise(polars.lit(HIGHER))
    verdict = polars.when(real & (size > bound)).then(direction)
    return frame.with_columns(
        verdict.when(same).then(polars.lit(SAME)).otherwise(polars.lit(UNCLEAR)).alias("verdict"),
        polars.col("p").fill_null(1.0),
    )


def _p_values(frame: Frame, alpha: float) -> list[float | None]:
    """Return Student's p where it may be below ``alpha``: where the normal distribution's is not, it is not either."""
    least = NormalDist().inv_cdf(1 - alpha / 2)
    return [
        None
        if sigma is None or abs(change) < least * sigma
        else two_sided(change / sigma, freedom)
        if sigma
        else float(change == 0)
        for change, sigma, freedom in frame.select("change", "sigma", "freedom").iter_rows()
    ]


def _of_side(runs: Frame, key: Sequence[str]) -> Frame:
    """Return a line for each result of a side."""
    several = polars.len() > 1
    return runs.group_by(key, maintain_order=True).agg(
        polars.col("class").last(),
        polars.col("usual", "assumed").max().pow(2),
        polars.col("log").mean(),
        polars.len().cast(polars.Float64).alias("runs"),
        polars.when(several).then(polars.col("log").var() * (polars.len() - 1)).alias("run_squares"),
        polars.when(several).then(polars.len() - 1).otherwise(0).cast(polars.Float64).alias("run_freedom"),
        polars.col("squares").sum(),
        (polars.col("replicates") - 1).filter(polars.col("squares").is_not_null()).sum().alias("squares_freedom"),
        polars.col("calibrated", "calibrated_freedom").first(),
    )


def _pooled(pairs: Frame) -> Frame:
    """Add the variances within and between runs with their degrees of freedom, drawn towards the class's median; those
    of a class without an assumed noise only upwards."""
    for name, squares, freedom in (("within", "squares", "squares_freedom"), ("between", "run_squares", "run_freedom")):
        count = polars.col(freedom) + polars.col(f"{freedom}_base")
        total = polars.col(squares).fill_null(0.0) + polars.col(f"{squares}_base").fill_null(0.0)
        pairs = pairs.with_columns(
            polars.when(count > 0).then(total / count).alias(name),
            polars.when(count > 0).then(count).alias(f"{name}_freedom"),
        )
        variance, middle = polars.col(name), polars.col(name).median().over("class")
        if name == "within":
            middle = polars.max_horizontal(middle, "usual", "usual_base")
        degrees = polars.col(f"{name}_freedom")
        apart = polars.when(polars.col("assumed").is_null() & (variance > middle))
        drawn = (_PRIOR * middle + degrees * variance) / (_PRIOR + degrees)
        pairs = pairs.with_columns(
            apart.then(variance).otherwise(drawn).alias(name),
            apart.then(degrees).otherwise(degrees + _PRIOR).alias(f"{name}_freedom"),
        )
    return pairs


def _inside(runs: Frame, pairs: Frame, key: Sequence[str]) -> Frame:
    """Return the mean over a side's runs of the variance that a run's replicates leave, at least what samples do."""
    replicates = polars.col("within").fill_null(0.0) / polars.max_horizontal("replicates", polars.lit(1.0))
    found = runs.select(*key, "replicates", "of_samples").join(pairs.select(*key, "within"), on=key)
    return found.group_by(key).agg(polars.max_horizontal(replicates, "of_samples").mean().alias("inside"))


def _uncertain(pairs: Frame) -> Frame:
    """Add ``sigma`` and ``freedom``."""
    sides = ("", "_base")
    between = [polars.max_horizontal("between", f"inside{side}") / polars.col(f"runs{side}") for side in sides]
    several = polars.col("between").is_not_null()
    within_freedom = polars.col("within_freedom").fill_null(_ASSUMED_FREEDOM)
    parts = [
        (
            polars.when(several)
            .then(between[0] + between[1])
            .otherwise(polars.col("inside") + polars.col("inside_base")),
            polars.when(several).then("between_freedom").otherwise(within_freedom),
        ),
        *(_of_node(side, several) for side in sides),
    ]
    total = parts[0][0] + parts[1][0] + parts[2][0]
    weight = sum((part.pow(2) / freedom for part, freedom in parts), polars.lit(0.0))
    known = polars.col("assumed").is_not_null() | (polars.min_horizontal("runs", "runs_base") >= 2)
    freedom = polars.when(weight > 0).then(total.pow(2) / weight).otherwise(_MANY)
    return pairs.with_columns(
        polars.when(known).then(total.sqrt()).alias("sigma"), polars.when(known).then(freedom).alias("freedom")
    )


def _of_node(side: str, several: polars.Expr) -> tuple[polars.Expr, polars.Expr]:
    """Return the variance between runs that one run of a side has, calibrated or assumed, and its freedom."""
    calibrated = polars.col(f"calibrated{side}")
    variance = polars.when(several).then(0.0).otherwise(polars.coalesce(calibrated, "assumed"))
    return variance, polars.when(calibrated.is_not_null()).then(f"calibrated_freedom{side}").otherwise(_ASSUMED_FREEDOM)
