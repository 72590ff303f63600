"""Interface of `import linkscope` for notebooks and scripts: the same things as the command line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from polars import DataFrame

from linkscope.answers.answer import Answer as Answer
from linkscope.answers.calibrate import Calibration as Calibration
from linkscope.answers.calibrate import calibration as _calibration
from linkscope.answers.compare import compare as _compare
from linkscope.answers.questions import QUESTIONS
from linkscope.answers.questions import ask as _ask
from linkscope.documents.typed_call import typed_call
from linkscope.errors import LinkscopeError as LinkscopeError
from linkscope.figures.export import export as _export
from linkscope.figures.export import load as _load
from linkscope.figures.run import Run as _AnswerRun
from linkscope.importers.imported_run import Wanted as _Wanted
from linkscope.importers.imported_run import import_file as _import_file
from linkscope.launch.calibrate import TURNS
from linkscope.launch.calibrate import turns as _turns
from linkscope.launch.engines import machine_description
from linkscope.launch.job import Request as Request
from linkscope.launch.launcher import inside as _inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.run import Listener as Listener
from linkscope.launch.run import resume as _resume
from linkscope.launch.run import run as _run
from linkscope.launch.workload_request import WorkloadRequest as WorkloadRequest
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.discover import discover
from linkscope.machine.node import Node as Node
from linkscope.messages.near_names import unknown as _unknown
from linkscope.notebook import displays as _displays  # noqa: F401  registers how results are shown
from linkscope.notebook.progress_line import progress_line as _progress_line
from linkscope.results.calibration import keep as _keep
from linkscope.results.run_file import RunFile as RunFile
from linkscope.results.run_files import named as _named

Progress = Literal["auto", "none"]
_LAUNCHING = tuple(one.name for one in fields(LaunchOptions) if one.name != "settings")
_OWN_WORDS = ("suites", "launching", "workload", "sustained")
_ASKED = tuple(one.name for one in fields(Request) if one.name not in _OWN_WORDS)


@typed_call(*_ASKED, *_LAUNCHING)
def run(
    *suites: str,
    output: str | os.PathLike[str] | None = None,
    listener: Listener | None = None,
    workload: WorkloadRequest | None = None,
    progress: Progress = "auto",
    **asked: str | None,
) -> RunFile:
    """Measures ``suites`` ("default" where none is named) and returns the run file, read back.

    ``asked`` takes the words of `linkscope run`: devices="gpu:0,gpu:1", sizes="4K:1G:2x", methods=, precision="1%",
    budget="60s", rounds="3:6" (each case measured three times, in new processes, and up to six times where its figure
    is wider than ``precision``), clock=, machine=, engine=, and of how several processes are started: launcher=,
    launcher_command=, hosts=, hostfile=, interface=. ``workload`` runs what an application sends instead:
    WorkloadRequest("halo", ranks="4"), with the words of `linkscope app`.

    In a notebook a line shows how it goes on, unless ``progress`` is "none"; a ``listener`` is told instead.

    The run is written to ``output``. Without it that is a new temporary file, which stays: the result's ``path``. Only
    the ranks of a job, which must find one file, then write below runs/. Raises LinkscopeError, for a word that there
    is not too.
    """
    request = _request(suites, asked, workload)
    with _told(listener, progress) as told:
        if output is None and _inside.place() is None:
            with _new_folder() as folder:
                return _run(request, folder / "run.jsonl", told)
        return _run(request, Path(output) if output is not None else None, told)


@typed_call(*_LAUNCHING)
def resume(
    path: str | os.PathLike[str],
    listener: Listener | None = None,
    progress: Progress = "auto",
    **launching: str | None,
) -> RunFile:
    """Completes a run that was cut short. ``launching``: launcher=, launcher_command=, hosts=, hostfile=, interface=.

    Raises LinkscopeError where it is of another machine, and where its file alone names a launcher.
    """
    with _told(listener, progress) as told:
        return _resume(Path(path), None, told, LaunchOptions(**dict[str, Any](launching)) if launching else None)


@typed_call(*_ASKED, *_LAUNCHING)
def calibrate(
    *suites: str,
    turns: int = TURNS,
    output: str | os.PathLike[str] | None = None,
    listener: Listener | None = None,
    progress: Progress = "auto",
    **asked: str | None,
) -> Calibration:
    """Repeat a run ``turns`` times, each into a file of the folder ``output`` (default: a temporary one), and return
    the node's ``.noise`` and the ``.answer``: how well intervals hold from run to run, by class. The noise is
    kept for the node where it is ``worth_keeping``: later runs there widen their intervals by it.

    ``suites`` and ``asked`` are those of ``run``; without any of them those of the runs that the folder holds, which
    are kept or completed. Raises LinkscopeError, also where the result cannot be kept; the runs stay.
    """
    request = _request(suites, asked) if suites or asked else None
    into = nullcontext(Path(output)) if output is not None else _new_folder()
    with into as folder, _told(listener, progress) as told:
        runs = [_AnswerRun.of(run) for run in _turns(request, turns, folder, told)]
        return _calibration(runs, _keep)


@typed_call()
def read(path: str | os.PathLike[str]) -> RunFile:
    """The run at ``path``. Raises LinkscopeError where it is no run file."""
    return RunFile.read(path)


@typed_call()
def import_output(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    beside: str | os.PathLike[str] | None = None,
    machine: str | None = None,
    processes: int | None = None,
    nvls: Literal["on", "off"] | None = None,
) -> RunFile:
    """Makes the run file ``output`` of what another tool printed into ``path`` and reads it back.

    ``format``: of `linkscope list importers`; None: as it looks. ``beside``: a run of the same node, or ``machine``: a
    machine model. ``processes``: how many took part, ``nvls``: whether NCCL could reduce in the GPU switch, where the
    file does not say. Raises LinkscopeError.
    """
    run = RunFile.read(beside) if beside is not None else None
    wanted = _Wanted(format, run, load_machine(machine) if machine else None, processes, nvls)
    return _import_file(Path(path), Path(output), wanted)


def ask(question: str, *runs: RunFile | str | os.PathLike[str], **options: Any) -> Answer:
    """Return the answer to a question of runs, read or named, as codes, numbers and tables.

    ``question``: "show" or another that `linkscope` has a command for; ``options`` are that command's. Raises
    LinkscopeError, also for a question that there is not.
    """
    if question not in QUESTIONS:
        raise _unknown("question", question, QUESTIONS)
    return _ask(question, *runs, **options)


@typed_call()
def show(
    run: RunFile | str | os.PathLike[str],
    *,
    table: str | None = None,
    where: str | None = None,
    sort: Literal["of-peak"] | None = None,
) -> Answer:
    """Return what a run, read or named, holds: every movement by method, and all results of each test.

    ``table``, ``where`` and ``sort`` are those of `linkscope show`. Raises LinkscopeError where it has no such thing.
    """
    return _ask("show", run, table=table, where=where, sort=sort)


@typed_call()
def explain(run: RunFile | str | os.PathLike[str]) -> Answer:
    """Return whether a run, read or named, is as fast as it should be, and what is slow and why.

    Raises LinkscopeError where it is no run file.
    """
    return _ask("explain", run)


@typed_call()
def choose(*runs: RunFile | str | os.PathLike[str]) -> Answer:
    """Return which method is fastest for each movement, memory and size, by runs, read or named.

    Several runs of one node are compared within each. Raises LinkscopeError.
    """
    return _ask("choose", *runs)


@typed_call()
def compare(base: RunFile | str | os.PathLike[str], *new: RunFile | str | os.PathLike[str]) -> Answer:
    """Return what changed from ``base`` to the ``new`` runs: runs, read or named, or folders of them.

    ``.outcome`` is HOLDS where nothing got slower, FAILS where something did; ``.headline`` and ``.findings`` name the
    device, link or method. Raises LinkscopeError where the sides have no result in common.
    """
    return _compare(_runs_of([base]), _runs_of(new))


def _runs_of(runs: Iterable[RunFile | str | os.PathLike[str]]) -> list[_AnswerRun]:
    """Return runs, read or named, and all of folders."""
    return [_AnswerRun.of(one) for run in runs for one in ([run] if isinstance(run, RunFile) else _named([Path(run)]))]


@typed_call()
def check(run: RunFile | str | os.PathLike[str], limits: str | os.PathLike[str] | None = None) -> Answer:
    """Return whether a run, read or named, keeps the ``limits`` of a file, or its own speed under load.

    `linkscope check --make-limits` writes such a file, or a person does; a run of `linkscope check --sustained` needs
    none. Raises LinkscopeError.
    """
    return _ask("check", run, limits=limits)


@typed_call()
def frame(run: RunFile | str | os.PathLike[str]) -> DataFrame:
    """Return every result of a run, read or named, as a Polars frame, a line each. docs/python.md explains the columns.

    Raises LinkscopeError where it is no run.
    """
    return _AnswerRun.of(run).results


@typed_call()
def load(*patterns: str | os.PathLike[str]) -> DataFrame:
    """Return the results of many runs, files, folders or patterns such as "runs/*.jsonl", as one Polars frame.

    The columns of ``frame`` after ``run`` (the file), ``node``, ``host``, ``started`` (UTC) and ``command``.
    Raises LinkscopeError where one is no run file, and where there are none.
    """
    return _load(patterns)


@typed_call()
def export(*runs: RunFile | str | os.PathLike[str], output: str | os.PathLike[str]) -> None:
    """Write what ``load`` gives of the runs, read or named, or folders of them, into one .csv or .parquet file.

    CSV, which has no lists, holds them as words with spaces between. Raises LinkscopeError.
    """
    _export(_runs_of(runs), Path(output))


@typed_call()
def analyze(found: RunFile | str | os.PathLike[str], *questions: str) -> Answer:
    """Answer questions of a run, read or named: "peaks", "tiers", "fits" or another of ``linkscope analyze -h``.

    Of one question ``.tables[0].frame`` has its lines, rates in GB/s and times in seconds;
    `linkscope help analyze.QUESTION` has its formula. Without a question: the conclusions of all that the run can
    answer. Raises LinkscopeError.
    """
    return _ask("analyze", found, questions=questions)


@typed_call()
def reproduce(study: str, *runs: RunFile | str | os.PathLike[str]) -> Answer:
    """Return a study's claims, tables and curves beside runs, read or named, of one node.

    ``.tables[0].frame`` has a line for each claim, ``.exit_code`` is 0 where all that can be tested hold. Raises
    LinkscopeError.
    """
    return _ask("reproduce", *runs, study=study)


@typed_call()
def workloads(found: RunFile | str | os.PathLike[str]) -> Answer:
    """Return of each application's communication that a run, read or named, carried out all methods by time.

    ``.tables`` have the methods against the application's, and where the time goes. Raises LinkscopeError.
    """
    return _ask("app", found)


@typed_call()
def topology(machine: str | None = None) -> Node:
    """This machine's node, engine or no engine, or the described one of that name. Raises LinkscopeError."""
    return load_machine(machine) if machine else discover(machine_description())


