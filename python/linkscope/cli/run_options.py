"""RunOptions: the options that all commands which measure share, declared and gathered in one place."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from linkscope.cli import completing
from linkscope.cli.app import AsJson, Machine
from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
    from linkscope.launch.launcher.launch_options import LaunchOptions

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Run file; default runs/HOST-TIME.jsonl.")]
Devices = Annotated[str | None, typer.Option(help="Use only these: gpu:0,gpu:2 or gpu:0-3,numa:1.")]
Methods = Annotated[str | None, typer.Option(help="Use only these: copy-engine,kernel-copy.")]
Sizes = Annotated[str | None, typer.Option(help="Sizes of transfers and messages: 512M, 1K,64K, 4K:1G:2x.")]
Keyword = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--keyword",
        help="Only cases with this word in their id or title: all-reduce, 'h2d and gpu:1'.",
    ),
]
Precision = Annotated[str | None, typer.Option(help="Stop at this 95% interval around the median; default 1%.")]
Budget = Annotated[str | None, typer.Option(help="Time of the whole run: 60s.")]
Rounds = Annotated[
    str | None,
    typer.Option(help="Rounds of each case, in new processes; default 3:6, more than 3 for uncertain results."),
]
Clock = Annotated[str | None, typer.Option(help="Clock of all cases: device, host or batch; default the suite's.")]
Resume = Annotated[bool, typer.Option("--resume", help="Complete -o FILE, or the newest in runs/.")]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="cuda, hip or host; default the first that works here.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would run and how long it takes.")]
Report = Annotated[bool, typer.Option("--report", help="Also write the page, RUN.html.")]
LauncherName = Annotated[
    str | None, typer.Option("--launcher", help="What starts processes: local, mpiexec, srun or inside.")
]
LauncherCommand = Annotated[str | None, typer.Option(help="The launcher's path and options: 'srun --mpi=pmix'.")]
Hosts = Annotated[str | None, typer.Option(help="Hosts, as mpiexec or srun takes them: a,b.")]
Hostfile = Annotated[str | None, typer.Option(help="A file of hosts for mpiexec.")]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Print as nvbandwidth, nccl-tests or osu does.",
        autocompletion=completing.formats,
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Hold the options in the words of the command line; None: the default. Every field is an option."""

    output: Output = None
    report: Report = False
    devices: Devices = None
    precision: Precision = None
    budget: Budget = None
    rounds: Rounds = None
    resume: Resume = False
    machine: Machine = None
    engine: EngineName = None
    dry_run: DryRun = False
    launcher: LauncherName = None
    launcher_command: LauncherCommand = None
    hosts: Hosts = None
    hostfile: Hostfile = None
    as_json: AsJson = False

    @property
    def named(self) -> dict[str, Any]:
        """Return those that a Request takes as they are, where they were given."""
        names = ("devices", "precision", "budget", "rounds", "machine", "engine")
        return given({name: getattr(self, name) for name in names})

    def launching(self, interface: str | None) -> LaunchOptions:
        """Return how processes are started; ``interface``: the address of this host that they report to.

        Raises LinkscopeError where the options contradict each other.
        """
        from linkscope.launch.launcher.launch_options import LaunchOptions

        return LaunchOptions(self.launcher, self.launcher_command, self.hosts, self.hostfile, interface)


def given(words: dict[str, Any]) -> dict[str, Any]:
    """Return those of ``words`` that are not None."""
    return {name: value for name, value in words.items() if value is not None}


def one_keyword(words: list[str] | None) -> str | None:
    """The expression of -k, None without one. Raises LinkscopeError for several."""
    if words and len(words) > 1:
        raise LinkscopeError(f"-k takes one expression: -k {shlex.quote(' and '.join(words))}, or `or` for either")
    return words[0] if words else None


def with_run_options(command: Callable[..., int]) -> Callable[..., int]:
    """A command for typer: ``command``, whose parameter ``options`` (RunOptions) stands for all of these options."""
    hints = get_type_hints(RunOptions, include_extras=True)
    shared = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(RunOptions)
    ]
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        taken
        for one in own
        for taken in (shared if one.name == "options" else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)])
    ]

    @wraps(command)
    def gathered(**words: Any) -> int:
        options = RunOptions(**{one.name: words.pop(one.name) for one in fields(RunOptions)})
        return command(**words, options=options)

    vars(gathered)["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    gathered.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": int}
    return gathered
