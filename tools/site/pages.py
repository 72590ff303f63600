"""Pages: the site in Markdown, of documents in the checkout and of what the code declares."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tools.site import catalog, commands, lists, python_interface, schemas

START = "README.md"
TOP = (START, "CHANGELOG.md", "CONTRIBUTING.md")
"""Documents beside docs/ that are pages, the site's first page before the others. Links make pages of further ones."""
GENERATED = {
    "reference/commands.md": commands.page,
    "reference/suites.md": lists.suites,
    "reference/methods.md": catalog.methods,
    "reference/memories.md": catalog.memories,
    "reference/patterns.md": lists.patterns,
    "reference/machines.md": lists.machines,
    "reference/studies.md": lists.studies,
    "reference/importers.md": lists.importers,
    "reference/python.md": python_interface.page,
}
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^ *```", re.MULTILINE)


@dataclass(frozen=True)
class Pages:
    """``texts``: by place in the site a page's text, links as the site has them. ``files``: by place what is copied."""

    texts: dict[str, str]
    files: dict[str, Path]

    @classmethod
    def of(cls, root: Path) -> Pages:
        """The site of a checkout. Raises LinkscopeError for data that cannot be read."""
        site = cls({}, {})
        for path in [*sorted((root / "docs").glob("*.md")), *(root / name for name in TOP)]:
            site._take(root, path)
        for place, made in GENERATED.items():
            site.texts[place] = made()
        for place, name in schemas.FILES.items():
            site.texts[place] = schemas.page(root / "schema" / name)
        return site

    def write(self, folder: Path) -> None:
        """All of it, below ``folder``."""
        for place, text in self.texts.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
        for place, path in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / place)

    def _take(self, root: Path, path: Path) -> str:
        """Adds a document, or a file that one links to, and what it links to itself; its place in the site."""
        place = _place(path.relative_to(root))
        if path.suffix != ".md":
            self.files[place] = path
        elif place not in self.texts:
            self.texts[place] = ""  # so that documents may link to each other
            self.texts[place] = "".join(self._relinked(root, path, place))
        return place

    def _relinked(self, root: Path, path: Path, place: str) -> Iterator[str]:
        def moved(link: re.Match[str]) -> str:
            target = (path.parent / link[2]).resolve()
            if not target.is_file() or not target.is_relative_to(root):
                return link[0]
            there = os.path.relpath(self._take(root, target), PurePosixPath(place).parent)
            return f"{link[1]}{there}{link[3] or ''})"

        for number, part in enumerate(_FENCE.split(path.read_text(encoding="utf-8"))):
            yield f"```{part}" if number % 2 else (f"```{_LINK.sub(moved, part)}" if number else _LINK.sub(moved, part))


def _place(path: Path) -> str:
    """Where a file of the checkout is in the site: documents at the top, what they link to under ``repository``."""
    parts = path.parts
    if parts[0] == "docs":
        return "/".join(parts[1:])
    if str(path) == START:
        return "index.md"
    if str(path) in TOP:
        return str(path)
    return "/".join(("repository", *(part if part != "README.md" else "about.md" for part in parts)))
