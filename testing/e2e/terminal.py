"""A program on a terminal, as a user has it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from types import TracebackType

ROWS, COLUMNS = 33, 77
PATIENCE = 300.0  # seconds


class Terminal:
    """Ends the program when the block ends."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # It is the terminal of the program's session, so that its keys can send signals.
        self._program = subprocess.Popen(["setsid", "--ctty", *command], env=dict(environment),
                                         stdin=its, stdout=its, stderr=its)
        os.close(its)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._ours)

    def send(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> None:
        """Waits until the program has shown the text. AssertionError if it never does."""
        shown = b""
        while text.encode() not in shown:
            part = self._read()
            if not part:
                raise AssertionError(f"the program ended without {text!r}: {shown!r}")
            shown += part

    def until_the_end(self) -> str:
        """All that the program shows until it ends."""
        shown = b""
        while part := self._read():
            shown += part
        return shown.decode()

    def _read(self) -> bytes:
        if not select.select([self._ours], [], [], PATIENCE)[0]:
            raise AssertionError(f"the program has shown nothing for {PATIENCE} seconds")
        try:
            return os.read(self._ours, 65536)
        except OSError:  # the last process on the terminal has ended
            return b""

    def status(self) -> int:
        return self._program.wait(timeout=60)
