"""What tests of readers share: a text through one reader, and what its results move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from linkscope.importers.peer_output import Figure, Movement, PeerOutput, Source


def told_by(reader: ModuleType) -> Callable[[str], PeerOutput]:
    """Return what a reader, which must recognise it, says of a text."""

    def told(text: str) -> PeerOutput:
        source = Source(Path("paste"), text)
        assert reader.recognises(source.text)
        found: PeerOutput = reader.read(source)
        return found

    return told


def moves(figure: Figure) -> Movement:
    """Return what a result moves."""
    assert figure.moves is not None
    return figure.moves
