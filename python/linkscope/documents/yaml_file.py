"""Safe loaders of YAML, by libyaml where PyYAML was built with it: ten times as fast; and what no file may ask."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from linkscope.documents.escaped import escaped
from linkscope.documents.typed import Form, MisfitError, Steps, typed
from linkscope.errors import LinkscopeError

try:
    from yaml import CSafeLoader as YamlLoader
except ImportError:
    from yaml import SafeLoader as YamlLoader  # type: ignore[assignment]

__all__ = ["SuiteLoader", "YamlFile", "YamlLoader", "read_yaml"]

MOST_BYTES = 4 << 20
MOST_DEPTH = 32
"""libyaml's loader ends the process by a stack overflow in deep files."""
MOST_NODES = 1_000_000
"""With all that aliases stand for."""


class SuiteLoader(YamlLoader):
    """Suites' own: on, off, yes and no are words, not truth values."""


SuiteLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if first in "tfTF" or tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in YamlLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class YamlFile:
    """A file that was read: ``data`` is what it holds, control characters escaped. ``kind``: what it is to be."""

    path: Path
    kind: str
    text: str
    data: Any

    def typed(self, form: type[Form]) -> Form:
        """The data as ``form``, a type that msgspec knows. Raises LinkscopeError that names file, line and field."""
        try:
            return typed(self.data, form)
        except MisfitError as error:
            raise LinkscopeError(f"{self.kind} {self.path}, line {self._line(error.steps)}: {error}") from error

    def _line(self, steps: Steps) -> int:
        """Return the line number in the file, from 1."""
        node = yaml.compose(self.text, YamlLoader)
        line = node.start_mark.line + 1 if node else 1
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                key, node = next(((key, value) for key, value in node.value if key.value == step), (None, None))
                line = key.start_mark.line + 1 if key else line
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line + 1
        return line


def read_yaml(path: Path, kind: str, loader: type[Any] = YamlLoader, most_bytes: int = MOST_BYTES) -> YamlFile:
    """The file; ``kind`` says in complaints what it is to be: "suite".

    Raises LinkscopeError, one line, where it cannot be read, is no YAML, or is longer or deeper than people write.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise LinkscopeError(f"{kind} {path} is no file: name a YAML file")
        with path.open("rb") as stream:
            data = stream.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise LinkscopeError(f"{kind} {path} is longer than {most_bytes >> 20} MiB")
        text = data.decode()
        problem = _excess(text)
        if problem:
            raise LinkscopeError(f"{kind} {path} {problem}")
        return YamlFile(path, kind, text, escaped(yaml.load(text, loader)))
    except OSError as error:
        raise LinkscopeError(f"cannot read {kind} {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(_said(error).split())
        raise LinkscopeError(
            f"{kind} {path} is not YAML: {words[:157] + '...' if len(words) > 160 else words}"
        ) from error


def _said(error: Exception) -> str:
    """With the line, where YAML tells one."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error)


def _excess(text: str) -> str:
    """Return what is too much in the file; empty where nothing is. Raises yaml.YAMLError."""
    opened: list[tuple[str | None, int]] = []
    stands_for: dict[str | None, int] = {}
    nodes = 0
    for event in yaml.parse(text, YamlLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, nodes))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                stands_for[anchor] = nodes - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                return "holds itself"
            nodes += stands_for.get(event.anchor, 1)
        nodes += isinstance(event, yaml.NodeEvent)
        if len(opened) > MOST_DEPTH:
            return f"is nested more than {MOST_DEPTH} deep"
        if nodes > MOST_NODES:
            return f"stands for more than {MOST_NODES:,} values"
    return ""
