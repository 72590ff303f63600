"""Choose: which method is fastest for what a run, or several of choice node, did in several ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from itertools import combinations
from textwrap import wrap
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.best import Choice, choices, costs
from linkscope.answers.choose_rows import best_words, conditions, height, others, rows, title, uncertain
from linkscope.answers.explain import slow
from linkscope.answers.run_head import RunHead, findings_of, nvls_off, run_head
from linkscope.answers.thresholds import Default, defaults
from linkscope.figures.joined import joined
from linkscope.figures.run import Run
from linkscope.messages.catalog import commands, problem, sentence
from linkscope.messages.finding import Finding, Level, note, warning
from linkscope.messages.methods import method_name
from linkscope.messages.names import named
from linkscope.results.same_machine import by_host_alone
from linkscope.statistics.best import best
from linkscope.statistics.ranges import costs_at, difference, shared_sizes
from linkscope.suites import packaged_suites

_LINES, _WIDTH = 24, 80
"""Lines and columns of a first screen."""
_FIXED = 3
"""Lines of it: which run, an empty choice, column headings."""
_APART = 2.0
"""Factor between runs from which a case counts as one that they disagree on."""
_WORDS, _NUMBER = polars.String, polars.Float64
_FIRST: dict[str, Any] = {
    **{"heading": _WORDS, "what": _WORDS, "fastest": _WORDS, "others": polars.List(_NUMBER), "most": _NUMBER},
}
_RANGES: dict[str, Any] = {
    **{"task": polars.Int32, **dict.fromkeys(("question", "movement", "tier", "memories"), _WORDS)},
    **{"conditions": polars.List(_WORDS), "sizes": polars.List(polars.Int64), "best": polars.List(_WORDS)},
    **{"fastest": _WORDS, "nearest": _WORDS, "extra": polars.List(_NUMBER), "others": polars.List(_NUMBER)},
}
_COSTS: dict[str, Any] = {
    **{"task": polars.Int32, "question": _WORDS, "bytes": polars.Int64, "way": _WORDS, "method": _WORDS},
    **dict.fromkeys(("seconds", "seconds_low", "seconds_high", "extra"), _NUMBER),
    **{"best": polars.Boolean, "mark": _WORDS},
}
_LIMITS: dict[str, Any] = {
    **dict.fromkeys(("question", "framework", "kernel", "way"), _WORDS),
    **{"usual": polars.Int64, "last": polars.Int64, "excess": _NUMBER, "bytes": polars.Int64},
}
_DEFAULTS: dict[str, Any] = {
    **{"task": polars.Int32, "question": _WORDS, "framework": _WORDS, "bytes": polars.Int64, "way": _WORDS},
    **{"method": _WORDS, "seconds": _NUMBER, "fastest": _WORDS, "least": _NUMBER, "extra": _NUMBER, "excess": _NUMBER},
}


def answer(*runs: Run, table: str | None = None) -> Answer:
    """Return which method is fastest for every task; ``table``: only for tasks with this word in their title.

    Raises LinkscopeError where runs do not belong together, and where no task has the word.
    """
    every = choices(joined(runs), len(runs))
    if table is not None:
        every = _with_word(every, table)
    ranked = [choice for choice in every if choice.ranges]
    heads = [run_head(run) for run in runs]
    of_runs, repeated = findings_of(heads)
    by_default, library = list(defaults(ranked, runs[-1].node)), runs[-1].library
    findings = (*of_runs, *_warnings(runs, ranked), *_notes(runs, every, ranked), *_dearest(by_default))
    headline, outcome = _headline(heads, every, ranked)
    steps = tuple(_next(runs, ranked))
    first = _first(ranked or every, library, _LINES - _FIXED - _height([headline], findings, steps))
    details = (_ranges(ranked, library), *_defaults(by_default, library), _costs(ranked, library))
    return Answer(
        question="choose",
        runs=tuple(heads),
        headline=headline,
        outcome=outcome,
        findings=findings,
        tables=(first, *details) if ranked or every else (),
        next=steps,
        details=(*_details(every, library), *repeated),
    )


def _headline(
    heads: Sequence[RunHead], every: Sequence[Choice], ranked: Sequence[Choice]
) -> tuple[Finding, Outcome | None]:
    if any(head.cut_short for head in heads):
        return note("choose.cut-short"), Outcome.UNTESTED
    if not ranked:
        opened = [choice for choice in every if choice.undecided]
        return (note("choose.open", tasks=len(opened)), Outcome.UNCLEAR) if opened else (
            note("choose.nothing"), Outcome.UNTESTED)  # fmt: skip
    if all(choice.ties for choice in ranked):
        return note("choose.all-tie", tasks=len(ranked)), None
    return note("choose.fastest", tasks=len(ranked)), None


def _warnings(runs: Sequence[Run], ranked: Sequence[Choice]) -> Iterator[Finding]:
    yield from _slow(runs)
    if any(choice.methods.intersection(run.methods("by_xccl")) for choice in ranked for run in runs):
        yield from {found.code: found for run in runs for found in nvls_off(run)}.values()
    yield from _apart(runs)


def _slow(runs: Sequence[Run]) -> Iterator[Finding]:
    """Yield what is slow in a run, as `explain` finds it: medians over paths may hide it."""
    for run in runs:
        found = slow(run)
        if found is not None:
            facts = {"slow": sentence(found).rstrip("."), "headline": found.code, "path": str(run.path)}
            yield replace(warning("choose.slow", **facts), where=found.where, results=found.results)
            return


def _apart(runs: Sequence[Run]) -> Iterator[Finding]:
    """Yield how many cases several runs disagree on, and which run stands apart from the others."""
    if len(runs) < 2:
        return
    every = [costs(run.results).select("id", "place", "cost", run=number) for number, run in enumerate(runs)]
    cases = polars.concat(every).sort("cost").group_by("id", "place", maintain_order=True).agg("cost", "run").rows()
    shared = [(found, numbers) for *_, found, numbers in cases if len(numbers) > 1]
    wide = [(found, numbers) for found, numbers in shared if found[-1] > _APART * found[0]]
    if not wide:
        return
    odd = Counter(numbers[end] for found, numbers in wide if (end := _odd_end(found)) is not None)
    number, times = next(iter(odd.most_common(1)), (0, 0))
    facts = {"cases": len(wide), "of": len(shared)}
    if 2 * times > len(wide):
        yield warning("choose.odd-run", **facts, odd=runs[number].path.name)
    else:
        yield warning("choose.runs-differ", **facts)


def _odd_end(ascending: Sequence[float]) -> int | None:
    """Return which end is further from all others than ``_APART``, while these agree: 0, -1, or None."""
    least, second, last_but_one, most = (ascending[index] for index in (0, 1, -2, -1))
    if len(ascending) < 3:
        return None
    if second > _APART * least and most < _APART * second:
        return 0
    return -1 if most > _APART * last_but_one and last_but_one < _APART * least else None


def _notes(runs: Sequence[Run], every: Sequence[Choice], ranked: Sequence[Choice]) -> Iterator[Finding]:
    kernels = {method for run in runs for method in run.methods("by_kernel")}
    copies = [choice for choice in ranked if choice.task.line["clock"] == "device" and _mixes_launches(choice, kernels)]
    if copies and not any(choice.task.line["clock"] == "host" and "gpu" in choice.task.movement for choice in ranked):
        suite = max(copies, key=lambda choice: len(choice.sizes)).test.partition(" ")[0]
        yield note("choose.launch", suite=suite) if suite in packaged_suites() else note("choose.launch-clock")
    if any(choice.assumed for choice in ranked):
        yield note("choose.assumed")
    if len(runs) == 2:
        yield note("choose.two-runs")
    part = [choice for choice in ranked if choice.part]
    if part:
        yield note("choose.part", tasks=len(part))
    hosts = dict.fromkeys(filter(None, (by_host_alone(run.file, other.file) for run, other in combinations(runs, 2))))
    yield from (note("choose.by-host-name", host=host) for host in hosts)
    left_out = sum(run.results.filter("left_out")["id"].n_unique() for run in runs)
    if left_out:
        yield note("choose.left-out", cases=left_out, path=str(runs[0].path))


def _details(every: Sequence[Choice], library: str) -> Iterator[Finding]:
    for choice in every:
        for cross in choice.crossovers:
            names = {"before": method_name(cross.before, library), "after": method_name(cross.after, library)}
            yield note("choose.crossover", task=title(choice), at=cross.at, size=cross.at.value, **names)
        if choice.always is not None and len(choice.ranges) > 1 and not (choice.undecided or choice.assumed):
            name, extra = choice.always
            yield note("choose.always", task=title(choice), method=method_name(name, library), extra=extra)
        measured = {size for costs in choice.rivals.values() for size in costs}
        alone = sorted(measured.difference(shared_sizes(choice.rivals)))
        if alone:
            yield note("choose.alone", task=title(choice), sizes=len(alone), first=alone[0], last=alone[-1])
    lost = [choice for choice in every if not choice.ranges]
    apart = max((choice.disagreement for choice in every), default=0.0)
    if apart > 0.01:
        yield note("choose.disagreement", share=apart)
    if lost:
        yield note("choose.no-answer", tasks=len(lost))
    if any(map(uncertain, every)):
        yield note("choose.one-run")
    if any(choice.task.line["calls_included"] for choice in every):
        yield note("choose.calls")


def _dearest(by_default: Sequence[Default]) -> Iterator[Finding]:
    """Yield where a framework's threshold costs most, if any does by its own kernels; --full has stand-ins as well."""
    costs = [(at.excess, at.size, one.rule.framework) for one in by_default for at in one.sizes if at.own]
    extra, size, framework = max(costs, default=(0.0, 0, ""))
    if extra:
        yield note("choose.default-cost", framework=framework, extra=extra, size=size)


