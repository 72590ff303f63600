"""Study: what a published study measured, shows and claims, as the data files in studies/ have it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from linkscope.documents.yaml_file import read_yaml
from linkscope.messages.near_names import unknown

STUDIES = Path(__file__).resolve().parents[1] / "studies"
Text = Annotated[str, Meta(min_length=1, max_length=600)]
Number = Annotated[float, Meta(ge=-1e18, le=1e18)]
Size = Annotated[int, Meta(ge=0, le=1 << 50)]
Wanted: TypeAlias = str | int | bool | list[str | int]
Where = Mapping[str, Wanted]
"""Columns of the results (figures/columns.py) with the value, or the values, that they must have. Besides,
``members``: how many a collective has; ``from``, ``to``: least and most bytes; ``parameters``: each of these words;
``environments``: the first of these that has a figure."""
Unit = Literal["GB/s", "ns", "us", "ms", "s", "of peak", "ratio"]


class Crossing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``below`` is cheaper up to a size between the two of ``at`` in bytes, ``above`` from there on. ``factor``: by how
    much that size may be missed."""

    below: Where
    above: Where
    at: tuple[Size, Size]
    factor: Annotated[float, Meta(ge=1)] = 1.5


class Reaching(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """From a size between the two of ``at`` on, ``figure`` is at least ``value``. ``factor``: as of ``Crossing``."""

    value: Number
    at: tuple[Size, Size]
    factor: Annotated[float, Meta(ge=1)] = 1.5


class Below(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Only ``pairs`` of GPUs, whichever way, have a figure below ``value``."""

    value: Number
    pairs: list[tuple[int, int]]


class Widest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The route of the topology that is widest between its ends, or its ``hops``; of ``longest`` the most that any pair
    of GPUs has by its shortest route."""

    route: list[int] = []
    longest: int | None = None


class Claim(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One claim: where the study makes it, what it says, the figures it is about and one thing expected of them.

    ``of``: the machine model of which alone the study says it, if it is of several.
    ``figure``, divided by ``over`` or less ``minus`` where one is given, in ``unit``. Of several figures their median
    counts, or ``pick``; with ``each`` those that agree in these columns are taken together, and each group must do;
    ``across``: only the group with the most, or the least.

    ``about``: to ``within``, relative. ``between``, ``least``, ``most``: bounds, missed by at most ``within``.
    ``alike``: the groups differ by at most this share. ``crossing``, ``reaching``, ``below``, ``widest``: see there.
    ``linear_from``: from so many bytes on time grows with the size, and before it does not. ``needs``: what keeps the
    claim from being tested by any run. ``cell``: it is a figure of a table.
    """

    where: Text
    says: Text
    of: str = ""
    figure: Where = {}
    over: Where | None = None
    minus: Where | None = None
    unit: Unit = "GB/s"
    pick: Literal["median", "least", "most"] = "median"
    each: list[str] = []
    across: Literal["all", "most", "least"] = "all"
    within: Annotated[float, Meta(ge=0, le=1)] = 0.1
    about: Number | None = None
    between: tuple[Number, Number] | None = None
    least: Number | None = None
    most: Number | None = None
    alike: Number | None = None
    crossing: Crossing | None = None
    reaching: Reaching | None = None
    below: Below | None = None
    widest: Widest | None = None
    linear_from: Size | None = None
    needs: str = ""
    cell: bool = False

    @property
    def expects(self) -> tuple[str, ...]:
        """Return the names of what is expected; one, if the claim is well made."""
        if self.cell and self.needs:
            return ("needs",)
        return tuple(name for name in EXPECTATIONS if getattr(self, name) not in (None, ""))


EXPECTATIONS = (
    *("about", "between", "least", "most", "alike", "crossing", "reaching", "below", "widest", "linear_from"),
    "needs",
)


class Line(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A curve of a figure, or a line or column of a table."""

    label: Text
    where: Where


class Exhibit(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A table or figure of the study. ``where`` holds for all of it.

    ``curve``: a line for each of ``lines``, or as its rows have them. ``matrix``, ``list``: as its row has it.
    ``table``: ``lines`` by ``columns``, with the ``published`` figures, null where the study has none; each is a claim,
    held to ``within``; ``needs``: what keeps them from being tested, so that they stand beside ours alone. A line may
    select a figure in ways that GPUs of other vendors need: one of them answers.
    """

    name: Text
    title: Text
    kind: Literal["curve", "matrix", "list", "table"]
    where: Where = {}
    lines: list[Line] = []
    columns: list[Line] = []
    published: list[list[Number | None]] = []
    needs: str = ""
    unit: Unit = "GB/s"
    within: Annotated[float, Meta(ge=0, le=1)] = 0.1


class StudiedMachine(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``node``: the machine model that stands for it."""

    node: Text
    gpu: Text
    link: Text
    software: Text


class StudyFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file of studies/. ``suites`` measure what it measured."""

    name: Text
    title: Text
    machines: Annotated[list[StudiedMachine], Meta(min_length=1)]
    suites: Annotated[list[str], Meta(min_length=1)]
    exhibits: list[Exhibit]
    claims: list[Claim]


def study_names() -> list[str]:
    """Return the names of the studies, oldest first."""
    return sorted((path.stem for path in STUDIES.glob("*.yaml")), key=lambda name: (name[-2:], name))


@cache
def load_study(name: str) -> StudyFile:
    """Return the study of that name, its tables' published figures among its claims. Raises LinkscopeError."""
    if name not in study_names():
        raise unknown("study", name, study_names(), "linkscope list studies")
    found = read_yaml(STUDIES / f"{name}.yaml", "study").typed(StudyFile)
    cells = [claim for exhibit in found.exhibits for claim in _of_table(exhibit)]
    return msgspec.structs.replace(found, claims=[*cells, *found.claims])


def place(line: Line, column: Line) -> str:
    """Return what a table's cell says."""
    return f"{line.label}, {column.label}"


def _of_table(exhibit: Exhibit) -> list[Claim]:
    return [
        Claim(
            where=exhibit.name,
            says=place(line, column),
            figure={**exhibit.where, **line.where, **column.where},
            unit=exhibit.unit,
            within=exhibit.within,
            about=value,
            needs=exhibit.needs,
            cell=True,
        )
        for line, values in zip(exhibit.lines, exhibit.published, strict=False)
        for column, value in zip(exhibit.columns, values, strict=False)
        if value is not None
    ]
