"""Pages of what `linkscope list` lists: suites, patterns, machines, studies, importers."""

from __future__ import annotations

from collections.abc import Mapping

from tools.site.markdown import block, cell, escaped, table

from linkscope.cli.list_details import details
from linkscope.cli.list_entry import ListEntry
from linkscope.cli.listing import HEADINGS, entries
from linkscope.launch.outlook import EXAMPLE, example_estimate
from linkscope.messages import numbers
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.suites import load_suite, suite_names
from linkscope.plan.workload_row import WorkloadRow


def suites() -> str:
    """By heading each suite: what it answers, its rows, and what it comes to on the described node ``EXAMPLE``."""
    lines = ["# Suites", "", "What each packaged suite answers, and its rows. Cases and time are for a node like", ""]
    lines[-2] += f" [{EXAMPLE}](machines.md#{EXAMPLE}); `linkscope list suites` has those of your machine."
    known = [load_suite(name) for name in suite_names()]
    for heading, title in HEADINGS.items():
        lines += [f"## {title}", ""]
        for suite in (one for one in known if one.listed_under == heading):
            extent = example_estimate(suite.name)
            lines += [f"### {suite.name}", "", escaped(suite.answers), "", *block(f"linkscope run {suite.name}")]
            if extent.cases:
                lines += [f"{extent.cases} cases, about {numbers.duration(extent.seconds)}.", ""]
            rows = [(row.name, row.title) for row in rows_of(suite)]
            lines += table(("test", "what it measures"), [(f"`{name}`", cell(title)) for name, title in rows])
    return "\n".join(lines)


def rows_of(suite: Suite) -> list[SuiteRow | WorkloadRow]:
    """Those that lay out flows, then those of workloads."""
    return [*suite.rows, *suite.workloads]


def patterns() -> str:
    """How flows are laid out over devices."""
    return listed("patterns", "Patterns", "How a test lays its flows out over the devices.")


def machines() -> str:
    """Described nodes."""
    return listed("machines", "Machines", "Described nodes, for `--machine NAME`. All figures of them are modelled.")


def studies() -> str:
    """Published studies whose claims can be held against a machine."""
    return listed("studies", "Studies", "Published studies, for `linkscope reproduce NAME`.")


def importers() -> str:
    """Other tools whose output becomes a run file."""
    return listed("importers", "Importers", "Formats of other tools that `linkscope import` reads.")


def listed(kind: str, title: str, introduction: str) -> str:
    """A page with all entries of a list."""
    return "\n".join([f"# {title}", "", introduction, "", *(line for one in entries(kind) for line in card(kind, one))])


def card(kind: str, one: ListEntry) -> list[str]:
    """All about one entry, below a heading of its own."""
    lines = [f"## {one.name}", "", escaped(one.text), ""]
    told: dict[str, Mapping[str, str] | str] = {**one.columns, **details(kind, one)}
    for heading, content in told.items():
        if isinstance(content, str):
            said = f"`{content}`" if content.startswith("linkscope ") else escaped(content)
            lines += [f"{heading}: {said}", ""]
        elif all(term.isdigit() for term in content):
            lines += [f"{heading}:", "", *(f"- {escaped(text)}" for text in content.values()), ""] if content else []
        else:
            lines += table((heading, "meaning"), [(f"`{term}`", cell(text)) for term, text in content.items()])
    return lines