def _mixes_launches(choice: Choice, kernels: Set[str]) -> bool:
    """Return whether kernels that are launched once stand beside copies that are called one by one."""
    graph = any(word.startswith("graph=") and word != "graph=0" for word in choice.task.asked)
    return not graph and bool(choice.methods & kernels and choice.methods - kernels)


def _next(runs: Sequence[Run], ranked: Sequence[Choice]) -> Iterator[Finding]:
    path = " ".join(str(run.path) for run in runs)
    if not ranked:
        yield note("choose.more-runs")
        return
    modelled = runs[-1].modelled
    yield note("choose.every" if modelled or len(runs) > 1 else "choose.full", path=path)
    if modelled:
        yield note("choose.sources", node=runs[-1].node.name)


def _first(ranked: Sequence[Choice], library: str, room: int) -> Table:
    """Return the table of a first screen, with as many rows as ``room`` lines have."""
    shown = rows(ranked, library, room)
    count = len(shown)
    while count and height(shown[:count]) + (count < len(shown)) > room:
        count -= 1
    lines = [(row.heading, row.what, row.fastest, row.others or (), row.others and row.others[1]) for row in shown]
    frame = polars.DataFrame(lines, schema=_FIRST, orient="row")
    extra = Column("most" if any(row.brief for row in shown) else "others", Kind.CHANGE)
    return Table("choose.fastest", frame, (Column("what"), Column("fastest"), extra), group="heading", first=count)


