"""The errors of this package. Each message is one line that says what to do."""

from __future__ import annotations


class KubeError(Exception):
    """A failure that the caller can act on. The text says what failed and what to do."""


class CommandError(KubeError):
    """A command (kubectl, a program in a node) that failed or timed out. code: the exit status;
    None after a timeout."""

    def __init__(self, command: list[str], code: int | None, stdout: str, stderr: str) -> None:
        why = "did not end in time" if code is None else f"ended with {code}"
        detail = stderr.strip() or stdout.strip()
        super().__init__(f"`{' '.join(command)}` {why}: {detail}")
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
