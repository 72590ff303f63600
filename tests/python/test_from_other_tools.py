"""docs/from-other-tools.md: the command line takes every command on the page, and there are cases for it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkscope.cli.main import app
from linkscope.codecs.peer.formats import FORMATS
from linkscope.errors import LinkscopeError
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.node import Node
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suites import Suite

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.coverage.names import load_names  # noqa: E402

PAGE = (ROOT / "docs" / "from-other-tools.md").read_text()
SAMPLE = ROOT / "tests" / "fixtures" / "importers" / "nvbandwidth-0.8.txt"
BLOCKS, PROSE = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL), re.sub(r"(?ms)^```\n.*?^```", "", PAGE)
TYPED = re.findall(r"^(?:\$ )?(linkscope .+)", "".join(BLOCKS), re.MULTILINE)
COMMANDS = list(dict.fromkeys([*TYPED, *re.findall(r"`(linkscope [^`]+)`", PROSE)]))
RUNS = [one for one in COMMANDS if one.startswith("linkscope run ")]
OTHERS = [one for one in COMMANDS if not one.startswith(("linkscope run ", "linkscope check "))]


def done(command: str) -> int:
    """The exit code of a command, without its first word. Raises LinkscopeError as the command does."""
    found = CliRunner().invoke(app, shlex.split(command)[1:])
    if isinstance(found.exception, LinkscopeError):
        raise found.exception
    return found.exit_code


def test_the_page_has_commands_of_every_format() -> None:
    assert len(RUNS) > 30
    assert all(any(f"--format {name}" in command for command in RUNS) for name in FORMATS)


def test_readme_and_all_pages_name_one_command_for_a_tool() -> None:
    def listed(text: str) -> set[str]:
        return set(re.findall(r"^\|.*\| `(linkscope [^`]+)` \|$", text, re.MULTILINE))

    first = {f"linkscope {group.start}" for group in load_names()}
    readme = (ROOT / "README.md").read_text().partition("## Coming from another tool")[2].partition("\n## ")[0]
    assert listed(PAGE.partition("\n## ")[0]) == {one for one in first if "linkscope run" in one}
    assert {one for one in listed(readme) if "NAME" not in one} - first == {"linkscope topology"}


@pytest.fixture(scope="module")
def shared_expansions() -> Iterator[None]:
    """Commands that differ in their keyword alone have the same cases before it picks some; what such a node would
    measure is no matter here."""
    found: dict[tuple[object, ...], list[PlannedCase]] = {}

    def shared(suites: Sequence[Suite], node: Node, catalog: EngineCatalog, selected: Selection) -> list[PlannedCase]:
        key = (tuple(suite.name for suite in suites), node.name, selected)
        if key not in found:
            found[key] = expand(suites, node, catalog, selected)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkscope.launch.job.expand", shared)
        patch.setattr("linkscope.cli.dry_run._measured", lambda job: [])
        yield


@pytest.mark.parametrize("command", RUNS)
def test_a_run_of_the_page_has_cases(command: str, shared_expansions: None) -> None:
    machine = "" if "--machine" in command else "--machine h200x4"
    assert done(f"{command} {machine} --dry-run") == 0


def test_the_other_commands_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    import_file(SAMPLE, tmp_path / "RUN", Wanted())
    (tmp_path / "FILE").write_text(SAMPLE.read_text())
    codes = {command: done(command) for command in OTHERS if len(command.split()) > 2 or "topology" in command}
    assert {command for command, code in codes.items() if code != 0} <= {"linkscope compare OTHER.jsonl RUN"}
    assert len(codes) > 6
