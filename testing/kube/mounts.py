"""The kinds of mount(2) that a node needs, and a reader of mountinfo.

Mounts are described by a list of steps that can be written to JSON: the harness decides what to
mount, and `init.py` mounts it inside the new namespace.
Errors: OSError with the step in its text. Nothing here keeps state.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

# <sys/mount.h>
MS_BIND = 4096
MS_REC = 16384
MS_SHARED = 1 << 20

Step = list[str]


def bind(source: str | Path, target: str | Path) -> Step:
    """A bind mount of `source` on `target`, including submounts. A missing target is created."""
    return ["bind", str(source), str(target)]


def tmpfs(target: str | Path) -> Step:
    """An empty tmpfs on `target`."""
    return ["tmpfs", str(target)]


def overlay(target: str | Path, upper: str | Path, work: str | Path) -> Step:
    """An overlay that makes `target` writable: changes go to `upper`, not to the original files."""
    return ["overlay", str(target), str(upper), str(work)]


def shared(target: str | Path) -> Step:
    """Makes later mounts below `target` propagate to mount namespaces (pods) created from this
    one."""
    return ["shared", str(target)]


def apply(steps: list[Step]) -> None:
    """Executes the steps in order, in the mount namespace of the caller."""
    for step in steps:
        try:
            _apply(step)
        except OSError as error:
            raise OSError(error.errno, f"mount {' '.join(step)}: {error.strerror}") from error


def _apply(step: Step) -> None:
    match step:
        case ["bind", source, target]:
            _make_target(Path(source), Path(target))
            _mount(source, target, "", MS_BIND | MS_REC, "")
        case ["tmpfs", target]:
            _mount("tmpfs", target, "tmpfs", 0, "mode=755")
        case ["overlay", target, upper, work]:
            _mount("overlay", target, "overlay", 0,
                   f"lowerdir={target},upperdir={upper},workdir={work}")
        case ["shared", target]:
            _mount("none", target, "", MS_REC | MS_SHARED, "")
        case _:
            raise ValueError(f"no such mount step: {step}")


def _make_target(source: Path, target: Path) -> None:
    if target.exists():
        return
    if source.is_dir():
        target.mkdir(parents=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                  options.encode()) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def points_below(directory: Path, mountinfo: str) -> list[str]:
    """The mount points at or below `directory` in the text of a /proc/PID/mountinfo."""
    prefix = str(directory)
    points = [line.split()[4].replace("\\040", " ") for line in mountinfo.splitlines()]
    return [p for p in points if p == prefix or p.startswith(prefix + "/")]
