"""Lines of a run file held against schema/result.schema.json."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry
from schema_files import load_schema


def validate(record: dict[str, Any]) -> None:
    """Raises jsonschema_rs.ValidationError where the record is none of those that the schema knows."""
    _validator().validate(record)


@cache
def _validator() -> Draft202012Validator:
    """The result schema refers to the plan's."""
    plan = load_schema("plan")
    registry = Registry([(f"{folder}plan.schema.json", plan) for folder in ("", "linkscope/")])
    return Draft202012Validator(load_schema("result"), registry=registry)
