"""Not checked: the results of a run that nothing can be compared with, by the reason; and cases that failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import polars

from linkscope.answers.causes import gpus_of
from linkscope.answers.references import SATURATED
from linkscope.figures.columns import TIME
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, error

_NUMBER = re.compile(r"\d+")
_CLASSES = {"cpu": "cpu", "processes": "processes", "pageable": "pageable"}


def not_checked(run: Run, checked: Collection[int]) -> Mapping[str, int]:
    """Return how many results have no reference and no peer, by a code of names.toml's section ``unchecked``, the most
    first. ``checked``: the places of the others in the frame."""
    frame = run.results.with_row_index("key").filter(
        polars.col("status") == "ok", polars.col("value").is_not_null(), ~polars.col("key").is_in(list(checked))
    )
    single = (polars.col("flows") == 1) & (polars.col("background") == 0)
    copies = polars.col("source").is_not_null() & (polars.col("call") == "")
    reason = (
        polars.when(polars.col("workload").fill_null("") != "")
        .then(polars.lit("workload"))
        .when(polars.col("class").is_in(list(_CLASSES)))
        .then("class")
        .when(~single)
        .then(polars.lit("concurrent"))
        .when(polars.lit(not run.node.links) & copies)
        .then(polars.lit("no-links"))
        .when(polars.col("unit") == TIME)
        .then(polars.lit("latency"))
        .when(polars.col("bytes") < SATURATED)
        .then(polars.lit("small"))
        .otherwise(polars.lit("other"))
    )
    counted: Counter[str] = Counter(frame.select(reason.alias("reason"))["reason"].to_list())
    return dict(counted.most_common())


def failed_cases(run: Run) -> Iterator[Finding]:
    """Yield the reasons for which cases failed, the most frequent first, with the GPUs that all of these cases use."""
    groups: dict[str, list[tuple[str, str, set[str]]]] = {}
    devices = polars.concat_str("paths", "path", "executor", "members", separator=" ", ignore_nulls=True)
    failed = run.results.filter(polars.col("status") == "failed").group_by("id", maintain_order=True)
    for name, reason, places in failed.agg(polars.col("reason").first(), devices.alias("devices")).iter_rows():
        used = (name, reason or "", set(gpus_of(places)))
        groups.setdefault(_NUMBER.sub("#", reason or ""), []).append(used)
    for some in sorted(groups.values(), key=len, reverse=True):
        where = tuple(sorted(set.intersection(*(gpus for _, _, gpus in some))))
        made = error("explain.failed-at" if where else "explain.failed-cases", failed=len(some), reason=some[0][1])
        yield Finding(made.code, made.level, made.facts, where, tuple(name for name, _, _ in some))
