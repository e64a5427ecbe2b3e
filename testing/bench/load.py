"""The bench's load tool (cluster_load.cpp) on a cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench import fake_nodes
from kube.cluster import Cluster
from kube.errors import KubeError
from stack import builds


@dataclass(frozen=True)
class Bound:
    """What a watch saw: bound pods, seconds from the first bind to the last, and the pods/s in ten
    equal parts."""

    pods: int
    seconds: float
    parts: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Pods per second; 0 if fewer than two were bound."""
        return (self.pods - 1) / self.seconds if self.pods > 1 and self.seconds > 0 else 0.0


class Load:
    """Runs the load tool on `cluster`. Failures raise KubeError."""

    def __init__(self, cluster: Cluster) -> None:
        self._command = [str(builds.program("cluster_load")), str(cluster.kubeconfig),
                         str(fake_nodes.keys(cluster))]

    def request(self, *words: object) -> Any:
        """Runs one verb of the tool and returns what it reports."""
        command = [*self._command, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise KubeError(f"cluster_load {' '.join(map(str, words))}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def watch(self, group: str, count: int, seconds: int, started: Callable[[], None],
              first: Callable[[], None]) -> Bound:
        """Calls `started` when the watch runs and `first` at the first bind. Returns when `count`
        pods of the group are bound or the time is over."""
        command = [*self._command, "watch", group, str(count), str(seconds)]
        seen: dict[str, Any] = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                started()
                for line in process.stdout:
                    if not seen:
                        first()
                    seen = json.loads(line)
            finally:
                process.kill()
        return Bound(seen.get("bound", 0), seen.get("seconds", 0.0), seen.get("parts", []))
