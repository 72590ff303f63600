"""Typed call: arguments of the interface are as its signature says, or one line tells the first that is not."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown

Given = ParamSpec("Given")
Result = TypeVar("Result")
Class = TypeVar("Class")
_MOST_SHOWN = 60
_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    os.PathLike: "a path",
    Callable: "a function",
}
_PLAIN = (str, int, float, bool, type(None))
"""Types whose value an error prints; for others it prints the type."""


def typed_call(*keywords: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Makes a function raise LinkscopeError for keywords and values that it does not take. ``keywords``: those of its
    ``**``."""

    def checked(function: Callable[Given, Result]) -> Callable[Given, Result]:
        check = _Check(function, keywords)

        @wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            check(args, kwargs)
            return function(*args, **kwargs)

        return call

    return checked


def typed_fields(made: type[Class]) -> type[Class]:
    """The same of a dataclass: what it is made with fits its fields."""
    original: Callable[..., None] = made.__init__
    check = _Check(original, (), made)

    @wraps(original)
    def init(self: Class, *args: Any, **kwargs: Any) -> None:
        check((self, *args), kwargs)
        original(self, *args, **kwargs)

    setattr(made, "__init__", init)  # noqa: B010  a type checker keeps the fields' own signature
    return made


class _Check:
    """Check the calls of ``function``, or those that make an instance of ``made``."""

    def __init__(self, function: Callable[..., Any], keywords: Sequence[str], made: type | None = None) -> None:
        self._name = made.__name__ if made is not None else function.__name__
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        self._named = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        self._keywords = keywords
        self._hints = cache(lambda: get_type_hints(made if made is not None else function))

    def __call__(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Raises LinkscopeError."""
        known = [*self._keywords, *(name for name in self._named if name != "self")]
        wrong = next((name for name in kwargs if name not in known), None)
        if wrong is not None:
            raise unknown(f"keyword of {self._name}", wrong, known)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LinkscopeError(f"{self._name}: {error}") from error
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                for keyword, one in value.items():
                    self._take(keyword, name, one)
            else:
                for one in value if kind is inspect.Parameter.VAR_POSITIONAL else (value,):
                    self._take(name, name, one)

    def _take(self, name: str, parameter: str, value: object) -> None:
        hint = self._hints().get(parameter, Any)
        forms = _forms(hint)
        if any(_fits(value, form) for form in forms):
            return
        wanted = " or ".join(dict.fromkeys(_word(form, forms) for form in forms if form is not type(None)))
        given = repr(value)[:_MOST_SHOWN] if isinstance(value, _PLAIN) else f"a {type(value).__name__}"
        quotes = ", in quotes as on the command line" if wanted == "text" and isinstance(value, int | float) else ""
        raise LinkscopeError(f"{self._name}: {name} must be {wanted}{quotes}, not {given}")


def _forms(hint: Any) -> list[Any]:
    """The members of a union."""
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def _fits(value: object, form: Any) -> bool:
    origin = get_origin(form)
    if form is Any or isinstance(form, TypeVar):
        return True
    if origin is Literal:
        return isinstance(value, str) and value in get_args(form)
    if isinstance(value, bool) and form is not bool:
        return False
    if isinstance(value, str) and "\0" in value:  # neither a name nor a path
        return False
    if form is float:
        return isinstance(value, int | float)
    return isinstance(value, origin or form)


def _word(form: Any, forms: Sequence[Any]) -> str:
    if get_origin(form) is Literal:
        return " or ".join(map(repr, get_args(form)))
    bare = get_origin(form) or form
    if bare is str and any(get_origin(one) is os.PathLike for one in forms):
        return _WORDS[os.PathLike]
    return _WORDS.get(bare) or f"a {getattr(bare, '__name__', bare)}"