@typed_call()
def machines() -> list[str]:
    """Names of the machine models."""
    return list(machine_names())


def _request(
    suites: tuple[str, ...], asked: Mapping[str, str | None], workload: WorkloadRequest | None = None
) -> Request:
    launching = LaunchOptions(**dict[str, Any]({name: asked[name] for name in _LAUNCHING if name in asked}))
    words: dict[str, Any] = {
        name: value for name, value in asked.items() if name not in _LAUNCHING and value is not None
    }
    if workload is None:
        return Request(suites=suites or ("default",), launching=launching, **words)
    if suites:
        raise LinkscopeError("a workload stands in the place of suites: name one or the other")
    return Request(suites=(workload.application,), launching=launching, workload=workload, **words)


def _told(listener: Listener | None, progress: Progress) -> AbstractContextManager[Listener]:
    """The listener that was given, or one that shows what ``progress`` asks for."""
    if listener is not None or progress == "none":
        return nullcontext(listener or Listener())
    return _progress_line()


@contextmanager
def _new_folder() -> Iterator[Path]:
    """Below that of temporary files; it stays with what is written into it, and goes where that is nothing.

    Raises LinkscopeError.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="run-of-linkscope-"))
    except OSError as error:
        raise LinkscopeError(f"cannot write a temporary file: {error.strerror or error}; name an output") from error
    try:
        yield folder
    finally:
        with suppress(OSError):  # it holds a run
            folder.rmdir()
