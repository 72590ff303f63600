"""linkscope: how fast data moves inside a GPU node, how fast it could, and what to use."""

# ruff: noqa: F403, F405
# Nothing else: this runs before `__main__.py` has taken the current folder from where Python looks for modules.
from linkscope.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from linkscope.api import *

__all__ = [
    "Answer",
    "Calibration",
    "LinkscopeError",
    "Listener",
    "Node",
    "Request",
    "RunFile",
    "WorkloadRequest",
    "analyze",
    "ask",
    "calibrate",
    "check",
    "choose",
    "compare",
    "explain",
    "export",
    "frame",
    "import_output",
    "load",
    "machines",
    "read",
    "reproduce",
    "resume",
    "run",
    "show",
    "topology",
    "workloads",
]


def __getattr__(name: str) -> object:
    """Loads the interface on first use, so that importing one module does not import them all."""
    if name in __all__:
        from linkscope import api

        return getattr(api, name)
    raise AttributeError(f"module 'linkscope' has no attribute {name!r}")


def __dir__() -> "list[str]":
    """With what is not loaded yet, so that notebooks and shells complete it."""
    return sorted({*globals(), *__all__})
