"""Completion: what the shell offers for a word that is begun. Nothing starts an engine or raises: a shell waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from linkscope.errors import LinkscopeError

VARIABLE = "_LINKSCOPE_COMPLETE"
"""Set in the environment by the shell that wants to know."""


def shells() -> list[str]:
    """Enumerate the shells that have completion."""
    return ["bash", "zsh", "fish"]


def script(shell: str) -> str:
    """Return what that shell reads, at its start or from the folder in which it looks for completion."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = str(get_completion_script(prog_name="linkscope", complete_var=VARIABLE, shell=shell))
    if shell != "zsh":
        return script
    # A file that zsh finds by itself is read when the first word is to be completed: it must do so, too.
    body, register = script.rstrip().rsplit("\n", 1)
    called = register.split()[1]
    return f'{body}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then {called} "$@"; else {register}; fi'


def lists() -> list[str]:
    """Enumerate what `linkscope list` lists."""
    from linkscope.cli.listing import KINDS

    return list(KINDS)


def listed_names(ctx: Any) -> list[str]:
    """Names in the list that the line has named before."""
    return _names(str(ctx.params.get("what")))


def suites() -> list[str]:
    return _names("suites")


def machines() -> list[str]:
    return _names("machines")


def studies() -> list[str]:
    return _names("studies")


def formats() -> list[str]:
    """Tools in whose format `run` and `show` print."""
    return _names("formats")


def codes() -> list[str]:
    """Codes that have a message."""
    from linkscope.messages.catalog import codes

    return sorted(codes())


def _names(what: str) -> list[str]:
    from linkscope.codecs.peer.formats import FORMATS
    from linkscope.importers.importers import IMPORTERS
    from linkscope.machine.described import machine_names
    from linkscope.machine.traits import known_memories
    from linkscope.plan.patterns import PATTERNS
    from linkscope.plan.suites import packaged_methods, suite_names
    from linkscope.results.study import study_names

    known: dict[str, Callable[[], Iterable[str]]] = {
        "suites": suite_names,
        "methods": packaged_methods,
        "memories": known_memories,
        "machines": machine_names,
        "studies": study_names,
        "patterns": lambda: PATTERNS,
        "importers": lambda: IMPORTERS,
        "formats": lambda: FORMATS,
    }
    try:
        return sorted(known[what]()) if what in known else []
    except LinkscopeError:
        return []
