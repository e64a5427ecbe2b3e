"""A client of QEMU's guest agent, which runs commands in the virtual machine.

The protocol is JSON lines on a virtio-serial port (QEMU's documentation, "QEMU Guest Agent Protocol
Reference"). After a reboot, the answer to a request of before may still arrive. So each exchange
begins with guest-sync and a new number, and skips all that comes before that number.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kube.errors import CommandError, KubeError

POLL_SECONDS = 0.2


class AgentError(KubeError):
    """The guest agent does not answer, or refuses a request."""


class GuestAgent:
    """path: the socket of the port. Use it from one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, *command: str, timeout: float, check: bool = True) -> str:
        """Runs a command as root and returns its stdout. Raises CommandError if it fails, and
        AgentError if the agent does not answer."""
        deadline = time.monotonic() + timeout
        pid = self._call("guest-exec", deadline, {
            "path": command[0], "arg": list(command[1:]), "capture-output": True})["pid"]
        while True:
            state = self._call("guest-exec-status", deadline, {"pid": pid})
            if state["exited"]:
                break
            if time.monotonic() > deadline:
                raise CommandError(list(command), None, "", "")
            time.sleep(POLL_SECONDS)
        out, error = (base64.b64decode(state.get(name, "")).decode(errors="replace")
                      for name in ("out-data", "err-data"))
        code = state.get("exitcode", -state.get("signal", 1))
        if check and code != 0:
            raise CommandError(list(command), code, out, error)
        return out

    def start(self, *command: str, timeout: float) -> None:
        """Starts a command, and does not wait for its end."""
        self._call("guest-exec", time.monotonic() + timeout,
                   {"path": command[0], "arg": list(command[1:])})

    def _call(self, name: str, deadline: float, arguments: dict[str, Any]) -> Any:
        """Sends a request and returns what the agent answers."""
        mark = secrets.randbits(31)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(max(0.1, deadline - time.monotonic()))
                connection.connect(str(self._path))
                answers = _lines(connection)
                _send(connection, "guest-sync", {"id": mark})
                while next(answers).get("return") != mark:
                    pass
                _send(connection, name, arguments)
                answer = next(answers)
        except (OSError, StopIteration) as error:
            raise AgentError(f"the guest agent does not answer {name}: {error}") from error
        if "error" in answer:
            raise AgentError(f"{name} {arguments}: {answer['error']['desc']}")
        return answer["return"]


def _send(connection: socket.socket, name: str, arguments: dict[str, Any]) -> None:
    # 0xff makes the agent drop the half of a request that it may have read before.
    request = json.dumps({"execute": name, "arguments": arguments}).encode()
    connection.sendall((b"\xff" if name == "guest-sync" else b"") + request + b"\n")


def _lines(connection: socket.socket) -> Iterator[dict[str, Any]]:
    rest = b""
    while chunk := connection.recv(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield json.loads(line.lstrip(b"\xff"))
