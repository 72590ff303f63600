"""The command choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out, print_json
from linkscope.errors import LinkscopeError


@app.command()
def choose(
    run_files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="A run file; several of one node, or folders, count together.", show_default=False
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Every question, and what every way costs at every size.")
    ] = False,
    table: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only questions with this word in their title: 'host to GPU'.")
    ] = None,
    export_as: Annotated[
        str | None,
        typer.Option(
            "--export",
            help="Write what another system loads: nccl-tuner, nccl-optimize, ompi-tuned, ompi-tuned-json, mpich, "
            "inductor, ucx, ucc; or json or header for programs of your own.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file that --export writes.")] = None,
    as_json: AsJson = False,
) -> int:
    """Which interface is best for each movement, memory and size? And what does a wrong one cost?"""
    from linkscope.analysis.choose import choose as find
    from linkscope.analysis.figures_in_parts import figures_of
    from linkscope.analysis.joined_runs import joined
    from linkscope.analysis.spoilers import spoilers
    from linkscope.analysis.workloads import workloads
    from linkscope.machine.paths import Paths
    from linkscope.messages.catalog import sentence
    from linkscope.report import choose_text, model_grounds, wording
    from linkscope.report.choose_narrowed import with_word
    from linkscope.report.exports.formats import export as write_for
    from linkscope.report.provenance import unasked
    from linkscope.results.run_file import RunFile
    from linkscope.results.run_files import named, read_all
    from linkscope.results.run_stream import open_run
    from linkscope.whole_file import write_whole

    if (export_as is None) != (output is None):
        raise LinkscopeError("--export FORMAT and -o FILE go together")
    if export_as is not None and table is not None:
        raise LinkscopeError("--export writes every question: leave --table out")
    files = named(run_files)
    several = read_all(files) if len(files) > 1 else []
    run_read = joined(several) if several else open_run((files or run_files)[0])
    if export_as is not None and output is not None:
        write_whole(output, write_for(run_read, export_as))
        err().print(f"wrote {output}", highlight=False)
        return 0
    whole = several or ([run_read] if isinstance(run_read, RunFile) else [])
    sizes = [f"{run.path}: {told}" if several else told for run in whole if (told := unasked(run))]
    for notice in (*run_read.notices, *sizes):
        err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = find(figures_of(run_read), several)
    found = with_word(found, table) if table is not None else found
    asked = workloads(run_read.rows, Paths(run_read.node)) if isinstance(run_read, RunFile) else ()
    if as_json:
        origin = run_read.header.get("origin")
        verdict = choose_text.verdict(found, asked)
        print_json({**found.to_json(), "verdict": verdict, **({"origin": origin} if origin else {})})
    else:
        grounds = model_grounds.of_choices(run_read.node, found)
        grounds += [
            f"{run.path}: {sentence(one)}" if several else sentence(one) for run in whole for one in spoilers(run)
        ]
        (choose_text.show_all if full else choose_text.show)(found, wording.titled(run_read), out(), asked, grounds)
    return 0
