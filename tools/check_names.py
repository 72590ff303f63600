"""Rejects a type name that is defined for two things: one word, one meaning.

A name of a class, struct or enum belongs to one file of engine/, and one file of Python; the engine and Python may have
a concept, and so its name, in common. What a file defines several times under one name (a trait of several types)
counts once; forward declarations, specialisations and definitions of nested types outside their class do not count.

Run without arguments on this checkout, or with the root of another tree. One line per offence, exit code 1 if any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ENGINE = ("engine",)
PYTHON = ("python/linkscope", "tools", "bench")
# The two vendors' files give one set of names their two meanings.
VENDORS = re.compile(r"(engine/backend/gpu/vendor/)(?:cuda|hip)")

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
TYPE = re.compile(
    r"\b(?:class|struct|enum(?:\s+(?:class|struct))?)\s+(?:(?:\[\[[^\]]*\]\]|alignas\([^)]*\))\s*)*"
    r"(?P<name>\w+)\s*(?:final\s*)?(?::[^:;{}()][^;{}()]*)?\{"
)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    offences = sorted(check(root))
    for offence in offences:
        print(offence)
    return 1 if offences else 0


def check(root: Path) -> Iterator[str]:
    """Every offence in the tree, as `path:line: what is wrong`."""
    yield from twice_defined(root, ENGINE, (".hpp", ".cpp", ".cu", ".cuh"))
    yield from twice_defined(root, PYTHON, (".py",))


def twice_defined(root: Path, trees: tuple[str, ...], suffixes: tuple[str, ...]) -> Iterator[str]:
    """Each definition of a name whose first stands in another file, which comes earlier in the alphabet."""
    first: dict[str, tuple[str, int]] = {}
    for path in sorted(path for tree in trees for path in (root / tree).rglob("*") if path.suffix in suffixes):
        file = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for line, name in python_types(text) if path.suffix == ".py" else cpp_types(text):
            known, known_line = first.setdefault(name, (file, line))
            if VENDORS.sub(r"\1", known) != VENDORS.sub(r"\1", file):
                yield f"{file}:{line}: {name} is defined for another thing in {known}:{known_line}"


def cpp_types(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of every class, struct and enum that C++ source defines."""
    code = NOT_CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for match in TYPE.finditer(code):
        yield code.count("\n", 0, match.start("name")) + 1, match["name"]


def python_types(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of every class that Python source defines."""
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.ClassDef):
            yield statement.lineno, statement.name


if __name__ == "__main__":
    sys.exit(main())
