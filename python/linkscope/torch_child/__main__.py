"""The program that the engine starts with the number of a SOCKET: it carries out what the engine asks by that."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any

from linkscope.torch_child.command_server import CommandServer

_LOST = 3
_LENGTH_BYTES = 4
_AWAKE_S = 0.002


def main(connection: socket.socket) -> None:
    """Until it is told to close. Leaves at once where the engine is gone, without waiting for what is under way."""
    server = CommandServer()
    while not server.closed:
        command = _receive(connection)
        answer = server.carry_out(command)
        if answer is not None:
            text = json.dumps(answer).encode()
            connection.sendall(len(text).to_bytes(_LENGTH_BYTES, "little") + text)


def _receive(connection: socket.socket) -> dict[str, Any]:
    _poll(connection)
    length = int.from_bytes(_exactly(connection, _LENGTH_BYTES), "little")
    command: dict[str, Any] = json.loads(_exactly(connection, length))
    return command


def _poll(connection: socket.socket) -> None:
    """Stays awake between the samples of a case: the calls after a sleep are slow, and no application sleeps there."""
    deadline = time.perf_counter() + _AWAKE_S
    while time.perf_counter() < deadline:
        try:
            connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return
        except BlockingIOError:
            os.sched_yield()


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            os._exit(_LOST)
        data += piece
    return data


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("linkscope.torch_child is started by linkscope's engine, which says by which socket it asks")
    main(socket.socket(fileno=int(sys.argv[1])))
