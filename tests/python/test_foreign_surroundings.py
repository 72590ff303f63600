"""Modules of the current folder, readers that leave and closed outputs change nothing of what a command does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch_child_plans import TIMEOUT_S, engine, environment

from linkscope.launch.launcher import survey

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "setup"))
import environment as set_up
from shell import isolated

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "fixtures" / "turns" / "h200x2-1.jsonl"
MODULE = (sys.executable, "-m", "linkscope")
TRAP = "raise SystemExit('a module of the current folder ran')"
TRAPPED = ("yaml", "json", "typing", "__future__", "polars", "rich", "venv", "pip", "runpy", "platform", "torch")


@pytest.fixture
def trapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: it has modules with the names of such that are needed."""
    for name in TRAPPED:
        if name != "runpy" or sys.version_info >= (3, 11):  # the interpreter's own code for `-m` reads it before
            (tmp_path / f"{name}.py").write_text(TRAP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path


def ended(*command: str, output: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run a command on this checkout's package, both of its outputs to one descriptor."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(
        command, env=variables, stdout=output, stderr=output, text=True, check=False, timeout=TIMEOUT_S
    )


def test_the_package_as_a_program_runs_no_module_of_the_current_folder(trapped: Path) -> None:
    shown = ended(*MODULE, "show", str(RUN), "--json")
    assert shown.returncode == 0, shown.stderr


def test_the_command_of_a_checkout_runs_no_module_of_the_current_folder(trapped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    command = folder / "linkscope"
    command.write_text(set_up.COMMAND.format(python=sys.executable))
    command.chmod(0o755)
    listed = ended(str(command), "list", "machines", "--json")
    assert listed.returncode == 0, listed.stderr


def test_the_survey_of_a_host_runs_no_module_of_the_current_folder(
    trapped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LINKSCOPE_CONTROL": "127.0.0.1:1", "LINKSCOPE_TOKEN": "x", **survey.known([])}.items():
        monkeypatch.setenv(name, value)
    became = ended(*survey.COMMAND, "/bin/sh", "-c", "exit 7")
    assert became.returncode == 7, became.stderr
    assert "Connection refused" in became.stderr, "the survey was tried"


def test_the_engines_python_child_runs_no_module_of_the_current_folder(trapped: Path) -> None:
    described = engine("describe", env=environment(LINKSCOPE_PYTHON_PROGRAM=sys.executable))
    assert "a module of the current folder ran" not in described.stdout


@pytest.mark.parametrize("arguments", [("-m", "pip", "--version"), ("-c", "import venv, ensurepip")])
def test_setting_up_runs_no_module_of_the_current_folder(trapped: Path, arguments: tuple[str, ...]) -> None:
    assert ended(*isolated(sys.executable), *arguments).returncode == 0


COMMANDS = {
    "a healthy run": (("explain", str(RUN)), 0),
    "JSON of it": (("show", str(RUN), "--json"), 0),
    "a list": (("list", "machines"), 0),
    "help": (("run", "-h"), 0),
    "bad input": (("show", "none.jsonl"), 2),
}


@pytest.mark.parametrize(("arguments", "code"), COMMANDS.values(), ids=COMMANDS)
def test_a_closed_pipe_changes_no_exit_code(arguments: tuple[str, ...], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert ended(*MODULE, *arguments, output=writer).returncode == code
    finally:
        os.close(writer)


def test_closed_outputs_change_no_exit_code() -> None:
    assert ended("/bin/sh", "-c", f'exec "{sys.executable}" -m linkscope list machines >&- 2>&-').returncode == 0
