"""Answers about sizes: what small transfers take, and which are large enough."""

from __future__ import annotations

import polars
from polars import DataFrame

from linkscope.report import wording
from linkscope.report.answers.answer import AnswerText, Line, how, sentence, span, where, words

NO_LINE = 0.2
"""Times that are further from their line are not described by it."""


SMALL = 64 << 10
"""Bytes: of a series that begins beyond, the latency of small ones is not known."""


def _path(line: Line) -> str:
    place = line["path"] if len(line["path"]) < 20 else line["movement"]
    return words(place, how(line), line["together"])


def _fits(table: DataFrame) -> str:
    series = table.filter(polars.col("segment") == 1)
    small = polars.col("first_bytes") <= SMALL
    good = series.filter(small, polars.col("misfit") <= NO_LINE, polars.col("alpha_seconds_low") > 0)
    straight = len(series.filter(polars.col("segments") == 1, polars.col("misfit") <= NO_LINE))
    lines = f"one line describes {straight} of {len(series)} series"
    if good.is_empty():
        if not len(series.filter(small)):
            return f"No latency can be told, as no series has {wording.size(SMALL)} or less; {lines}."
        of = wording.count(len(series), "series", "series")
        why = f"as no line fits any of {of}" if not straight else f"of {of}, of which one line describes {straight}"
        return f"No latency can be told, {why}."
    ordered = good.sort("alpha_seconds", maintain_order=True)
    ends = (
        f"{wording.time(line['alpha_seconds'])} ({words(where(line), how(line), _clock(line, good))})"
        for line in (ordered.row(0, named=True), ordered.row(-1, named=True))
    )
    return f"Small transfers take {span(*ends)}; {lines}."


def _clock(line: Line, table: DataFrame) -> str:
    """Where figures of several clocks stand together."""
    return str(line["regime"]) if table["regime"].n_unique() > 1 else ""


def _is_crooked(line: Line) -> bool:
    return bool(line["misfit"] > NO_LINE)


def _segment(line: Line) -> str:
    sizes = f"{wording.size(line['first_bytes'])} to {wording.size(line['last_bytes'])}"
    return words(_path(line), line["regime"], sizes if line["segments"] > 1 else "")


def _alpha(line: Line) -> str:
    if _is_crooked(line):
        return "no line"
    if line["alpha_seconds_low"] <= 0 <= line["alpha_seconds_high"]:
        return "about 0"
    if line["alpha_seconds"] < 0:
        return "below 0"
    return wording.time(line["alpha_seconds"])


def _either_side(line: Line, name: str) -> str:
    """The larger side of an interval, in percent."""
    middle = line[name]
    if middle is None or _is_crooked(line) or line[f"{name}_low"] <= 0:
        return ""
    return f"±{wording.percent(max(line[f'{name}_high'] - middle, middle - line[f'{name}_low']) / middle)}"


def _beta(line: Line) -> str:
    if _is_crooked(line):
        return ""
    return wording.value(line["beta_gbps"]) if line["beta_gbps"] is not None else "flat"


FITS = AnswerText(
    conclude=_fits,
    label=_segment,
    columns={
        "alpha": _alpha,
        "± alpha": lambda line: _either_side(line, "alpha_seconds"),
        "beta GB/s": _beta,
        "± beta": lambda line: _either_side(line, "beta_gbps"),
        "n_1/2": lambda line: wording.size(line["half_bytes"]) if line["half_bytes"] and not _is_crooked(line) else "",
    },
)


_PAST = ("falls beyond its best size", "fall beyond their best size")
"""What rates do, of one and of several."""


def _saturation(table: DataFrame) -> str:
    known = table.filter(polars.col("share90_bytes").is_not_null(), ~polars.col("rising"))
    at_once = len(table.filter(polars.col("share90_bytes").is_null(), ~polars.col("falling"), ~polars.col("rising")))
    rising, fell = polars.col("rising"), polars.col("best_gbps").is_not_null()
    again = table.filter(rising, fell)
    counted = f"of {wording.count(len(table), 'rate')}"
    counts = [
        (at_once, "there with the smallest size"),
        (len(table.filter(rising, ~fell)), "still rising at the largest"),
    ]
    told = [f"{count} {counted} {'is' if count == 1 else 'are'} {what}" for count, what in counts if count]
    told += _falls(again, counted, _PAST)
    if not again.is_empty():
        told[-1] += (
            f"; towards the largest size {'it rises' if len(again) == 1 else 'they rise'} again{_why_again(again)}"
        )
    more = "; ".join([*told, *_falls(table.filter("falling"), counted, _PAST)])
    if known.is_empty():
        return f"No rate shows where it saturates: {more}."
    ordered = known.sort("share90_bytes", maintain_order=True)
    ends = (
        f"{wording.size(line['share90_bytes'])} ({words(where(line), how(line))})"
        for line in (ordered.row(0, named=True), ordered.row(-1, named=True))
    )
    return f"90 % of the rate takes {span(*ends)}" + (f"; {more}." if more else ".")


