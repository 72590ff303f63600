"""The commands about what applications send: app halo, particles, moe, pattern, order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linkscope.cli.app import AsJson, Commands, app, err, out
from linkscope.cli.run_options import RunOptions, given, with_run_options
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown

workloads = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="What makes an application's messages fastest? Which interface, memory and rank order.",
)
app.add_typer(workloads, name="app")

Ranks = Annotated[str | None, typer.Option(help="Number of ranks: 4, or 2,4,8; default: one on each GPU.")]
Interfaces = Annotated[str | None, typer.Option("--interface", help="Interfaces: mpi, xccl, direct; default: all.")]
Memories = Annotated[
    str | None, typer.Option("--memory", help="Memory of the buffers: device,pinned,registered,managed,pageable.")
]
Staging = Annotated[
    str | None, typer.Option(help="MPI is given the buffers (none), or they are copied through the host (full).")
]
Order = Annotated[str | None, typer.Option(help="The device of each rank: gpu:3,gpu:1; default: the node's order.")]
Listen = Annotated[str | None, typer.Option(help="Address of this host that the processes report to.")]


@workloads.callback()
def about() -> None:
    """What makes an application's messages fastest? Which interface, memory and rank order."""


@workloads.command()
@with_run_options
def halo(
    options: RunOptions,
    deck: Annotated[
        str | None,
        typer.Option(
            help="bm_short to bm2048_short (the study's); largest: that fits; usual (default): on CPUs smaller."
        ),
    ] = None,
    cells: Annotated[str | None, typer.Option(help="Cells in the place of a deck: 960x960.")] = None,
    steps: Annotated[int | None, typer.Option(help="Time steps; default 87.")] = None,
    ranks: Ranks = None,
    interface: Interfaces = None,
    memory: Memories = None,
    staging: Staging = None,
    order: Order = None,
    listen: Listen = None,
) -> int:
    """CloverLeaf's halo exchange, its messages and packing: which interface and memory make it fastest?"""
    return _carry_out("halo", **locals())


@workloads.command()
@with_run_options
def particles(
    options: RunOptions,
    deck: Annotated[str | None, typer.Option(help="problem-1 (default) or problem-2.")] = None,
    count: Annotated[
        int | None, typer.Option("--particles", help="Particles of all ranks; default: the deck's.")
    ] = None,
    grid: Annotated[str | None, typer.Option(help="Ranks in x, y and z: 2x2x1; default: nearest to a cube.")] = None,
    cycles: Annotated[int | None, typer.Option(help="Cycles; default 10.")] = None,
    termination: Annotated[
        str | None, typer.Option(help="Termination test: blocking (default) or non-blocking.")
    ] = None,
    ranks: Ranks = None,
    interface: Interfaces = None,
    memory: Memories = None,
    order: Order = None,
    listen: Listen = None,
) -> int:
    """Quicksilver's particle exchange, its messages and packing: which interface and memory make it fastest?"""
    words = locals()
    return _carry_out("particles", particles=words.pop("count"), **words)


@workloads.command()
@with_run_options
def moe(
    options: RunOptions,
    tokens: Annotated[int | None, typer.Option(help="Tokens of each rank; default 4096.")] = None,
    hidden: Annotated[int | None, typer.Option(help="Elements of a token's vector; default 7168.")] = None,
    topk: Annotated[int | None, typer.Option(help="Experts of each token; default 8.")] = None,
    experts: Annotated[int | None, typer.Option(help="Experts of all ranks; default 256.")] = None,
    skew: Annotated[
        float | None, typer.Option(help="Popularity of experts, Zipf's exponent; default 0: uniform.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="Dispatched vectors: fp8 (default) or bf16.")] = None,
    ranks: Ranks = None,
    interface: Interfaces = None,
    memory: Memories = None,
    order: Order = None,
    listen: Listen = None,
) -> int:
    """Expert parallelism's dispatch and combine: which interface makes them fastest?"""
    return _carry_out("moe", **locals())


@workloads.command("pattern")
@with_run_options
def pattern_(
    options: RunOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A pattern or trace.", show_default=False)],
    gaps: Annotated[
        str | None, typer.Option(help="Between phases: recorded (default), or none: as fast as it goes.")
    ] = None,
    interface: Interfaces = None,
    memory: Memories = None,
    order: Order = None,
    listen: Listen = None,
) -> int:
    """Your application's messages, from a file: which interface and memory make them fastest, and what bounds them?"""
    words = locals()
    return _carry_out("pattern", file=str(words.pop("file")), **words)


def _carry_out(application: str, options: RunOptions, listen: str | None, **words: Any) -> int:
    """``words``: the command's own options by name, None where not given."""
    from linkscope.cli import measuring
    from linkscope.launch.job import Request
    from linkscope.launch.launcher import inside
    from linkscope.launch.workload_request import WorkloadRequest

    asked = given(words)
    place = inside.place()
    if place is not None and application != "pattern":
        asked.setdefault("ranks", str(place.size))
    workload = WorkloadRequest(application, **asked)
    launching = options.launching(listen)
    request = Request(suites=(application,), launching=launching, workload=workload, **options.named)
    return measuring.carry_out(request, launching, options, out(), err())


@workloads.command()
def order(
    pattern: Annotated[
        str, typer.Argument(metavar="halo|FILE", help="The application, or a matrix or .csv of its messages.")
    ],
    run_file: Annotated[Path, typer.Argument(metavar="RUN", help="A run with all pairs of devices: suite peer.")],
    ranks: Annotated[int, typer.Option(min=2, max=4096, help="Ranks of halo.")] = 4,
    cells: Annotated[str, typer.Option(help="Cells of halo in x and y.")] = "61440x30720",
    steps: Annotated[int, typer.Option(min=1, max=1_000_000, help="Time steps of halo.")] = 87,
    method: Annotated[str | None, typer.Option(help="What sends the messages, such as mpi; else the fastest.")] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write the order as Open MPI's rankfile.")] = None,
    as_json: AsJson = False,
) -> int:
    """Place ranks on devices by the measured paths, and show the gain over the devices' own order."""
    from linkscope.answers.questions import ask
    from linkscope.cli.answering import printed
    from linkscope.documents.whole_file import write_whole
    from linkscope.workload.halo import halo, parse_cells
    from linkscope.workload.pattern_file import read_pattern

    if pattern != "halo" and not Path(pattern).exists():
        raise unknown("application or file", pattern, ["halo"])
    schedule = halo(ranks, parse_cells(cells), steps) if pattern == "halo" else read_pattern(Path(pattern))
    if pattern != "halo" and (ranks, cells, steps) != (4, "61440x30720", 87):
        raise LinkscopeError("--ranks, --cells and --steps are of halo: a file says its own")
    found = ask("order", run_file, schedule=schedule, method=method)
    if output is not None:
        write_whole(output, str(found.data["rankfile"]))
    return printed(found, out(), "json" if as_json else "text")
