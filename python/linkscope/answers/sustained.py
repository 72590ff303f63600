"""Sustained: which paths are slow under load, by a run of random permutations (suites/sustained.yaml).

A path is compared with alike ones (of the same kind of link, in the same permutation, so that nothing that changes with
time counts) and with itself: its last third with its first. Medians over permutations hold out against bad partners;
what scatters from one permutation to the next must be beyond the limit with ``SURE`` standard errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars

from linkscope.answers.answer import Column, Kind, Outcome, Table
from linkscope.documents.durations import parse_duration
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, error, note

SUITE = "sustained"
MOST_BEHIND = 0.05
"""Share by which a path may be slower than alike ones, or at the end slower than it was at first."""
FEWEST = 3
"""Permutations with a path, overall and in each third that is compared, from which it is judged."""
FEWEST_OF_PATTERN = 6
"""Permutations of one pattern, from which a path is also judged in that pattern alone."""
SURE = 3.5
"""Standard errors: many paths are judged at once."""
LEAST_SHARE = 0.5
"""Share of the time asked from which a load that was stopped shows that nothing is slow."""
SHOWN = 8
_ERROR_OF_MEDIAN = 1.25 * 1.4826
"""Standard error of a median of one value, in median deviations of normal noise."""
_ALIKE = ("row", "method", "tier")
_EVERY = "all"
"""In the place of a pattern: all of them."""


@dataclass(frozen=True)
class UnderLoad:
    """Hold what a sustained load showed. ``slow``: paths that fail. ``seconds``: how long it lasted, measured.
    ``share``: of the time that was asked for, what all cases took. ``stopped``: before that time was up.
    """

    headline: Finding
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    slow: tuple[str, ...]
    judged: int
    permutations: int
    seconds: float
    share: float
    stopped: bool

    @property
    def too_short(self) -> bool:
        """Return whether the load was stopped too early to show that nothing is slow."""
        return self.stopped and self.share < LEAST_SHARE

    def to_json(self) -> dict[str, Any]:
        """Return how long the load lasted, JSON-ready."""
        return {name: getattr(self, name) for name in ("seconds", "permutations", "stopped", "share")}


def under_load(run: Run) -> UnderLoad | None:
    """Return what a run shows of paths under load; None where no case of the suite ``sustained`` was planned."""
    if not any(planned.startswith(f"{SUITE}/") for planned in run.file.plan_ids):
        return None
    known = run.results.filter(polars.col("suite") == SUITE, polars.col("unit") == RATE, polars.col("value") > 0)
    tiers = [_tier(run, path) for path in known["path"]]
    known = known.with_columns(polars.Series("tier", tiers, polars.String)).filter(polars.col("tier").is_not_null())
    lines = known.filter(polars.col("load") == "sustained").with_columns(polars.col("id").rle_id().alias("turn"))
    judged = _judged(lines, known.filter(polars.col("load") == "once"))
    late = _late(lines)
    behind = judged.filter(polars.col("outcome") == Outcome.FAILS.value)
    dropped = late.filter(polars.col("drop") > MOST_BEHIND)
    drops = tuple(_dropped(dropped, set(late["path"])))
    behind = behind.filter(polars.Series([not _told(path, drops) for path in behind["path"]], dtype=polars.Boolean))
    found = (*_behind(behind, set(judged["path"])), *drops)
    slow = tuple(dict.fromkeys([*behind["path"], *dropped["path"]]))
    turns = lines["id"].n_unique()
    seconds = sum(row.elapsed_s for row in run.file.rows if row.status == "ok" and row.load == "sustained")
    enough = judged.filter(polars.col("outcome") != Outcome.UNTESTED.value)["path"].n_unique()
    facts = {"permutations": turns, "paths": enough, "slow": len(slow), "seconds": seconds}
    headline = note("sustained.slow" if slow else "sustained.steady" if enough else "sustained.few", **facts)
    share, stopped = _share(run), bool(run.missing)
    tables = _tables(judged.join(late, on="path", how="left", maintain_order="left"), lines, behind["path"])
    return UnderLoad(headline, found, tables, slow, enough, turns, seconds, share, stopped)


def _share(run: Run) -> float:
    """Return for which share of the time asked cases ran, 1 at most; of the cases where nobody says how long."""
    asked = (run.header["plan"].get("request") or {}).get("budget")
    try:
        return min(1.0, sum(row.elapsed_s for row in run.file.rows) / parse_duration(str(asked)))
    except LinkscopeError:
        return 1 - len(run.missing) / len(run.file.plan_ids)


def _tier(run: Run, path: str | None) -> str | None:
    """Return the kind of links of a path; None where it is not one from a device of the node to another."""
    source, destination = _ends(path or "")
    devices = {device.id for device in run.node.devices}
    if source == destination or not {source, destination} <= devices:
        return None
    found = run.paths.between(source, destination)
    return "unknown" if found is None else found.tier


def _ends(path: str) -> tuple[str, str]:
    source, _, destination = path.partition(">")
    return source, destination


def _judged(lines: polars.DataFrame, alone: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each path and pattern, and for all patterns of it, with what it is expected to reach: the
    median of alike paths."""
    compared = _with_peers(lines, "id").with_columns((polars.col("value") / polars.col("peers")).alias("ratio"))
    compared = compared.join(_alone(alone), on=("path", "method"), how="left", maintain_order="left")
    found = (
        _with_noise(compared, "path")
        .group_by("path", "row", maintain_order=True)
        .agg(
            polars.col("value", "peers", "ratio", "alone", "alone_behind", "noise").median(),
            (polars.col("ratio") < 1 - MOST_BEHIND).sum().alias("slow_in"),
            polars.col("ratio").count().alias("permutations"),
        )
        .filter(polars.col("permutations") > 0)
    )
    least = polars.when(polars.col("row") == _EVERY).then(FEWEST).otherwise(FEWEST_OF_PATTERN)
    known = polars.col("permutations") >= least
    surely = polars.col("ratio") + SURE * polars.col("noise") / polars.col("permutations").sqrt()
    fails = (surely < 1 - MOST_BEHIND) & (2 * polars.col("slow_in") > polars.col("permutations"))
    words = {one: polars.lit(one.value) for one in Outcome}
    verdict = polars.when(fails).then(words[Outcome.FAILS]).otherwise(words[Outcome.HOLDS])
    mixed = polars.when(polars.col("row") == _EVERY).then(polars.col("ratio") * polars.col("peers"))
    return found.with_columns(
        polars.when(known).then(verdict).otherwise(words[Outcome.UNTESTED]).alias("outcome"),
        mixed.otherwise("value").alias("value"),
        (polars.col("slow_in") / polars.col("permutations")).alias("slow_share"),
        (1 - polars.col("ratio")).alias("behind"),
        (polars.col("peers") * (1 - MOST_BEHIND)).alias("limit"),
        polars.lit(RATE).alias("unit"),
        polars.format("sustained/{}", "row").alias("id"),
        polars.col("path").str.replace(">", "|", literal=True).alias("place"),
    ).sort("behind", descending=True, nulls_last=True, maintain_order=True)


