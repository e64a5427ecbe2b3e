"""The cost of a controller start and of an API server restart, on a full cluster."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.controller import Controller
from bench.load import Load
from bench.row import Variant, say, scheduler_config, scheduler_is_ready
from kube.cluster import Cluster
from kube.errors import KubeError

SECONDS = 60
ROUNDS = 3


@dataclass(frozen=True)
class Start:
    """list_seconds: for a client that only reads the pages. start_seconds: until our controller
    answers. rss_mb: its resident memory then, in MiB."""

    list_seconds: float
    start_seconds: float
    rss_mb: float

    @property
    def beyond(self) -> float:
        """The seconds of the start that are not spent on the list."""
        return self.start_seconds - self.list_seconds


def startup(cluster: Cluster, load: Load) -> Start:
    """The fastest of ROUNDS starts and of ROUNDS lists, which run alternately."""
    say("start-up of the controller")
    controller = Controller(cluster)
    lists, starts, memory = [], [], 0.0
    for _ in range(ROUNDS):
        lists.append(load.request("list")["seconds"])
        starts.append(controller.start())
        memory = max(memory, controller.rss_mb())
        controller.stop()
    return Start(min(lists), min(starts), memory)


@dataclass(frozen=True)
class Again:
    """Seconds from the kill of the API server. answers: until it answers. plain, ours: until a pod
    is bound that was created as soon as the API server answered."""

    answers: float
    plain: float
    ours: float


def _bound(load: Load, group: str) -> float:
    """Waits until the only pod of a group is bound. Returns the time, by time.monotonic()."""
    when: list[float] = []
    seen = load.watch(group, 1, SECONDS, lambda: None, lambda: when.append(time.monotonic()))
    if seen.pods < 1:
        raise KubeError(f"pod of {group} is not bound within {SECONDS} s of the restart")
    return when[0]


def after_restart(cluster: Cluster, load: Load) -> Again:
    """Kills the API server with SIGKILL while our controller and kube-scheduler run, and restarts
    it."""
    say("restart of the API server")
    controller = Controller(cluster)
    controller.start()
    cluster.write_scheduler_config(scheduler_config(Variant("ours"), controller.port))
    cluster.start_component("kube-scheduler")
    cluster.wait_for("kube-scheduler", lambda: scheduler_is_ready(cluster), SECONDS)
    load.request("pods", "before", "ours", 1)
    _bound(load, "before")
    began = time.monotonic()
    cluster.restart("kube-apiserver")
    load.request("pods", "plain", "plain", 1)
    answers = time.monotonic() - began
    load.request("pods", "ours", "ours", 1)
    with ThreadPoolExecutor(2) as pool:
        plain, ours = pool.map(lambda group: _bound(load, group) - began, ("plain", "ours"))
    seen = load.request("check", "ours")
    if seen["placed"] != 1 or seen["overcommitted"]:
        raise KubeError(f"wrong after the restart: {seen}")
    cluster.kill("kube-scheduler")
    controller.stop()
    return Again(answers, plain, ours)
