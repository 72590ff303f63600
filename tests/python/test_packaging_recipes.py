"""The recipes of Spack and Apptainer ask for what pyproject.toml asks for, and name the version that is here."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from linkscope import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = ROOT / "packaging" / "spack" / "spack_repo" / "linkscope"
IMAGE = ROOT / "packaging" / "apptainer" / "linkscope.def"
NOT_OF_PYTHON = {"nlohmann-json", "cmake", "ninja"}
"""What Spack has as programs or libraries, without py- before the name."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="module")
def directives() -> dict[str, set[str]]:
    """The first words of each directive in the recipe, by its name."""
    found: dict[str, set[str]] = {}
    recipe = ast.parse((REPOSITORY / "packages" / "linkscope" / "package.py").read_text(encoding="utf-8"))
    for call in ast.walk(recipe):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant):
                found.setdefault(call.func.id, set()).add(str(first.value))
    return found


def specs(requirements: list[str]) -> set[str]:
    """Return them as Spack writes them: typer>=0.12 is py-typer@0.12:, and typer>=0.12,<0.29 ends with 0.28."""
    found = set()
    for requirement in requirements:
        known = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<0\.(\d+))?", requirement.lower().partition(";")[0])
        assert known is not None, requirement
        name, oldest, minor = known.groups()
        newest = f"0.{int(minor) - 1}" if minor else ""
        found.add(f"{'' if name in NOT_OF_PYTHON else 'py-'}{name}@{oldest}:{newest}")
    return found


def test_spack_asks_for_what_the_package_asks_for(project: dict[str, Any], directives: dict[str, set[str]]) -> None:
    declared, tools = project["project"], project["tool"]["scikit-build"]
    needed = specs([*declared["dependencies"], *project["build-system"]["requires"]])
    needed |= specs(declared["optional-dependencies"]["torch"])
    needed |= specs([f"cmake{tools['cmake']['version']}", f"ninja{tools['ninja']['version']}"])
    needed |= {f"python@{declared['requires-python'].removeprefix('>=')}:"}
    asked = directives["depends_on"]
    assert needed <= asked
    assert {spec for spec in asked if spec.startswith("py-")} <= needed, "asked, but not in pyproject.toml"


def test_spack_builds_this_version_from_this_checkout(directives: dict[str, set[str]]) -> None:
    assert {"main", __version__} <= directives["version"]
    recipe = REPOSITORY / "packages" / "linkscope" / "package.py"
    steps = re.search(r"__file__\)\.resolve\(\)\.parents\[(\d+)\]", recipe.read_text(encoding="utf-8"))
    assert steps is not None
    assert recipe.parents[int(steps[1])] == ROOT


def test_a_package_that_the_recipe_needs_and_spack_lacks_is_beside_it(directives: dict[str, set[str]]) -> None:
    beside = {path.parent.name.replace("_", "-") for path in REPOSITORY.glob("packages/py_*/package.py")}
    assert beside <= {spec.split("@")[0] for spec in directives["depends_on"]}
    assert beside


def test_the_image_holds_the_wheel_of_this_version() -> None:
    sections = re.split(r"^%(\w+)\n", IMAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    content = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert content["files"].split()[0] == f"dist/linkscope-{__version__}-*.whl"
    assert f"image.version {__version__}\n" in content["labels"]
    assert "/opt/linkscope/bin/linkscope" in content["runscript"]
