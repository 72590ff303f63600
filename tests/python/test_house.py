"""House rules that a machine can check, and that documents keep step with the code."""

from __future__ import annotations

import ast
import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import meta
from typer.main import get_command

from linkscope.cli.listing import KINDS
from linkscope.cli.main import app
from linkscope.cli.man_page import declared_commands
from linkscope.machine.described import machine_names
from linkscope.machine.traits import known_catalog, known_memories
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.suites import packaged_methods, suite_names
from linkscope.results.study import study_names

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(path for folder in (".", "docs", "machines", "bench") for path in (ROOT / folder).glob("*.md"))
TREES = ("engine", "python", "tools", "tests", "bench")
OPEN_ENDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
PLAIN_NAME = re.compile(r"[a-z][a-z0-9-]*")
"""What no file and no placeholder is called."""
TYPED = re.compile(r"(?:(?:[A-Z_]+=\S+|exec|srun|mpiexec) (?:.*\s)?)?(?:\S*/)?(linkscope [a-z].*)")
QUOTED_PATH = re.compile(r"`((?:bench|docs|engine|machines|python|schema|tests|tools)/[\w./-]+)`")


def sources(*suffixes: str) -> list[Path]:
    return [path for tree in TREES for path in (ROOT / tree).rglob("*") if path.suffix in suffixes]


def names(paths: list[Path]) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def test_every_cpp_file_says_first_what_it_is_for() -> None:
    """A source beside its header needs not: the header says it."""
    own = [
        p for p in sources(".cpp", ".hpp", ".cu", ".cuh") if p.suffix == ".hpp" or not p.with_suffix(".hpp").exists()
    ]
    silent = [p for p in own if not p.read_text().startswith("// ")]
    assert names(silent) == []


def test_no_file_refers_to_its_header_instead() -> None:
    assert names([p for p in sources(".cpp", ".cu") if "see the header" in p.read_text().partition("\n")[0]]) == []


def test_every_python_file_says_first_what_it_is_for() -> None:
    silent = [p for p in sources(".py") if p.stat().st_size and not re.match(r'(#![^\n]*\n)?r?"""', p.read_text())]
    assert names(silent) == []


def test_nothing_is_left_open() -> None:
    files = [p for p in sources(".cpp", ".hpp", ".cu", ".py", ".yaml") if p != Path(__file__).resolve()]
    assert names([p for p in files if OPEN_ENDS.search(p.read_text())]) == []


@pytest.mark.parametrize("path", sorted((ROOT / "schema").glob("*.json")), ids=lambda path: path.stem)
def test_schemas_are_schemas(path: Path) -> None:
    meta.validate(json.loads(path.read_text()))


def headings(document: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    found = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_files_that_exist(document: Path) -> None:
    text = document.read_text()
    linked = {match[1] for match in re.finditer(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)}
    missing = {name for name in linked if not (document.parent / name).exists()}
    anchors = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text)
    missing |= {
        anchor for name, anchor in anchors if anchor not in headings(document.parent / name if name else document)
    }
    quoted = {match[1] for match in QUOTED_PATH.finditer(text)}
    missing |= {name for name in quoted if not (ROOT / name).exists()}
    assert missing == set()


