"""Typed: data as a type says, or the field that is not so, and what is wrong with it."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

Form = TypeVar("Form")
Steps = tuple[str | int, ...]
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")


class MisfitError(ValueError):
    """``steps``: the keys and indices that lead to what does not fit; ``what``: why."""

    def __init__(self, steps: Steps, what: str) -> None:
        self.steps, self.what = steps, " ".join(what.split())[:300]
        super().__init__(f"{self.field}: {self.what}" if steps else self.what)

    @property
    def field(self) -> str:
        """For people: ``rows[0].clock``."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps).lstrip(".")


def typed(data: Any, form: type[Form]) -> Form:
    """``data`` of JSON or YAML as ``form``, a type that msgspec knows. Raises MisfitError."""
    try:
        return msgspec.convert(data, form)
    except msgspec.ValidationError as error:
        raise misfit(data, form, str(error)) from error


def misfit(data: Any, form: Any, said: str) -> MisfitError:
    """Return the error for data that msgspec did not take as ``form``. ``said``: its own words."""
    what, _, where = said.partition(" - at `")
    steps: list[str | int] = []
    forms = list(_alternatives(form))
    for name, index in _STEP.findall(where):
        key = name or (index if index == "..." else int(index))
        forms = [inner for one in forms for inner in _inside(one, key)]
        if key == "..." and isinstance(data, dict):  # msgspec does not tell which
            key = next((name for name, value in data.items() if not _fits(value, forms)), "...")
        steps.append(key)
        data = data[key] if isinstance(data, list) else data.get(key) if isinstance(data, dict) else None
    unknown = _UNKNOWN.fullmatch(what)
    if unknown:
        near = difflib.get_close_matches(unknown[1], [name for one in forms for name in _fields(one)], 1)
        return MisfitError((*steps, unknown[1]), "no field has that name" + (f"; {near[0]} is one" if near else ""))
    missing = _MISSING.fullmatch(what)
    if missing:
        return MisfitError((*steps, missing[1]), "is missing")
    if where.startswith("key`") and isinstance(data, dict):
        named = [get_args(_bare(one))[0] for one in forms if get_origin(_bare(one)) in (dict, Mapping)]
        named = named or [str]
        return MisfitError(
            (*steps, next((str(name) for name in data if not _fits(name, named)), "")), f"its name: {what}"
        )
    if what.startswith("Invalid enum value"):
        words = [str(word) for one in forms if get_origin(_bare(one)) is Literal for word in get_args(_bare(one))]
        return MisfitError((*steps,), f"{str(data)[:80]!r} is none of {', '.join(words)}")
    return MisfitError((*steps,), what)


def _fits(value: Any, forms: list[Any]) -> bool:
    try:
        msgspec.convert(value, Union[tuple(forms)] if forms else Any)  # noqa: UP007  known only here
    except msgspec.ValidationError:
        return False
    return True


def _bare(form: Any) -> Any:
    return get_args(form)[0] if get_origin(form) is Annotated else form


def _alternatives(form: Any) -> Iterator[Any]:
    """The members of a union, each with its own constraints."""
    if get_origin(_bare(form)) in (Union, types.UnionType):
        for one in get_args(_bare(form)):
            yield from _alternatives(one)
    else:
        yield form


def _inside(form: Any, key: str | int) -> Iterator[Any]:
    """Return what stands at ``key`` of such a value; "..." is any key of a mapping."""
    form = _bare(form)
    origin, inner = get_origin(form), get_args(form)
    if isinstance(key, int) and origin in (list, tuple):
        yield from _alternatives(inner[0])
    elif key == "..." and origin in (dict, Mapping):
        yield from _alternatives(inner[1])
    elif key in _fields(form):
        yield from _alternatives(get_type_hints(form, include_extras=True)[str(key)])


def _fields(form: Any) -> tuple[str, ...]:
    return tuple(getattr(form, "__annotations__", {})) if isinstance(form, type) else ()
