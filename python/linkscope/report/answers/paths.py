"""Answers about paths: how near to their peak they come, and which are alike."""

from __future__ import annotations

import polars
from polars import DataFrame

from linkscope.analysis.tiers import MERGED, OFF
from linkscope.report import wording
from linkscope.report.answers.answer import Answer, Line, count, how, where, words

MOST_PAIRS = 4


def _peaks(table: DataFrame) -> str:
    least, most = (table.sort("of_peak_median", maintain_order=True).row(place, named=True) for place in (0, -1))
    if len(table) == 1:
        return f"{_told(least).capitalize()} reaches {wording.percent(least['of_peak_median'])} of its peak."
    return (
        f"Methods reach {wording.percent(least['of_peak_median'])} ({_told(least)}) to "
        f"{wording.percent(most['of_peak_median'])} ({_told(most)}) of what the hardware would allow."
    )


def _told(line: Line) -> str:
    return words(where(line), how(line))


PEAKS = Answer(
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
    shown=lambda table: table.sort("of_peak_median", maintain_order=True),
)


def _tiers(table: DataFrame) -> str:
    matrices = table.filter(polars.col("measured_tier") == 1)
    off = sorted({pair for pairs in table["off"].to_list() for pair in pairs})
    if off:
        matrix = table.filter(polars.col("agree") == OFF).row(0, named=True)
        named = ", ".join(off[:MOST_PAIRS]) + (f" and {len(off) - MOST_PAIRS} more" if len(off) > MOST_PAIRS else "")
        which = "pair is" if len(off) == 1 else "pairs are"
        return f"{count(len(off), 'pair').partition(' ')[0]} {which} not as fast as the topology says: {named}, " + (
            f"such as by {how(matrix)}."
        )
    merged = matrices.filter(polars.col("agree") == MERGED)
    same = f"Measured speed classes are the topology's in {len(matrices) - len(merged)} of {len(matrices)} matrices"
    if merged.is_empty():
        return f"{same}: no pair is off."
    return f"{same}; in the others some classes are equally fast ({how(merged.row(0, named=True))}); no pair is off."


TIERS = Answer(
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
    shown=lambda table: table.sort(polars.col("agree") != OFF, maintain_order=True),
)
