"""The cgroups of a run: one tree per run, so that its processes can be listed, killed and removed.

    tessera-kube-RUN/daemons    control plane, kubelets, containerds, shims
    tessera-kube-RUN/NODE       cgroupRoot of the kubelet of NODE, with its pods below

cgroup v1: the tree exists in every hierarchy, because kubelet requires it. Processes of the harness
join only the hierarchy that tracks them. cgroup v2 (not tested yet: the test machines have v1): one
tree, with the controllers enabled from the root down, and processes only in leaves.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from kube.errors import KubeError

PREFIX = "tessera-kube-"
V2_CONTROLLERS = ("cpu", "cpuset", "memory", "pids", "io")
KILL_SECONDS = 60.0


@dataclass(frozen=True)
class Hierarchy:
    """One mounted cgroup file system."""

    root: Path
    controllers: frozenset[str]


@dataclass(frozen=True)
class Cgroups:
    """The hierarchies of the machine. `version` is 1 if any controller is in a v1 hierarchy."""

    version: int
    hierarchies: tuple[Hierarchy, ...]

    @staticmethod
    def of_machine() -> "Cgroups":
        """The hierarchies that this process sees."""
        return parse(Path("/proc/self/mountinfo").read_text())

    def create(self, name: str) -> None:
        """Creates the cgroup `name` (a path such as tessera-kube-x/node-a) in all hierarchies that
        are in use."""
        for hierarchy in self._used():
            path = hierarchy.root
            for part in Path(name).parts:
                if self.version == 2:
                    _enable_controllers(path)
                path = path / part
                path.mkdir(exist_ok=True)
                if "cpuset" in hierarchy.controllers and self.version == 1:
                    _inherit_cpuset(path)

    def join_files(self, name: str) -> list[Path]:
        """The files to which a process of the harness writes 0 to join cgroup `name`."""
        for hierarchy in self._used():
            if self.version == 2 or "pids" in hierarchy.controllers:
                return [hierarchy.root / name / "cgroup.procs"]
        raise KubeError("no cgroup hierarchy with the pids controller: mount cgroup v1 pids or v2")

    def processes(self, name: str) -> set[int]:
        """Pids in the cgroup and below it, in any hierarchy."""
        found: set[int] = set()
        for directory in self._directories(name):
            with contextlib.suppress(FileNotFoundError):  # removed after the listing
                found.update(map(int, (directory / "cgroup.procs").read_text().split()))
        found.discard(0)  # a process of another pid namespace
        return found

    def kill_all(self, name: str) -> None:
        """Kills every process of the tree, and returns when all are gone."""
        deadline = time.monotonic() + KILL_SECONDS
        while pids := self.processes(name):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise KubeError(f"processes {sorted(pids)} of {name} do not end after SIGKILL: "
                                "check /proc/PID/stack, then run `kube down --all` again")
            time.sleep(0.01)

    def remove(self, name: str) -> None:
        """Removes the tree, deepest first. The kernel may need a moment after the last exit."""
        deadline = time.monotonic() + KILL_SECONDS
        while directories := self._directories(name):
            for directory in reversed(directories):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    pass
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise KubeError(f"cannot remove cgroup {directory}: {error}") from error
            if self._directories(name):
                time.sleep(0.01)

    def _used(self) -> tuple[Hierarchy, ...]:
        """The hierarchies of pods. With v1 controllers, an additional v2 mount is not one."""
        if self.version == 2:
            return self.hierarchies
        return tuple(h for h in self.hierarchies if h.controllers)

    def _directories(self, name: str) -> list[Path]:
        """The tree in all hierarchies, parents before children."""
        found: list[Path] = []
        for hierarchy in self.hierarchies:
            for path, _, _ in os.walk(hierarchy.root / name):
                found.append(Path(path))
        return found


def parse(mountinfo: str) -> Cgroups:
    """Parses the hierarchies in the text of a mountinfo file."""
    seen: dict[Path, Hierarchy] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind not in ("cgroup", "cgroup2"):
            continue
        root = Path(left.split()[4])
        names = frozenset(o for o in options.split(",") if o not in ("rw", "ro", "xattr"))
        seen[root] = Hierarchy(root, names if kind == "cgroup" else frozenset())
    if not seen:
        raise KubeError("no cgroup file system is mounted: mount one at /sys/fs/cgroup")
    old = any(not c.startswith("name=") for h in seen.values() for c in h.controllers)
    return Cgroups(1 if old else 2, tuple(seen.values()))


def _inherit_cpuset(path: Path) -> None:
    """v1 only: copies the parent's cpuset, because a process cannot join a cgroup with an empty
    cpuset."""
    for file in ("cpuset.cpus", "cpuset.mems"):
        if not (path / file).read_text().strip():
            (path / file).write_text((path.parent / file).read_text())


def _enable_controllers(path: Path) -> None:
    """v2 only: enables the kernel's controllers for the children of `path`."""
    for controller in V2_CONTROLLERS:
        with contextlib.suppress(OSError):  # not built into this kernel
            (path / "cgroup.subtree_control").write_text(f"+{controller}")
