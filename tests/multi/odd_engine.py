"""Stands before the real engine, and makes one rank's process differ from the others'.

ODD_ENGINE is a JSON object: ``engine`` (the real one's path), ``rank`` (whose process is odd), and what is so of it:
  environment  variables that are set there alone
  hello        fields of what it says of itself, as an engine of another build would fill them
  plan         fields of the plan that reaches it
The last two are changed on the way, by a process that stands between the engine and its supervisor.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

ODD: dict[str, Any] = json.loads(os.environ["ODD_ENGINE"])
RANKS = ("LINKSCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
LONG_ENOUGH_S = 60.0


def main() -> None:
    """Becomes the real engine, under the name of this one: by that it is found, and ended."""
    if "join" in sys.argv and ODD["rank"] == next(int(os.environ[name]) for name in RANKS if name in os.environ):
        os.environ.update(ODD.get("environment", {}))
        if "hello" in ODD or "plan" in ODD:
            put_relay_between()
    os.execv(ODD["engine"], sys.argv)


def put_relay_between() -> None:
    """The relay is a child, so that the launcher's process is the engine itself."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(LONG_ENOUGH_S)
    supervisor = os.environ["LINKSCOPE_CONTROL"]
    os.environ["LINKSCOPE_CONTROL"] = f"127.0.0.1:{listener.getsockname()[1]}"
    if os.fork() == 0:
        try:
            relay(listener, supervisor)
        finally:
            os._exit(1)


def relay(listener: socket.socket, supervisor: str) -> None:
    """Until either side's end, which is then the other's too."""
    host, _, port = supervisor.rpartition(":")
    engine = listener.accept()[0]
    control = socket.create_connection((host, int(port)))
    threading.Thread(target=hand_on, args=(control, engine, odd_assignment), daemon=True).start()
    hand_on(engine, control, odd_hello)


def hand_on(
    source: socket.socket, destination: socket.socket, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """All lines, the first one changed."""
    try:
        with source.makefile("rb") as lines:
            for number, line in enumerate(lines):
                destination.sendall(line if number else json.dumps(change(json.loads(line))).encode() + b"\n")
    finally:
        os._exit(0)


def odd_hello(hello: dict[str, Any]) -> dict[str, Any]:
    return {**hello, **ODD.get("hello", {})}


def odd_assignment(word: dict[str, Any]) -> dict[str, Any]:
    return {**word, "plan": {**word["plan"], **ODD.get("plan", {})}}


if __name__ == "__main__":
    main()
