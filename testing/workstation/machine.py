"""A simulated machine with two GPUs of 15 GiB, on which tests call `tessera run`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release")) / "bin"
GPUS = ROOT / "gpusim" / "gpus" / "two-15gib.yaml"
GIB = 1 << 30
GPU_BYTES = 15 * GIB
# How long a test waits for what must happen. It fails only if it never happens.
PATIENCE = 300.0

Json = dict[str, Any]

_DEVICE = re.compile(r"device 0: uuid (GPU-[0-9a-f-]+), name .*, total (\d+) bytes")


def soon(holds: Callable[[], bool], what: str) -> None:
    """Waits until it holds. Raises AssertionError if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)


class Process:
    """A process by its pidfd, so that no later process with its pid is meant."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._file = open(os.pidfd_open(pid), "rb", buffering=0)

    def kill(self) -> None:
        """Does nothing if it has ended, or after close()."""
        if not self.is_alive():
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._file.fileno(), signal.SIGKILL)

    def is_alive(self) -> bool:
        """False after close()."""
        if self._file.closed:
            return False
        try:
            signal.pidfd_send_signal(self._file.fileno(), 0)
        except ProcessLookupError:
            return False
        return _state(self.pid) not in ("Z", "X")

    def close(self) -> None:
        """Kills it."""
        self.kill()
        self._file.close()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


@dataclass
class Hog:
    """A run of gpuhog that has its memory: its processes, and the share that gpuhog sees."""

    front: subprocess.Popen[str]
    supervisor: Process
    program: Process
    gpu: str
    share: int

    def close(self) -> str:
        """Ends the processes, and returns what the run wrote to stderr."""
        self.program.close()
        self.supervisor_ends()
        return self.front.communicate(timeout=PATIENCE)[1]

    def kill_parents(self) -> None:
        """The program lives on, and nothing waits for it."""
        self.front.kill()
        self.supervisor.kill()
        self.front.wait()
        self.supervisor_ends()

    def supervisor_ends(self) -> None:
        """Waits for the supervisor, which ends after the program."""
        soon(lambda: not self.supervisor.is_alive(), "the supervisor ends")
        self.supervisor.close()


class Machine:
    """Its files are in a temporary folder, until close()."""

    def __init__(self, programs: Path = BIN) -> None:
        """programs: the folder of the program tessera."""
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="tessera-run-"))
        self.state = self.folder / "state"
        self._root = self.folder / "driver"
        subprocess.run([BIN / "gpusimctl", "create", GPUS, self._root], check=True)
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith("TESSERA_RUN")},
            "LD_LIBRARY_PATH": str(self._root / "usr/lib/x86_64-linux-gnu"),
            "TESSERA_RUN_STATE": str(self.state),
            "TESSERA_RUN_DRIVER_ROOT": str(self._root)}

    def close(self) -> None:
        """Also ends the programs that a failed test has left."""
        with contextlib.suppress(AssertionError, subprocess.SubprocessError):
            for run in self.runs():
                with contextlib.suppress(ProcessLookupError):
                    Process(run["pid"]).close()
            soon(lambda: not self.runs(), "the runs of a failed test end")
        shutil.rmtree(self.folder)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """`tessera run ARGUMENTS`, with pipes."""
        return subprocess.Popen([self._programs / "tessera", "run", *arguments], env=self.environment,
                                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run(self, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The same, to its end."""
        return subprocess.run([self._programs / "tessera", "run", *arguments], env=self.environment,
                              text=True, input=stdin, capture_output=True, timeout=PATIENCE)

    def hog(self, size: str, *options: str) -> Hog:
        """A run of gpuhog that has taken that size. Raises AssertionError with the run's errors."""
        return self.started(self.start(*options, "--", BIN / "gpuhog", size))

    def started(self, front: subprocess.Popen[str]) -> Hog:
        """The run of gpuhog that this process starts, as soon as it has its memory."""
        assert front.stdout is not None and front.stderr is not None
        lines = []
        for line in front.stdout:
            lines.append(line)
            if line.startswith("memory:"):
                break
        found = _DEVICE.search("".join(lines))
        if found is None or not lines[-1].startswith("memory:"):
            raise AssertionError(f"gpuhog has no memory: {lines} {front.communicate()[1]}")
        supervisor, = children(front.pid)
        program, = children(supervisor)
        return Hog(front, Process(supervisor), Process(program), found.group(1), int(found.group(2)))

    def runs(self) -> list[Json]:
        """The live runs."""
        done = self.run("--list", "-o", "json")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        runs: list[Json] = json.loads(done.stdout)["runs"]
        return runs

    def runs_as_nobody(self) -> list[Json]:
        """The live runs as another user lists them; needs root. That user may not be able to enter
        the build, so it gets a copy of tessera-run."""
        program = self.folder / "tessera-run"
        shutil.copy(BIN / "tessera-run", program)
        done = subprocess.run([program, "--list", "-o", "json"], env=self.environment, text=True,
                              capture_output=True, user=65534, group=65534, extra_groups=[],
                              cwd="/", check=True)
        runs: list[Json] = json.loads(done.stdout)["runs"]
        return runs

    def is_empty(self) -> bool:
        """Whether there is no run, nor a file of one."""
        return not self.runs() and not list((self.state / "runs").iterdir())
