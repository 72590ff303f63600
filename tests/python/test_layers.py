"""The checks of layers and of names: they pass this tree and catch each kind of offence when one is planted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ROOT / "tools" / "check_layers.py"
NAMES = ROOT / "tools" / "check_names.py"


def offences(root: Path, check: Path = LAYERS) -> list[str]:
    """What the check prints of `root`; its exit code must agree."""
    outcome = subprocess.run([sys.executable, str(check), str(root)], capture_output=True, text=True, check=False)
    lines = outcome.stdout.splitlines()
    assert outcome.returncode == (1 if lines else 0), outcome.stderr
    return lines


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_tree_keeps_its_layers() -> None:
    assert offences(ROOT) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("engine/model/up.hpp", '#include "run/catalog.hpp"\n', "model must not include run"),
        (
            "engine/backend/host/sideways.cpp",
            '#include "backend/gpu/gate/gpu_gate.hpp"\n',
            "must not include backend/gpu",
        ),
        ("engine/measure/sideways.cpp", '#include "record/json.hpp"\n', "measure must not include record"),
        ("engine/base/near.cpp", '#include "error.hpp"\n', "includes are written from engine/"),
        ("engine/elsewhere/new.cpp", "", "belongs to no layer"),
        ("engine/run/vendor.cpp", "#if defined(__HIPCC__)\n#endif\n", "vendor conditional outside"),
        ("engine/backend/gpu/copy.cpp", "#include <cuda_runtime.h>\n", "vendor header outside"),
        ("engine/base/utils.hpp", "", "names no noun"),
        ("engine/base/common/size.hpp", "", "names no noun"),
        ("engine/base/long.cpp", "\n" * 501, "split it by noun"),
        ("python/linkscope/machine/up.py", "from linkscope.plan import suite\n", "machine must not import plan"),
        ("python/linkscope/plan/up.py", "from linkscope import launch\n", "plan must not import launch"),
        ("python/linkscope/answers/up.py", "import linkscope.render.terminal\n", "answers must not import render"),
        ("python/linkscope/render/up.py", "def f():\n    from ..cli import main\n", "render must not import cli"),
        ("python/linkscope/loose.py", "from linkscope.results.row import Row\n", "root must not import results"),
        ("python/linkscope/extra/new.py", "", "belongs to no layer"),
    ],
)
def test_a_planted_offence_is_caught(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    plant(tmp_path, name, text)
    found = offences(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{name}:")
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "engine/run/main.cpp",
            '#include "backend/gpu/gate/gpu_gate.hpp"\n#include "measure/sampler.hpp"\n#include <map>\n',
        ),
        ("engine/backend/gpu/vendor.hpp", "#if defined(__HIPCC__)\n#include <hip/hip_runtime.h>\n#endif\n"),
        ("python/linkscope/launch/engine.py", "from linkscope.plan import suite\nfrom linkscope.errors import X\n"),
        ("python/linkscope/render/page.py", "from .terminal import table\nfrom linkscope.answers import show\n"),
        ("python/linkscope/__init__.py", "from linkscope.launch import run\n"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, name: str, text: str) -> None:
    plant(tmp_path, name, text)
    assert offences(tmp_path) == []


def test_this_tree_has_one_thing_for_a_type_name() -> None:
    assert offences(ROOT, NAMES) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("class Piece {\n};\n", "struct Piece {\n};\n"),
        ("class Piece;\nclass Piece final : public Thing<int> {};\n", "enum class Piece { one, two };\n"),
        ("struct Piece {};\n", "class Outer {\n  struct Piece {\n  };\n};\n"),
        ("struct alignas(16) Piece {};\n", "template <class T>\nstruct Piece {};\n"),
        ("struct Piece {};\n", "namespace {\nenum Piece : int { one };\n}\n"),
    ],
)
def test_one_name_for_two_types_of_the_engine_is_caught(tmp_path: Path, first: str, second: str) -> None:
    plant(tmp_path, "engine/base/first.hpp", first)
    plant(tmp_path, "engine/base/second.cpp", second)
    (offence,) = offences(tmp_path, NAMES)
    assert offence.startswith("engine/base/second.cpp:")
    assert "Piece is defined for another thing in engine/base/first.hpp:" in offence


def test_one_name_for_two_classes_of_python_is_caught(tmp_path: Path) -> None:
    plant(tmp_path, "python/linkscope/plan/first.py", "class Piece:\n    pass\n")
    plant(tmp_path, "tools/second.py", "def f():\n    class Piece:\n        pass\n")
    (offence,) = offences(tmp_path, NAMES)
    assert offence == "tools/second.py:2: Piece is defined for another thing in python/linkscope/plan/first.py:1"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("engine/base/second.hpp", "class Piece;\nenum class Piece;\n// struct Piece {\n"),
        ("engine/base/second.cpp", "struct Other::Piece {\n};\nclass Piece::Inner : public Thing {\n};\n"),
        ("engine/base/second.cpp", "template <>\nstruct Piece<int> {\n};\n"),
        ("engine/base/second.cpp", "template <class Piece>\nvoid f(Piece piece) {\n}\n"),
        ("engine/base/second.cpp", "struct Line {\n  struct Cell {};\n};\nstruct Row {\n  struct Cell {};\n};\n"),
        ("tests/unit/second.cpp", "struct Piece {\n};\n"),
        ("python/linkscope/plan/piece.py", "class Piece:\n    pass\n"),
    ],
)
def test_what_defines_no_second_thing_passes(tmp_path: Path, name: str, text: str) -> None:
    plant(tmp_path, "engine/base/first.hpp", "struct Piece {\n};\n")
    plant(tmp_path, name, text)
    assert offences(tmp_path, NAMES) == []
