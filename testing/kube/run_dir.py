"""The registry of runs: lists them, detects dead ones, and removes what they left.

    BASE/NAME/run.json   name, slot, keep, start time
    BASE/NAME/lock       locked by the harness and by the run's init: unlocked means dead
    BASE/NAME/owner      locked only by the harness: unlocked and not `keep` means dying
    BASE/NAME/...        everything else that the run writes

A slot is a small number, which determines the ports and the pod network. A process that claims,
cleans or removes a run locks BASE itself, which is removed with the last run. The locks are flocks
rather than pid files: a SIGKILL or a reboot releases them, and a reused pid cannot confuse them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kube import cgroups, mounts, network, ports
from kube.errors import KubeError

BASE = Path("/var/tmp/tessera-kube")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")
DYING_SECONDS = 60.0


@dataclass(frozen=True)
class Record:
    """The contents of run.json. keep: the run outlives the process that started it."""

    name: str
    slot: int
    keep: bool
    started: str


class Run:
    """A run: its directory, its record, its ports. The claim lasts as long as the locks."""

    def __init__(self, directory: Path, record: Record, locks: tuple[int, ...] = ()) -> None:
        self.directory = directory
        self.record = record
        self.locks = locks
        self.ports = ports.PortBlock(record.slot)
        self.cgroup = cgroups.PREFIX + record.name

    def keep(self) -> None:
        """From now on the run may outlive this process."""
        self.record = replace(self.record, keep=True)
        _write_record(self.directory, self.record)

    def unlock(self) -> None:
        """Releases the claim of this process. init keeps its own lock."""
        for descriptor in self.locks:
            os.close(descriptor)
        self.locks = ()


class Registry:
    """The runs below `base`. May be used by several processes at the same time."""

    def __init__(self, base: Path = BASE) -> None:
        self.base = base

    def claim(self, name: str | None = None) -> Run:
        """Removes what dead runs left, and then claims a name (generated if None) and a slot."""
        if name is not None and not NAME.fullmatch(name):
            raise KubeError(f"cluster name {name!r}: use 1-20 of a-z, 0-9 and - (not at the ends)")
        with self._locked():
            self._clean_dead()
            taken = {record.slot for record in self._records()}
            free = (s for s in range(ports.BLOCKS) if s not in taken and network.is_free(s))
            slot = next(free, None)
            if slot is None:
                raise KubeError(f"no free slot: end clusters with `kube down`, slots in use: "
                                f"{sorted(taken)}")
            name = name or f"run{slot}-{secrets.token_hex(2)}"
            directory = self.base / name
            if directory.exists():
                raise KubeError(f"cluster {name} is up already: run `kube down --name {name}`")
            directory.mkdir(mode=0o700)
            locks = (_open_lock(directory / "lock"), _open_lock(directory / "owner"))
            for descriptor in locks:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            record = Record(name, slot, False, time.strftime("%Y-%m-%dT%H:%M:%S"))
            _write_record(directory, record)
            return Run(directory, record, locks)

    def find(self, name: str) -> Run:
        """A live run, without claiming it."""
        for record in self.live():
            if record.name == name:
                return Run(self.base / name, record)
        names = ", ".join(r.name for r in self.live()) or "none"
        raise KubeError(f"no cluster {name}; there is: {names}. Name one with --name, or start it: "
                        f"`kube up --name {name}`")

    def live(self) -> list[Record]:
        """The records of the runs that are not dead."""
        if not self.base.exists():
            return []
        return [r for r in self._records() if not _is_free(self.base / r.name / "lock")]

    def clean(self) -> None:
        """Removes what dead runs left."""
        if self.base.exists():
            with self._locked():
                self._clean_dead()

    def remove(self, run: Run) -> None:
        """Ends every process of the run and removes its cgroups, interfaces and directory."""
        with self._locked():
            self._remove(run.directory, run.record.slot)
            run.unlock()

    def _records(self) -> list[Record]:
        found = []
        for path in sorted(self.base.glob("*/run.json")):
            with contextlib.suppress(FileNotFoundError):
                found.append(Record(**json.loads(path.read_text())))
        return found

    def _clean_dead(self) -> None:
        for directory in sorted(p for p in self.base.iterdir() if p.is_dir()):
            try:
                record = Record(**json.loads((directory / "run.json").read_text()))
            except FileNotFoundError:  # died between mkdir and the first write: nothing started
                shutil.rmtree(directory)
                continue
            if not record.keep and _is_free(directory / "owner"):
                _wait_free(directory / "lock")
            if _is_free(directory / "lock"):
                self._remove(directory, record.slot)

    def _remove(self, directory: Path, slot: int) -> None:
        groups = cgroups.Cgroups.of_machine()
        name = cgroups.PREFIX + directory.name
        groups.kill_all(name)
        groups.remove(name)
        network.wait_gone(slot)
        if points := mounts.points_below(directory, Path("/proc/self/mountinfo").read_text()):
            raise KubeError(f"{points[0]} is mounted: `umount` it, then run `kube down --all`")
        shutil.rmtree(directory)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Holds the lock on BASE. At the end, removes BASE if it is empty."""
        descriptor = None
        while descriptor is None:
            with contextlib.suppress(FileNotFoundError):  # another process removed it: try again
                self.base.mkdir(mode=0o700, exist_ok=True)
                descriptor = self._lock_base()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self.base.rmdir()
            os.close(descriptor)

    def _lock_base(self) -> int | None:
        """A descriptor with the lock; None if the locked directory is not BASE any more."""
        found = self.base.lstat()  # any user may create files in its parent
        if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            raise KubeError(f"{self.base} belongs to another user or is no directory: remove it")
        descriptor = os.open(self.base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_ino == self.base.stat().st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)
        return None


def _write_record(directory: Path, record: Record) -> None:
    draft = directory / "run.json.new"
    draft.write_text(json.dumps(asdict(record)))
    draft.rename(directory / "run.json")


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _is_free(path: Path) -> bool:
    """Whether no process holds the lock. A missing file counts as unlocked."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _wait_free(path: Path) -> None:
    deadline = time.monotonic() + DYING_SECONDS
    while not _is_free(path) and time.monotonic() < deadline:
        time.sleep(0.02)
