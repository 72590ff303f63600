"""LoadedMpi: which MPI engines would load, asked of libraries that answer, refuse, crash, hang and lie."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from linkscope.launch import loaded_mpi as module
from linkscope.launch.loaded_mpi import LoadedMpi, loaded_mpi

ABI = "int MPI_Abi_get_version(int* major, int* minor) { *major = 1; return *minor = 0; }"
VERSION = """
int MPI_Get_library_version(char* text, int* length) {
  return *length = sprintf(text, "Some  MPI 5.1\\033[2J, built\\nby hand"), 0;
}
"""
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("c++")
Make = Callable[[str, str], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Compiles a library of that name from C. Skips where there is no compiler."""
    if COMPILER is None:
        pytest.skip("no C compiler")

    def build(name: str, source: str) -> Path:
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "source.c").write_text(f"#include <stdio.h>\n#include <unistd.h>\n{source}\n")
        made = tmp_path / "lib" / name
        command = [str(COMPILER), "-x", "c", "-w", "-shared", "-fPIC", "-o", str(made), str(tmp_path / "source.c")]
        subprocess.run(command, check=True)
        return made

    return build


def asked(file: Path) -> LoadedMpi:
    return loaded_mpi(file.parent / "engine", {"LINKSCOPE_MPI": str(file)})


def test_a_library_is_named_with_the_first_of_its_own_words(make: Make) -> None:
    made = make(
        "libmpi_abi.so.1",
        'int ignored = 0; __attribute__((constructor)) void noise(void) { puts("{}"); }' + ABI + VERSION,
    )
    assert asked(made) == LoadedMpi(str(made), r"Some MPI 5.1\x1b[2J")


def test_without_a_name_the_sites_adapter_comes_first_and_what_has_no_standard_abi_is_passed_over(make: Make) -> None:
    """As engines search: beside the engine, then in a lib/ that it is below."""
    library = make("libmpi_abi.so.1", ABI + VERSION)
    engine = library.parent / "bin" / "engine"
    engine.parent.mkdir()
    assert loaded_mpi(engine, {"LINKSCOPE_PYTHON": "/nowhere"}).file == str(library)
    adapter = make("adapter.so", "int linkscope_mpi_functions;" + VERSION)
    adapter.rename(engine.with_name("liblinkscope-mpi-site.so"))
    assert loaded_mpi(engine, {"LINKSCOPE_PYTHON": "/nowhere"}).file.endswith("liblinkscope-mpi-site.so")


def test_what_is_no_mpi_is_named_with_the_reason(make: Make, tmp_path: Path) -> None:
    old = make("libold.so", VERSION)
    assert str(old) in asked(old).problem
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert str(text) in asked(text).problem
    assert asked(tmp_path / "absent.so") == LoadedMpi()


def test_a_library_that_ends_the_process_is_named(make: Make) -> None:
    made = make("libcrash.so", "__attribute__((constructor)) void crash(void) { *(volatile int*)0 = 1; }")
    found = asked(made)
    assert (found.file, found.version) == (str(made), "")
    assert "signal 11" in found.problem


def test_a_library_that_hangs_is_given_up_and_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 2.0)
    made = make("libhang.so", "__attribute__((constructor)) void hang(void) { for (;;) pause(); }")
    found = asked(made)
    assert (found.file, found.version) == (str(made), "")
    assert found.problem
