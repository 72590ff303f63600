"""The page of what `import linkscope` offers, of signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from tools.site.markdown import block, escaped

import linkscope

_LITERAL = re.compile(r"``([^`]+)``")
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
"""Of a type's name: its module, which nobody types."""
_QUOTED = re.compile(r"(?<=: |> )'([^']*)'")
"""An annotation, as it is kept."""
_MOST = 80
"""Characters of a line."""


def page() -> str:
    """Functions first, then the types that they return."""
    offered = {name: getattr(linkscope, name) for name in linkscope.__all__}
    functions = {name: one for name, one in offered.items() if inspect.isroutine(one)}
    types = {name: one for name, one in offered.items() if inspect.isclass(one)}
    lines = [
        "# Python interface",
        "",
        "What `import linkscope` offers. Every error of linkscope's is a `LinkscopeError`.",
        "",
    ]
    for name, one in functions.items():
        lines += [f"## {name}", "", *block(*_signature(name, one)), *_told(one)]
    lines += ["## Types", ""]
    for name, kind in types.items():
        lines += [f"### {name}", "", *_told(kind), *_members(kind)]
    return "\n".join(lines)


def _signature(name: str, one: Callable[..., Any]) -> list[str]:
    """The call as a program has it, a parameter a line where it is long."""
    signature = inspect.signature(one)
    plain = _QUOTED.sub(r"\1", _MODULE.sub("", str(signature)))
    if len(plain) <= _MOST:
        return [f"linkscope.{name}{plain}"]
    parameters = [_QUOTED.sub(r"\1", _MODULE.sub("", str(one))) for one in signature.parameters.values()]
    return [f"linkscope.{name}(", *(f"    {one}," for one in parameters), f"){plain[plain.rindex(' ->') :]}"]


def _members(one: type) -> list[str]:
    """Its own methods and properties, by name."""
    own = {name: member for name, member in vars(one).items() if not name.startswith("_")}
    documented = {name: member for name, member in own.items() if _documentation(member)}
    return [*(f"- `{name}`: {_first(member)}" for name, member in documented.items()), ""] if documented else []


def _first(member: Any) -> str:
    return _plain(_documentation(member).split("\n\n")[0])


def _documentation(member: Any) -> str:
    described = isinstance(member, (property, classmethod, staticmethod)) or inspect.isroutine(member)
    return inspect.getdoc(member) or "" if described else ""


def _told(one: Any) -> list[str]:
    """The docstring's paragraphs."""
    return [*(f"{_plain(part)}\n" for part in (inspect.getdoc(one) or "").split("\n\n"))]


def _plain(text: str) -> str:
    return escaped(_LITERAL.sub(r"`\1`", " ".join(text.split())))
