"""RecordedTransfer: another transfer's calls, captured once into a graph of the GPU's and replayed from there."""

from __future__ import annotations

from typing import Any

import torch

from linkscope.torch_child.faults import ChildError, Fault, unsupported
from linkscope.torch_child.flow import Flow, Regime
from linkscope.torch_child.part import Part, Vote
from linkscope.torch_child.stopwatch import CALLS_HELD, Enqueue, stopwatch
from linkscope.torch_child.transfer import Transfer

_FORMS = ("eager", "graph")
_MOST_RECORDED = 64  # as the compiled engines have it: a launch must fit behind what holds it back
_STARTS_HELD = 15  # graphs that wait at once behind one that leads in, and
_RECORDED_HELD = 40  # the calls in all of them: on two H200 two graphs of 20 were held back, nine of five were not
_IN_A_ROW = 20  # calls of a batch, whose first and last wait for other processes; as nccl-tests has it
_FIRST_CALLS = 12  # NCCL frees what graphs that are gone held in every tenth (engine/backend/xccl/communicator.cpp)


class RecordedTransfer(Transfer):
    """``recorded`` calls of ``transfer`` in one graph: a call is a replay of it. The first ones, until record(), are
    the transfer's own, so that the library sets up what it needs before its calls are captured. The buffers stay where
    they are: what arm() lays there is what the next replay moves.
    """

    def __init__(self, transfer: Transfer, recorded: int, gpu: int) -> None:
        self._transfer = transfer
        self._recorded = recorded
        self._gpu = gpu
        self._graph: Any = None
        self._replays = 0
        self.operations = recorded * transfer.operations
        self.accumulates = transfer.accumulates
        self.led_in_by_a_call = transfer.led_in_by_a_call

    is_recorded = True

    def record(self) -> None:
        """See Transfer.record. Raises ChildError (FATAL): a capture cut short leaves PyTorch's allocator and the
        communicator in the middle of it.
        """
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(self._gpu)  # PyTorch's own for captures may be another GPU's
        first: Exception | None = None
        try:
            # thread_local: the process group has a thread that asks for events meanwhile.
            recording = torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local")
            with self._transfer.capturing(), recording:
                try:
                    for _ in range(self._recorded):
                        self._transfer.call()
                except Exception as error:
                    first = error  # the end of a spoilt capture fails after it, and says less
                    raise
        except Exception as error:
            told = first or error
            what = f"its calls cannot be captured into a graph: {type(told).__name__}: {told}"
            raise ChildError(Fault.FATAL, what) from error
        self._graph = graph

    def release(self) -> None:
        """See Transfer.release: a communicator that is destroyed waits for graphs that hold its calls."""
        if self._graph is not None:
            self.settle()
            self._graph.reset()
            self._graph = None

    def call(self) -> None:
        """See Transfer.call."""
        if self._graph is None:
            for _ in range(_FIRST_CALLS):
                self._transfer.call()
        else:
            self._graph.replay()
            self._replays += 1

    def arm(self, seed: int) -> None:
        """See Transfer.arm."""
        self._transfer.arm(seed)
        self._replays = 0

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
        self._transfer.count_as_run(self._replays * self._recorded)
        return self._transfer.verify(seed)

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return self._transfer.verified_bytes()

    def meet(self) -> None:
        """See Transfer.meet."""
        self._transfer.meet()

    def lead_in(self) -> None:
        """See Transfer.lead_in: where it is a call a replay, since what is verified comes out of replays alone. Else it
        stays outside the graph.
        """
        if self.led_in_by_a_call:
            self.call()
        else:
            self._transfer.lead_in()

    def finish(self) -> None:
        """See Transfer.finish, outside the graph."""
        self._transfer.finish()

    def settle(self) -> None:
        """See Transfer.settle."""
        self._transfer.settle()

    def notes(self) -> list[str]:
        """See Transfer.notes."""
        return self._transfer.notes()


def recorded_calls(flow: Flow) -> int:
    """Calls that one graph holds, by parameters ``form`` and ``recorded``; 0: eager. Raises ChildError."""
    recorded = flow.number("recorded", 1, _MOST_RECORDED, 1)
    return recorded if flow.word("form", _FORMS, "eager") == "graph" else 0


def check_form(flow: Flow, backend: str) -> None:
    """Raises ChildError for a form that means nothing, or that the backend's calls cannot have."""
    if recorded_calls(flow) and backend == "gloo":
        raise unsupported("Gloo's calls cannot be recorded in a graph: NCCL's on memory of GPUs can")


def in_its_form(transfer: Transfer, flow: Flow, regime: Regime, gpu: int | None, vote: Vote) -> Part:
    """The part as the flow's ``form`` has it, and its watch. ``vote``: among the processes of the flow."""
    in_a_row = 0 if regime.clock == "host" else _IN_A_ROW
    recorded = recorded_calls(flow)
    if not recorded:
        return Part(transfer, stopwatch(regime.clock, gpu, Enqueue.RETURNS), in_a_row, vote)
    assert gpu is not None
    held = min(CALLS_HELD, _STARTS_HELD, max(1, _RECORDED_HELD // recorded - 1))
    enqueue = Enqueue.RETURNS if (1 + held) * recorded <= _RECORDED_HELD else Enqueue.BLOCKS
    return Part(RecordedTransfer(transfer, recorded, gpu), stopwatch(regime.clock, gpu, enqueue, held), in_a_row, vote)