def _with_noise(lines: polars.DataFrame, *same: str) -> polars.DataFrame:
    """Return the lines of each pattern and once more of all together, with the standard error that one ratio gives its
    median as ``noise``: by how much ratios of the ``same`` differ."""
    both = polars.concat([lines.with_columns(polars.lit(_EVERY).alias("row")), lines])
    off = (polars.col("ratio") - polars.col("ratio").median().over("row", *same)).abs()
    return both.with_columns((off.median().over("row") * _ERROR_OF_MEDIAN).alias("noise"))


def _with_peers(lines: polars.DataFrame, *within: str) -> polars.DataFrame:
    """Return the lines with the median of alike ones of other paths as ``peers``, null where there is none."""
    alike = (*_ALIKE, *within)
    seen = lines.select(polars.col("path").alias("other"), *alike, "value")
    pairs = lines.select("path", *alike).join(seen, on=alike).filter(polars.col("other") != polars.col("path"))
    peers = pairs.group_by("path", *alike).agg(polars.col("value").median().alias("peers"))
    return lines.join(peers, on=("path", *alike), how="left", maintain_order="left")


def _alone(alone: polars.DataFrame) -> polars.DataFrame:
    """Return by path and method what it reaches alone, and by how much alike ones reach more."""
    found = _with_peers(alone).group_by("path", "method").agg(polars.col("value", "peers").median())
    behind = (1 - polars.col("value") / polars.col("peers")).alias("alone_behind")
    return found.select("path", "method", polars.col("value").alias("alone"), behind)


def _late(lines: polars.DataFrame) -> polars.DataFrame:
    """Return by path how much slower its last third is than its first, in the pattern that shows it most or over all of
    them; 0 where noise may have made it."""
    ratio = polars.col("value") / polars.col("value").median().over(*_ALIKE)
    third = 3 * polars.col("turn") // (polars.col("turn").max() + 1)
    timed = lines.with_columns(ratio.alias("ratio"), third.alias("third"))
    timed = _with_noise(timed, "path", "third")
    ends = [timed.filter(polars.col("third") == number) for number in (0, 2)]
    first, last = (
        one.group_by("path", "row", maintain_order=True).agg(
            polars.col("ratio", "noise").median(),
            polars.len().alias("count"),
        )
        for one in ends
    )
    both = first.join(last, on=("path", "row"), suffix="_late", maintain_order="left")
    least = polars.when(polars.col("row") == _EVERY).then(FEWEST).otherwise(FEWEST + 1)
    both = both.filter(polars.min_horizontal("count", "count_late") >= least)
    off = SURE * polars.col("noise") * (1 / polars.col("count") + 1 / polars.col("count_late")).sqrt()
    drop = 1 - polars.col("ratio_late") / polars.col("ratio")
    known = both.select("path", polars.when(drop - off > MOST_BEHIND).then(drop).otherwise(0.0).alias("drop"))
    return known.group_by("path", maintain_order=True).agg(polars.col("drop").max())


