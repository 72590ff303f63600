"""Written forms: `--write FORM=FILE`, an answer as files that other programs read."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
    from linkscope.answers.answer import Answer

Write = Annotated[
    list[str] | None,
    typer.Option(
        "--write",
        metavar="FORM=FILE",
        help="Also write junit, prometheus, json-line, dcgm, json or csv; -: print it instead.",
    ),
]
_PRINTED = "-"


@dataclass(frozen=True)
class WrittenForms:
    """Forms with the file that each goes to."""

    files: tuple[tuple[str, str], ...]

    @staticmethod
    def of(words: Sequence[str]) -> WrittenForms:
        """Return what ``--write`` asks for. Raises LinkscopeError for a wrong word, a file that cannot be written, or
        where two forms are to be printed."""
        from linkscope.messages.near_names import unknown
        from linkscope.render import WRITERS

        found: list[tuple[str, str]] = []
        for word in words:
            form, separator, file = word.partition("=")
            if not separator or not file:
                raise LinkscopeError(f"--write {word}: write FORM=FILE, as in --write junit=check.xml")
            if form not in WRITERS:
                raise unknown("format", form, WRITERS)
            found.append((form, file))
        if sum(file == _PRINTED for _, file in found) > 1:
            raise LinkscopeError("--write: print one form, and name a file for each other")
        for _, file in found:
            if file != _PRINTED and (why := _obstacle(Path(file))):
                raise LinkscopeError(f"cannot write {file}: {why}")
        return WrittenForms(tuple(found))

    @property
    def printed(self) -> str | None:
        """Return the form that is printed in the place of the screen."""
        return next((form for form, file in self.files if file == _PRINTED), None)

    def write(self, answer: Answer) -> None:
        """Write the files. Raises LinkscopeError for the first that cannot be written, after the others were."""
        from linkscope.documents.whole_file import write_whole
        from linkscope.render import render

        failures: list[LinkscopeError] = []
        for form, file in self.files:
            if file != _PRINTED:
                try:
                    write_whole(Path(file), render(answer, form))
                except LinkscopeError as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]


def _obstacle(path: Path) -> str | None:
    """Return why a file could not be put there now, in the system's words; None where nothing is in the way."""
    if path.is_dir():
        return os.strerror(errno.EISDIR)
    whole = path.is_file() or not path.exists()
    changed = Path(os.path.realpath(path)).parent if whole else path
    if whole and not changed.is_dir():
        return os.strerror(errno.ENOTDIR if changed.exists() else errno.ENOENT)
    return None if os.access(changed, os.W_OK) else os.strerror(errno.EACCES)
