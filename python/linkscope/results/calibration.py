"""Calibration: how much a node's figures vary from run to run, and the file in which that is kept for the node."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.order_statistics import t975
from linkscope.results.kept_file import KeptFolder
from linkscope.schemas import load_schema

Json = dict[str, Any]

SCHEMA = 1
_FOLDER = KeptFolder("XDG_STATE_HOME", ".local/state", "calibration", most_bytes=16 << 20, indent=1)


@dataclass(frozen=True)
class Intervals:
    """How the intervals of several runs hold against one another. All numbers are shares or relative.

    ``covered``: of all runs of all cases, those whose interval holds the median of what the other runs found.
    ``disjoint``: of all pairs of runs of a case, those whose intervals are; ``apart``: those of them whose medians are
    more than 1 % apart. ``margin``: the larger side of an interval, median.
    """

    covered: float
    disjoint: float
    apart: float
    margin: float


@dataclass(frozen=True)
class Noise:
    """How a class of figures, or one case, varies between runs.

    ``intervals``: those that the runs have; ``calibrated``: with what the other runs let know of the noise between runs
    added to them, None where they hold a calibration's already or the runs are too few. Then the standard deviation
    that each level adds, relative, of the case in the middle: ``samples`` of one replicate, ``replicates`` of one run
    (None where each case had one, whose variation ``runs`` then holds), ``runs``. None where no case has what it takes.
    """

    name: str
    cases: int
    intervals: Intervals
    calibrated: Intervals | None
    samples: float | None
    replicates: float | None
    runs: float | None

    def to_json(self) -> Json:
        return asdict(self)

    @staticmethod
    def from_json(data: Json) -> Noise:
        """Of data that keeps to the schema."""
        calibrated = data["calibrated"] and Intervals(**data["calibrated"])
        return Noise(**{**data, "intervals": Intervals(**data["intervals"]), "calibrated": calibrated})


@dataclass(frozen=True)
class Calibration:
    """Several runs of the same suites on one node, held against one another.

    ``made``: when the last of them began (RFC 3339). ``devices``: id and name of each; with them the node is known
    again. ``classes``: keys of ``results/figure_class.py``, then "all". ``runs``: by case, the standard deviation
    between runs, relative: its own, drawn towards that of its class.
    """

    made: str
    version: str
    suites: tuple[str, ...]
    turns: int
    host: str
    node: str
    devices: tuple[tuple[str, str], ...]
    modelled: bool
    classes: tuple[Noise, ...]
    runs: Mapping[str, float]

    def to_json(self) -> Json:
        """As schema/calibration.schema.json has it; ``from_json`` reads it back."""
        devices = [{"id": device, "name": name} for device, name in self.devices]
        return {"schema": SCHEMA, **asdict(self), "devices": devices}

    @staticmethod
    def from_json(data: Json) -> Calibration:
        """Of data that keeps to the schema."""
        fields = {name: value for name, value in data.items() if name != "schema"}
        devices = tuple((device["id"], device["name"]) for device in data["devices"])
        classes = tuple(Noise.from_json(noise) for noise in data["classes"])
        return Calibration(**{**fields, "suites": tuple(data["suites"]), "devices": devices, "classes": classes})


def noise_of(found: Calibration, cases: Iterable[str]) -> Json:
    """What the header of a run file on that node says of it: the half width, as a share, of a 95 % interval for what
    varies from run to run beyond what varies within one (Student's, of so many turns), by class and by those of
    ``cases`` that were calibrated.
    """
    factor = t975(found.turns - 1)
    classes = {one.name: round(factor * one.runs, 6) for one in found.classes if one.runs is not None}
    known = {case: round(factor * found.runs[case], 6) for case in cases if case in found.runs}
    return {"calibrated": found.made, "turns": found.turns, "between_runs": {"classes": classes, "cases": known}}


def devices_of(node: Node) -> tuple[tuple[str, str], ...]:
    """By which a node is known again: id and name of its devices."""
    return tuple((device.id, device.name) for device in node.devices)


def kept_at(node: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the calibration of the node of that name is kept, whether there is one or not."""
    return _FOLDER.path(node, environment)


def keep(found: Calibration) -> Path:
    """Writes it to where ``load`` finds it, whole or not at all, in place of an older one.

    Raises LinkscopeError where it cannot be written, and ValueError for a modelled node, which has no noise to keep.
    """
    if found.modelled:
        raise ValueError("the calibration of a modelled node is not kept")
    path = kept_at(found.node)
    try:
        _FOLDER.write(path, found.to_json())
    except OSError as error:
        raise LinkscopeError(f"cannot keep the calibration in {path}: {error.strerror or error}") from error
    return path


def load(node: Node, note: Callable[[str], None] = lambda text: None) -> Calibration | None:
    """What is kept of ``node``; None where nothing is, and with a line to ``note`` where what is there is no use."""
    path = kept_at(node.name)
    if node.modelled:
        return None
    try:
        found = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        note(f"{path} is no calibration ({reason}): left out; calibrate again, or delete it")
        return None
    if found.devices != devices_of(node):
        note(f"{path} is of other devices than {node.name} has now: left out; calibrate again")
        return None
    return found


def _read(path: Path) -> Calibration:
    """Raises OSError or ValueError with a reason."""
    data = _FOLDER.read(path)
    problem = best_match(Draft202012Validator(load_schema("calibration")).iter_errors(data))
    if problem is not None:
        raise ValueError(f"{problem.json_path}: {problem.message}")
    return Calibration.from_json(data)
