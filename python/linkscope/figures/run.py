"""Run: what answers are given of: a run file's header and states, and its results as one frame."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars

from linkscope.figures.results import results
from linkscope.importers.opened import opened
from linkscope.importers.peer_output import Topology
from linkscope.machine.node import Node
from linkscope.machine.nominal import nominal
from linkscope.machine.paths import Paths
from linkscope.machine.state import MachineState
from linkscope.machine.traits import MethodTraits, method_traits
from linkscope.machine.vendor import named_vendor, vendor_of
from linkscope.messages.finding import Finding, Level
from linkscope.messages.methods import library
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
_OF_RCCL = "rccl-tests"
"""The tool whose results are RCCL's, also of GPUs that it does not name."""


class Run:
    """One run, read. ``results`` is the frame of figures/columns.py, in the plan's order.

    ``answers``: what answers/questions.py keeps of it, by question.
    """

    def __init__(self, file: RunFile) -> None:
        self.file = file
        self.answers: dict[str, Any] = {}

    @staticmethod
    def of(run: Run | RunFile | str | os.PathLike[str]) -> Run:
        """Return the run that is given, read before or named: a run file, or what another tool printed, "-" for
        standard input. Raises LinkscopeError where a file is neither."""
        if isinstance(run, Run):
            return run
        return Run(run if isinstance(run, RunFile) else opened(Path(run)))

    @property
    def path(self) -> Path:
        """Return where the run file is."""
        return self.file.path

    @property
    def header(self) -> Json:
        """Return the first line of the run file."""
        return self.file.header

    @cached_property
    def node(self) -> Node:
        """Return the machine that the run was made on."""
        return self.file.node

    @cached_property
    def paths(self) -> Paths:
        """Return the paths between the devices of the node, its links as they were built."""
        return Paths(nominal(self.node))

    @cached_property
    def results(self) -> polars.DataFrame:
        """Return every result, a line each."""
        return results(self.node, self.file.rows)

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """Return the rows of all cases by id, for what the frame does not hold."""
        return {row.id: row for row in self.file.rows}

    @cached_property
    def traits(self) -> Mapping[str, MethodTraits]:
        """Return what is known of every method that was to be measured."""
        found: dict[str, MethodTraits] = {}
        for row in self.file.rows:
            for flow in row.case["flows"]:
                if flow["method"] not in found:
                    found[flow["method"]] = method_traits(row.case, flow["method"])
        return found

    def methods(self, trait: str) -> list[str]:
        """Return the methods that have a trait."""
        return [name for name, traits in self.traits.items() if getattr(traits, trait)]

    @cached_property
    def library(self) -> str:
        """Return which library `xccl` was: NCCL or RCCL. A paste without its GPUs' names says it by its tool."""
        if self.header.get("origin", {}).get("tool") == _OF_RCCL:
            return library("amd")
        engine = str(self.header.get("engine", {}).get("backend", ""))
        return library(vendor_of(self.node, engine) or named_vendor(self.node))

    @property
    def modelled(self) -> bool:
        """Return whether any result comes from a machine model."""
        return self.file.modelled

    @property
    def pasted(self) -> bool:
        """Return whether another tool made it."""
        return "origin" in self.header

    @cached_property
    def printed(self) -> tuple[Finding, ...]:
        """Return what other tools printed besides results, and what was not understood of it."""
        said = self.header.get("origin", {}).get("findings", ())
        return tuple(Finding(one["code"], Level(one["level"]), one["facts"]) for one in said)

    @cached_property
    def topology(self) -> Topology | None:
        """Return how the devices are joined, where it was pasted."""
        said = self.header.get("origin", {}).get("topology")
        if said is None:
            return None
        return Topology({(a, b): word for a, b, word in said["pairs"]}, said["numa"], said["vendor"])

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the ids of planned cases without a row: the run was cut short."""
        return self.file.missing

    @cached_property
    def states(self) -> tuple[MachineState, ...]:
        """Return the machine's state as it was read before and during the run; none of a machine model."""
        if self.node.modelled:
            return ()
        found = [self.header.get("state"), *(record.get("state") for record in self.file.states)]
        return tuple(MachineState.from_json(state) for state in found if state)