def _height(headline: Sequence[Finding], findings: Sequence[Finding], steps: Sequence[Finding]) -> int:
    """Return how many lines of a screen they take, with what stands between them."""
    quiet = any(finding.level is Level.NOTE for finding in findings)
    texts = [*map(sentence, headline), *map(_shown, findings)]
    typed = [f"{command} ({sentence(finding)})" for finding in steps for command in commands(finding)]
    after = 1 if len("   ".join(typed)) <= _WIDTH - len("Next: ") else len(typed)
    return (
        sum(len(wrap(text, _WIDTH)) for text in texts)
        + sum(len(commands(finding)) for finding in findings)
        + quiet
        + after
    )


def _shown(finding: Finding) -> str:
    run = f"{finding.facts['run']}: " if "run" in finding.facts else ""
    return f"{named('level', finding.level.value)}{run}{sentence(finding)}"


def _ranges(ranked: Sequence[Choice], library: str) -> Table:
    lines = []
    for number, choice in enumerate(ranked):
        task = choice.task
        about = number, title(choice), task.movement, task.line["tier"], task.memories, conditions(choice)
        for span in choice.ranges:
            partly = {name for name, *_ in span.partly}
            name, *extra = min(span.excess, key=lambda worse: worse[0] in partly, default=(None,))
            sizes, words = [int(span.first), int(span.last)], best_words(span, choice.rivals, library)
            near = method_name(name, library) if name else None
            lines.append((*about, sizes, list(span.best), words, near, extra, list(others(span) or ())))
    columns = (Column("sizes", Kind.SIZE), Column("fastest"), Column("nearest"), Column("extra", Kind.CHANGE))
    return _detail("choose.ranges", lines, _RANGES, columns)


