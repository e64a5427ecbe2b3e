"""The real tessera-controller as a process on this machine, outside the cluster."""

from __future__ import annotations

import http.client
import os
import re
import signal
import time
import urllib.request

from bench import fake_nodes, own_scheduler
from kube.cluster import Cluster
from kube.errors import KubeError
from stack import builds

NAME = "tessera-controller"
COMM = NAME[:15]  # as the kernel shows it
READY_SECONDS = 120.0
POLL_SECONDS = 0.01


class Controller:
    """A controller of a cluster, which ends when the cluster ends. port: the extender's port."""

    def __init__(self, cluster: Cluster, *options: str) -> None:
        self._cluster = cluster
        self.port = cluster.free_port()
        self._command = [str(builds.program(NAME)), f"--kubeconfig={cluster.kubeconfig}",
                         f"--allocation-key-file={fake_nodes.keys(cluster)}",
                         f"--port={self.port}", "--health-port=0", "--open-reads",
                         *options]

    def start(self) -> float:
        """Starts it and waits until it is ready, that is, has listed the whole cluster. Returns the
        seconds that this took."""
        begin = time.monotonic()
        self._cluster.start_program(NAME, self._command, env=own_scheduler.POD_NAME)
        while not self._ready():
            if time.monotonic() - begin > READY_SECONDS:
                raise KubeError(f"{NAME} is not ready: {self._cluster.logs(NAME)[-500:]}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begin

    def pause(self) -> None:
        """It does nothing until resume()."""
        os.kill(self._cluster.pids()[COMM], signal.SIGSTOP)

    def resume(self) -> None:
        """Ends a pause."""
        os.kill(self._cluster.pids()[COMM], signal.SIGCONT)

    def wait_nominated(self, pods: int) -> None:
        """Waits until it has nominated as many of the waiting pods as it does."""
        begin = time.monotonic()
        before = -1
        while time.monotonic() - begin < READY_SECONDS:
            time.sleep(0.5)
            now = self.nominated_pods()
            if now == before and 0 < now <= pods:
                return
            before = now
        raise KubeError(f"{NAME} has nominated {before} of {pods} pods")

    def nominated_pods(self) -> int:
        """The current nominations."""
        found = re.search(r"^tessera_nominated_pods (\S+)$", self.metrics(), re.M)
        return int(float(found.group(1))) if found else 0

    def stop(self) -> None:
        """kill -9."""
        self._cluster.kill(NAME)

    def rss_mb(self) -> float:
        """Resident memory, in MiB."""
        return fake_nodes.rss_mb(self._cluster.pids()[COMM])

    def refused_binds(self) -> int:
        """The number of binds that it answered with an error since its start."""
        text = self._get("/metrics")
        errors = [line.rsplit(" ", 1)[1] for line in text.splitlines()
                  if line.startswith("tessera_extender_errors_total") and 'verb="bind"' in line]
        return int(float(errors[0])) if errors else 0

    def metrics(self) -> str:
        """The text of /metrics."""
        return self._get("/metrics")

    def _ready(self) -> bool:
        try:
            return self._get("/readyz") == "ok\n"
        except (OSError, http.client.HTTPException):
            return False

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text
