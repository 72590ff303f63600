"""README.md's picture: a recorded run's node, with what each link reaches of what it should."""

from __future__ import annotations

from linkscope.analysis.explain import explain
from linkscope.report.html_answer import picture as node_picture
from linkscope.results.run_file import RunFile


def picture(run: RunFile) -> str:
    """A self-contained SVG document, the same for the same run file."""
    return node_picture(run.node, explain(run))