def documented_commands() -> list[str]:
    """Return every `linkscope COMMAND ...` in code spans and blocks of the documents, without comments and without
    what starts it (a variable, exec, srun, mpiexec)."""
    found = set()
    for document in DOCUMENTS:
        text = document.read_text()
        blocks = re.findall(r"^```(?:bash)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
        lines += re.findall(r"`([^`\n]+)`", text)
        typed = (TYPED.match(line.split("#")[0]) for line in lines)
        found |= {match[1].strip() for match in typed if match is not None}
    return sorted(found)


@cache
def declared() -> dict[tuple[str, ...], Any]:
    """Every command by its words."""
    context: Any = get_command(app).make_context("linkscope", ["list"], resilient_parsing=True)
    return dict(declared_commands(context))


@pytest.mark.parametrize("command", documented_commands())
def test_documented_commands_parse(command: str) -> None:
    """The command exists and takes the options that the documents give it; what they run, list or model exists."""
    words = shlex.split(command)[1:]
    path = tuple(words[: 2 if words[0] == "app" else 1])
    assert path in declared(), f"no command {' '.join(path)}"
    options = {name: one for one in declared()[path].params for name in (*one.opts, *one.secondary_opts)}
    named, valued = [], None
    for word in words[len(path) :]:
        if word.startswith("-") and word != "-" and valued is None:
            option, _, value = word.partition("=")
            assert option in options, f"{words[0]} has no option {option}"
            valued = None if options[option].is_flag or value else option
            continue
        assert valued != "--machine" or not PLAIN_NAME.fullmatch(word) or word in machine_names()
        named += [word] if valued is None and PLAIN_NAME.fullmatch(word) else []
        valued = None
    known = {("run",): suite_names(), ("calibrate",): suite_names(), ("reproduce",): study_names()}
    assert [word for word in named if word not in known.get(path, named)] == []
    assert path != ("list",) or named[:1] == [] or named[0] in KINDS


def test_patterns_are_explained() -> None:
    assert [name for name, pattern in PATTERNS.items() if not pattern.__doc__] == []


NAMED = {
    "answers/analyze/collectives.py": {"ping-pong"},  # the call, a parameter
    "answers/analyze/comparing.py": {"ping-pong"},
    "answers/best.py": {"ping-pong"},
    "answers/choose.py": {"kernel"},  # a column
    "figures/columns.py": {"registered"},  # a parameter
    "figures/kinds.py": {"ping-pong"},
    "answers/check.py": {"pinned"},  # classes of noise
    "answers/fingerprints.py": {
        "managed",
        "mpi",
        "nixl",
        "nvshmem",
        "pageable",
        "pinned",
        "xccl",
    },  # what other tools print
    "answers/not_checked.py": {"pageable"},
    "answers/references.py": {"pinned"},
    "answers/shared_words.py": {"registered"},  # a parameter
    "answers/show_details.py": {"mpi"},  # what a line of text is headed by
    "answers/stand_out.py": {"managed"},  # what other tools print
    "answers/setup_changes.py": {"kernel"},  # the system's
    "notebook/progress_line.py": {"kernel"},  # a notebook's
    "messages/methods.py": {"xccl"},  # read as NCCL or RCCL by people
    "launch/ab_narrow.py": {"registered"},  # a parameter
    "launch/ab_sides.py": {"mpi", "torch"},  # words of the command line
    "machine/memory_handles.py": {"ipc", "managed", "pinned", "pool", "registered", "vmm", "xccl"},  # allocates them
    "plan/axes.py": {"registered"},  # a parameter
    "plan/engine_catalog.py": {"pageable"},  # what a suite's field is by default
    "plan/workload_cases.py": {"pageable"},
    "plan/suite_file.py": {"mpi", "xccl"},  # the suites' own word for an interface
    "results/member_time.py": {"allocate"},  # a part of a time
    "workload/readers/kineto.py": {"kernel"},  # a category of a trace's events
}
"""Words that are names of methods or memories as well, and the files that use them as something else."""
TRANSLATORS = ("importers", "codecs", "torch_child", "plan/other_tools.py", "results/osu_benchmarks.py")
"""They read and write what other tools call methods, or carry methods out."""


def test_python_decides_by_traits_and_names_no_method_or_memory() -> None:
    package = ROOT / "python" / "linkscope"
    known = {*known_catalog()["methods"], *packaged_methods(), *known_memories()}
    known |= {f"{start}{end}" for start in ("kernel", "torch", "xccl", "mpi", "ipc", "shm") for end in ("", "-")}
    known -= {"device", "first-touch", "launch"}  # clocks and ends of flows, placements, parameters
    found: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        where = str(path.relative_to(package))
        if not where.startswith(TRANSLATORS):
            words = (one.value for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Constant))
            found[where] = {word for word in words if isinstance(word, str) and word in known}
    assert {where: words for where, words in found.items() if words} == NAMED
