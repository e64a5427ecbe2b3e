"""The MPS programs of a driver, the vendor's or gpusim's, and a daemon of them in its own folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
SERVER = "nvidia-cuda-mps-server"
PATIENCE = 30.0  # seconds; far more than anything here takes
OTHER_USER = 65534


@dataclass(frozen=True)
class Programs:
    """Where the programs are, and what is in their environment."""
    control: Path
    server: Path
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a front end printed, and its exit status."""
    text: str
    status: int


def simulated(build: Path, version: str, **environment: str) -> Programs:
    """gpusim's programs as those of driver `version`, without a GPU unless GPUSIM_DIR is given."""
    programs = build / "gpusim" / "bin"
    return Programs(programs / CONTROL, programs / SERVER,
                    {"GPUSIM_MPS_VERSION": version, "GPUSIM_DIR": "/nonexistent", **environment})


def soon(condition: Callable[[], bool], what: str) -> None:
    """Waits until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE:.0f} s: {what}")
        time.sleep(0.01)


class Daemon:
    """A pipe directory and a log directory, and at most one daemon in them."""

    def __init__(self, programs: Programs, mode: int = 0o700) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="mps-"))
        self.scratch.chmod(mode)
        self.pipe = self.scratch / "pipe"
        self.log = self.scratch / "log"
        self.log.mkdir()
        self.output = self.scratch / "output"
        # Other users must be able to run these.
        self.bin = Path(tempfile.mkdtemp(prefix="mps-bin-"))
        self.bin.chmod(0o755)
        self.program = self.bin / CONTROL
        for program in (programs.control, programs.server):
            shutil.copy(program, self.bin / program.name)
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin", **programs.environment,
                            "CUDA_MPS_PIPE_DIRECTORY": str(self.pipe),
                            "CUDA_MPS_LOG_DIRECTORY": str(self.log)}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Starts it in the foreground and waits until it answers."""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen([self.program, "-f"], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        soon(lambda: self.send(b"").status == 0, "the daemon answers")
        return self.process

    def command(self, line: str, user: int | None = None) -> Answer:
        """One command through the front end, as a user."""
        return self.send(f"{line}\n".encode(), user)

    def send(self, text: bytes, user: int | None = None) -> Answer:
        """Any text through the front end. stdout comes before stderr."""
        done = subprocess.run([self.program], env=self.environment, input=text, user=user,
                              capture_output=True, check=False, timeout=PATIENCE)
        return Answer((done.stdout + done.stderr).decode(errors="replace"), done.returncode)

    def files(self) -> list[str]:
        """The names in the pipe directory."""
        return sorted(path.name for path in self.pipe.iterdir())

    def logged(self) -> str:
        """What the daemon of start() printed."""
        return self.output.read_text(errors="replace")

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends the daemon of start()."""
        if self.process is None:
            return
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        self.process.wait(PATIENCE)
        self.process = None

    def close(self) -> None:
        """Ends everything and removes the folder."""
        self.stop()
        shutil.rmtree(self.scratch)
        shutil.rmtree(self.bin)