def _falls(falling: DataFrame, counted: str, verbs: tuple[str, str]) -> list[str]:
    """How many rates fall with size, and how far the highest does; empty where none falls. ``verbs``: of one and of
    several."""
    if falling.is_empty():
        return []
    why = ", as caches serve smaller ones" if falling["cached"].all() else ""
    return [f"{len(falling)} {counted} {verbs[len(falling) > 1]}{why}: {_highest(falling)}"]


def _why_again(rising: DataFrame) -> str:
    """Of what CPUs copy; else nothing is known."""
    copied = rising["method"].cast(polars.String).eq("memcpy").all()
    return ", where the C library may store past the caches" if copied else ""


def _highest(below: DataFrame) -> str:
    """Of rates that are below what they were how far the highest is."""
    line = below.sort("best_gbps", maintain_order=True).row(-1, named=True)
    best, last = wording.value(line["best_gbps"]), wording.value(line["gbps"])
    at, largest, kept = (wording.size(line[f"{name}_bytes"]) for name in ("best", "largest", "kept"))
    return (
        f"from its best, {best} GB/s at {at}, of which 90 % are kept up to {kept}, to {last} at {largest} "
        f"({words(where(line), how(line))})"
    )


def _of_rate(line: Line) -> str:
    """With how far it is below its largest, if it is: where it falls, no size is there from which on it saturates."""
    if line["best_gbps"] is None:
        return _path(line)
    best, at = wording.value(line["best_gbps"]), wording.size(line["best_bytes"])
    change = "rises again" if line["rising"] else "falls"
    return words(_path(line), f"{change}: {best} at {at}, 90 % of it up to {wording.size(line['kept_bytes'])}")


def _reached(line: Line, name: str) -> str:
    size = line[f"{name}_bytes"]
    if line["falling"]:
        return "–"
    if size is None:
        return "at once"
    return ("> " if line["rising"] else "") + wording.size(size)


SATURATION = AnswerText(
    conclude=_saturation,
    label=_of_rate,
    columns={
        "GB/s": lambda line: wording.value(line["gbps"]),
        "50 %": lambda line: _reached(line, "half"),
        "80 %": lambda line: _reached(line, "share80"),
        "90 %": lambda line: _reached(line, "share90"),
        "90 % from": lambda line: wording.size(line["share90_bytes_low"]) if line["share90_bytes"] else "",
        "to": lambda line: wording.size(line["share90_bytes_high"]) if line["share90_bytes"] else "",
    },
    legend="50 %: the size from which on half of the rate at the largest size is reached; >: at least, as that rate "
    "still rises; 90 % from, to: its 95 % interval",
)


def _collectives(table: DataFrame) -> str:
    told = []
    fast = table.filter(polars.col("of_bound").is_not_null()).sort("of_bound", maintain_order=True)
    if len(fast):
        least, most = fast.row(0, named=True), fast.row(-1, named=True)
        told.append(
            f"small ones take {least['of_bound']:.3g} ({words(least['movement'], how(least))}) to "
            f"{most['of_bound']:.3g} times their latency bound"
        )
    wide = table.filter(polars.col("of_peak").is_not_null()).sort("of_peak", maintain_order=True)
    if len(wide):
        best = wide.row(-1, named=True)
        told.append(
            f"at best {wording.percent(best['of_peak'])} of the links' bandwidth is reached "
            f"({words(best['movement'], how(best))}, {wording.size(best['bus_bytes'])})"
        )
    turns = table["linear_bytes"].drop_nulls().sort()
    if len(turns):
        told.append(f"latency turns linear at {span(wording.size(turns[0]), wording.size(turns[-1]))}")
    return sentence("; ".join(told) or "no bound is known of these collectives")


COLLECTIVES = AnswerText(
    conclude=_collectives,
    label=lambda line: words(line["movement"], how(line)),
    columns={
        "latency": lambda line: "" if line["latency_seconds"] is None else wording.time(line["latency_seconds"]),
        "bound": lambda line: "" if line["of_bound"] is None else f"x{line['of_bound']:.3g}",
        "linear at": lambda line: "" if line["linear_bytes"] is None else wording.size(line["linear_bytes"]),
        "bus GB/s": lambda line: "" if line["bus_gbps"] is None else wording.value(line["bus_gbps"]),
        "of peak": lambda line: "" if line["of_peak"] is None else wording.percent(line["of_peak"]),
    },
)
