"""The client of `init.py`: finds its pid, and requests it to start or end programs.

Every method may be called from any thread. Errors: KubeError.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kube.errors import KubeError
from kube.mounts import Step

PACKAGE_PARENT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
REQUEST_SECONDS = 40.0


def init_argv(directory: Path, *, hostname: bool = False, network: bool = False) -> list[str]:
    """The command line that creates new pid and mount namespaces with `init.py` as process 1.
    hostname, network: whether to create a new namespace of host names, of the network."""
    more = [*(["--uts"] if hostname else []), *(["--net"] if network else [])]
    return [str(shutil.which("unshare")), *more, "--mount", "--pid", "--fork", "--kill-child",
            "--mount-proc", sys.executable, "-B", "-S", "-m", "kube.init", str(directory)]


def init_env() -> dict[str, str]:
    """The environment of init, and so of every program under it. Programs in Go collect garbage
    less often than usual: it saves a twentieth of the processor time of Kubernetes."""
    return {"PYTHONPATH": str(PACKAGE_PARENT), "LANG": "C.UTF-8", "GOGC": "400",
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


class Init:
    """The init process of `directory`, which may or may not run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write_spec(self, *, join: Sequence[Path], steps: Sequence[Step], hostname: str = "",
                   ends_with_stdin: bool = False, keep_open: Sequence[int] = ()) -> None:
        """Writes init.json. Call it before the process starts."""
        for part in ("components", "logs"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        (self.directory / "init.json").write_text(json.dumps({
            "join": [str(path) for path in join], "mounts": list(steps), "hostname": hostname,
            "ends_with_stdin": ends_with_stdin, "keep_open": list(keep_open)}))

    def define(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Defines the program `name`, which every `start` runs."""
        path = self.directory / "components" / f"{name}.json"
        path.write_text(json.dumps({"argv": list(argv), "env": dict(env or {})}, indent=1))

    def start(self, name: str) -> None:
        """Starts a defined program."""
        self._ask({"op": "start", "name": name})

    def kill(self, name: str, number: int = signal.SIGKILL, wait: bool = True) -> int | None:
        """Sends a signal to a program. With `wait`, returns its exit code (negative: a signal)."""
        code: int | None = self._ask(
            {"op": "kill", "name": name, "signal": int(number), "wait": wait})
        return code

    def running(self) -> list[str]:
        """The names of the running programs."""
        names: list[str] = self._ask({"op": "status"})["running"]
        return names

    def ended(self) -> dict[str, int]:
        """The exit codes of the programs that have ended and were not started again."""
        codes: dict[str, int] = self._ask({"op": "status"})["ended"]
        return codes

    def detach(self) -> None:
        """From now on init does not end with the process that started it."""
        self._ask({"op": "detach"})

    def pid(self) -> int:
        """The pid of init in this process' namespace: the kernel translates the pid of the process
        that listens on the socket."""
        with self._connect() as connection:
            size = struct.calcsize("3i")
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid: int = struct.unpack("3i", credentials)[0]
        return pid

    def alive(self) -> bool:
        """Whether the process runs."""
        try:
            self._connect().close()
        except (KubeError, OSError):
            return False
        return True

    def wait_alive(self, log: Path | None = None) -> None:
        """Returns when the process serves requests. log: the file with its error if it cannot."""
        deadline = time.monotonic() + START_SECONDS
        while not self.alive():
            if time.monotonic() > deadline:
                lines = log.read_text().strip().splitlines() if log and log.exists() else []
                raise KubeError(f"init of {self.directory.name} did not start: "
                                + (lines[-1] if lines else "its log is empty"))
            time.sleep(0.01)

    def log(self, name: str) -> str:
        """The complete output of a program so far."""
        path = self.directory / "logs" / f"{name}.log"
        if not path.exists():
            raise KubeError(f"no log of {name}: there are "
                            f"{sorted(p.stem for p in path.parent.glob('*.log'))}")
        return path.read_text(errors="replace")

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(REQUEST_SECONDS)
        try:
            connection.connect(str(self.directory / "control.sock"))
        except OSError as error:
            connection.close()
            raise KubeError(f"{self.directory.name} is down ({os.strerror(error.errno or 0)})"
                            ) from error
        return connection

    def _ask(self, request: dict[str, Any]) -> Any:
        try:
            with self._connect() as connection, connection.makefile("rw") as stream:
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                line = stream.readline()
        except OSError as error:
            raise KubeError(f"{self.directory.name}: no response ({error})") from error
        answer = json.loads(line) if line else {"error": "it ended during the request"}
        if "error" in answer:
            raise KubeError(f"{self.directory.name}: {answer['error']}")
        return answer["ok"]
