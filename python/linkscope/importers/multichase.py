"""multichase and multiload: a CPU's pointer chases. Format: main() of multichase.c, with -v its settings and samples,
and of multiload.c, which ends with a row of commas.

A result is ns for each step of one thread; of several threads, their mean. multiload's MiB/s are of all its threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from linkscope.importers.command_lines import Command, commands
from linkscope.importers.peer_output import (
    GBPS,
    SECONDS,
    Figure,
    Movement,
    PeerOutput,
    Source,
    plain_number,
    single,
)
from linkscope.importers.series import told_apart
from linkscope.results.stats import stats_of

TOOL = "multichase"
SUMMARY = "multichase (-v, or with its command line), multiload"
SUITES = ("latency-host",)
_DEFAULTS = {"chase": "simple", "nr_threads": "1", "stride": "256", "tlb_locality": "262144", "page_size": "4096"}
"""Defaults that linkscope's case has as well; others stand with the result."""
_OPTIONS = {"-m": "total_memory", "-s": "stride", "-T": "tlb_locality", "-c": "chase", "-t": "nr_threads"}
_SETTING = re.compile(r" *(nr_threads|page_size|total_memory|stride|tlb_locality|chase) = (\S{1,40}).{0,80}")
_SAMPLE = re.compile(r"(?:\d+\.\d+ )? *\d+\.\d+(?: +\d+\.\d+){0,1023}  avg=(\d{1,12}\.\d{1,6})")
_RESULT = re.compile(r" *(?:\d{9,12}\.\d+ +)?(\d{1,12}\.\d{1,6})")
_BYTES = re.compile(r"(\d{1,15})([kKmMgG]?)")
_SCALES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LOADED = re.compile(r"Samples\s*, Byte/thd\s*, ChaseThds\s*, ChaseNS\b.{0,200}")
_MEDIAN = "the median of its samples; multichase itself prints the best of them, or with -a their mean"
_FAR = 8
"""Lines between a command and its only number at most: messages of a fork, a warning."""


@dataclass
class _ChaseRun:
    """``settings`` by multichase's names; ``settled`` once all that -v prints stands above its samples."""

    line: int
    settings: dict[str, str] = field(default_factory=dict)
    samples: list[float] = field(default_factory=list)
    result: float = 0.0
    place: tuple[str, str] = ("", "")


def recognises(text: str) -> bool:
    """Return whether a text holds settings or a command of multichase's, or a summary of multiload's."""
    settings = r"^ {0,8}nr_threads = \d[^\n]*\n(?:[^\n]{1,80}\n){0,5} {0,8}chase = |Samples\s*, Byte/thd\s*, ChaseThds"
    return re.search(rf"{settings}|(?:^|[ /])multichase(?: |$)", text, re.MULTILINE) is not None


def read(source: Source) -> PeerOutput:
    """Return the results of all runs, one below the other. Raises LinkscopeError where there are none."""
    begun = commands(source.lines, re.compile("multichase"))
    runs: list[_ChaseRun] = []
    figures: list[Figure] = []
    lines: set[int] = set()
    loaded = False
    for number, line in enumerate(source.lines, 1):
        run = runs[-1] if runs else None
        done = run is None or bool(run.samples or run.result)
        if number in begun:
            runs.append(_started(begun[number]))
        elif match := _SETTING.fullmatch(line):
            if run is None or done or (match[1] == "nr_threads" and "verbose" in run.settings):
                runs.append(run := _ChaseRun(number))
            run.settings |= {match[1]: match[2], "verbose": ""}
        elif run and "verbose" in run.settings and (match := _SAMPLE.fullmatch(line)):
            run.samples.append(float(match[1]) * 1e-9)
        elif run and not run.result and (match := _RESULT.fullmatch(line)) and _near(run, number):
            run.result = float(match[1]) * 1e-9
            run.line = number
        elif _LOADED.fullmatch(line.strip()):
            loaded = True
        elif loaded and line.count(",") == 11:
            figures += _multiload(number, [word.strip() for word in line.split(",")])
        else:
            continue
        lines.add(number)
    figures = [*(figure for run in runs if (figure := _figure(run))), *figures]
    if not figures:
        raise source.wrong(0, "multichase printed no samples: was it cut short?")
    return PeerOutput(TOOL, "", SUITES, told_apart(figures), read=frozenset(lines))


