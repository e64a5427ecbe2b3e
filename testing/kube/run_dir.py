"""The registry of runs: which are there, which are alive, and the end of the dead.

    BASE/NAME/run.json   name, slot, keep, when
    BASE/NAME/lock       flocked by the harness and by the run's init: free means dead
    BASE/NAME/owner      flocked by the harness alone: free and not `keep` means dying
    BASE/NAME/...        everything else that the run writes

A slot is a small number; ports and pod network follow from it. Whoever claims, cleans or removes
holds a flock on BASE itself, which goes when the last run goes. Locks, not pids: a kill -9 or a
reboot frees them, and no number is mistaken for another's.
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
from dataclasses import asdict, dataclass
from pathlib import Path

from kube import cgroups, mounts, network, ports
from kube.errors import KubeError

BASE = Path("/var/tmp/tessera-kube")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")
DYING_SECONDS = 60.0


@dataclass(frozen=True)
class Record:
    """What run.json says. `keep`: lives on without the process that started it."""

    name: str
    slot: int
    keep: bool
    started: str


class Run:
    """A claimed run: its directory, its names, its ports. The claim lasts as long as the locks."""

    def __init__(self, directory: Path, record: Record, locks: tuple[int, ...] = ()) -> None:
        self.directory = directory
        self.record = record
        self.locks = locks
        self.ports = ports.PortBlock(record.slot)
        self.cgroup = cgroups.PREFIX + record.name

    def keep(self) -> None:
        """From here on the run is meant to outlive this process."""
        self.record = Record(**{**asdict(self.record), "keep": True})
        _write_record(self.directory, self.record)

    def unlock(self) -> None:
        """Gives up the claim of this process (init still has its own)."""
        for descriptor in self.locks:
            os.close(descriptor)
        self.locks = ()


class Registry:
    """The runs below `base`. Safe to use from any number of processes."""

    def __init__(self, base: Path = BASE) -> None:
        self.base = base

    def claim(self, name: str | None = None) -> Run:
        """Cleans what dead runs left, then claims a name (made up if None) and a slot."""
        if name is not None and not NAME.fullmatch(name):
            raise KubeError(f"cluster name {name!r}: use 1-20 of a-z, 0-9 and - (not at the ends)")
        with self._locked():
            self._clean_dead()
            taken = {record.slot for record in self._records()}
            free = (s for s in range(ports.BLOCKS) if s not in taken and network.is_free(s))
            slot = next(free, None)
            if slot is None:
                raise KubeError(f"no free slot: end some of {sorted(taken)} with `kube down`")
            name = name or f"run{slot}-{secrets.token_hex(2)}"
            directory = self.base / name
            if directory.exists():
                raise KubeError(f"cluster {name} is up already: `kube down --name {name}` first")
            directory.mkdir(mode=0o700)
            locks = (_open_lock(directory / "lock"), _open_lock(directory / "owner"))
            for descriptor in locks:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            record = Record(name, slot, False, time.strftime("%Y-%m-%dT%H:%M:%S"))
            _write_record(directory, record)
            return Run(directory, record, locks)

    def find(self, name: str) -> Run:
        """A live run, without a claim on it."""
        for record in self.live():
            if record.name == name:
                return Run(self.base / name, record)
        names = ", ".join(r.name for r in self.live()) or "none"
        raise KubeError(f"no cluster {name}: `kube up --name {name}` starts it (there: {names})")

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
        """Holds the lock on BASE; removes BASE when it is empty at the end."""
        descriptor = None
        while descriptor is None:
            with contextlib.suppress(FileNotFoundError):  # removed by the one before us: again
                self.base.mkdir(mode=0o700, exist_ok=True)
                descriptor = self._lock_base()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self.base.rmdir()
            os.close(descriptor)

    def _lock_base(self) -> int | None:
        """A descriptor with the lock; None if it is of a directory that is BASE no more."""
        found = self.base.lstat()  # its parent is open to everybody
        if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
            raise KubeError(f"{self.base} was made by somebody else: remove it")
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
    """Whether nobody holds the lock. A missing file is held by nobody."""
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
