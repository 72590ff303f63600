"""The types that files are read by and the schemas that editors hold them against refuse the same."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator
from schema_files import load_schema

from linkscope.documents.yaml_file import SuiteLoader, YamlLoader
from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.plan.suites import load_suite

ROOT = Path(__file__).resolve().parents[2]
SUITES = sorted((ROOT / "python" / "linkscope" / "suites").glob("*.yaml"))
MACHINES = sorted((ROOT / "machines").glob("*.yaml"))
ODD: tuple[Any, ...] = (None, True, "", "Odd one", -1, 0, 1, 0.5, 10**7, [], {}, ["x", "x"], [1], [None], {"x": 1})


@pytest.mark.parametrize("path", [*SUITES, *MACHINES], ids=lambda path: path.stem)
def test_packaged_files_keep_to_their_schema(path: Path) -> None:
    kind, loader = ("suite", SuiteLoader) if path in SUITES else ("machine", YamlLoader)
    Draft202012Validator(load_schema(kind)).validate(yaml.load(path.read_text(), loader))


def spoilt(data: Any, rng: random.Random) -> Any:
    """With one value somewhere that is another, is gone, or has an unknown name."""
    data = copy.deepcopy(data)
    place = data
    while True:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.85:
            place = inner
            continue
        if isinstance(place, dict) and rng.random() < 0.4:
            value = place.pop(key)
            if rng.random() < 0.5:
                place[f"{key}x"] = value
        else:
            place[key] = copy.deepcopy(rng.choice(ODD))
        return data


def mutations(kind: str, count: int) -> Iterator[Any]:
    rng = random.Random(kind)
    paths, loader = (SUITES, SuiteLoader) if kind == "suite" else (MACHINES, YamlLoader)
    whole = [yaml.load(path.read_text(), loader) for path in paths]
    for _ in range(count):
        data = copy.deepcopy(rng.choice(whole))
        if kind == "suite" and "rows" in data:
            data["rows"] = [rng.choice(data["rows"])]
        yield spoilt(data, rng)


@pytest.mark.parametrize("kind", ["suite", "machine"])
def test_what_the_schema_refuses_is_refused_with_its_line(kind: str, tmp_path: Path) -> None:
    validator = Draft202012Validator(load_schema(kind))
    load = load_suite if kind == "suite" else load_machine
    verdicts = []
    for number, data in enumerate(mutations(kind, 300)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(yaml.dump(data, Dumper=yaml.CSafeDumper))
        try:
            load(str(path))
            said = ""
        except LinkscopeError as error:
            said = str(error)
        keeps = validator.is_valid(data)
        assert "\n" not in said
        if not keeps:
            assert said, data
        if ", line " in said:
            assert not keeps, said
        verdicts.append(keeps)
    assert 10 < sum(verdicts) < 270