def _costs(ranked: Sequence[Choice], library: str) -> Table:
    lines = []
    for number, choice in enumerate(ranked):
        about = number, title(choice)
        for size in choice.sizes:
            found = costs_at(choice.rivals, size)
            first = best(found)
            for name, cost in sorted(found.items(), key=lambda item: item[1].value):
                ties = name in first
                times = cost.value, cost.low, cost.high, difference(choice.rivals, name, size)
                mark = " =" if ties and len(first) > 1 else ""
                lines.append((*about, int(size), name, method_name(name, library), *times, ties, mark))
    columns = (
        *(Column("bytes", Kind.SIZE), Column("method"), Column("seconds", Kind.TIME, interval=True)),
        Column("extra", Kind.CHANGE, mark="mark"),
    )
    return _detail("choose.costs", lines, _COSTS, columns)


def _defaults(by_default: Sequence[Default], library: str) -> Iterator[Table]:
    """Yield what thresholds would be best, and what each default picks and costs by size."""
    limits, lines = [], []
    for number, one in enumerate(by_default):
        question, framework = title(one.choice), one.rule.framework
        excess, worst = max(((at.excess, at.size) for at in one.sizes), default=(0.0, 0))
        for limit in one.limits if one.sizes else ():
            kernel = question, framework, limit.kernel, limit.way
            limits.append((*kernel, limit.default, limit.last, excess, worst if excess else None))
        for at in one.sizes:
            names = method_name(at.way, library), at.cost.value, method_name(at.fastest, library), at.least.value
            about = number, f"{framework}: {question}", framework
            lines.append((*about, at.size, at.way, *names, at.extra, at.excess))
    sizes = (
        Column("usual", Kind.SIZE),
        Column("last", Kind.SIZE),
        Column("excess", Kind.CHANGE),
        Column("bytes", Kind.SIZE, head="at"),
    )
    if limits:
        yield _detail("choose.thresholds", limits, _LIMITS, (Column("framework"), Column("kernel"), *sizes))
    columns = (
        *(Column("bytes", Kind.SIZE), Column("method", head="default"), Column("seconds", Kind.TIME)),
        *(Column("fastest"), Column("least", Kind.TIME), Column("extra", Kind.CHANGE), Column("excess", Kind.CHANGE)),
    )
    if lines:
        yield _detail("choose.defaults", lines, _DEFAULTS, columns)


def _detail(key: str, lines: Sequence[Any], schema: Mapping[str, Any], columns: tuple[Column, ...]) -> Table:
    frame = polars.DataFrame(lines, schema=dict(schema), orient="row")
    return Table(key, frame, columns, group="question", detail=True)


def _with_word(every: Sequence[Choice], word: str) -> list[Choice]:
    """Return the choices with a word in their title, capital letters or not; "to" stands for an arrow, too."""
    if not word.strip():
        raise problem("choose.no-word")
    titles = {title(choice): choice for choice in every}
    kept = [choice for name, choice in titles.items() if word.lower() in f"{name} {name.replace('->', 'to')}".lower()]
    if not kept:
        names = {part for name in titles for part in name.replace("->", "to").split(", ")}
        near = get_close_matches(word, sorted(names), n=1)
        raise problem("choose.no-such-task", word=word, near=near[0]) if near else problem("choose.no-task", word=word)
    return kept
