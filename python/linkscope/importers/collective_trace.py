"""Traces as results: collectives of PyTorch's profiler (Kineto) and of NCCL's Inspector, by kind and size.

Parsed by ``workload/readers``. Of equal calls the middle one counts, the lower one of two. A kernel runs from when its
own rank has come, so that its time includes waiting for the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from linkscope.importers.peer_output import MOST_GPUS, SECONDS, Figure, Gpu, Movement, PeerOutput, Source
from linkscope.messages.finding import Finding, note, warning
from linkscope.results.stats import stats_of
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.readers import kineto, nccl_inspector
from linkscope.workload.readers.timed import TimedCall

TOOL, INSPECTOR = "Kineto", "NCCL Inspector"
SUMMARY = "PyTorch profiler (Kineto) traces, NCCL Inspector 4"
_RECORD = re.compile(r'^ {0,40}\{\s{0,40}"header"', re.MULTILINE)
_KERNEL = re.compile(r'"name": ?"(?:nccl|rccl)(?:Dev)?Kernel')
_CALL = re.compile(r'"name": ?"nccl:')
_PROFILED = "NVIDIA/nccl issue 2355"
_MESSAGES = ("send", "receive")
_PLAIN = ("", "Float")


class _TracedGpu(msgspec.Struct):
    name: str = ""


class _Distributed(msgspec.Struct):
    nccl_version: str = ""


class _Setting(msgspec.Struct):
    devices: list[_TracedGpu] = msgspec.field(name="deviceProperties", default_factory=list)
    distributed: _Distributed = msgspec.field(name="distributedInfo", default_factory=_Distributed)


def recognises(text: str) -> bool:
    """Return whether a text is a trace with collectives, or the plugin's lines."""
    named = '"Collective name"' in text or '"schemaVersion"' in text
    return _of_inspector(text) or (text.lstrip().startswith("{") and '"traceEvents"' in text and named)


def read(source: Source) -> PeerOutput:
    """Return the time of each kind and size of collective. Raises LinkscopeError where it is no trace."""
    if _of_inspector(source.text):
        lines, cut = _records(source.text)
        pattern = PatternText(source.path, lines.encode())
        match = re.search(r'"inspector_output_format_version":\s?"v(\d{1,3}(?:\.\d{1,3})?)"', source.text)
        figures = tuple(_figures(INSPECTOR, list(nccl_inspector.timed(pattern)), 0))
        profiled = [Finding("import.profiled", source=_PROFILED)]
        profiled += [warning("import.cut", test=INSPECTOR, missing="}")] if cut else []
        return _output(INSPECTOR, match[1] if match else "", figures, (), {}, tuple(profiled))
    if '"Collective name"' not in source.text:
        unsized = len(_KERNEL.findall(source.text)) or len(_CALL.findall(source.text))
        told = (
            warning("import.no-sizes", tool=TOOL, calls=unsized) if unsized else warning("import.no-calls", tool=TOOL)
        )
        return PeerOutput(TOOL, "", (), (), findings=(told,))
    pattern = PatternText(source.path, source.text.encode())
    calls, setting = list(kineto.timed(pattern)), _setting(pattern)
    figures = tuple(_figures(TOOL, calls, len(setting.devices)))
    version = setting.distributed.nccl_version
    gpus = tuple(Gpu(one.name[:100]) for one in setting.devices)
    return _output(TOOL, "", figures, gpus, {"NCCL": version} if re.fullmatch(r"[\d.]{1,16}", version) else {}, ())


def _of_inspector(text: str) -> bool:
    known = '"coll_perf"' in text or '"p2p_perf"' in text
    return known and _RECORD.search(text) is not None


def _records(text: str) -> tuple[str, bool]:
    """Return the plug-in's records, one a line, of a text that may have other lines or be written over several lines,
    and whether one is cut; the text where none is whole."""
    decoder, found, end, cut = json.JSONDecoder(), list[str](), 0, False
    for match in _RECORD.finditer(text):
        if match.end() <= end:
            continue
        try:
            record, end = decoder.raw_decode(text, text.index("{", match.start()))
        except (ValueError, RecursionError):
            cut = True
            continue
        found.append(json.dumps(record))
    return "\n".join(found) or text, cut


def _output(
    tool: str,
    version: str,
    figures: tuple[Figure, ...],
    gpus: tuple[Gpu, ...],
    versions: Mapping[str, str],
    findings: tuple[Finding, ...],
) -> PeerOutput:
    said = note("import.includes-waiting", test=tool) if figures else warning("import.no-kernels", tool=tool)
    hosts = max((figure.moves.hosts for figure in figures if figure.moves), default=1)
    of_all = (gpus * hosts)[:MOST_GPUS] if len(gpus) * hosts <= MOST_GPUS else gpus
    return PeerOutput(tool, version, (), figures, of_all, versions=versions, findings=(said, *findings))


def _setting(source: PatternText) -> _Setting:
    try:
        return msgspec.json.decode(source.data, type=_Setting)
    except (msgspec.DecodeError, RecursionError):
        return _Setting()


def _figures(tool: str, calls: Sequence[TimedCall], on_host: int) -> Iterator[Figure]:
    """Yield a figure for each kind, size, type and group; ``on_host``: the GPUs of each host, 0 where not said."""
    equal: dict[TimedCall, list[float]] = {}
    for call in calls:
        equal.setdefault(replace(call, seconds=0.0), []).append(call.seconds)
    groups: dict[tuple[str, int], dict[tuple[int, ...], None]] = {}
    for call in equal:
        groups.setdefault((call.kind, call.ranks), {})[call.members] = None
    for call, seconds in equal.items():
        stats, ordered = stats_of(seconds), sorted(seconds)
        stats = replace(stats, median=ordered[(len(ordered) - 1) // 2])
        several = len(groups[call.kind, call.ranks]) > 1 and call.members
        said = (
            "" if call.element in _PLAIN else call.element.lower(),
            f"ranks {call.members[0]} to {call.members[-1]}" if several else "",
            "host clock" if call.on_host else "",
        )
        message = call.kind in _MESSAGES
        moves = Movement(
            "message" if message else "collective",
            "xccl" if message else "xccl-collective",
            executor="gpu:0",
            memories=("device", "device"),
            collective="" if message else call.kind,
            ranks=2 if message else call.ranks,
            hosts=1 if message else _hosts(call, on_host),
            varies=", ".join(word for word in (call.kind if message else "", *said) if word),
        )
        facts = {"clock": "host" if call.on_host else "device"}
        yield Figure(f"{tool} {call.kind}", stats, SECONDS, size=call.size, facts=facts, moves=moves)


def _hosts(call: TimedCall, on_host: int) -> int:
    """Return the hosts of a group: as the trace says it, or where ranks are numbered host by host; 1 where not said."""
    if on_host > 1 and call.members:
        return len({rank // on_host for rank in call.members})
    return max(call.hosts, 1) if call.hosts <= call.ranks else 1
