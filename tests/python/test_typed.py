"""Typed: what does not fit is named, whatever kind of value it stands in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from linkscope.documents.typed import MisfitError, typed


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    word: Literal["one", "two"] | list[Literal["one", "two"]] = "one"
    share: Annotated[float, Meta(ge=0, le=1)] = 0.0


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    inner: list[Inner] | Inner = []
    named: Mapping[Annotated[str, Meta(pattern="^[a-z]+$")], Annotated[list[int], Meta(min_length=1)]] = {}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "Expected `object`"),
        ({}, "name: is missing"),
        ({"name": "a", "iner": {}}, "iner: no field has that name; inner is one"),
        ({"name": "a", "inner": {"word": "three"}}, "inner.word: 'three' is none of one, two"),
        ({"name": "a", "inner": [{}, {"word": ["one", "three"]}]}, "inner[1].word[1]: 'three' is none of one, two"),
        ({"name": "a", "inner": [{"share": float("nan")}]}, "inner[0].share: Expected `float`"),
        ({"name": "a", "inner": [{"share": None}]}, "inner[0].share: Expected `float`, got `null`"),
        ({"name": "a", "named": {"b": [1], "c": []}}, "named.c: Expected `array` of length >= 1"),
        ({"name": "a", "named": {"b": [1], "c": [1, "x"]}}, "named.c[1]: Expected `int`, got `str`"),
        ({"name": "a", "named": {"b": [1], "C": [1]}}, "named.C: its name: "),
    ],
)
def test_the_field_is_named(data: Any, said: str) -> None:
    with pytest.raises(MisfitError) as caught:
        typed(data, Outer)
    assert str(caught.value).startswith(said)
