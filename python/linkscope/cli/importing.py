"""`linkscope import`: another tool's output becomes a run file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from linkscope.answers.questions import ask
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.importers.peer_output import NVLS
from linkscope.launch.run import RUNS
from linkscope.machine.described import load_machine
from linkscope.messages.catalog import commands, sentence
from linkscope.results.run_file import RunFile


def wanted(
    named: str | None, beside: Path | None, machine: str | None, processes: int | None, nvls: str | None
) -> Wanted:
    """Return what the options say of a file. Raises LinkscopeError."""
    if beside is not None and machine is not None:
        raise LinkscopeError("--beside and --machine both say what the node is: name one of them")
    if nvls is not None and nvls not in NVLS:
        raise LinkscopeError(f"--nvls {nvls}: it is {' or '.join(NVLS)}")
    run = RunFile.read(beside) if beside is not None else None
    return Wanted(named, run, load_machine(machine) if machine is not None else None, processes, nvls)


def take(path: Path, output: Path | None, wanted: Wanted, command: Sequence[str], console: Console) -> int:
    """Writes the run file, says what is in it, and returns the exit code 0. Raises LinkscopeError."""
    found = import_file(path, output or RUNS / f"{path.stem}.jsonl", wanted, command)
    for notice in map(sentence, Run(found).printed):
        console.print(notice, highlight=False, markup=False, soft_wrap=True)
    ok = len(found.with_status("ok"))
    origin = found.header["origin"]
    held = f"{ok} of {len(found.rows)} cases have results" if found.rows else "no results"
    question = "show" if found.rows else "explain"
    tool = f"{origin['tool']} {origin['version']}".rstrip()
    console.print(
        f"wrote {found.path}: {held}, imported from {tool}; next: linkscope {question} {found.path}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    explained = ask("explain", found).headline
    if explained.code in ("paste.no-reference", "paste.no-reference-amd", "explain.maybe-nvls-import"):
        for line in (sentence(explained), *(f"  {command}" for command in commands(explained))):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 0
