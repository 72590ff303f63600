"""The commands that read run files: explain, analyze."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, err, out, print_json
from linkscope.cli.paging import paged


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
