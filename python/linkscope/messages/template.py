"""Template: a text with placeholders, and how a fact is written in each.

``{name}`` writes a word, a whole number or a list of words ("a, b and c"). Other facts say how they are written:

================== ================================================
``{n:# result}``   "1 result", "34 results"
``{x:number}``     "396.3": rates in GB/s and whatever else is measured
``{x:brief}``      "2.4", "16": with two digits
``{x:time}``       "825.0 ns", of seconds
``{x:size}``       "512 MiB", of bytes
``{x:percent}``    "88%", of a share
``{x:change}``     "+9.3%", of a relative change
``{x:factor}``     "2.4x", of a ratio
``{x:duration}``   "12 min", of seconds
``{x:path}``       "gpu:0 -> gpu:1", of a path, a movement or a list of them
``{x:name KIND}``  what names.toml calls a thing of that kind, or each of a list of them
``{x:names KIND}``   the same of several that are no list: "a; b"
``{x:counts KIND}``  "66 CPU, 24 concurrent": how many of each thing of that kind
``{x:tally KIND}``   "505 recoveries, 1 replay": the same of things whose names are nouns
=================  =========================================
Of a pair or an Interval ``number``, ``size``, ``percent`` and ``change`` write the range: "374.1-396.4", "16-21 MiB".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import Formatter
from typing import Any

from linkscope.messages import numbers
from linkscope.messages.finding import Facts
from linkscope.messages.names import named

_ONE: dict[str, Callable[[Any], str]] = {
    "number": numbers.number,
    "brief": numbers.brief,
    "time": numbers.time,
    "size": numbers.size,
    "percent": numbers.percent,
    "change": numbers.change,
    "factor": numbers.factor,
    "duration": numbers.duration,
}
_RANGE: dict[str, Callable[[Any, Any], str]] = {
    "number": numbers.number_range,
    "size": numbers.sizes,
    "percent": numbers.percent_range,
    "change": numbers.change_range,
    "time": numbers.time_range,
    "factor": lambda low, high: f"{numbers.factor(low)} to {numbers.factor(high)}",
}


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return written(value, format_spec)


_TEMPLATE = _Template()


def fill(template: str, facts: Facts) -> str:
    """Return the text with its facts. Raises KeyError where one lacks, ValueError where it does not fit."""
    return _TEMPLATE.vformat(template, (), facts)


def placeholders(template: str) -> set[str]:
    """Return the names of the facts that a template needs."""
    return {name for _, name, _, _ in _TEMPLATE.parse(template) if name is not None}


def written(value: Any, how: str) -> str:
    """Return a fact as text; ``how`` is what stands behind the colon of a placeholder. Raises ValueError."""
    if how.startswith("# "):
        return numbers.count(int(value), *how[2:].split("|", 1))
    if how.startswith("name "):
        codes = [value] if isinstance(value, str) else value
        return numbers.listed([named(how[5:], str(code)) for code in codes])
    if how.startswith("counts "):
        return ", ".join(f"{many} {named(how[7:], code)}" for code, many in value.items())
    if how.startswith("tally "):
        return ", ".join(numbers.count(many, *named(how[6:], code).split("|", 1)) for code, many in value.items())
    if how.startswith("names "):
        return "; ".join(written(code, f"name {how[6:]}") for code in value)
    if how == "path":
        return _path(value) if isinstance(value, str) else numbers.listed([_path(path) for path in value])
    if how in _ONE:
        ends = _ends(value)
        return _ONE[how](value) if ends is None else _RANGE[how](*ends)
    if how:
        raise ValueError(f"no way to write a fact is called {how!r}")
    if isinstance(value, float):
        raise ValueError("a fraction needs a way to be written")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return numbers.listed([str(word) for word in value])
    return str(value)


def _path(path: str) -> str:
    name = named("movement", path) if ":" not in path else path
    if name != path:
        return name
    return path.replace("<>", " <-> ") if "<>" in path else path.replace(">", " -> ")


def _ends(value: Any) -> tuple[Any, Any] | None:
    """Return both ends of a range; None for one number."""
    if hasattr(value, "low") and hasattr(value, "high"):
        return value.low, value.high
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[0], value[-1]
    return None
