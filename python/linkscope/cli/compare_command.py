"""The command compare, and what it does beyond asking: it measures an alarm again before it raises it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out

if TYPE_CHECKING:
    from linkscope.answers.answer import Answer


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="A run file, or a folder of them.", show_default=False)],
    new: Annotated[
        list[Path], typer.Argument(metavar="NEW...", help="Run files, or folders of them.", show_default=False)
    ],
    more_base: Annotated[
        list[Path] | None, typer.Option("--base", help="One more run or folder of the base side.")
    ] = None,
    threshold: Annotated[str, typer.Option(help="Smallest change that counts.")] = "1%",
    alpha: Annotated[str, typer.Option(help="Share of false changes among all changes.")] = "0.1%",
    again: Annotated[
        bool, typer.Option("--again", help="Measure slower results again on this machine; they count if still slower.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Every change, setting and result.")] = False,
    as_json: AsJson = False,
) -> int:
    """What changed between runs beyond the noise between them? Exit code 0: nothing is slower, 1: something is, 3: no
    verdict.
    """
    from linkscope.answers.compare import compare as ask
    from linkscope.cli.answering import printed
    from linkscope.figures.run import Run
    from linkscope.plan.select import parse_share
    from linkscope.results.run_files import named

    before, after = ([Run.of(path) for path in named(paths)] for paths in ([base, *(more_base or [])], new))
    share, least = parse_share("alpha", alpha, 1e-9), parse_share("threshold", threshold, 0.0)
    found = ask(before, after, share, least)
    if again and (measured := _measured_again(found)) is not None:
        found = ask(before, [Run.of(measured)], share, least)
    return printed(found, out(), "json" if as_json else "text", full)


def _measured_again(found: Answer) -> Path | None:
    """Return the run file in which what got worse, or failed, was measured again; None where nothing was.

    Where it cannot be measured here, it says so and the alarm stands. Raises LinkscopeError where there are several
    new runs, or with exit code 130 when interrupted.
    """
    from linkscope.cli.progress import progress
    from linkscope.errors import LinkscopeError
    from linkscope.launch.again import measured_again
    from linkscope.launch.run import INTERRUPTED, default_output
    from linkscope.results.run_file import RunFile

    if len(found.runs) - found.base > 1:
        raise LinkscopeError("--again measures one run again: name one NEW; several runs are evidence by themselves")
    worse = {
        id_ for one in (found.headline, *found.findings, *found.details) if _alarms(one.code) for id_ in one.results
    }
    if not worse:
        return None
    try:
        with progress(err()) as listener:
            run = RunFile.read(found.runs[-1].path)
            output = default_output(run.node.name if run.node.modelled else None)
            again = measured_again(run, worse, output, listener)
    except LinkscopeError as error:
        if error.exit_code == INTERRUPTED:
            raise
        err().print(f"not measured again: {error}", highlight=False, markup=False, soft_wrap=True)
        return None
    err().print(
        f"measured {len(worse)} of {len(again.rows)} cases again: {again.path}", highlight=False, soft_wrap=True
    )
    return again.path


def _alarms(code: str) -> bool:
    """Return whether a finding is of results that got worse or of cases that failed."""
    return code.startswith("compare.slower") or code == "compare.lost"
