"""Plays commands against MPS programs, and writes down what they answer.

The text is the one of gpusim/mps/golden/control-*.txt: the vendor's programs made these files, with
the commands of golden/commands.txt.
"""

from __future__ import annotations

import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mps.programs import OTHER_USER, PATIENCE, Daemon, Programs, soon

GOLDEN = Path(__file__).resolve().parents[2] / "gpusim" / "mps" / "golden"
# What a user without privilege may do.
UNPRIVILEGED = ("get_server_list", "set_default_active_thread_percentage 25",
                "get_default_active_thread_percentage", "set_default_client_priority 1",
                "get_default_client_priority", "set_default_device_pinned_mem_limit 0 2G",
                "get_default_device_pinned_mem_limit 0", "set_active_thread_percentage 1 20",
                "shutdown_server 1", "terminate_client 1 2", "start_server -uid 0", "ps", "bogus",
                "quit", "get_server_list")


@dataclass(frozen=True)
class Step:
    """One thing that was tried, and the text of its result."""
    what: str
    text: str


def commands(name: str) -> list[str]:
    """The lines of a file of GOLDEN."""
    return (GOLDEN / name).read_text(encoding="utf-8").split("\n")[:-1]


def golden_steps(programs: Programs) -> Iterator[Step]:
    """The golden transcript, step by step."""
    daemon = Daemon(programs)
    try:
        daemon.start()
        yield from _commands(daemon, commands("commands.txt"))
        both = daemon.send(b"get_default_active_thread_percentage\nget_server_list\n")
        yield Step("two commands in one session",
                   f"> (two commands in one session)\n{both.text}[exit {both.status}]\n")
        yield Step("modes of the files", "".join(
            f"{stat.filemode(path.lstat().st_mode)} {path.name}\n"
            for path in sorted(daemon.pipe.iterdir())))
        yield _second_daemon(daemon)
        yield from _ends(daemon)
    finally:
        daemon.close()


def corner_case_steps(programs: Programs) -> Iterator[Step]:
    """The commands of corner_cases.txt, as root."""
    daemon = Daemon(programs)
    try:
        daemon.start()
        yield from _commands(daemon, commands("corner_cases.txt"))
        for what, text in {"no line end": b"get_default_client_priority",
                           "two empty lines": b"\n\n", "only blanks": b"  \t\n",
                           "blanks around": b" \tget_default_client_priority\t \n",
                           "carriage return": b"get_default_client_priority\r\n",
                           "a NUL byte": b"get_default_client_priority\0x\nbogus\0x\n",
                           "other bytes": b"bogus\xc3\xa4\x01%s\"\n",
                           "5000 bytes": b"x" * 5000 + b"\n", "no command": b""}.items():
            answer = daemon.send(text)
            yield Step(what, f"{answer.text}[exit {answer.status}]\n")
    finally:
        daemon.close()


def unprivileged_steps(programs: Programs) -> Iterator[Step]:
    """What another user may do. It needs root."""
    daemon = Daemon(programs, mode=0o755)
    try:
        daemon.start()
        soon(lambda: daemon.send(b"", OTHER_USER).status == 0, "other users find the daemon")
        for command in UNPRIVILEGED:
            answer = daemon.command(command, OTHER_USER)
            yield Step(f"UID {OTHER_USER}: {command}", f"{answer.text}[exit {answer.status}]\n")
        # Without the other socket, root has no privilege.
        (daemon.pipe / "control_privileged").unlink()
        for command in UNPRIVILEGED:
            if not command.startswith("start_server"):
                answer = daemon.command(command)
                yield Step(f"root at `control`: {command}", f"{answer.text}[exit {answer.status}]\n")
    finally:
        daemon.close()


def _commands(daemon: Daemon, lines: list[str]) -> Iterator[Step]:
    for line in lines:
        answer = daemon.command(line)
        if line.startswith("start_server -uid"):
            time.sleep(0.2)  # the vendor's server ends after the answer
        yield Step(line, f"> {line}\n{answer.text}[exit {answer.status}]\n")


def _second_daemon(daemon: Daemon) -> Step:
    second = subprocess.run([daemon.program, "-f"], env=daemon.environment, capture_output=True,
                            text=True, check=False, timeout=PATIENCE)
    return Step("second daemon on the same pipe", "> second daemon on the same pipe\n"
                f"{second.stdout}{second.stderr}[exit {second.returncode}]\n")


def _ends(daemon: Daemon) -> Iterator[Step]:
    """What quit, SIGKILL and SIGTERM leave."""
    assert daemon.process is not None
    yield from _commands(daemon, ["quit -t 2"])
    daemon.process.wait(PATIENCE)
    yield Step("files after quit",
               "daemon gone\n" + "".join(f"{name}\n" for name in daemon.files()))
    yield from _commands(daemon, ["get_server_list"])
    for how, name in ((signal.SIGKILL, "kill -9"), (signal.SIGTERM, "TERM")):
        daemon.start()
        if how == signal.SIGTERM:
            yield from _commands(daemon, ["get_server_list"])
        daemon.stop(how)
        yield Step(f"files after {name}", f"after {name}: {' '.join(daemon.files())} \n")
        if how == signal.SIGKILL:
            yield from _commands(daemon, ["get_server_list"])
