"""The documentation's site: its pages have what the code declares, and no link of theirs leads nowhere."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.site.markdown import cell, escaped, table  # noqa: E402
from tools.site.navigation import navigation  # noqa: E402
from tools.site.pages import Pages  # noqa: E402

from linkscope.machine.described import machine_names  # noqa: E402
from linkscope.plan.patterns import PATTERNS  # noqa: E402
from linkscope.plan.suites import load_suite, suite_names  # noqa: E402

LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def site() -> Pages:
    return Pages.of(ROOT)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)


def anchors(text: str) -> set[str]:
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings(text)}


def test_every_link_leads_to_a_page_a_file_or_a_heading(site: Pages) -> None:
    lost = []
    for place, text in site.texts.items():
        for target, anchor in LINK.findall(FENCED.sub("", text)):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(place), target)) if target else place
            if there in site.texts and (not anchor or anchor in anchors(site.texts[there])):
                continue
            if there not in site.files:
                lost.append(f"{place}: {target}#{anchor}")
    assert lost == []


def test_the_site_starts_with_the_readme(site: Pages) -> None:
    assert headings(site.texts["index.md"]) == headings((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "](guide.md)" in site.texts["index.md"]
    assert {"images/sizes.svg"} <= {*site.files}


def test_what_the_code_declares_has_a_heading(site: Pages) -> None:
    assert {*suite_names()} <= {*headings(site.texts["reference/suites.md"])}
    assert {*PATTERNS} <= {*headings(site.texts["reference/patterns.md"])}
    assert {*machine_names()} <= {*headings(site.texts["reference/machines.md"])}
    assert {"run", "app halo", "list"} <= {*headings(site.texts["reference/commands.md"])}
    assert "row" in headings(site.texts["reference/suite-file.md"])
    assert "compare" in headings(site.texts["reference/python.md"])


@pytest.mark.parametrize("kind", ["methods", "memories"])
def test_what_suites_name_is_there_whichever_engines_are_built(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tools.site import catalog

    monkeypatch.setattr(catalog, "find_engines", dict)
    found = headings(catalog.methods() if kind == "methods" else catalog.memories())
    rows = [row for name in suite_names() for row in load_suite(name).rows]
    assert {name for row in rows for name in getattr(row, kind)} <= {*found}


def test_options_are_in_the_commands_table(site: Pages) -> None:
    assert re.search(r"^\| `-o`, `--output` \| \S", site.texts["reference/commands.md"], re.MULTILINE)


def test_fields_say_whether_they_are_required_and_what_they_may_be(site: Pages) -> None:
    fields = site.texts["reference/suite-file.md"]
    assert re.search(r"^\| `name` \| \[name\]\(#name\) \| Required\.", fields, re.MULTILINE)
    assert re.search(r"^\| `point_budget_s` \| \[point_budget_s\]\(#point_budget_s\) \| sampling", fields, re.MULTILINE)
    assert re.search(r"^\| `on` \| `gpu`, `numa`", fields, re.MULTILINE)


def test_no_annotation_is_in_quotes(site: Pages) -> None:
    page = site.texts["reference/python.md"]
    calls = re.findall(r"^```\n(linkscope\..*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(calls) > 10
    assert [call for call in calls if re.search(r"(: |> )'", call)] == []


def test_the_navigation_has_every_page_once_and_unknown_ones_last(site: Pages) -> None:
    def listed(pages: list[str]) -> list[str]:
        found = navigation(pages)
        return [name for part in found for name in ([part] if isinstance(part, str) else next(iter(part.values())))]

    assert sorted(listed([*site.texts])) == sorted(site.texts)
    assert listed(["new.md", "guide.md", "index.md"]) == ["index.md", "guide.md", "new.md"]


def test_text_is_no_markup_outside_of_code() -> None:
    assert escaped("a*b `c*d`") == "a\\*b `c*d`"
    assert escaped("one ` alone") == "one \\` alone"
    assert cell("a|b\nc") == "a\\|b c"
    assert table(("x",), []) == []
