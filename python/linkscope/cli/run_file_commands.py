"""The command explain: whether a node is as fast as it should be."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, out, print_json


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
