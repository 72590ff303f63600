"""Pages of the files that linkscope reads and writes, of their JSON schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tools.site.markdown import cell, escaped, table

Schema: TypeAlias = Mapping[str, Any]

FILES = {
    "reference/suite-file.md": "suite.schema.json",
    "reference/run-file.md": "result.schema.json",
    "reference/plan-file.md": "plan.schema.json",
    "reference/machine-file.md": "machine.schema.json",
    "reference/choices-file.md": "choices.schema.json",
}
_TITLES = {
    "suite": "Suite file",
    "result": "Run file",
    "plan": "Plan",
    "machine": "Machine file",
    "choices": "Choices",
}


def page(path: Path) -> str:
    """A table of fields for the file itself and for each definition."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"# {_TITLES[path.name.split('.')[0]]}", "", f"From `schema/{path.name}`: {escaped(schema['title'])}.", ""]
    lines += [escaped(schema.get("description", "")), "", *_alternatives(schema)]
    lines += _fields(schema, schema)
    for name, one in schema.get("$defs", {}).items():
        lines += [f"## {name}", "", escaped(one.get("description", "")), ""]
        lines += _fields(one, schema) or [f"{_kind(one)}.", ""]
    return "\n".join(lines)


def _alternatives(schema: Schema) -> list[str]:
    return [f"A line is one of: {', '.join(map(_kind, schema['oneOf']))}.", ""] if "oneOf" in schema else []


def _fields(schema: Schema, whole: Schema) -> list[str]:
    rows = [(f"`{name}`", kind, said) for name, kind, said in _rows(schema, "", whole.get("$defs", {}))]
    return table(("field", "value", "meaning"), rows)


def _rows(schema: Schema, above: str, known: Mapping[str, Schema]) -> Iterator[tuple[str, str, str]]:
    """Name, kind and meaning of each field, those of objects inside after their own."""
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        must = "Required. " if name in required else ""
        said = one.get("description") or known.get(one.get("$ref", "").rpartition("/")[2], {}).get("description", "")
        yield f"{above}{name}", _kind(one).replace("|", "\\|"), (must + cell(said)).strip()
        yield from _rows(one, f"{above}{name}.", known)
        items = one.get("items", {})
        if isinstance(items, dict):
            yield from _rows(items, f"{above}{name}[].", known)


def _kind(schema: Any) -> str:
    """What a value may be, in a few words of Markdown."""
    if not isinstance(schema, dict):
        return "anything"
    if "$ref" in schema:
        file, _, place = schema["$ref"].partition("#")
        name = place.rpartition("/")[2]
        return f"[{name}]({_page_of(file)}#{name})" if place.count("/") == 2 else f"as `{name}`"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema and not (several == "anyOf" and all("required" in one for one in schema[several])):
            return " or ".join(dict.fromkeys(map(_kind, schema[several])))
    if schema.get("type") == "array":
        items = schema.get("items", schema.get("prefixItems"))
        return f"list of {_kind(items)}" if isinstance(items, dict) else "list"
    kinds = schema.get("type", "anything")
    said = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{said}, {_bounds(schema)}" if _bounds(schema) else said


def _page_of(file: str) -> str:
    """Beside this page, that of another schema; "" for "", which is the schema itself."""
    return next((Path(place).name for place, name in FILES.items() if file and name == Path(file).name), "")


def _bounds(schema: Schema) -> str:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "pattern": "like"}
    return ", ".join(f"{word} `{schema[key]}`" for key, word in words.items() if key in schema)
