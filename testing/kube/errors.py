"""The failures of this package: each message is one line that says what to do about it."""

from __future__ import annotations


class KubeError(Exception):
    """Something that the caller can act on. The text says what failed and how to go on."""


class CommandError(KubeError):
    """A command (kubectl, a program in a node) that ended with a code other than 0, or too late."""

    def __init__(self, command: list[str], code: int | None, stdout: str, stderr: str) -> None:
        why = "did not end in time" if code is None else f"ended with {code}"
        detail = stderr.strip() or stdout.strip()
        super().__init__(f"`{' '.join(command)}` {why}: {detail}")
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
