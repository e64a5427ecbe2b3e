"""Kills parts of the cluster, again and again, at moments that a seed chooses."""

from __future__ import annotations

import collections
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kube.cluster import Cluster

# What Tessera's programs log when they mend something: src/base/events.def.
REPAIRS = ("bind_settled", "container_unshared", "container_refused", "nri_lost", "plugin_trouble",
           "api_trouble")
# On two cores a kubelet needs ten seconds to look at all that runs. One that then finds no
# containerd ends every pod that has devices: a shorter pause shows kubelet's troubles more than ours.
PAUSE_SECONDS = (4.0, 12.0)
# Then it rests until the next `go_on`. On a slow machine kubelet is killed again before it has
# looked at all pods; without a rest the pods of a wave would never all run at once.
MOST_KILLS = 16
POD_LOGS = "var-log/pods/tessera-system_*/*/*.log"


def kill_process(cluster: Cluster, node: str, comm: str) -> bool:
    """kill -9 of the processes of the node with this name (its first 15 characters): one, or two
    while a runtime that was killed itself replaces it. False where none runs, or none any more."""
    pids = cluster.nsenter(node, "pgrep", "-x", comm, check=False).split()
    killed = [pid for pid in pids if not cluster.nsenter(
        node, "sh", "-c", f"kill -9 {pid} 2>&1", check=False)]
    return bool(killed)


class Killer:
    """A thread of kills, from `start` to `stop`; then `kills` and `repairs` say how often what."""

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
        """Begins to kill."""
        self._thread.start()

    def go_on(self) -> None:
        """From now on at most MOST_KILLS more."""
        self._left = MOST_KILLS

    def stop(self) -> None:
        """Ends the thread; what it killed last is up again, or on its way."""
        self._stop.set()
        self._thread.join()
        self._start_what_gave_up()
        self._read_logs()

    def take_api_away(self, seconds: float) -> None:
        """As its next kill: nobody reaches the API server for so long."""
        self._api_away_seconds = seconds

    def spared(self) -> list[str]:
        """The parts that nobody has killed so far."""
        return [part for part in (*(name for name, _ in self._parts), "kube-apiserver")
                if not self.kills[part]]

    @property
    def repairs(self) -> collections.Counter[str]:
        """REPAIRS that were logged, but for the last words of a program before it was killed."""
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
                    kill = None  # nobody there to be killed: the same again
        except Exception as error:  # a test must not pass because nobody was killed
            self.problems.append(f"the killer ended: {error!r}")
            raise

    def _turns(self) -> Iterator[tuple[str, Callable[[str], bool]]]:
        """Each part once, in an order by chance, and again."""
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
        """As systemd does on a node of yours: kubelet ends itself where it finds no containerd."""
        for node in self._nodes:
            for program in ("containerd", "kubelet"):
                if program not in self._cluster.running(node):
                    self._cluster.start_component(program, node)

    def _read_logs(self) -> None:
        """kubelet keeps the logs of the last two containers of a pod."""
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
    except (IndexError, ValueError, KeyError, TypeError):  # a line that was cut by a kill
        return ""

