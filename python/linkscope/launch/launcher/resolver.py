"""Resolver: which hosts' names have no address here, found without waiting long for a name server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence

MOST_LOOKED_UP = 16
"""Hosts of a long list that are looked up; they are of one kind."""
PATIENCE_S = 1.0


def unresolved(hosts: Sequence[str], patience_s: float = PATIENCE_S) -> list[str]:
    """Return those of the first ``hosts`` that have no address here, without those whose answer is late."""
    absent: set[str] = set()

    def look_up(host: str) -> None:
        try:
            socket.getaddrinfo(host, None)
        except (OSError, UnicodeError):
            absent.add(host)

    # Daemons: a look-up cannot be broken off, and shall not keep the program from ending.
    some = list(hosts[:MOST_LOOKED_UP])
    threads = [threading.Thread(target=look_up, args=(host,), daemon=True) for host in some]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + patience_s
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return [host for host in some if host in absent]
