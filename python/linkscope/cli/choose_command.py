"""The command choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out


@app.command()
def choose(
    run_files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="A run file; several of one node, or folders, count together.", show_default=False
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Every task, and the time of every method at every size.")
    ] = False,
    table: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only tasks with this word in their title: 'host to GPU'.")
    ] = None,
    export_as: Annotated[
        str | None,
        typer.Option(
            "--export",
            help="Write settings for another system: vllm, sglang, flashinfer, mscclpp, nccl-tuner, nccl-optimize, "
            "ompi-tuned, ompi-tuned-json, mpich, inductor, ucx, ucc; or json or header for your programs.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file that --export writes.")] = None,
    as_json: AsJson = False,
) -> int:
    """Which method is fastest for each movement, memory and size? Exit code 3 where nothing can be answered."""
    from linkscope.answers.answer import Outcome
    from linkscope.answers.run_head import run_head
    from linkscope.cli.answering import answer
    from linkscope.codecs.tuner.formats import export
    from linkscope.documents.whole_file import write_whole
    from linkscope.figures.run import Run
    from linkscope.messages.catalog import problem, sentence
    from linkscope.messages.finding import Level
    from linkscope.results.run_files import named

    if (export_as is None) != (output is None):
        raise problem("choose.export-alone")
    if export_as is not None and (table is not None or full or as_json):
        raise problem("choose.export-whole")
    runs = [Run.of(path) for path in named(run_files) or run_files]
    if export_as is None or output is None:
        return answer("choose", *runs, out=out(), form="json" if as_json else "text", full=full, table=table)
    write_whole(output, export(export_as, *runs))
    err().print(f"wrote {output}", highlight=False)
    heads = [run_head(run) for run in runs]
    for found in (one for head in heads for one in head.findings if one.level is not Level.NOTE):
        err().print(f"{found.facts['run']}: {sentence(found)}", highlight=False, markup=False, soft_wrap=True)
    return Outcome.UNTESTED.exit_code if any(head.cut_short for head in heads) else 0
