"""The MPI question: a program of its own that loads the first MPI among files and prints its version.

`python mpi_question.py ADAPTER.so libmpi_abi.so ...` prints JSON lines: `{"trying": FILE}` before each file, then
`{"refused": REASON}`, or `{"file": FILE, "version": TEXT}` and ends. MPI is not started: MPI_Get_library_version may be
called before. A process of its own, since loading a foreign library may end or hang it, or print.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

ENTRY = "linkscope_mpi_functions"
"""Has every adapter of linkscope's, which brings its MPI along."""
MOST_TEXT = 1 << 16
"""Bytes; the standard ABI wants 8192."""


class _Place(ctypes.Structure):
    """Dl_info of dladdr: where an address was loaded from."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("at", ctypes.c_void_p),
    )


def version_of(library: Any) -> tuple[str, str]:
    """The file that holds MPI_Get_library_version, and what it says. Raises AttributeError where there is none."""
    function = library.MPI_Get_library_version
    text, length, place = ctypes.create_string_buffer(MOST_TEXT), ctypes.c_int(0), _Place()
    code = function(text, ctypes.byref(length))
    ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(place))
    said = text.value.decode(errors="replace").partition("\n")[0] if code == 0 else "of unknown version"
    return (place.file or b"").decode(errors="replace"), said


def has_standard_abi(library: Any) -> bool:
    """Whether it is an MPI library with the ABI of MPI 5.0, whose major version is 1."""
    major, minor = ctypes.c_int(-1), ctypes.c_int(-1)
    asks = getattr(library, "MPI_Abi_get_version", None)
    return asks is not None and asks(ctypes.byref(major), ctypes.byref(minor)) == 0 and major.value == 1


def answer(file: str) -> dict[str, str]:
    """Of one file: what MPI it has, or why engines do not take it."""
    try:
        library = ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOW)
    except OSError as error:
        return {"refused": str(error)}
    if not hasattr(library, ENTRY) and not has_standard_abi(library):
        return {"refused": f"{file} has not the standard ABI of MPI 5.0"}
    try:
        place, version = version_of(library)
    except AttributeError:
        return {"refused": f"{file} does not say which MPI it is"}
    return {"file": place or file, "version": version}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    for file in sys.argv[1:]:
        if "/" in file and not Path(file).exists():
            continue
        print(json.dumps({"trying": file}), file=answers, flush=True)
        found = answer(file)
        print(json.dumps(found), file=answers, flush=True)
        if "version" in found:
            break
    answers.flush()
    os._exit(0)  # a library's own exit handlers may hang


if __name__ == "__main__":
    main()
