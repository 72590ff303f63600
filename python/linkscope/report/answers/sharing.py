"""Answers about sharing: what flows at once reach, and what holds them back."""

from __future__ import annotations

import re

import polars
from polars import DataFrame

from linkscope.analysis import interference, scaling
from linkscope.report import wording
from linkscope.report.answers.answer import AnswerText, Line, figure, how, more, sentence, where, words

MOST_NAMED = 2
IN_ROUNDS = "`linkscope run default -k 'd2d or rounds'` has them in rounds, each GPU sending to one other at a time."
"""What to do where copies between GPUs took turns."""
_DEVICE = re.compile(r"(gpu|numa):[0-9]{1,6}")


def _scaling(table: DataFrame) -> str:
    known = table.filter(polars.col("efficiency").is_not_null()).sort("efficiency", maintain_order=True)
    if known.is_empty():
        return "Cannot tell: none of the flows was measured alone."
    verdicts = {name: known.filter(polars.col("verdict") == name) for name in known["verdict"].unique()}
    sets = wording.count(len(known), "set")
    told = [f"{len(verdicts.get(scaling.SCALES, ()))} of {sets} of flows do not hinder one another"]
    if scaling.SHARED in verdicts:
        worst = verdicts[scaling.SHARED].row(0, named=True)
        told.append(
            f"in {len(verdicts[scaling.SHARED])} links or memory that they share explain the loss, down to "
            f"{wording.percent(worst['efficiency'])} of their rates alone ({where(worst)}: "
            f"{_named(worst['bottleneck'])})"
        )
    if scaling.UNKNOWN in verdicts:
        worst = verdicts[scaling.UNKNOWN].row(0, named=True)
        told.append(
            f"in {len(verdicts[scaling.UNKNOWN])} the topology does not explain it, down to "
            f"{wording.percent(worst['efficiency'])} ({words(where(worst), how(worst))})"
        )
    apart = verdicts.get(scaling.APART)
    if apart is None:
        return sentence("; ".join(told))
    text = sentence("; ".join([*told, _ran_apart(apart)]))
    return f"{text} {IN_ROUNDS}" if "GPU to GPU" in apart["movement"] else text


def _ran_apart(found: DataFrame) -> str:
    """Of sets whose flows did not run at the same time: that nothing can be told of them."""
    worst, most = found.row(0, named=True), wording.percent(max(found["overlap"]))
    return (
        f"of {len(found)} nothing can be told, as all their flows ran together for {most} of the time or less "
        f"({words(where(worst), how(worst))})"
    )


def _held(line: Line) -> str:
    """What holds flows back; else the verdict, or why there is none."""
    if line["bottleneck"]:
        return _named(line["bottleneck"])
    if line["efficiency"] is None:
        return "cannot tell"
    return f"{wording.percent(line['overlap'])} together" if line["verdict"] == scaling.APART else str(line["verdict"])


def _named(names: list[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _place(line: Line) -> list[str]:
    return [word for word in line["place"].split("|") if _DEVICE.fullmatch(word)]


SCALING = AnswerText(
    conclude=_scaling,
    label=lambda line: words(where(line), how(line)),
    devices=_place,
    columns={
        "GB/s": lambda line: wording.value(line["gbps"]),
        "alone": lambda line: "" if line["alone_gbps"] is None else wording.value(line["alone_gbps"]),
        "reached": lambda line: "" if line["efficiency"] is None else wording.percent(line["efficiency"]),
        "fair": lambda line: "" if line["predicted_gbps"] is None else wording.value(line["predicted_gbps"]),
        "held back by": _held,
    },
    legend="alone: what they would reach if each kept its rate alone (less than the sum of those rates where one would "
    "end after the others); reached: the share of that; fair: what shared links and memories leave of it; unknown: "
    "less than that, of no known cause; together: the share of the time in which all ran",
    order=lambda table: table.sort("efficiency", nulls_last=True, maintain_order=True),
)


def _interference(table: DataFrame) -> str:
    hit = table.filter(polars.col("verdict") != interference.NONE).sort("slowdown", maintain_order=True)
    if hit.is_empty():
        return f"Nothing is slower beside other traffic, in all {wording.count(len(table), 'figure')}."
    worst = hit.row(-1, named=True)
    unknown = hit.filter(polars.col("verdict") == interference.UNKNOWN)
    meeting = f" in {_named(worst['shared'])}" if worst["shared"] else ""
    told = (
        f"{len(hit)} of {wording.count(len(table), 'figure')} are slower beside other traffic, most by "
        f"{more(1 + worst['slowdown'])} ({worst['path']} {worst['method']} beside {worst['beside']}{meeting})"
    )
    return f"{told}; of {len(unknown)} the topology does not explain it." if len(unknown) else f"{told}."


INTERFERENCE = AnswerText(
    conclude=_interference,
    label=lambda line: f"{line['path']} {line['method']} beside {line['beside']} ({line['row']})",
    columns={
        "alone": lambda line: figure(line, "alone"),
        "beside": lambda line: figure(line, "beside"),
        "longer": lambda line: more(1 + line["slowdown"]) if line["beyond"] else "no",
        "fair": lambda line: "" if line["predicted"] is None else more(1 + line["predicted"]),
        "meet in": lambda line: _named(line["shared"]) or (line["verdict"] if line["verdict"] == "unknown" else ""),
    },
    order=lambda table: table.sort("slowdown", descending=True, maintain_order=True),
)


def _threads(table: DataFrame) -> str:
    largest = table.filter(polars.col("bytes") == polars.col("bytes").max())
    best = largest.sort("gbps", maintain_order=True).row(-1, named=True)
    enough = wording.count(best["enough_threads"], "thread")
    open_ended = ", the most that were tried," if best["enough_threads"] == best["most_threads"] else ""
    one = best["enough_threads"] == 1
    reach = f"give{'s' * one}" if best["enough_threads"] == best["best_threads"] else f"reach{'es' * one} 95 % of"
    several = best["enough_threads"] > best["fewest_threads"]
    open_ = "" if best["clear"] else ", but intervals cannot tell the two apart"
    faster = f", which is x{best['speedup']:.3g} that of {best['fewest_threads']}{open_}" if several else ""
    if not several and not best["surely_best"]:
        faster = ", which intervals cannot tell from that of more"
    return (
        f"{enough}{open_ended} {reach} the best rate past caches, {wording.value(best['gbps'])} GB/s{faster} "
        f"({words(best['path'], _work(best))})."
    )


def _work(line: Line) -> str:
    return words(how(line | {"parameters": line["others"]}), wording.size(line["bytes"]))


THREADS = AnswerText(
    conclude=_threads,
    label=lambda line: words(line["path"], _work(line)),
    columns={
        "one": lambda line: wording.value(line["fewest_gbps"]) if line["fewest_threads"] == 1 else "",
        "best GB/s": lambda line: wording.value(line["gbps"]),
        "with": lambda line: str(line["best_threads"]),
        "95 % with": lambda line: str(line["enough_threads"]),
        "speedup": lambda line: f"x{line['speedup']:.3g}{'' if line['clear'] else ' ?'}",
        "per thread": lambda line: wording.percent(line["efficiency"]),
    },
    order=lambda table: table.sort("bytes", descending=True, maintain_order=True),
)
