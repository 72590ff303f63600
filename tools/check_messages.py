"""Rejects English where only codes belong, codes without a message, and messages whose facts nobody gives.

English lives in python/linkscope/messages and render. Run without arguments on this checkout, or with the root of
another tree. One line per offence, exit code 1 if there is any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CODED = ("figures", "statistics", "answers")
"""Packages that hold no sentence."""
MAKERS = {"error": "level", "warning": "level", "note": "level", "problem": "level"}
"""Functions whose first argument is a code and whose keywords are its facts."""
ALWAYS = {"where", "source", "results"}
"""Facts that every finding has."""
MOST_CHARACTERS = 100
FEWEST_WORDS = 4
_WORD = re.compile(r"[A-Za-z][a-z'-]+")
_CODE = re.compile(r"[a-z-]+\.[a-z0-9-]+")
_KEYS = {"line", "verdict", "label", "title", "note", "long", "commands"}


def main() -> int:
    """Check the tree and print what is wrong."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    offences = sorted(check(root / "python" / "linkscope"))
    for offence in offences:
        print(offence)
    return 1 if offences else 0


def check(package: Path) -> Iterator[str]:
    """Yield every offence as `file:line: what is wrong`."""
    messages = {
        f"{path.stem}.{section}": words
        for path in sorted((package / "messages").glob("*.toml"))
        if path.stem != "names"
        for section, words in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }
    for code, words in messages.items():
        yield from (f"messages: {code}: no message has a field {key!r}" for key in words.keys() - _KEYS)
        if len(words.get("line", "")) > MOST_CHARACTERS + 40:
            yield f"messages: {code}: its line has more than {MOST_CHARACTERS} characters"
    used: set[str] = set()
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(package).as_posix()
        used |= {text for _, text in _texts(tree) if text in messages}
        yield from (f"{name}:{line}: {what}" for line, what in _facts(tree, messages))
        if name.startswith(tuple(f"{folder}/" for folder in CODED)):
            yield from (f"{name}:{line}: English belongs into messages/: {text!r}" for line, text in _prose(tree))
    yield from (f"messages: {code}: nothing says it" for code in messages.keys() - used)


def _texts(tree: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    """Yield every string constant with its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _facts(tree: ast.AST, messages: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield findings whose code has no message, or whose message needs a fact that they lack."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        first = call.args[0]
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            continue
        maker = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        code = first.value
        if maker not in MAKERS or not _CODE.fullmatch(code):
            continue
        if code not in messages:
            yield call.lineno, f"{code} has no message"
            continue
        given = {keyword.arg for keyword in call.keywords} | ALWAYS
        if None not in given:
            lacking = placeholders(messages[code]) - given
            yield from ((call.lineno, f"{code} needs the fact {name!r}") for name in sorted(lacking))


def placeholders(words: Mapping[str, Any]) -> set[str]:
    """Return the facts that a message needs in its line and commands."""
    texts = [words.get("line", ""), *words.get("commands", ())]
    return {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}


def _prose(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield strings that read as a sentence and document nothing."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node, text in _texts(tree):
        if id(node) not in documented and _reads(text):
            yield node.lineno, text[:60]


def _reads(text: str) -> bool:
    return " " in text.strip() and len(_WORD.findall(text)) >= FEWEST_WORDS


if __name__ == "__main__":
    sys.exit(main())
