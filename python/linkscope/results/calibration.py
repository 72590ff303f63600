"""Calibration: how much a node's results vary between runs, and the file in which that is kept for the node."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from linkscope.documents.escaped import escaped
from linkscope.documents.typed import typed
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.results.kept_file import KeptFolder
from linkscope.statistics.ranks import t975

Json = dict[str, Any]

SCHEMA = 2
FEWEST_KEPT = 5
"""Turns from which on a calibration is kept: fewer say little of the next run."""
Share = Annotated[float, Meta(ge=0, le=1)]
Deviation = Annotated[float, Meta(ge=0, le=1000)]
_FOLDER = KeptFolder("XDG_STATE_HOME", ".local/state", "calibration", most_bytes=16 << 20, indent=1)


@dataclass(frozen=True)
class Intervals:
    """Say how far the intervals of several runs agree. All numbers are shares or relative.

    ``covered``: of all runs of all cases, those whose interval holds the median of what the other runs found.
    ``disjoint``: of all pairs of runs of a case, those whose intervals are; ``apart``: those of them whose medians are
    more than 1 % apart. ``margin``: the larger side of an interval, median.
    """

    covered: Share
    disjoint: Share
    apart: Share
    margin: Annotated[float, Meta(ge=0, le=1e300)]


@dataclass(frozen=True)
class Noise:
    """Say how a class of results, or one result, varies between runs.

    ``intervals``: those that the runs have; ``calibrated``: widened by the noise between the
    other runs, None where they hold a calibration's noise or the runs are too few. Then the standard deviation
    that each level adds, relative, of the median case: ``samples`` of one replicate, ``replicates`` of one run
    (None where each case had one, whose variation ``runs`` then holds), ``runs``. None where no case has what it takes.
    ``other_runs`` and ``other_replicates``: below which nine of ten cases stay, for cases that were not calibrated.
    """

    name: str
    cases: Annotated[int, Meta(ge=1)]
    intervals: Intervals
    calibrated: Intervals | None
    samples: Deviation | None
    replicates: Deviation | None
    runs: Deviation | None
    other_runs: Deviation | None = None
    other_replicates: Deviation | None = None


@dataclass(frozen=True)
class KnownDevice:
    """A device of the node; by its devices the node is known again."""

    id: str
    name: str


@dataclass(frozen=True)
class NodeNoise:
    """Say how much results of some suites vary between runs on one node, by several runs of them.

    ``made``: when the last of them began (RFC 3339). ``devices``: with them the node is known again. ``classes``: keys
    of ``results/noise_class.py``, then "all". ``runs``: by case, the standard deviation between runs, relative, drawn
    towards that of its class; ``freedom``: how many degrees of freedom these have at least. ``replicates``: likewise
    between replicates of a run, of cases that had several.
    """

    made: Annotated[str, Meta(pattern=r"^[0-9T:.+Z-]+$")]
    version: str
    suites: tuple[str, ...]
    turns: Annotated[int, Meta(ge=2, le=10**6)]
    freedom: Annotated[int, Meta(ge=1, le=10**6)]
    host: str
    node: str
    devices: tuple[KnownDevice, ...]
    modelled: bool
    classes: tuple[Noise, ...]
    runs: Mapping[str, Deviation]
    replicates: Mapping[str, Deviation]

    @property
    def worth_keeping(self) -> bool:
        """Return whether later runs of the node should know of it: it was measured, by enough runs and replicates."""
        return not self.modelled and self.turns >= FEWEST_KEPT and bool(self.replicates)

    def to_json(self) -> Json:
        """Return a JSON-ready dict, as a calibration file has it."""
        return asdict(self)


Kept = tuple[NodeNoise, ...]
"""Calibrations of a node, one for each choice of suites, the newest first."""


class CalibrationFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file that is kept for a node."""

    schema: Literal[2]
    calibrations: Annotated[tuple[NodeNoise, ...], Meta(min_length=1)]


def noise_of(kept: Kept, cases: Iterable[str]) -> Json:
    """Return what the header of a run file on the node says of its noise, by class and by calibrated case of ``cases``.

    ``between_runs``: the relative half width of a 95% interval (Student's) for what varies between runs beyond what
    varies within one. ``one_replicate``: likewise of a case with one replicate, whose interval lacks that variation.
    """
    freedom = min(one.freedom for one in kept)
    factor = t975(freedom)
    runs: dict[str, dict[str, float]] = {"classes": {}, "cases": {}}
    alone: dict[str, dict[str, float]] = {"classes": {}, "cases": {}}

    def add(group: str, name: str, between: float, within: float) -> None:
        runs[group].setdefault(name, round(factor * between, 6))
        alone[group].setdefault(name, round(factor * math.hypot(between, within), 6))

    named = list(cases)
    for one in kept:
        for noise in one.classes:
            if noise.other_runs is not None:
                add("classes", noise.name, noise.other_runs, noise.other_replicates or 0.0)
        for case in named:
            if case in one.runs:
                add("cases", case, one.runs[case], one.replicates.get(case, 0.0))
    turns, suites = min(one.turns for one in kept), list(dict.fromkeys(suite for one in kept for suite in one.suites))
    said = {"calibrated": kept[0].made, "turns": turns, "freedom": freedom, "suites": suites}
    return {**said, "between_runs": runs, "one_replicate": alone}


def devices_of(node: Node) -> tuple[KnownDevice, ...]:
    """Return the devices by which a node is known again."""
    return tuple(KnownDevice(device.id, device.name) for device in node.devices)


def kept_at(node: str, host: str = "", environment: Mapping[str, str] = os.environ) -> Path:
    """Return where the calibrations of a node are kept, whether there are any or not, by default on this host."""
    return _FOLDER.path(f"{host or platform.node()}-{node}", environment)


def keep(found: NodeNoise) -> Path:
    """Write a calibration to where ``load`` finds it, whole or not at all, in place of one of the same suites.

    Raises LinkscopeError where it cannot be written, and ValueError for a modelled node, which has no noise to keep.
    """
    if found.modelled:
        raise ValueError("the calibration of a modelled node is not kept")
    path = kept_at(found.node, found.host)
    try:
        before = _read(path)
    except (OSError, ValueError, RecursionError):
        before = ()
    others = [one for one in before if one.suites != found.suites and one.devices == found.devices]
    try:
        _FOLDER.write(path, {"schema": SCHEMA, "calibrations": [one.to_json() for one in (found, *others)]})
    except OSError as error:
        raise LinkscopeError(f"cannot keep the calibration in {path}: {error.strerror or error}") from error
    return path


def load(node: Node, note: Callable[[str], None] = lambda text: None) -> Kept | None:
    """Return what is kept of ``node`` on this host, None where nothing is, with a ``note`` on a useless file."""
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
    if any(one.devices != devices_of(node) or one.host != platform.node() for one in found):
        note(f"{path} is of another host, or of other devices than {node.name} has now: left out; calibrate again")
        return None
    return found


def _read(path: Path) -> Kept:
    """Return the calibrations of a file. Raises OSError or ValueError with a reason."""
    data = escaped(_FOLDER.read(path))
    found = typed(data, CalibrationFile).calibrations
    unknown = {name for one in data["calibrations"] for name in one} - {field.name for field in fields(NodeNoise)}
    if unknown:
        raise ValueError(f"calibrations: there is no field {min(unknown)}")
    if any(one.modelled for one in found):
        raise ValueError("calibrations: a machine model has no noise")
    return found
