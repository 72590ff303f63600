"""The list of tools whose output linkscope reads, and what a paste holds of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.importers.peer_output import LARGEST, LEAST, PeerOutput, Source, Topology
from linkscope.messages.catalog import problem
from linkscope.messages.near_names import unknown
from linkscope.results.printed_mark import is_marked


@dataclass(frozen=True)
class Importer:
    """A reader by the name of its module here, which loads when it is asked. It has ``SUMMARY``, ``recognises(text)``:
    whether a text holds lines of the tool, and ``read(source)``, which raises LinkscopeError where none is of use."""

    name: str

    @property
    def summary(self) -> str:
        """Return the tool, the versions and the forms that are read."""
        return str(self._module.SUMMARY)

    def recognises(self, text: str) -> bool:
        """Return whether a text holds lines of the tool."""
        return bool(self._module.recognises(text))

    def read(self, source: Source) -> PeerOutput:
        """Return what the tool's lines say. Raises LinkscopeError."""
        output: PeerOutput = self._module.read(source)
        return output

    @property
    def _module(self) -> Any:
        return import_module(f"linkscope.importers.{self.name}")


IMPORTERS = {
    "nvbandwidth": Importer("nvbandwidth"),
    "nccl-tests": Importer("nccl_tests"),
    "nccl-log": Importer("nccl_words"),
    "traces": Importer("collective_trace"),
    "nvshmem": Importer("nvshmem_perftest"),
    "deepep": Importer("deepep"),
    "osu": Importer("osu"),
    "commscope": Importer("commscope"),
    "p2pBandwidthLatencyTest": Importer("p2p_bandwidth_latency_test"),
    "transferbench": Importer("transferbench"),
    "nvloom": Importer("nvloom"),
    "rocm_bandwidth_test": Importer("rocm_bandwidth_test"),
    "azure-nhc": Importer("azure_nhc"),
    "multichase": Importer("multichase"),
    "perftest": Importer("perftest"),
    "ucx_perftest": Importer("ucx_perftest"),
    "nixlbench": Importer("nixlbench"),
    "nvidia-smi": Importer("topology_matrix"),
    "gpu-list": Importer("gpu_list"),
}
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?%?")
_PLAIN_WORD = re.compile(r"[A-Za-z]{1,2}|[A-Z/%()]{1,12}|[A-Za-z]\w{0,40}_\w{1,40}")
"""A word of a row that is a unit, a head or a test's name: names of hosts have no underscores."""
_NEAREST = 60
"""Characters of a line that an error quotes."""


@dataclass(frozen=True)
class Paste:
    """Hold what one or several tools printed. ``unread``: the lines, from 1, that look like rows of a table and that no
    reader took. ``unusable``: the tools whose lines are there and that no figure could be read from."""

    source: Source
    outputs: tuple[PeerOutput, ...]
    unread: tuple[int, ...] = ()
    unusable: tuple[str, ...] = ()

    @property
    def main(self) -> PeerOutput:
        """Return the output with most figures."""
        return max(self.outputs, key=lambda output: len(output.figures))

    @property
    def topology(self) -> Topology | None:
        """Return how the devices are joined, where the paste says it."""
        return next((output.topology for output in self.outputs if output.topology is not None), None)

    def row(self, number: int) -> str:
        """Return a row's numbers and units, for who reads a run file or a page: other words may name hosts or users."""
        words = self.source.lines[number - 1].split()
        plain = (_NUMBER.fullmatch(word) or _PLAIN_WORD.fullmatch(word) for word in words)
        return " ".join(word if known else "..." for word, known in zip(words, plain, strict=True))[:_NEAREST]


def read(source: Source, name: str | None = None) -> Paste:
    """Return what a paste holds of the tool ``name`` of ``IMPORTERS``, or of all tools whose lines are in it.

    Raises LinkscopeError, one line, where there is none, or no line is of use: what linkscope itself printed in a
    tool's format is no figure of that tool.
    """
    if is_marked(source.text):
        raise LinkscopeError(f"{source.path} was printed by linkscope: name its run file where you name a run")
    if name is not None and name not in IMPORTERS:
        raise unknown("format", name, IMPORTERS, "linkscope list importers")
    named = [name] if name else [key for key, one in IMPORTERS.items() if one.recognises(source.text)]
    if not named:
        raise _unknown(source)
    outputs: list[PeerOutput] = []
    wrong: dict[str, LinkscopeError] = {}
    for key in named:
        try:
            outputs.append(_possible(IMPORTERS[key].read(source)))
        except LinkscopeError as error:
            wrong[key] = error
    if not outputs:
        raise next(iter(wrong.values()))
    return Paste(source, tuple(outputs), _unread(source, outputs), tuple(wrong))


def _possible(output: PeerOutput) -> PeerOutput:
    """Return the output without figures that no machine gives, whose lines count as not understood."""
    wrong = [one for one in output.figures if not LEAST < one.value.median < LARGEST]
    if not wrong:
        return output
    figures = [one for one in output.figures if LEAST < one.value.median < LARGEST]
    return replace(output, figures=tuple(figures), read=output.read - {one.line for one in wrong})


def _unread(source: Source, outputs: list[PeerOutput]) -> tuple[int, ...]:
    """Return the rows of numbers that no reader took; none of JSON, whose readers take it whole."""
    if any(not output.read for output in outputs):
        return ()
    taken = frozenset().union(*(output.read for output in outputs))
    return tuple(number for number, line in enumerate(source.lines, 1) if number not in taken and _is_row(line))


def _is_row(line: str) -> bool:
    """Return whether a line is mostly numbers, as a table's row is."""
    words = line.split()
    numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
    return numbers > 1 and 2 * numbers >= len(words)


def _unknown(source: Source) -> LinkscopeError:
    """Return the error for a text of no known tool, with the line that is nearest to a row of a table."""
    near = next(((number, line) for number, line in enumerate(source.lines, 1) if _is_row(line)), None)
    if near is None:
        return problem("import.unknown", path=str(source.path))
    line = " ".join(near[1].split())[:_NEAREST]
    return problem("import.unknown-rows", path=str(source.path), number=near[0], nearest=line)
