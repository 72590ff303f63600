"""The list of formats that `linkscope import` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkscope.errors import LinkscopeError
from linkscope.importers import (
    commscope,
    multichase,
    nccl_tests,
    nvbandwidth,
    nvloom,
    osu,
    p2p_bandwidth_latency_test,
    transferbench,
)
from linkscope.importers.peer_output import PeerOutput, Source
from linkscope.messages.near_names import unknown
from linkscope.results.printed_mark import is_marked


@dataclass(frozen=True)
class Importer:
    """``recognises``: whether a text looks like the tool's; ``read`` raises LinkscopeError where it is not."""

    summary: str
    recognises: Callable[[str], bool]
    read: Callable[[Source], PeerOutput]


IMPORTERS = {
    "nvbandwidth": Importer("nvbandwidth 0.8 to 0.10: text, JSON (-j)", nvbandwidth.recognises, nvbandwidth.read),
    "nccl-tests": Importer(
        "nccl-tests and rccl-tests: text, JSON (-J), CSV and JSON lines (-x)", nccl_tests.recognises, nccl_tests.read
    ),
    "osu": Importer("OSU micro-benchmarks 5 to 7: text, also of -f", osu.recognises, osu.read),
    "commscope": Importer("Comm|Scope: Google Benchmark's JSON and CSV", commscope.recognises, commscope.read),
    "p2pBandwidthLatencyTest": Importer(
        "p2pBandwidthLatencyTest of the CUDA samples: text",
        p2p_bandwidth_latency_test.recognises,
        p2p_bandwidth_latency_test.read,
    ),
    "transferbench": Importer(
        "TransferBench 1.52, preset p2p: table, CSV (OUTPUT_TO_CSV=1)", transferbench.recognises, transferbench.read
    ),
    "nvloom": Importer("nvloom: CSV (--csvOutputFile)", nvloom.recognises, nvloom.read),
    "multichase": Importer("multichase: text of -v", multichase.recognises, multichase.read),
}


def read(source: Source, name: str | None) -> PeerOutput:
    """What the file says, as ``name`` of ``IMPORTERS``, or as the one that recognises it.

    Raises LinkscopeError, one line, where none does, several do, or the file is not what it seems: what linkscope
    itself printed in a tool's format is no figure of that tool.
    """
    if is_marked(source.text):
        raise LinkscopeError(f"{source.path} was printed by linkscope: name its run file where you name a run")
    if name is None:
        found = [key for key, one in IMPORTERS.items() if one.recognises(source.text)]
        if len(found) != 1:
            known = ", ".join(IMPORTERS)
            why = "is the output of no tool that linkscope reads" if not found else f"may be of {' or '.join(found)}"
            raise LinkscopeError(f"{source.path} {why}: name it with --from, one of {known}")
        name = found[0]
    if name not in IMPORTERS:
        raise unknown("format", name, IMPORTERS, "linkscope list importers")
    return IMPORTERS[name].read(source)
