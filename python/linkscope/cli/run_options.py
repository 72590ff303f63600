"""Options that commands which measure share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli import completing

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Run file; else runs/HOST-TIME.jsonl.")]
Devices = Annotated[str | None, typer.Option(help="Use only these: gpu:0,gpu:2 or gpu:0-3,numa:1.")]
Keyword = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--keyword",
        help="Only cases with this word in id, title or another tool's name: all-reduce, 'h2d and gpu:1'.",
    ),
]
Precision = Annotated[
    str | None, typer.Option(help="Stop when the 95 % interval is this close to the median; default 1%.")
]
Budget = Annotated[str | None, typer.Option(help="Time of the whole run: 60s; 60 without a unit is seconds.")]
Rounds = Annotated[
    str | None,
    typer.Option(help="Visit each case so often, in new processes; default 3:6, up to six where figures are wide."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Complete -o FILE, or the newest in runs/.")]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="cuda, hip or host; default: the first that works here.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would run and how long.")]
LauncherName = Annotated[
    str | None, typer.Option("--launcher", help="Starts several processes: local, mpiexec, srun or inside.")
]
LauncherCommand = Annotated[str | None, typer.Option(help="The launcher's path and options: 'srun --mpi=pmix'.")]
Hosts = Annotated[str | None, typer.Option(help="Hosts, in the spelling of mpiexec or srun: a,b.")]
Hostfile = Annotated[str | None, typer.Option(help="A file of hosts for mpiexec.")]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Print as another tool does: nvbandwidth, nccl-tests or osu.",
        autocompletion=completing.formats,
    ),
]
