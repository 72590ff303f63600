"""What `linkscope compare` does beyond computing: it measures an alarm again before it raises it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from linkscope.analysis.compare import Comparison, compare
from linkscope.cli.progress import progress
from linkscope.errors import LinkscopeError
from linkscope.launch.again import measured_again
from linkscope.launch.run import INTERRUPTED, default_output
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import Run


def confirmed(found: Comparison, base: Sequence[Run], new: Sequence[Run], err: Console) -> Comparison:
    """``found`` after its cases that got worse or failed were measured again; ``found`` where nothing is to be.

    Where they can't be measured here, it says so and the alarm stands. Raises LinkscopeError where there are several
    new runs, or with exit code 130 when interrupted.
    """
    if len(new) > 1:
        raise LinkscopeError("--again measures one run again: name one NEW; several runs are evidence by themselves")
    worse = {change.key[0] for one in found.findings if one.worse for change in one.changes}
    worse |= {name for name, status, _ in found.lost if status == "failed"}
    if not worse:
        return found
    try:
        with progress(err) as listener:
            run = RunFile.read(new[0].path)
            output = default_output(run.node.name if run.node.modelled else None)
            again = measured_again(run, worse, output, listener)
    except LinkscopeError as error:
        if error.exit_code == INTERRUPTED:
            raise
        err.print(f"not measured again: {error}", highlight=False, markup=False, soft_wrap=True)
        return found
    err.print(
        f"measured {len(worse)} of {len(again.rows)} cases again: {again.path}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return compare(base, [again], found.alpha, found.threshold)
