"""docs/from-other-tools.md: its answers are explain's, its table is counted.toml, and every command has cases."""

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
from tools.pastes.parts import pastes, renewed  # noqa: E402

PAGE = (ROOT / "docs" / "from-other-tools.md").read_text()
SAMPLES = ROOT / "tests" / "fixtures" / "importers"
NAMED = {"nccl.log": "nccl-tests-2.19.txt", "osu.log": "osu-allreduce-7.4.txt"}
SAMPLE = SAMPLES / "nvbandwidth-0.8.txt"
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


MOST_WORDS = 1500


def test_its_answers_and_its_table_are_up_to_date() -> None:
    assert len(pastes(PAGE)) == 3
    assert renewed(PAGE) == PAGE, "run: python tools/pastes"


def test_it_begins_with_the_pastes_and_is_short() -> None:
    assert pastes(PAGE)[-1] in PAGE.partition("\n## ")[0]
    assert len(PAGE.split()) <= MOST_WORDS


def test_the_page_has_commands_of_every_format() -> None:
    assert len(RUNS) > 12
    assert all(any(f"--format {name}" in command for command in RUNS) for name in FORMATS)


def test_the_page_has_the_command_of_each_tool() -> None:
    listed = set(re.findall(r"^\|.*\| `(linkscope [^`]+)` \|$", PAGE, re.MULTILINE))
    first = {f"linkscope {group.start}" for group in load_names()}
    assert listed >= {one for one in first if "linkscope run" in one}


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
    """Pastes are judged: slow is 1, no verdict 3."""
    monkeypatch.chdir(tmp_path)
    import_file(SAMPLE, tmp_path / "RUN", Wanted())
    for name in ("FILE", "OTHER"):
        (tmp_path / name).write_text(SAMPLE.read_text())
    for name, sample in NAMED.items():
        (tmp_path / name).write_text((SAMPLES / sample).read_text())
    for name in ("paste.txt", "topo.txt"):
        (tmp_path / name).write_text(pastes(PAGE)[-1])
    codes = {}
    for command in (one for one in OTHERS if len(one.split()) > 2):
        codes[command] = done(command)
        (tmp_path / "OTHER.jsonl").unlink(missing_ok=True)
    judged = {command for command in codes if command.startswith(("linkscope explain", "linkscope compare"))}
    assert {command for command, code in codes.items() if code != 0} <= judged
    assert set(codes.values()) <= {0, 1, 3}
    assert len(codes) > 6
