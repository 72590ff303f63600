"""ModelledMethod: how machine models play a method, and the one list of those that they play.

The list is machine/known_catalog.json, since a method of GPUs must be known where no engine has it. A test holds its
names, parameters and traits to what engines state of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from linkscope.machine.traits import known_catalog
from linkscope.version import __version__

Json = dict[str, Any]
BACKEND = "modelled"
Parameters = Mapping[str, Any]


class Staging(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name what copies a schedule's buffers through host memory, and the kind of that memory."""

    method: str
    memory: str


class Steps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The methods that stand for the steps of a schedule; ``packs`` by the kind of device that packs.

    ``numbers``: by kind of device, the memory of a phase's collectives. ``stores``: messages are packed by stores into
    the receiver's memory.
    """

    messages: str
    collectives: str
    packs: dict[str, str]
    numbers: dict[str, str]
    staging: Staging
    stores: bool = False


class ModelledMethod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe how a method's bytes run.

    copy, exchange (half of them each way), read (to the executor), write (from it), arrays (STREAM's: to it, the result
    from it), chase (dependent loads), flag (one way), collective, schedule.

    ``accepts``: its parameters; of "name=value" no other value is modelled. ``like``: the method whose figures it takes
    where a description has none of its own. ``vendor``: whose GPUs alone have it. ``means``: what it is, where another
    thing has its name. ``passing``: a collective's blocks go around a ring, or between all pairs at once.
    """

    motion: Literal["copy", "exchange", "read", "write", "arrays", "chase", "flag", "collective", "schedule"]
    driver: Literal["cpu", "gpu", "any"] = "any"
    accepts: tuple[str, ...] = ()
    like: str | None = None
    vendor: str | None = None
    means: str | None = None
    passing: Literal["ring", "pairs"] = "ring"
    steps: Steps | None = None

    @property
    def parameters(self) -> dict[str, str | None]:
        """The value that a parameter must have, None: any."""
        found = (text.partition("=") for text in self.accepts)
        return {name: value if equals else None for name, equals, value in found}


@cache
def modelled_methods() -> dict[str, ModelledMethod]:
    """Return the methods that machine models play, by name."""
    listed = known_catalog()["methods"]
    return {name: msgspec.convert(one["model"], ModelledMethod) for name, one in listed.items() if "model" in one}


@cache
def description() -> Json:
    """Return what an engine's `describe` would say of the modelled methods and memories (schema/result.schema.json)."""
    known = known_catalog()
    return {
        "record": "description",
        "schema": 1,
        "version": __version__,
        "backend": BACKEND,
        "devices": [],
        "methods": [
            _entry(name, known["methods"][name]) | {"parameters": _texts(method)}
            for name, method in modelled_methods().items()
        ],
        "memories": [_entry(name, one) for name, one in known["memories"].items()],
    }


def _entry(name: str, one: Json) -> Json:
    return {"name": name, "summary": one["summary"], "available": True, "traits": one.get("traits", {})}


def _texts(method: ModelledMethod) -> dict[str, str]:
    return {
        name: "makes no difference to the model" if value is None else f"{value}; no other value is modelled"
        for name, value in method.parameters.items()
    }
