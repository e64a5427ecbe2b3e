"""Pods that are nominated ahead of their turn, on a real control plane with many nodes.

The pods are created and nominated before kube-scheduler starts. Meanwhile the cluster changes, so
that many nominations cannot be followed. All pods must get their GPUs. Nodes have no kubelet: the
test ends with the binding.
"""

from __future__ import annotations

import time
import unittest
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from bench import fake_nodes, row
from bench.controller import Controller
from bench.load import Load
from e2e import pods
from e2e.truth import Json
from kube import versions
from stack import deploy

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
SECONDS = 60.0
BOUND_SECONDS = 120.0
# The nodes by number. GPUs, CPU and pods are enough for 1,000 pods, whichever are lost.
TAINTED = range(0, 10)
SMALL = range(10, 20)  # 4 CPUs
ZONES = {"a": range(20, 40), "b": range(40, 60)}


def node_name(number: int) -> str:
    """As cluster_load names it."""
    return f"gpu-node-{number:05}"


def taint(key: str) -> Json:
    """Only pods that tolerate it may come."""
    return {"spec": {"taints": [{"key": key, "value": "true", "effect": "NoSchedule"}]}}


def in_zone(zone: str) -> Json:
    """Affinity to the nodes of a zone."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "zone", "operator": "In", "values": [zone]}]}]}}}


def pod(name: str, number: int) -> Json:
    """One of several kinds of pods with different rules."""
    kinds: list[Json] = [
        {},
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {"nodeSelector": {"zone": "a"}},
        {"affinity": in_zone("b")},
        {"priorityClassName": "urgent"},
        {"containers": [container(cpu="3")]},
        # Our controller does not know what decides about these, so they are never nominated.
        {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"kind": "apart"}}}}]}}},
        {"containers": [container(gib=20)]},
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{number:05}"},
            "spec": {"containers": [container()], "terminationGracePeriodSeconds": 0,
                     **kinds[number % len(kinds)]}}


def container(cpu: str = "1", gib: int = 3) -> Json:
    """The container of a pod that asks for a share of a GPU."""
    return {"name": "main", "image": "registry.example/app", "resources": {
        "requests": {"cpu": cpu}, "limits": pods.native(f"{gib}Gi")}}


class NominationsTest(unittest.TestCase):
    """60 nodes with eight GPUs of 80 GiB each. kubernetes: the minor version."""

    kubernetes: ClassVar[str] = versions.DEFAULT

    def setUp(self) -> None:
        self.cluster = self.enterContext(fake_nodes.new_cluster(kubernetes=self.kubernetes))
        self.api = self.cluster.api()
        self.load = Load(self.cluster)
        self.load.request("nodes", ZONES["b"].stop)
        self.pool = self.enterContext(ThreadPoolExecutor(8))
        self.patch_nodes(TAINTED, taint("dedicated"))
        self.patch_nodes(SMALL, {"status": {"allocatable": {"cpu": "4"}}}, "/status")
        for zone, numbers in ZONES.items():
            self.patch_nodes(numbers, {"metadata": {"labels": {"zone": zone}}})
        self.api.json("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "urgent"}, "value": 1000})

    def test_pods_whose_nominations_cannot_be_followed(self) -> None:
        controller = self.start()
        self.create("mixed", 1000)
        self.contradict(self.nominated(500))
        self.go_on(controller, "mixed", 1000)
        outcomes = row.nominations(controller.metrics())
        self.assertGreater(outcomes.get("followed", 0), 100, outcomes)
        self.assertGreater(outcomes.get("not_followed", 0), 100, outcomes)

    def test_nominations_of_a_controller_that_was_killed(self) -> None:
        controller = self.start()
        self.create("heirs", 200)
        chosen = {name: node for node, names in self.nominated(100).items() for name in names}
        controller.stop()
        controller.start()
        self.cluster.wait_for("the new controller takes the nominations over", lambda: (
            controller.nominated_pods() >= len(chosen)), SECONDS)
        self.go_on(controller, "heirs", 200)
        followed = [item for item in self.bound("heirs")
                    if chosen.get(item["metadata"]["name"]) == item["spec"]["nodeName"]]
        self.assertGreater(len(followed), len(chosen) // 2)

    # ---- steps

    def start(self) -> Controller:
        """Starts our controller, without kube-scheduler."""
        controller = Controller(self.cluster, "--nominate-for=default-scheduler",
                                "--nominate-from=0")
        self.cluster.write_scheduler_config(deploy.scheduler_config(controller.port))
        controller.start()
        return controller

    def create(self, name: str, count: int) -> None:
        """Creates the pods in the order of their numbers, but several at a time."""
        self.each(lambda number: self.api.json("POST", PODS, pod(name, number)), range(count))

    def nominated(self, least: int) -> dict[str, list[str]]:
        """The names of the nominated pods, by node, once there are at least so many."""
        found: dict[str, list[str]] = {}

        def enough() -> bool:
            found.clear()
            for item in self.pods():
                if node := item["status"].get("nominatedNodeName"):
                    found.setdefault(node, []).append(item["metadata"]["name"])
            return sum(map(len, found.values())) >= least
        self.cluster.wait_for(f"{least} pods are nominated", enough, SECONDS)
        return found

    def contradict(self, nominated: dict[str, list[str]]) -> None:
        """Takes away what the nominations of some nodes rely on, each in another way. Other
        nominations name a node where their pods may not run."""
        most = sorted(nominated, key=lambda node: -len(nominated[node]))
        in_a = [node for node in most if node in set(map(node_name, ZONES["a"]))]
        in_b = [node for node in most if node in set(map(node_name, ZONES["b"]))]
        self.patch_node(in_a[0], taint("broken"))
        self.patch_node(in_b[0], {"spec": {"unschedulable": True}})
        for node, zone in ((in_a[-1], "c"), (in_b[-1], "c")):
            self.patch_node(node, {"metadata": {"labels": {"zone": zone}}})
        for node in {in_a[len(in_a) // 2], in_b[len(in_b) // 2]}:
            self.api.json("POST", PODS, {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"full-{node}"},
                "spec": {"nodeName": node, "containers": [{
                    "name": "main", "image": "registry.example/app",
                    "resources": {"requests": {"cpu": "127"}}}]}})
        others = [name for names in nominated.values() for name in names][::50]
        self.each(lambda name: self.api.json("PATCH", f"{PODS}/{name}/status", {
            "status": {"nominatedNodeName": node_name(TAINTED.start)}}, MERGE), others)

    def go_on(self, controller: Controller, name: str, count: int) -> None:
        """Starts kube-scheduler, and checks what it does with the pods."""
        self.cluster.start_component("kube-scheduler")
        row.wait_ready(self.cluster)
        began = time.monotonic()
        self.cluster.wait_for(f"all {count} pods are bound",
                              lambda: self.are_bound(name, count), BOUND_SECONDS)
        seen = self.load.request("check", name)
        print(f"{count} pods in {time.monotonic() - began:.1f} s on {seen['nodes']} nodes; "
              f"nominations {row.nominations(controller.metrics())}; "
              f"refused binds {controller.refused_binds()}")
        self.assertEqual((seen["placed"], seen["overcommitted"]), (count, 0))
        self.cluster.wait_for("no nomination is left",
                              lambda: controller.nominated_pods() == 0, SECONDS)

    def are_bound(self, name: str, count: int) -> bool:
        """Also changes a Node, as kubelets do all the time. Without any event, kube-scheduler leaves a
        pod alone for five minutes that our extender has refused, perhaps because the outcome of its
        Binding was unknown."""
        self.patch_node(node_name(0), {"metadata": {"annotations": {
            "changed": str(time.monotonic())}}})
        return len(self.bound(name)) == count

    # ---- the cluster

    def each(self, call: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Calls it for all items, several at a time."""
        for _ in self.pool.map(call, items):
            pass

    def patch_node(self, name: str, patch: Json, part: str = "") -> None:
        """Changes a Node or its status."""
        self.api.json("PATCH", f"{NODES}/{name}{part}", patch, MERGE)

    def patch_nodes(self, numbers: Iterable[int], patch: Json, part: str = "") -> None:
        """Changes several Nodes in the same way."""
        self.each(lambda number: self.patch_node(node_name(number), patch, part), numbers)

    def pods(self) -> list[Json]:
        """All pods of the cluster."""
        items: list[Json] = self.api.json("GET", PODS)["items"]
        return items

    def bound(self, name: str) -> list[Json]:
        """The pods of this name that are on a node."""
        return [item for item in self.pods() if item["spec"].get("nodeName")
                and item["metadata"]["name"].startswith(f"{name}-")]


if __name__ == "__main__":
    unittest.main()
