"""How much of each GPU is used, by whom, as the simulated drivers count it."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from stack.gpu_node import gpusimctl
from stack.stack import Stack

PERIOD_SECONDS = 0.1
_CARD = re.compile(r"^card (\d+): (\S+), .* used (\d+) bytes", re.M)
_PROCESS = re.compile(r"^process (\d+): card (\d+), used (\d+) bytes", re.M)
_POD = re.compile(r"pod([0-9a-f]{8}-[0-9a-f-]{27})")


@dataclass
class Peak:
    """The most that was used of one GPU; `above_since`: when it was first above the share, by
    time.monotonic()."""

    share: int
    used: int = 0
    above_since: float | None = None


class DriverUse:
    """Samples all nodes in a thread, from `start` to `stop`. Any thread may ask."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driver-use", daemon=True)
        self._lock = threading.Lock()
        self._peaks: dict[str, Peak] = {}
        self._now: dict[str, int] = {}  # by UUID of a GPU or uid of a pod
        self._pods: dict[str, str] = {}  # pid -> pod uid
        self.samples = 0
        self.problem = ""

    def start(self) -> None:
        """Starts to look."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join()

    def watch(self, what: str, share: int) -> Peak:
        """Begins to note the peak of a GPU, by its UUID, or of all of a pod's processes on whatever
        GPUs, by the pod's uid. The object goes on changing."""
        peak = Peak(share)
        with self._lock:
            self._peaks[what] = peak
        return peak

    def now(self, uuid: str) -> int:
        """What is used of it, as last seen."""
        with self._lock:
            return self._now.get(uuid, 0)

    def wait_samples(self, count: int = 2) -> None:
        """Until all was looked at so often again."""
        wanted = self.samples + count
        while self.samples < wanted:
            if self.problem:
                raise RuntimeError(self.problem)
            time.sleep(PERIOD_SECONDS / 2)

    def _run(self) -> None:
        try:
            while not self._stop.wait(PERIOD_SECONDS):
                self._look()
                self.samples += 1
        except Exception as error:  # no attack is caught because nothing looked
            self.problem = f"the driver's counts were not read: {error!r}"
            raise

    def _look(self) -> None:
        seen: dict[str, int] = {}
        for node in self._stack.nodes.values():
            shown = gpusimctl("show", str(node.driver_root(self._stack.cluster.directory)))
            for _, uuid, used in _CARD.findall(shown):
                seen[uuid] = int(used)
            for pid, _, used in _PROCESS.findall(shown):
                pod = self._pod_of(pid)
                seen[pod] = seen.get(pod, 0) + int(used)
        moment = time.monotonic()
        with self._lock:
            self._now = seen
            for what, peak in self._peaks.items():
                used = seen.get(what, 0)
                peak.used = max(peak.used, used)
                if used > peak.share and peak.above_since is None:
                    peak.above_since = moment

    def _pod_of(self, pid: str) -> str:
        if pid not in self._pods:
            try:
                match = _POD.search(Path(f"/proc/{pid}/cgroup").read_text())
            except OSError:
                return ""
            self._pods[pid] = match[1] if match else ""
        return self._pods[pid]
