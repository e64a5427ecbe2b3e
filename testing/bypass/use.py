"""The memory in use on each GPU and by each pod, as the simulated drivers count it."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from stack.gpu_node import gpusimctl
from stack.stack import Stack

PERIOD_SECONDS = 0.1
_GPU = re.compile(r"^GPU (\d+): (\S+), .* used (\d+) bytes", re.M)
_PROCESS = re.compile(r"^process (\d+): GPU (\d+), used (\d+) bytes", re.M)
_POD = re.compile(r"pod([0-9a-f]{8}-[0-9a-f-]{27})")


@dataclass
class Peak:
    """used: the most bytes that were in use. above_since: when the use was first above the share,
    by time.monotonic()."""

    share: int
    used: int = 0
    above_since: float | None = None


class DriverUse:
    """Samples all nodes in a thread, from `start` to `stop`. Methods may be called from any
    thread."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driver-use", daemon=True)
        self._lock = threading.Lock()
        self._peaks: dict[str, Peak] = {}
        self._now: dict[str, int] = {}  # UUID of a GPU or uid of a pod -> bytes in use
        self._pods: dict[str, str] = {}  # pid -> pod uid
        self.samples = 0
        self.problem = ""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join()

    def watch(self, what: str, share: int) -> Peak:
        """Starts to record the peak use of a GPU (what: its UUID), or of all processes of a pod on
        all GPUs (what: its uid). The thread keeps updating the returned object."""
        peak = Peak(share)
        with self._lock:
            self._peaks[what] = peak
        return peak

    def now(self, uuid: str) -> int:
        """The bytes in use in the last sample."""
        with self._lock:
            return self._now.get(uuid, 0)

    def wait_samples(self, count: int = 2) -> None:
        """Waits until `count` more samples are taken. Raises RuntimeError if sampling failed."""
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
        except Exception as error:  # without samples, every attack would count as caught
            self.problem = f"cannot read the driver's counts: {error!r}"
            raise

    def _look(self) -> None:
        seen: dict[str, int] = {}
        for node in self._stack.nodes.values():
            shown = gpusimctl("show", str(node.driver_root(self._stack.cluster.directory)))
            for _, uuid, used in _GPU.findall(shown):
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