def _behind(slow: polars.DataFrame, every: Collection[str]) -> Iterator[Finding]:
    found: dict[str, Finding] = {}
    for line in slow.unique("path", keep="first", maintain_order=True).to_dicts():
        facts = {name: line[name] for name in ("path", "behind", "slow_in", "permutations")}
        alone = line["alone_behind"]
        code = "sustained.slow-path" if alone is None or alone < MOST_BEHIND else "sustained.slow-path-alone"
        found[line["path"]] = error(code, **facts, **({} if alone is None else {"alone_behind": alone}))
    return _by_device(found, every, "sustained.slow-device", "behind")


def _dropped(dropped: polars.DataFrame, every: Collection[str]) -> Iterator[Finding]:
    drops = {path: error("sustained.drop-path", path=path, drop=drop) for path, drop in dropped.iter_rows()}
    if len(drops) == len(every) > 1:
        return iter([error("sustained.drop-all", paths=len(drops), drop=_range(drops.values(), "drop"))])
    return _by_device(drops, every, "sustained.drop-device", "drop")


def _by_device(paths: Mapping[str, Finding], every: Collection[str], code: str, fact: str) -> Iterator[Finding]:
    """Yield ``code`` of each device that paths share, and the findings of the others. ``fact``: a path's share."""
    left = dict(paths)
    for device, scope, some in _shared(set(left), every):
        shares = _range([left.pop(path) for path in some], fact)
        found = error(code, device=device, scope=scope, paths=len(some), **{fact: shares})
        yield replace(found, where=(device,))
    yield from (replace(found, where=(path,)) for path, found in left.items())


def _told(path: str, drops: Collection[Finding]) -> bool:
    """Return whether findings of drops say already that a path is slow at the end."""
    return any(not one.where or path in one.where or {*_ends(path)} & {*one.where} for one in drops)


def _range(paths: Collection[Finding], fact: str) -> tuple[float, float]:
    shares = [one.facts[fact] for one in paths]
    return min(shares), max(shares)


def _shared(slow: set[str], every: Collection[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield devices whose paths (from them, to them or all) are slow, two or more, with these paths."""
    left = set(slow)
    while True:
        best: tuple[str, str, set[str]] = ("", "", set())
        for device in sorted({end for path in left for end in _ends(path)}):
            ways = {
                "of": {path for path in every if device in _ends(path)},
                "from": {path for path in every if _ends(path)[0] == device},
                "to": {path for path in every if _ends(path)[1] == device},
            }
            for scope, paths in ways.items():
                if paths <= slow and len(paths & left) > max(len(best[2]), 1):
                    best = (device, scope, paths & left)
        if not best[2]:
            return
        left -= best[2]
        yield best[0], best[1], sorted(best[2])


def _tables(judged: polars.DataFrame, lines: polars.DataFrame, behind: polars.Series) -> tuple[Table, ...]:
    columns = (
        *(Column("path", Kind.PATH), Column("pattern"), Column("alone", Kind.NUMBER)),
        *(Column("value", Kind.NUMBER, head="loaded"), Column("peers", Kind.NUMBER), Column("behind", Kind.PERCENT)),
        Column("slow_share", Kind.PERCENT, head="slow"),
        *(Column("permutations", Kind.COUNT, head="count", detail=True), Column("drop", Kind.PERCENT, detail=True)),
    )
    named = judged.rename({"row": "pattern"}).with_columns(polars.col("peers").alias("expected"))
    worst = named.filter(polars.col("outcome") == Outcome.FAILS.value, polars.col("path").is_in(behind.implode()))
    worst = worst.unique("path", keep="first", maintain_order=True)
    found = [Table("sustained.worst", worst, columns, first=SHOWN)] if worst.height else []
    return (*found, _patterns(lines), Table("sustained.checked", named, columns, detail=True))


def _patterns(lines: polars.DataFrame) -> Table:
    """Return how the rates of each pattern are spread over its permutations."""
    value = polars.col("value")
    frame = lines.group_by("row", maintain_order=True).agg(
        polars.col("id").n_unique().alias("permutations"),
        value.min().alias("least"),
        value.median(),
        value.max().alias("most"),
        polars.col("path").get(value.arg_min()).alias("slowest"),
    )
    columns = (
        *(Column("row", head="pattern"), Column("permutations", Kind.COUNT, head="count")),
        *(Column("least", Kind.NUMBER, head="min"), Column("value", Kind.NUMBER, head="median")),
        *(Column("most", Kind.NUMBER), Column("slowest", Kind.PATH, head="path")),
    )
    return Table("sustained.patterns", frame, columns)
