"""TCP ports of a run: each run has its own block, so that parallel runs do not conflict.

The blocks are below the kernel's ephemeral port range, so no outgoing connection uses such a port.
If another program listens on a port, an attempt to bind the port detects it.
"""

from __future__ import annotations

import socket
import threading

from kube.errors import KubeError

FIRST_PORT = 20000
BLOCK_SIZE = 100
BLOCKS = 100


def is_free(port: int) -> bool:
    """Whether the port is free on all addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


class PortBlock:
    """The ports of the run with this slot. `take` never returns a port twice. Thread-safe."""

    def __init__(self, slot: int) -> None:
        if not 0 <= slot < BLOCKS:
            raise ValueError(f"slot {slot} is not in 0..{BLOCKS - 1}")
        self.first = FIRST_PORT + slot * BLOCK_SIZE
        self.last = self.first + BLOCK_SIZE - 1
        self._next = self.first
        self._lock = threading.Lock()

    def take(self) -> int:
        """The next free port of the block, reserved for the caller until the run ends."""
        with self._lock:
            while self._next <= self.last:
                port = self._next
                self._next += 1
                if is_free(port):
                    return port
        raise KubeError(f"no free port left in {self.first}-{self.last}: use fewer in one run")
