"""Excerpt: as many cases of a large run as people can read, from all of its tables, as a run of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars

from linkscope.analysis.figures import figures
from linkscope.analysis.figures_in_parts import figures_in_parts
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import RunStream, open_run

MOST_CASES = 2000
_TABLE = ("suite", "row", "title")


@dataclass(frozen=True)
class Excerpt:
    """``run`` has the chosen cases, and says in ``notices`` of how many; ``figures`` is the frame of the whole run."""

    run: RunFile
    figures: polars.DataFrame


def readable(path: Path) -> RunFile:
    """The run at ``path``, or the excerpt of a large one. Raises LinkscopeError where it is none."""
    run = open_run(path)
    return excerpt(run).run if isinstance(run, RunStream) else run


def opened(path: Path) -> Excerpt:
    """The run at ``path``, all of it unless it is large. Raises LinkscopeError where it is none."""
    run = open_run(path)
    return excerpt(run) if isinstance(run, RunStream) else all_of(run)


def all_of(run: RunFile) -> Excerpt:
    """Every case."""
    return Excerpt(run, figures(run))


def excerpt(stream: RunStream, most: int = MOST_CASES) -> Excerpt:
    """About ``most`` cases: small tables whole, of the others an equal part each, half of it their lowest and highest
    figures and half evenly picked. Raises LinkscopeError where a row is damaged."""
    found = figures_in_parts(stream)
    frame = found.frame
    chosen = _chosen(frame, most)
    rows = tuple(stream.rows_at(chosen["at"].to_list()))
    have = set(frame["id"].unique())
    missing = [case for case in stream.plan_ids if case not in have]
    header = stream.header | {"plan": stream.header["plan"] | {"ids": [*chosen["id"], *missing]}}
    notices = (*stream.notices, *([_told(frame, len(rows))] if len(rows) < len(have) else []))
    return Excerpt(RunFile(stream.path, header, rows, found.states, notices, len(have) - len(rows)), frame.drop("at"))


def _chosen(frame: polars.DataFrame, most: int) -> polars.DataFrame:
    """Ids and places of cases, in the order of the run."""
    cases = (
        frame.with_row_index("order")
        .group_by("id", maintain_order=True)
        .agg(
            polars.col("order").first(),
            *(polars.col(name).first() for name in _TABLE),
            polars.coalesce("of_peak", "gbps", -polars.col("seconds")).min().alias("value"),
            (polars.col("status").cast(polars.String) == "failed").any().alias("failed"),
            polars.col("at").first(),
        )
    )
    size = polars.len().over(_TABLE)
    quota = _quota(cases.group_by(_TABLE).len()["len"].sort().to_list(), most)
    evenly = max(quota // 2, 1)
    step = polars.max_horizontal(size // evenly, 1)
    ends = max(quota // 4, 1)
    place = polars.int_range(polars.len()).over(_TABLE)
    rank = polars.col("value").rank("ordinal").over(_TABLE)
    valued = polars.col("value").count().over(_TABLE)
    keep = (size <= quota) | (place % step == 0) | (rank <= ends) | (rank > valued - ends)
    failed = polars.col("failed") & (polars.col("failed").cum_sum() <= most // 10)
    return cases.filter(keep | failed).sort("order").select("id", "at")


def _quota(sizes: list[int], most: int) -> int:
    """How many cases a table of more may show, so that all show about ``most``; ``sizes`` ascend."""
    room = quota = most
    for index, size in enumerate(sizes):
        quota = room // (len(sizes) - index)
        if size > quota:
            break
        room -= size
    return max(quota, 4)


def _told(frame: polars.DataFrame, shown: int) -> str:
    status = frame.unique("id")["status"].cast(polars.String)
    counts = {word: int((status == word).sum()) for word in ("ok", "failed", "skipped")}
    said = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return (
        f"{len(status):,} cases ({said}) are too many to read: here are {shown:,}, of each table the lowest, the "
        "highest and some between; what is counted below is counted of these; `linkscope export` writes all figures"
    )
