"""What pyproject.toml promises: one version, every import declared, every dependency explained."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import linkscope
from linkscope.launch.engines import find_engines

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "linkscope"
IMPORTED_AS = {"pyyaml": "yaml", "nvidia-ml-py": "pynvml"}
"""Distributions whose module has another name."""
MEASURED = {"flashinfer", "mscclpp", "vllm"}
"""Packages that are measured where a user has installed them; linkscope needs none of them."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return data


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", requirement)[0].lower() for requirement in requirements}


def third_party_imports() -> set[str]:
    """Top-level modules that linkscope imports and neither Python nor linkscope itself has."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.Import):
                found |= {alias.name.split(".")[0] for alias in statement.names}
            elif isinstance(statement, ast.ImportFrom) and not statement.level:
                found.add(str(statement.module).split(".")[0])
    return found - set(sys.stdlib_module_names) - {"linkscope"} - MEASURED


def test_imports_and_declared_dependencies_are_the_same(project: dict[str, Any]) -> None:
    required = distributions(project["project"]["dependencies"])
    extras = project["project"]["optional-dependencies"]
    optional = distributions(extras["torch"])
    modules = {name: IMPORTED_AS.get(name, name) for name in required | optional}
    imported = third_party_imports()
    assert imported <= set(modules.values()), "imported, but not in pyproject.toml"
    assert {modules[name] for name in required} <= imported, "in pyproject.toml, but not imported"


def test_every_dependency_is_explained(project: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").lower()
    listed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        listed += extra
    unexplained = {name for name in distributions(listed) - {"linkscope"} if f"**{name}**" not in text}
    assert unexplained == set()


def test_engine_and_package_have_one_version(project: dict[str, Any]) -> None:
    assert project["project"]["dynamic"] == ["version"]
    engines = find_engines()
    assert engines, "no engine is built"
    for path in engines.values():
        said = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True).stdout
        assert linkscope.__version__ in said.split()


def test_the_command_points_at_something_callable(project: dict[str, Any]) -> None:
    module, function = project["project"]["scripts"]["linkscope"].split(":")
    imported = __import__(module, fromlist=[function])
    assert callable(getattr(imported, function))


def test_what_is_fetched_for_machines_without_the_internet_is_complete(project: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    fetched = re.search(r"pip download -d wheels ((?:.|\\\n)+?)\n(?! )", text)
    assert fetched is not None
    needed = distributions(project["project"]["dependencies"]) - {"tomli"} | {"nlohmann-json"}
    assert distributions(fetched[1].replace("\\\n", "").replace("'", "").split()) == needed
    assert "3.10 also needs `tomli`" in text
