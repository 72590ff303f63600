"""Near names: what a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from linkscope.errors import LinkscopeError

_MOST_NEAR = 3
_MOST_LETTERS = 48
"""Letters of all names that an error may list; beyond, it says where they are listed."""


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of ``known`` that ``name`` may have meant, nearest first: alike, or one within the other."""
    word = name.strip().lower()
    by_lower = {one.lower(): one for one in known}
    alike = difflib.get_close_matches(word, by_lower, n=_MOST_NEAR)
    within = [one for one in by_lower if len(word) > 2 and (word in one or one in word)]
    return [by_lower[one] for one in dict.fromkeys((*alike, *within))][:_MOST_NEAR]


def unknown(what: str, name: str, known: Iterable[str], listing: str = "", otherwise: str = "") -> LinkscopeError:
    """Return the error for a ``name`` that is none of ``known``: "unknown suite 'deflt': did you mean default?"

    Where nothing is near, it names all of a few, or ``listing``, the command that lists them. ``otherwise``: what may
    be given in the place of a name.
    """
    names = list(known)
    near = near_names(name, names)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif listing and len(", ".join(names)) > _MOST_LETTERS:
        hint = f"`{listing}` has all {len(names)}"
    else:
        hint = f"choose from {', '.join(names) or 'none'}"
    return LinkscopeError(f"unknown {what} {name!r}: {hint}{f', or {otherwise}' if otherwise and not near else ''}")
