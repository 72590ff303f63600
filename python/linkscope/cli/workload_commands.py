"""The commands about what applications send: app order."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, app, out, print_json
from linkscope.errors import LinkscopeError

workloads = typer.Typer(help="What applications send: the halo exchange of CloverLeaf, or a file of yours.")
app.add_typer(workloads, name="app")


@workloads.callback()
def about() -> None:
    """What applications send: the halo exchange of CloverLeaf, or a file of yours."""


@workloads.command()
def order(
    pattern: Annotated[
        str, typer.Argument(metavar="halo|FILE", help="The application, or a matrix or .csv of its messages.")
    ],
    run_file: Annotated[Path, typer.Argument(metavar="RUN", help="A run with all pairs of devices: suite peer.")],
    ranks: Annotated[int, typer.Option(min=2, max=4096, help="Of halo: how many.")] = 4,
    cells: Annotated[str, typer.Option(help="Of halo: cells in x and y.")] = "61440x30720",
    steps: Annotated[int, typer.Option(min=1, max=1_000_000, help="Of halo: how many.")] = 87,
    method: Annotated[str | None, typer.Option(help="What sends the messages, such as mpi; else the fastest.")] = None,
    output: Annotated[Path | None, typer.Option("-o", help="Write the order as Open MPI's rankfile.")] = None,
    as_json: AsJson = False,
) -> int:
    """Which rank belongs on which device, by the paths as measured, and what that gains over the devices' own order."""
    from linkscope.analysis.figures_in_parts import figures_of
    from linkscope.analysis.order_gain import measured_gain
    from linkscope.analysis.rank_order import rank_order
    from linkscope.machine.paths import Paths
    from linkscope.report import rank_order_text
    from linkscope.results.run_file import RunFile
    from linkscope.results.run_stream import open_run
    from linkscope.results.whole_file import write_whole
    from linkscope.workload.halo import halo, parse_cells
    from linkscope.workload.pattern_file import read_pattern

    schedule = halo(ranks, parse_cells(cells), steps) if pattern == "halo" else read_pattern(Path(pattern))
    if pattern != "halo" and (ranks, cells, steps) != (4, "61440x30720", 87):
        raise LinkscopeError("--ranks, --cells and --steps are of halo: a file says its own")
    run = open_run(run_file)
    found = rank_order(schedule, figures_of(run), Paths(run.node), method)
    gains = measured_gain(run.rows) if isinstance(run, RunFile) else []
    if output is not None:
        write_whole(output, rank_order_text.rankfile(found, run.node))
    if as_json:
        settings = rank_order_text.settings(found, run.node)
        measured = [asdict(one) for one in gains]
        print_json({**asdict(found), "gain": found.gain, "settings": settings, "measured": measured})
    else:
        rank_order_text.show(found, schedule, run.node, out(), gains)
    return 0
