"""Kills components of the cluster repeatedly, at times that a seed determines."""

from __future__ import annotations

import collections
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kube.cluster import Cluster

# Events that Tessera's programs log when they recover from something: src/base/events.def.
REPAIRS = ("bind_reconciled", "container_unshared", "container_refused", "nri_lost", "plugin_error",
           "api_error")
# On two cores, kubelet needs ten seconds to check all running pods. If it then finds no containerd,
# it ends every pod with devices: shorter pauses would show kubelet's errors rather than ours.
PAUSE_SECONDS = (4.0, 12.0)
# After this many kills the killer pauses until the next `go_on`. On a slow machine kubelet is killed
# again before it has checked all pods. Without a pause the pods of a wave would never all run at
# once.
MOST_KILLS = 16
POD_LOGS = "var-log/pods/tessera-system_*/*/*.log"


def kill_process(cluster: Cluster, node: str, comm: str) -> bool:
    """Kills the processes of the node with this name (its first 15 characters) with SIGKILL. There
    is one, or two while a runtime that was itself killed replaces it. Returns False if no process
    was killed."""
    pids = cluster.nsenter(node, "pgrep", "-x", comm, check=False).split()
    killed = [pid for pid in pids if not cluster.nsenter(
        node, "sh", "-c", f"kill -9 {pid} 2>&1", check=False)]
    return bool(killed)


class Killer:
    """A thread that kills components, from `start` to `stop`. `kills` and `repairs` count the kills
    and the logged recoveries."""

    def __init__(self, cluster: Cluster, nodes: list[str], seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._left = MOST_KILLS
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)
        self._logged: dict[Path, collections.Counter[str]] = {}
        self._nodes = nodes
        self._api_away_seconds = 0.0
        self._parts: tuple[tuple[str, Callable[[str], bool]], ...] = (
            ("controller", lambda node: any(kill_process(cluster, each, "tessera-control")
                                            for each in nodes)),
            ("agent", lambda node: kill_process(cluster, node, "tessera-agent")),
            ("kubelet", lambda node: self._restart("kubelet", node)),
            ("containerd", lambda node: self._restart("containerd", node)),
        )
        self.kills: collections.Counter[str] = collections.Counter()
        self.problems: list[str] = []

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def go_on(self) -> None:
        """From now on at most MOST_KILLS more."""
        self._left = MOST_KILLS

    def stop(self) -> None:
        """Ends the thread. The component that was killed last runs again or is starting."""
        self._stop.set()
        self._thread.join()
        self._start_what_gave_up()
        self._read_logs()

    def take_api_away(self, seconds: float) -> None:
        """Makes the next kill stop the API server for `seconds`."""
        self._api_away_seconds = seconds

    def spared(self) -> list[str]:
        """The components that have not been killed so far."""
        return [part for part in (*(name for name, _ in self._parts), "kube-apiserver")
                if not self.kills[part]]

    @property
    def repairs(self) -> collections.Counter[str]:
        """The number of logged events of REPAIRS. Lines that were lost in a kill do not count."""
        return sum(self._logged.values(), collections.Counter())

    def _run(self) -> None:
        turns = self._turns()
        kill: Callable[[str], bool] | None = None
        part = ""
        try:
            while not self._stop.wait(self._random.uniform(*PAUSE_SECONDS)):
                self._read_logs()
                self._start_what_gave_up()
                if self._api_away_seconds > 0:
                    self._stop_api_server()
                    continue
                if self._left <= 0:
                    continue
                if kill is None:
                    part, kill = next(turns)
                if kill(self._random.choice(self._nodes)):
                    self.kills[part] += 1
                    self._left -= 1
                    kill = None  # otherwise no process was found, and the same kill is tried again
        except Exception as error:  # a test must not pass because nothing was killed
            self.problems.append(f"the killer ended: {error!r}")
            raise

    def _turns(self) -> Iterator[tuple[str, Callable[[str], bool]]]:
        """Yields each component once in random order, and repeats."""
        while True:
            yield from self._random.sample(self._parts, len(self._parts))

    def _stop_api_server(self) -> None:
        self._cluster.kill("kube-apiserver")
        time.sleep(self._api_away_seconds)
        self._cluster.start_component("kube-apiserver")
        self._api_away_seconds = 0.0
        self.kills["kube-apiserver"] += 1

    def _restart(self, name: str, node: str) -> bool:
        self._cluster.restart(name, node)
        return True

    def _start_what_gave_up(self) -> None:
        """Restarts containerd and kubelet, as systemd does on a real node: kubelet exits if it
        finds no containerd."""
        for node in self._nodes:
            for program in ("containerd", "kubelet"):
                if program not in self._cluster.running(node):
                    self._cluster.start_component(program, node)

    def _read_logs(self) -> None:
        """Counts the logged recoveries. kubelet keeps the logs of a pod's last two containers."""
        for path in (self._cluster.directory / "nodes").glob(f"*/{POD_LOGS}"):
            try:
                lines = path.read_text().splitlines()
            except OSError:  # kubelet removed it
                continue
            self._logged[path] = collections.Counter(
                event for line in lines if (event := _event(line)) in REPAIRS)


def _event(line: str) -> str:
    """The event's name in a line of the runtime's log file: TIME STREAM TAG MESSAGE."""
    try:
        return str(json.loads(line.split(" ", 3)[3])["event"])
    except (IndexError, ValueError, KeyError, TypeError):  # a kill truncated the line
        return ""

