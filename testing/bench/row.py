"""One measurement of the cluster benchmark: the pods exist, kube-scheduler starts, and the row
measures how fast it binds them."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bench import own_scheduler
from bench.controller import Controller
from bench.load import Bound, Load
from kube.api import ApiError
from kube.cluster import Cluster
from kube.errors import KubeError
from stack import deploy

READY_SECONDS = 120.0
POLL_SECONDS = 0.01
QPS = {"qps": 5000, "burst": 10000}  # so high that the client-side limit has no effect
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Ahead(Enum):
    """When our controller begins to nominate pods."""

    NOT = ""
    BEFORE = ", nominated before"
    TOGETHER = ", ahead"


@dataclass(frozen=True)
class Variant:
    """asks: the kind of request, as cluster_load names it. "own": as "ours", with a kube-scheduler of
    our own beside the cluster's, as the Helm chart installs it. every_node: kube-scheduler looks at all
    nodes for each pod, not at a sample. batchable: kube-scheduler's default topology spreading is
    off, because kube-scheduler keeps no ranking for pods that it spreads. beside_idle: a second
    kube-scheduler runs, to which no pod belongs. ahead: our controller nominates pods ahead of their
    turn: before kube-scheduler goes on, or from that moment."""

    asks: str
    every_node: bool = False
    batchable: bool = False
    beside_idle: bool = False
    ahead: Ahead = Ahead.NOT
    options: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether our controller places the pods."""
        return self.asks in ("ours", "own")

    @property
    def has_second(self) -> bool:
        """Whether a second kube-scheduler runs."""
        return self.asks == "own" or self.beside_idle

    @property
    def title(self) -> str:
        """The name that the benchmark prints."""
        name = {"plain": "plain", "extended": "extended resource", "ours": "ours",
                "own": "ours, scheduler mode"}[self.asks]
        every = ", every node" if self.every_node else ""
        beside = ", beside an idle kube-scheduler" if self.beside_idle else ""
        return name + every + beside + self.ahead.value + "".join(f", {option}" for option in self.options)


@dataclass
class Row:
    """What was measured. cpu: milliseconds per pod, by program. cycle: milliseconds that
    kube-scheduler takes to choose a node for one pod, including the calls to our controller.
    nodes: the number of nodes that the pods are bound to. refused: binds that our controller
    refused. attempts: kube-scheduler's attempts, by result. looks_at_batches: how often
    kube-scheduler had the ranking of the previous pod, and used or dropped it. verbs: mean time and
    number of each request to our controller. nominations: those of our controller, by outcome."""

    bound: Bound
    cpu: dict[str, float] = field(default_factory=dict)
    cycle: float = 0.0
    nodes: int = 0
    refused: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    looks_at_batches: int = 0
    verbs: dict[str, str] = field(default_factory=dict)
    nominations: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        cpu = " ".join(f"{name} {ms:.2f}" for name, ms in sorted(self.cpu.items()) if ms >= 0.01)
        return (f"{self.bound.rate:.0f} pods/s; cycle {self.cycle:.2f} ms; CPU ms/pod: {cpu}; "
                f"on {self.nodes} nodes; attempts {self.attempts}; refused binds {self.refused}; "
                f"parts {self.bound.parts}; {self.verbs}; nominations {self.nominations}")

    @property
    def cpu_sum(self) -> float:
        """CPU milliseconds per pod of all programs together."""
        return sum(self.cpu.values())


