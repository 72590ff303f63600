"""Lines of a run file held against schema/result.schema.json."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from linkscope.schemas import load_schema


def validate(record: dict[str, Any]) -> None:
    """Raises jsonschema.ValidationError where the record is none of those that the schema knows."""
    _validator().validate(record)


@cache
def _validator() -> Draft202012Validator:
    """The result schema refers to the plan's."""
    plan = Resource.from_contents(load_schema("plan"))
    registry: Registry[Any] = Registry().with_resource("plan.schema.json", plan)
    registry = registry.with_resource("linkscope/plan.schema.json", plan)
    return Draft202012Validator(load_schema("result"), registry=registry)
