"""docs/guide.md and README.md: short, and their commands do what the pages say on a recorded run and on a model."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkscope.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
RECORDED = ROOT / "tests" / "fixtures" / "runs" / "h200x4-default.jsonl"
PASTE = ROOT / "tests" / "fixtures" / "importers" / "nvbandwidth-0.8.txt"
MOST_WORDS = 1200
READERS = ("show", "explain", "choose", "compare", "report", "export", "analyze", "help")
LEFT = re.compile(r"/|COMMAND|CODE|--again|--resume")
"""Commands with paths, names of commands or codes, and those that measure."""
ANSWERED = {0, 1, 3}
STARTED = "2026-11-20T10"
"""The hour in which the recorded run began: runs that began at one time are one run."""


def typed(text: str) -> list[str]:
    """Return the commands of a page's blocks and table cells, each once, in the page's order."""
    blocks = "".join(re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = [line.split("#")[0].strip() for line in blocks.splitlines()]
    cells = re.findall(r"`(linkscope [^`]+)`", re.sub(r"(?ms)^```\n.*?^```", "", text))
    return list(dict.fromkeys(one for one in [*lines, *cells] if one.startswith("linkscope ") and not LEFT.search(one)))


COMMANDS = typed(GUIDE + (ROOT / "README.md").read_text(encoding="utf-8"))
RUNS = [one for one in COMMANDS if one.split()[1] == "run"]
ON_MODELS = [one for one in COMMANDS if one.split()[1] in ("ab", "check", "topology")]
READ = [one for one in COMMANDS if one.split()[1] in READERS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the pages' placeholders are files."""
    made = tmp_path_factory.mktemp("guide")
    recorded = RECORDED.read_text(encoding="utf-8")
    for hour, name in enumerate(("RUN", "RUN1", "RUN2", "RUN3", "BASE", "NEW"), 10):
        (made / name).write_text(recorded.replace(STARTED, f"{STARTED[:-2]}{hour}"), encoding="utf-8")
    shutil.copy(PASTE, made / "FILE")
    return made


def test_the_guide_is_short() -> None:
    assert len(GUIDE.split()) <= MOST_WORDS


def test_the_pages_have_commands() -> None:
    assert len(RUNS) > 12
    assert {one.split()[1] for one in ON_MODELS} == {"ab", "check", "topology"}
    assert {one.split()[1] for one in READ} == {*READERS}


@pytest.mark.parametrize("command", RUNS)
def test_a_run_has_cases(command: str) -> None:
    machine = [] if "--machine" in command else ["--machine", "h200x4"]
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], *machine, "--dry-run"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", ON_MODELS)
def test_a_measuring_command_works_on_a_model(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--machine", "h200x4"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    assert done.exit_code in ANSWERED


@pytest.mark.parametrize("command", READ)
def test_a_recorded_run_is_answered(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    assert done.exit_code in ANSWERED