def _started(command: Command) -> _ChaseRun:
    """Return the run of a command line, with multichase's defaults for what it does not say."""
    asked = {name: command.value(option) for option, name in _OPTIONS.items()}
    page = "2097152" if command.has("-H") else _DEFAULTS["page_size"]
    settings = {**_DEFAULTS, "total_memory": "256m", "page_size": command.value("-p") or page}
    settings |= {name: value for name, value in asked.items() if value}
    bound = [
        re.search(rf"(?:{name})[= ]?(\d{{1,4}})\b", " ".join(command.before))
        for name in ("--membind|-m", "--cpu\\w+|-N")
    ]
    memory, cpu = (f"numa:{match[1]}" if match else "" for match in bound)
    return _ChaseRun(command.line, settings, place=(memory, cpu))


def _near(run: _ChaseRun, number: int) -> bool:
    return "verbose" in run.settings or number - run.line <= _FAR


def _bytes(text: str) -> int | None:
    match = _BYTES.fullmatch(text)
    return int(match[1]) * _SCALES[match[2].lower()] if match else None


def _figure(run: _ChaseRun) -> Figure | None:
    """Return the result of a run; None where it was cut, or its memory is not said."""
    size = _bytes(run.settings.get("total_memory", ""))
    samples = [sample for sample in run.samples if sample > 0] or ([run.result] if run.result > 0 else [])
    if size is None or not samples or size > 1 << 50:
        return None
    memory, cpu = run.place
    told = _told(run.settings, size)
    facts: dict[str, object] = {"memory": "pageable"}
    facts |= {"varies": ", ".join(told)} if told else {}
    facts |= {"numa": run.place} if memory not in ("", "numa:0") or cpu not in ("", "numa:0") else {}
    moves = Movement("host", "pointer-chase", memory, memory, cpu, ("pageable", "pageable"), varies=", ".join(told))
    notes = (_MEDIAN,) if len(samples) > 1 else ()
    test = f"{TOOL} {run.settings.get('chase', _DEFAULTS['chase'])[:24]}"
    return Figure(test, stats_of(samples), SECONDS, size=size, facts=facts, notes=notes, moves=moves, line=run.line)


def _told(settings: Mapping[str, str], size: int) -> list[str]:
    """Return what differs from linkscope's case, which multichase's defaults are."""
    told = []
    for name, usual in _DEFAULTS.items():
        value, least = settings.get(name, usual), _bytes(usual)
        number = _bytes(value)
        bounded = name in ("stride", "tlb_locality") and number is not None and least is not None
        if name != "chase" and value != usual and not (bounded and number == min(least or 0, size)):
            told.append(f"{value} threads" if name == "nr_threads" else f"{name} {value}")
    return told


def _multiload(line: int, words: list[str]) -> Iterator[Figure]:
    """Yield the latency and the rate of multiload's last row."""
    size, threads = plain_number(words[1]), plain_number(words[6])
    latency, rate = plain_number(words[3]), plain_number(words[8])
    load = words[11][:24]
    loads = f"{int(threads)} threads of {load}" if threads and load.strip("-") else ""
    moves = Movement("host", "pointer-chase", memories=("pageable", "pageable"), varies=loads)
    if latency and latency > 0 and size is not None:
        yield Figure(
            f"multiload {words[10][:24]}", single(latency * 1e-9), SECONDS, size=int(size), moves=moves, line=line
        )
    if rate and rate > 0 and size is not None:
        moves = replace(moves, method="stream", at_once=max(int(threads or 1), 1))
        yield Figure(f"multiload {load}", single(rate * (1 << 20) * 1e-9), GBPS, size=int(size), moves=moves, line=line)
