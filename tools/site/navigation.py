"""The order of the site's pages, by what a reader wants."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

Navigation: TypeAlias = list[str | dict[str, list[str]]]

FIRST = ("index.md", "install.md", "guide.md", "it-got-slower.md", "from-other-tools.md")
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Tasks": (
        "processes.md",
        "implementations.md",
        "fleet.md",
        "applications.md",
        "tuner-files.md",
        "python.md",
        "writing-suites.md",
    ),
    "Results": ("reading-results.md", "verdicts.md", "performance.md"),
    "Reference": (
        "reference/commands.md",
        "reference/suites.md",
        "reference/methods.md",
        "reference/memories.md",
        "reference/patterns.md",
        "reference/machines.md",
        "reference/studies.md",
        "reference/importers.md",
        "reference/python.md",
        "reference/suite-file.md",
        "reference/run-file.md",
        "reference/plan-file.md",
        "reference/machine-file.md",
        "repository/machines/about.md",
        "reference/choices-file.md",
        "reference/screenshots.md",
        "coverage.md",
    ),
    "Project": (
        "architecture.md",
        "direct-collectives.md",
        "CONTRIBUTING.md",
        "repository/bench/about.md",
        "CHANGELOG.md",
    ),
}


def navigation(pages: Collection[str]) -> Navigation:
    """The pages that there are, in this order; those that have no place in it come last."""
    placed = {*FIRST, *(name for names in SECTIONS.values() for name in names)}
    sections = {**SECTIONS, "More": tuple(sorted(set(pages) - placed))}
    found = {title: [name for name in names if name in pages] for title, names in sections.items()}
    return [*(name for name in FIRST if name in pages), *({title: names} for title, names in found.items() if names)]
