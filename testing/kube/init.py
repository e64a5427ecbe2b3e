"""Process 1 of a run, or of a node: sets up its mounts, then starts and ends programs on request.

    unshare --mount --pid --fork --kill-child --mount-proc python3 -m kube.init DIR

    DIR/init.json           What to set up: cgroup to join, mounts, host name.
    DIR/components/N.json   A program: {"argv": [...], "env": {...}}, written by the harness.
    DIR/logs/N.log          Its stdout and stderr, appended over restarts.
    DIR/control.sock        Requests, one JSON line each (see control.py).

It is process 1, so its end also ends every process and mount in the namespaces. Its stdin is a pipe
from the test run. If the harness dies, by any signal, the pipe closes and init exits.
(PR_SET_PDEATHSIG would also act if only the *thread* that started init ends.) Programs that end are
not restarted automatically; a test does that on request.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from kube import mounts

KILL_WAIT_SECONDS = 60.0


class Init:
    """One thread: waits for a request, a dead child or the end of stdin, and handles it."""

    def __init__(self, directory: Path, ends_with_stdin: bool) -> None:
        self.directory = directory
        self.running: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.selector = selectors.DefaultSelector()
        self._wake_on_child()
        self._listen()
        if ends_with_stdin:
            self.selector.register(0, selectors.EVENT_READ, self._stdin)

    def serve(self) -> None:
        """Handles events until stdin ends (SystemExit)."""
        while True:
            for key, _ in self.selector.select():
                key.data()

    def _wake_on_child(self) -> None:
        reader, writer = socket.socketpair()
        for end in (reader, writer):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._child_sockets = (reader, writer)
        self.selector.register(reader, selectors.EVENT_READ, self._child)

    def _listen(self) -> None:
        path = self.directory / "control.sock"
        path.unlink(missing_ok=True)
        self._server = socket.socket(socket.AF_UNIX)
        # Binds under another name first, so that the socket accepts connections when it appears.
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        self._server.bind(str(draft))
        self._server.listen(16)
        draft.rename(path)
        self.selector.register(self._server, selectors.EVENT_READ, self._request)

    def _stdin(self) -> None:
        if not os.read(0, 4096):
            sys.exit(0)

    def _child(self) -> None:
        try:
            while self._child_sockets[0].recv(4096):
                pass
        except BlockingIOError:
            pass
        self._reap()

    def _reap(self) -> None:
        """Reaps every dead child: our programs, and orphans that process 1 inherits."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for name, running in list(self.running.items()):
                if running == pid:
                    del self.running[name]
                    self.ended[name] = os.waitstatus_to_exitcode(status)

    def _request(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            with connection.makefile("r") as stream:
                line = stream.readline()
            if not line:
                return  # the client only checked that init runs
            try:
                answer = {"ok": self._handle(json.loads(line))}
            except (KeyError, ValueError, OSError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            with contextlib.suppress(OSError):  # the client may be gone
                connection.sendall((json.dumps(answer) + "\n").encode())

    def _handle(self, request: dict[str, Any]) -> Any:
        match request["op"]:
            case "start":
                return self._start(request["name"])
            case "kill":
                return self._kill(request["name"], request["signal"], request["wait"])
            case "status":
                self._reap()
                return {"running": sorted(self.running), "ended": self.ended}
            case "detach":  # `kube up` ends: run on without the process that started init
                if 0 in self.selector.get_map():
                    self.selector.unregister(0)
                return None
            case other:
                raise ValueError(f"no such request: {other}")

    def _start(self, name: str) -> None:
        self._reap()
        if name in self.running:
            raise ValueError(f"{name} runs already")
        spec = json.loads((self.directory / "components" / f"{name}.json").read_text())
        log = self.directory / "logs" / f"{name}.log"
        self.running[name] = os.posix_spawn(
            spec["argv"][0], spec["argv"], {**os.environ, **spec["env"]}, setsid=True,
            setsigdef=[signal.SIGPIPE],  # Python ignores SIGPIPE, and a child would inherit that
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ])
        self.ended.pop(name, None)

    def _kill(self, name: str, number: int, wait: bool) -> int | None:
        self._reap()
        if name not in self.running:
            raise ValueError(f"{name} does not run")
        os.kill(self.running[name], number)
        deadline = time.monotonic() + KILL_WAIT_SECONDS
        while wait and name in self.running:
            if time.monotonic() > deadline:
                raise ValueError(f"{name} still runs {KILL_WAIT_SECONDS:.0f} s after the signal")
            time.sleep(0.005)
            self._reap()
        return self.ended.get(name)


def main() -> None:
    """Sets up the namespaces by DIR/init.json, and then serves requests."""
    directory = Path(sys.argv[1])
    spec = json.loads((directory / "init.json").read_text())
    for descriptor in spec["keep_open"]:  # the run's lock; the programs must not inherit it
        os.set_inheritable(descriptor, False)
    for path in spec["join"]:
        Path(path).write_text("0")
    mounts.apply(spec["mounts"])
    if spec["hostname"]:
        socket.sethostname(spec["hostname"])
    os.chdir(directory)
    os.environ.pop("PYTHONPATH", None)  # only for init, not for the programs
    Init(directory, spec["ends_with_stdin"]).serve()


if __name__ == "__main__":
    main()
