"""The command help: what a message code means and what to do about it."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import app, out
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import near_names, unknown

_FACT = re.compile(r"\{(\w+)[^}]*\}")
"""A placeholder, which stands for a fact that only an answer has."""


@app.command("help")
def help_(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="A code, as --json prints it.", autocompletion=completing.codes)
    ],
) -> int:
    """Explain a message code, such as run.cut-short."""
    from linkscope.messages.catalog import codes, message

    if code not in set(codes()):
        if near_names(code, codes()):
            raise unknown("code", code, codes())
        raise LinkscopeError(f"unknown code {code!r}: --json prints codes, such as run.cut-short")
    words = message(code)
    text = (words.long or _of_verdict(code)).strip() or words.line or words.title or words.note
    lines = [*(" ".join(part.split()) for part in text.split("\n\n")), *(f"  {command}" for command in words.commands)]
    out().print(_FACT.sub(lambda found: found[1].upper(), "\n".join(lines)), highlight=False, markup=False)
    return 0


def _of_verdict(code: str) -> str:
    """Return what is explained of another code of the same answer with the same verdict; "" where nothing is."""
    from linkscope.messages.catalog import codes, message

    answer, verdict = code.partition(".")[0], message(code).verdict
    alike = [message(one) for one in codes() if one.startswith(f"{answer}.")]
    return next((one.long for one in alike if verdict and one.verdict == verdict and one.long), "")
