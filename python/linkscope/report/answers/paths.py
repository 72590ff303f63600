"""Answers about paths: how near to their peak they come, and which are alike."""

from __future__ import annotations

import polars
from polars import DataFrame

from linkscope.analysis.tiers import MERGED, OFF
from linkscope.report import wording
from linkscope.report.answers.answer import AnswerText, Line, figure, how, more, sentence, span, where, words

MOST_PAIRS = 4


def _peaks(table: DataFrame) -> str:
    least, most = (table.sort("of_peak_median", maintain_order=True).row(place, named=True) for place in (0, -1))
    if len(table) == 1:
        return sentence(f"{_told(least)} reaches {wording.percent(least['of_peak_median'])} of its peak")
    ends = span(*(f"{wording.percent(line['of_peak_median'])} ({_told(line)})" for line in (least, most)))
    return f"Methods reach {ends} of what the hardware would allow."


def _told(line: Line) -> str:
    return words(where(line), how(line))


PEAKS = AnswerText(
    conclude=_peaks,
    label=_told,
    columns={
        "min": lambda line: wording.percent(line["of_peak_min"]),
        "median": lambda line: wording.percent(line["of_peak_median"]),
        "max": lambda line: wording.percent(line["of_peak_max"]),
        "GB/s": lambda line: wording.value(line["gbps"]),
        "paths": lambda line: str(line["paths"]),
        "limited by": lambda line: line["binds"].partition("; ")[0],
    },
    order=lambda table: table.sort("of_peak_median", maintain_order=True),
)


def _tiers(table: DataFrame) -> str:
    matrices = table.filter(polars.col("measured_tier") == 1)
    off = sorted({pair for pairs in table["off"].to_list() for pair in pairs})
    if off:
        matrix = table.filter(polars.col("agree") == OFF).row(0, named=True)
        named = ", ".join(off[:MOST_PAIRS]) + (f" and {len(off) - MOST_PAIRS} more" if len(off) > MOST_PAIRS else "")
        which = "pair is" if len(off) == 1 else "pairs are"
        return f"{len(off)} {which} not as fast as the topology says: {named}, " + (f"such as by {how(matrix)}.")
    merged = matrices.filter(polars.col("agree") == MERGED)
    same = f"Speed classes are the topology's in {len(matrices) - len(merged)} of {len(matrices)} matrices"
    if merged.is_empty():
        return f"{same}: no pair is off."
    return f"{same}; in the others some classes are equally fast ({how(merged.row(0, named=True))}); no pair is off."


TIERS = AnswerText(
    conclude=_tiers,
    label=lambda line: words(line["movement"], how(line), f"class {line['measured_tier']}"),
    columns={
        "GB/s": lambda line: wording.value(line["gbps_median"]),
        "min": lambda line: wording.value(line["gbps_min"]),
        "max": lambda line: wording.value(line["gbps_max"]),
        "pairs": lambda line: str(line["pairs"]),
        "topology": lambda line: line["tiers"],
        "off": lambda line: " ".join(line["off"][:MOST_PAIRS]),
    },
    order=lambda table: table.sort(polars.col("agree") != OFF, maintain_order=True),
)


def _anisotropy(table: DataFrame) -> str:
    pairs, host = (table.filter((polars.col("between") == "host and GPU") == is_host) for is_host in (False, True))
    told = [_uneven(part, name) for part, name in ((pairs, "between devices"), (host, "with the host")) if len(part)]
    return sentence("; ".join(told))


def _uneven(part: DataFrame, name: str) -> str:
    off = part.filter("beyond").sort(_distance("ratio"), descending=True, maintain_order=True)
    if off.is_empty():
        return f"{name} both ways are alike in all {len(part)} figures"
    worst = off.row(0, named=True)
    return (
        f"{name} one way is faster beyond noise in {len(off)} of {len(part)} figures, most by "
        f"{more(max(worst['ratio'], 1 / worst['ratio']))} ({_faster(worst)}, {how(worst)})"
    )


def _distance(name: str) -> polars.Expr:
    return polars.col(name).log().abs()


def _faster(line: Line) -> str:
    ends = (line["a"], line["b"]) if line["ratio"] > 1 else (line["b"], line["a"])
    return ">".join(ends)


ANISOTROPY = AnswerText(
    conclude=_anisotropy,
    label=lambda line: words(
        f"{line['a']}, {line['b']}",
        f"{line['method']} {line['driver'] if line['driver'] in ('push', 'pull') else ''}".strip(),
        wording.size(line["bytes"]),
    ),
    columns={
        "there": lambda line: figure(line, "there"),
        "back": lambda line: figure(line, "back"),
        "faster": lambda line: _faster(line) if line["beyond"] else "alike",
        "by": lambda line: more(max(line["ratio"], 1 / line["ratio"])),
    },
    order=lambda table: table.sort("beyond", _distance("ratio"), descending=True, maintain_order=True),
)


def _numa(table: DataFrame) -> str:
    dear = table.filter(polars.col("beyond") & (polars.col("cost") > 0)).sort("cost", maintain_order=True)
    nearer = table.filter(polars.col("beyond") & (polars.col("cost") < 0))
    odd = f"; in {wording.count(len(nearer), 'figure')} the farther node is the faster" if len(nearer) else ""
    if dear.is_empty():
        return f"A farther NUMA node costs nothing beyond noise in all {len(table)} figures{odd}."
    worst, middle = dear.row(-1, named=True), dear.row(len(dear) // 2, named=True)
    return (
        f"A farther NUMA node takes longer in {len(dear)} of {len(table)} figures, by {more(1 + middle['cost'])} in "
        f"the median and {more(1 + worst['cost'])} at most ({worst['device']} with {worst['far']} for "
        f"{worst['near']}, {how(worst)}){odd}."
    )


NUMA = AnswerText(
    conclude=_numa,
    label=lambda line: words(
        f"{line['device']} {line['movement'].replace('GPU to host', 'to host').replace('host to GPU', 'from host')}",
        how(line),
    ),
    columns={
        "near": lambda line: line["near"],
        "far": lambda line: line["far"],
        "with near": lambda line: figure(line, "near"),
        "with far": lambda line: figure(line, "far"),
        "longer": lambda line: more(1 + line["cost"]) if line["beyond"] else "no",
    },
    order=lambda table: table.sort("beyond", "cost", descending=True, maintain_order=True),
)


def _engines(table: DataFrame) -> str:
    behind = table.filter("beyond").sort("behind", maintain_order=True)
    links = len(table.filter(polars.col("method") == polars.col("best")))
    wins = table.filter(polars.col("method") == polars.col("best"))["best"].value_counts(sort=True)
    told = ", ".join(f"{name} on {number} of {links}" for name, number in wins.iter_rows())
    if behind.is_empty():
        return f"No method is known to reach more on any of {wording.count(links, 'kind')} of link."
    worst = behind.row(-1, named=True)
    return (
        f"Most is reached by {told} kinds of link; furthest behind is {worst['method']}, {more(1 + worst['behind'])} "
        f"({words(where(worst), worst['role'])})."
    )


ENGINES = AnswerText(
    conclude=_engines,
    label=lambda line: words(where(line), how(line)),
    columns={
        "GB/s": lambda line: wording.value(line["ceiling_gbps"]),
        "of peak": lambda line: "" if line["of_peak"] is None else wording.percent(line["of_peak"]),
        "longer": lambda line: (
            "best" if line["method"] == line["best"] else more(1 + line["behind"]) + ("" if line["beyond"] else " ?")
        ),
        "paths": lambda line: str(line["paths"]),
    },
)
