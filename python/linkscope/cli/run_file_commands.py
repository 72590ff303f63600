"""The commands that read run files: show, explain, analyze, export; and import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, err, out, print_json
from linkscope.cli.paging import paged
from linkscope.cli.run_options import FormatName
from linkscope.errors import LinkscopeError


@app.command()
def show(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every table, figure and interval.")] = False,
    table: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only tables with this word in their title or method.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Only cases that involve it, such as gpu:0.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="of-peak", help="Figures in one list, the furthest below its peak first.")
    ] = None,
    form: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Print a run on one screen: verdict, headlines, what is odd. Longer output goes to $PAGER."""
    from linkscope.analysis.excerpt import readable
    from linkscope.cli import showing

    wanted = showing.ShowRequest(full, table, where, sort)
    if form is not None:
        if as_json or wanted != showing.ShowRequest():
            raise LinkscopeError("--format prints all that the tool would: leave out the other options")
        from linkscope.report.peer_formats.formats import printed
        from linkscope.results.run_file import RunFile

        typer.echo(printed(RunFile.read(run_file), form), nl=False)
        return 0
    found = readable(run_file)
    for notice in found.notices if as_json or wanted.narrow else ():
        err().print(notice, highlight=False, markup=False, soft_wrap=True)
    if as_json:
        print_json(showing.data(found, wanted))
    else:
        showing.show(found, wanted, out())
    return 0


@app.command()
def explain(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every finding and path, with sources.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 2 also where any judged figure may be short (?).")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Is this node as fast as it should be, and if not, why? Exit code 0 yes, 1 no, 2 cannot tell."""
    from linkscope.analysis.excerpt import readable
    from linkscope.analysis.explain import explain as find
    from linkscope.report import explain_text

    found = find(readable(run_file))
    if as_json:
        print_json({**found.to_json(), "verdict": explain_text.verdict(found)})
    else:
        (explain_text.show_all if full else explain_text.show)(found, out())
    return 1 if found.wrong else 2 if explain_text.cannot_tell(found) or (strict and found.unsure) else 0


@app.command()
def analyze(
    run_file: RunPath,
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION]...",
            help="peaks, tiers, fits, saturation, anisotropy, numa, engines, scaling, threads, interference, "
            "collectives; else all that the run can answer.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All tables; those of questions that are named always.")] = False,
    as_json: AsJson = False,
) -> int:
    """Answer what engineers ask of a run, a sentence each. A question that you name is answered with its table."""
    from linkscope.analysis.excerpt import readable
    from linkscope.analysis.overview import overview
    from linkscope.analysis.questions import analyze as answer
    from linkscope.analysis.spoilers import spoilers
    from linkscope.messages.catalog import sentence
    from linkscope.report import answers_text, wording
    from linkscope.report.odd_text import imprecision
    from linkscope.report.provenance import precision

    run_read = readable(run_file)
    for notice in run_read.notices:
        err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = answer(run_read, questions or ())
    wide = imprecision(overview(run_read.rows, run_read.node, precision(run_read.header)).summary)
    caveats = [sentence(one) for one in spoilers(run_read)]
    caveats += [f"{wide}; told are medians"] if wide else []
    if as_json:
        more = {"caveats": caveats, "notices": run_read.notices}
        print_json({**answers_text.to_json(found), **{name: told for name, told in more.items() if told}})
    else:
        with paged(out()) as shown:
            (answers_text.show_tables if full or questions else answers_text.show)(
                found, wording.titled(run_read), shown, caveats
            )
    return 0


@app.command()
def export(
    run_files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run files, or folders of them; all go into one file.", show_default=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write, .csv or .parquet; - prints CSV.", show_default=False)
    ],
) -> int:
    """Write the figures of runs as one table, CSV or Parquet. A line per figure, units in the names of columns."""
    from linkscope.analysis.frames import export as write
    from linkscope.analysis.frames import exported
    from linkscope.results.run_files import open_all

    runs = open_all(run_files)
    if str(output) == "-":
        sys.stdout.write(exported(runs, ".csv").decode())
        return 0
    write(runs, output)
    err().print(f"wrote {output}", highlight=False)
    return 0


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What another tool printed.", show_default=False)],
    named: Annotated[
        str | None, typer.Option("--from", help="Its format, of `list importers`; default: as it looks.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file; else runs/FILE.jsonl.")] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A run of the same node: its devices, links and the ids of its cases.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="Else the described node: see `list machines`.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=2, max=80, help="How many took part, where FILE does not say (OSU's collectives).")
    ] = None,
    nvls: Annotated[
        str | None,
        typer.Option(
            metavar="on|off", help="Whether NCCL could reduce in the GPU switch, which nccl-tests does not say."
        ),
    ] = None,
) -> int:
    """Make a run file of what nvbandwidth, nccl-tests or OSU printed. Others: `list importers`."""
    from linkscope.cli import importing

    wanted = importing.wanted(named, beside, machine, processes, nvls)
    return importing.take(file, output, wanted, ["linkscope", *sys.argv[1:]], err())
