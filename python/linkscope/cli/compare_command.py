"""The command compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out, print_json


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="A run file, or a folder of them.", show_default=False)],
    new: Annotated[
        list[Path], typer.Argument(metavar="NEW...", help="Run files, or folders of them.", show_default=False)
    ],
    more_base: Annotated[
        list[Path] | None, typer.Option("--base", help="One more run or folder of the base side.")
    ] = None,
    threshold: Annotated[str, typer.Option(help="Smaller changes are no finding.")] = "1%",
    alpha: Annotated[str, typer.Option(help="Of all changes told, this share may be false.")] = "0.1%",
    again: Annotated[
        bool, typer.Option("--again", help="Measure what got worse again, here and now; it counts if still worse.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Every finding and figure.")] = False,
    as_json: AsJson = False,
) -> int:
    """What changed between runs beyond this node's noise? Told by what it has in common. Exit code 1: something is
    worse; 0: nothing is, or it cannot tell.
    """
    from linkscope.analysis.compare import compare as find
    from linkscope.plan.select import parse_share
    from linkscope.report import compare_text, wording
    from linkscope.results.run_files import open_all

    sides = open_all([base, *(more_base or [])]), open_all(new)
    for notice in (notice for side in sides for run_read in side for notice in run_read.notices):
        err().print(notice, highlight=False, markup=False, soft_wrap=True)
    found = find(*sides, parse_share("alpha", alpha, 1e-9), parse_share("threshold", threshold, 0.0))
    if again:
        from linkscope.cli import comparing

        found = comparing.confirmed(found, *sides, err())
    if as_json:
        print_json({**found.to_json(), "verdict": compare_text.verdict(found)})
    else:
        (compare_text.show_all if full else compare_text.show)(found, wording.titled(sides[1][-1]), out())
    return 1 if found.worse else 0
