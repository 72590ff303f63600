"""multichase with -v, whose samples it prints: a CPU's pointer chase. Format: main() of multichase.c."""

from __future__ import annotations

import re

from linkscope.importers.peer_output import SECONDS, Figure, PeerOutput, Source
from linkscope.results.stats import stats_of

TOOL = "multichase"
SUITES = ("latency-host",)
_CHASES = ("simple",)
_DEFAULTS = {"stride": 256, "tlb_locality": 262144}
"""Of linkscope's case, too."""
_SETTING = re.compile(r"(nr_threads|page_size|total_memory|stride|tlb_locality|chase) = (\S+).*")
_SAMPLE = re.compile(r"(?:\d+\.\d+ )? *(\d+\.\d+)  avg=(\d+\.\d+)")
_MEDIAN = "the median of its samples; multichase itself prints the best of them, or with -a their mean"


def recognises(text: str) -> bool:
    """Whether a text looks like multichase's with -v."""
    return re.match(r"\s*nr_mixer_indices = \d", text) is not None


def read(source: Source) -> PeerOutput:
    """Raises LinkscopeError. A file may hold several runs, one below the other."""
    figures: list[Figure] = []
    settings: dict[str, str] = {}
    samples: list[float] = []
    begun = 0
    for number, line in enumerate(source.lines, 1):
        if line.startswith("nr_mixer_indices") and settings:
            figures.append(_figure(source, begun, settings, samples))
            settings, samples, begun = {}, [], number
        if match := _SETTING.fullmatch(line.strip()):
            settings[match[1]] = match[2]
        elif match := _SAMPLE.fullmatch(line.rstrip()):
            samples.append(source.number(match[1], number, "a sample") * 1e-9)
    figures.append(_figure(source, begun, settings, samples))
    return PeerOutput(TOOL, "", SUITES, tuple(figures))


def _figure(source: Source, line: int, settings: dict[str, str], samples: list[float]) -> Figure:
    """Raises LinkscopeError for a chase that no case of linkscope is."""
    lacking = [name for name in ("nr_threads", "total_memory", "chase", *_DEFAULTS) if name not in settings]
    if lacking or not samples:
        raise source.wrong(line, f"multichase printed no {(*lacking, 'samples')[0]}: was it cut short?")
    if settings["nr_threads"] != "1" or settings["chase"] not in _CHASES:
        what = f"chase {settings['chase']} of {settings['nr_threads']} threads"
        raise source.wrong(line, f"{what}: linkscope has the simple chase of one thread")
    size = source.whole(settings["total_memory"], line, "total_memory")
    for name, value in _DEFAULTS.items():
        if source.whole(settings[name], line, name) != min(value, size):
            raise source.wrong(line, f"{name} is {settings[name]}: the case of linkscope has {value}")
    return Figure(
        f"{TOOL} simple",
        stats_of(samples),
        SECONDS,
        size=size,
        facts={"memory": "pageable"},
        notes=(_MEDIAN,),
    )
