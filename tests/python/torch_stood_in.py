"""The torch child's modules where PyTorch is stood in for. For tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

import linkscope.torch_child


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a module of the torch child that wants PyTorch, which is stood in for."""
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    kept = _forgotten()

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"linkscope.torch_child.{name}")

    yield load
    _forgotten()
    sys.modules.update(kept)
    for name, module in kept.items():
        setattr(linkscope.torch_child, name.rpartition(".")[2], module)


def _forgotten() -> dict[str, ModuleType]:
    """The engine's modules that were imported; now they are not, neither for `import` nor for `from ... import`."""
    known = {name: module for name, module in sys.modules.items() if name.startswith("linkscope.torch_child.")}
    for name in known:
        del sys.modules[name]
        vars(linkscope.torch_child).pop(name.rpartition(".")[2], None)
    return known