def say(text: str) -> None:
    """Prints a line of progress to stderr."""
    print(f"bench: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def scheduler_config(variant: Variant, port: int) -> str:
    """kube-scheduler's configuration for the variant. port: the port of our controller."""
    if not variant.is_ours:
        config: dict[str, Any] = {**KIND, "leaderElection": {"leaderElect": False},
                                  "clientConnection": {"kubeconfig": "KUBECONFIG_PATH"}}
    else:
        config = json.loads(deploy.scheduler_config(port) if variant.asks == "ours"
                            else own_scheduler.config(port))
    config["clientConnection"] |= QPS
    config.pop("percentageOfNodesToScore", None)
    if variant.every_node:
        config["percentageOfNodesToScore"] = 100
    if variant.batchable:
        config["profiles"] = [{"schedulerName": "default-scheduler", "pluginConfig": [
            {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]}]
    return json.dumps(config)


def options_of(variant: Variant) -> list[str]:
    """The options of our controller."""
    options = [*variant.options]
    if variant.asks == "own":
        options += own_scheduler.CONTROLLER
    if variant.ahead != Ahead.NOT:
        options += ["--nominate-for=default-scheduler", "--nominate-from=1"]
    return options


def scheduler_is_ready(cluster: Cluster) -> bool:
    """Kubernetes 1.30 has no /readyz there; /healthz says only that it runs."""
    api = cluster.scheduler_api()
    try:
        return api.text("GET", "/readyz") == "ok"
    except ApiError as error:
        return error.code == HTTPStatus.NOT_FOUND and api.ok("/healthz")


def wait_ready(cluster: Cluster) -> None:
    """Waits until kube-scheduler has read the cluster, and takes its first pod."""
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if scheduler_is_ready(cluster):
            return
        time.sleep(POLL_SECONDS)
    raise KubeError(f"kube-scheduler is not ready after {READY_SECONDS:.0f} s")


def measure(cluster: Cluster, load: Load, variant: Variant, group: str, pods: int,
            seconds: int) -> Row:
    """Creates `pods` pods, starts the variant's scheduler or lets it go on, and waits until all pods are
    bound."""
    say(f"{variant.title}: {pods} pods")
    controller = Controller(cluster, *options_of(variant))
    if variant.has_second:
        own_scheduler.start_second(cluster, "unused" if variant.beside_idle else "default-scheduler")
    cluster.write_scheduler_config(scheduler_config(variant, controller.port))
    before: dict[str, float] = {}

    def start() -> None:
        if variant.ahead == Ahead.NOT:
            cluster.start_component("kube-scheduler")
            return
        cluster.kill("kube-scheduler", number=signal.SIGCONT, wait=False)
        controller.resume()

    if variant.ahead == Ahead.NOT:
        load.request("pods", group, variant.asks, pods)
        if variant.is_ours:
            controller.start()
    else:
        # kube-scheduler takes pods in the order in which they come, but those that it lists at its
        # start in any order. So it has started before.
        controller.start()
        cluster.start_component("kube-scheduler")
        wait_ready(cluster)
        cluster.kill("kube-scheduler", number=signal.SIGSTOP, wait=False)
        if variant.ahead == Ahead.TOGETHER:
            controller.pause()
        load.request("pods", group, variant.asks, pods)
        if variant.ahead == Ahead.BEFORE:
            controller.wait_nominated(pods)
    bound = load.watch(group, pods, seconds, start, lambda: before.update(_cpu_seconds(cluster)))
    row = Row(bound)
    if bound.pods < pods:
        raise KubeError(f"{variant.title}: {bound.pods} of {pods} pods bound in {seconds} s")
    row.cpu = {name: (after - before.get(name, 0.0)) * 1000 / pods
               for name, after in _cpu_seconds(cluster).items()}
    scheduler = cluster.scheduler_api().text("GET", "/metrics")
    row.attempts = _attempts(scheduler)
    row.looks_at_batches = _looks_at_batches(scheduler)
    row.cycle = _mean_ms(scheduler, "scheduler_scheduling_algorithm_duration_seconds")
    cluster.kill("kube-scheduler")
    if variant.has_second:
        cluster.kill(own_scheduler.SECOND)
    if variant.is_ours:
        row.refused = controller.refused_binds()
        row.verbs = _verbs(controller.metrics())
        row.nominations = nominations(controller.metrics())
        controller.stop()
    seen = load.request("check", group)
    if seen["overcommitted"] or seen["placed"] != (pods if variant.is_ours else 0):
        raise KubeError(f"wrong: {seen}, of {pods} pods")
    row.nodes = seen["nodes"]
    say(f"{variant.title}: {row}")
    return row


def _cpu_seconds(cluster: Cluster) -> dict[str, float]:
    """User and system time of each program of the cluster so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    out = {}
    for name, pid in cluster.pids().items():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        out[name] = (int(fields[11]) + int(fields[12])) / ticks
    return out


def nominations(metrics: str) -> dict[str, int]:
    """The number of nominations by outcome, of our controller's metrics."""
    return {outcome: int(float(number)) for outcome, number in re.findall(
        r'^tessera_nominations_total\{outcome="(\w+)"\} (\S+)$', metrics, re.M)
        if float(number) > 0}


def _attempts(metrics: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for result, number in re.findall(
            r'^scheduler_schedule_attempts_total\{.*?result="(\w+)".*?\} (\S+)$', metrics, re.M):
        found[result] = found.get(result, 0) + int(float(number))
    return found


def _looks_at_batches(metrics: str) -> int:
    """How often a ranking was used or dropped. Two reasons do not count, because kube-scheduler
    also reports them when it has kept no ranking."""
    used = re.findall(r'^scheduler_batch_attempts_total\{.*?result="hint_used".*?\} (\S+)$',
                      metrics, re.M)
    dropped = re.findall(r'^scheduler_batch_cache_flushed_total\{.*?reason="(\w+)".*?\} (\S+)$',
                         metrics, re.M)
    return sum(int(float(number)) for number in used) + sum(
        int(float(number)) for reason, number in dropped
        if reason not in ("pod_not_batchable", "empty_list"))


def _mean_ms(metrics: str, name: str) -> float:
    """The mean of a histogram without labels, in milliseconds."""
    seen = {part: float(number) for part, number in
            re.findall(rf"^{name}_(sum|count) (\S+)$", metrics, re.M)}
    return seen["sum"] / seen["count"] * 1000 if seen.get("count") else 0.0


def _verbs(metrics: str) -> dict[str, str]:
    """Mean time and number of calls of each verb of the extender."""
    found = dict[str, dict[str, float]]()
    for part, verb, number in re.findall(
            r'^tessera_extender_request_seconds_(sum|count)\{.*?verb="(\w+)".*?\} (\S+)$',
            metrics, re.M):
        found.setdefault(verb, {})[part] = float(number)
    return {verb: f"{seen['sum'] / seen['count'] * 1000:.2f} ms x {seen['count']:.0f}"
            for verb, seen in found.items() if seen.get("count")}
