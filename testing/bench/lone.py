"""How long a pod that comes alone waits for its node: with nominations ahead, and without them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.controller import Controller
from bench.load import Load
from bench.row import Variant, options_of, say, scheduler_config, wait_ready
from kube.cluster import Cluster

PODS = "/api/v1/namespaces/default/pods"
FIRST = 5  # pods that are not counted: connections are opened, and memory is fetched


@dataclass(frozen=True)
class Latency:
    """Milliseconds from the creation of a pod to its binding, as a watch shows it."""

    p50: float
    p99: float


def latency(cluster: Cluster, load: Load, variant: Variant, group: str, pods: int) -> list[float]:
    """Milliseconds from the request that creates a pod to the event that shows it bound, for each of
    `pods` pods, one after the other."""
    say(f"{variant.title}: {pods} pods that come alone")
    controller = Controller(cluster, *options_of(variant))
    cluster.write_scheduler_config(scheduler_config(variant, controller.port))
    controller.start()
    cluster.start_component("kube-scheduler")
    wait_ready(cluster)
    out = [_wait(cluster, group, number) for number in range(FIRST + pods)]
    cluster.kill("kube-scheduler")
    controller.stop()
    load.request("remove", group, FIRST + pods)
    return out[FIRST:]


def summary(times: list[float]) -> Latency:
    """Of at least one time."""
    ordered = sorted(times)
    return Latency(ordered[len(ordered) // 2], ordered[-(-len(ordered) * 99 // 100) - 1])


def _wait(cluster: Cluster, group: str, number: int) -> float:
    api = cluster.api()
    name = f"{group}-{number:05}"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": "registry.example/app", "resources": {
                "requests": {"cpu": "1"}, "limits": {"aliyun.com/gpu-mem": "3"}}}]}}
    with api.watch(f"{PODS}?watch=1&fieldSelector=metadata.name={name}") as events:
        began = time.monotonic()
        api.json("POST", PODS, pod)
        next(event for event in events if event["object"]["spec"].get("nodeName"))
        return (time.monotonic() - began) * 1000
