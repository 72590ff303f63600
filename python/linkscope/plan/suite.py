"""Suites: data files whose rows expand into cases."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from linkscope.errors import LinkscopeError
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.sizes import parse_sizes
from linkscope.schemas import load_schema

SUITES = Path(__file__).resolve().parents[1] / "suites"


@dataclass(frozen=True)
class End:
    """One end of a row: the kind of device, and the memories there (none: flows lack this end)."""

    on: str
    memories: tuple[str, ...]


@dataclass(frozen=True)
class SuiteRow:
    """One row of a suite (schema/suite.schema.json); every tuple is an axis."""

    suite: str
    name: str
    title: str
    pattern: str
    source: End
    destination: End
    methods: tuple[str, ...]
    executors: tuple[str, ...]
    sizes: tuple[int, ...]
    show: str
    figure: str = "first"
    x: str = "bytes"
    rows: str = "source"
    clock: str | None = None
    cache: str = "rotated"
    min_sample_s: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    peer: dict[str, str] | None = None

    @property
    def needs_gpu(self) -> bool:
        """Whether either end names GPUs."""
        return any(end.on in ("gpu", "nearest-numa") for end in (self.source, self.destination))


@dataclass(frozen=True)
class Suite:
    """``answers`` is the question in one sentence."""

    name: str
    answers: str
    rows: tuple[SuiteRow, ...]


_PLAIN = ("figure", "x", "rows", "clock", "cache", "min_sample_s", "parameters", "peer")
"""Fields of a row that are taken as they stand."""


class _Yaml(yaml.SafeLoader):
    """YAML with the booleans of YAML 1.2, true and false: `on` is a word here, as in "on: gpu"."""


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if first in "tfTF" or tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def suite_names() -> list[str]:
    """Names of the packaged suites, `default` first."""
    return sorted((path.stem for path in SUITES.glob("*.yaml")), key=lambda name: (name != "default", name))


def load_suite(name: str) -> Suite:
    """A packaged suite by name, or the suite in the file of that path (anything with a slash or .yaml).

    Raises LinkscopeError, one line, where it is unknown, unreadable or against schema/suite.schema.json.
    """
    if name in suite_names():
        return _load(SUITES / f"{name}.yaml")
    if "/" in name or name.endswith((".yaml", ".yml")):
        return _load(Path(name))
    raise LinkscopeError(f"unknown suite {name!r}: choose from {', '.join(suite_names())}, or give a file name.yaml")


@cache
def packaged_methods() -> frozenset[str]:
    """Every method that a packaged suite uses: those are known even to an engine that lacks them."""
    return frozenset(method for name in suite_names() for row in load_suite(name).rows for method in row.methods)


@cache
def _load(path: Path) -> Suite:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _Yaml)
    except OSError as error:
        raise LinkscopeError(f"cannot read suite {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LinkscopeError(f"suite {path} is not YAML: {_one_line(error)}") from error
    wrong = best_match(Draft202012Validator(load_schema("suite")).iter_errors(data))
    if wrong is not None:
        where = "/".join(str(step) for step in wrong.absolute_path) or "the top"
        raise LinkscopeError(f"suite {path}, {where}: {_one_line(wrong.message)}")
    own = tuple(_row(data["name"], row) for row in data.get("rows", ()))
    included = (row for name in data.get("includes", ()) for row in load_suite(name).rows)
    rows = own + tuple(replace(row, suite=data["name"]) for row in included)
    if not rows:
        raise LinkscopeError(f"suite {path} has neither rows nor includes: it asks for nothing")
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise LinkscopeError(f"suite {path}: two rows are named {name!r}; names are unique in a suite")
    return Suite(data["name"], data["answers"], rows)


def _row(suite: str, data: dict[str, Any]) -> SuiteRow:
    if data["pattern"] not in PATTERNS:
        known = ", ".join(PATTERNS)
        raise LinkscopeError(f"suite {suite}, row {data['name']}: unknown pattern {data['pattern']!r} (known: {known})")
    plain = {key: data[key] for key in _PLAIN if key in data}
    return SuiteRow(
        suite=suite,
        name=data["name"],
        title=data["title"],
        pattern=data["pattern"],
        source=_end(data["source"]),
        destination=_end(data["destination"]),
        methods=_words(data["method"]),
        executors=_words(data["executor"]),
        sizes=tuple(parse_sizes(str(data["sizes"]))),
        show=data["show"],
        **plain,
    )


def _end(data: dict[str, Any]) -> End:
    return End(data["on"], _words(data["memory"]) if "memory" in data else ())


def _words(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _one_line(message: object) -> str:
    text = " ".join(str(message).split())
    return text if len(text) <= 160 else text[:157] + "..."
