"""A TestCase with its own cluster on which the Helm chart is installed."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from e2e import report
from e2e.case import GPUS, PODS
from kube import versions
from kube.api import Api
from kube.cluster import Cluster
from stack import builds
from stack.chart import NAMESPACE, ChartStack
from stack.gpu_node import GpuNode

MEMORY = {"tessera.dev/gpu-memory": "1Gi"}
# With both, node-b can register; the agent removes the first.
STARTUP_TAINT = {"key": "tessera.dev/agent-not-ready", "effect": "NoSchedule"}
OTHER_TAINT = {"key": "example.com/costly", "effect": "PreferNoSchedule"}
KINDS = ("all,secrets,configmaps,leases,serviceaccounts,roles,rolebindings,poddisruptionbudgets,"
         "resourcequotas")
CLUSTER_KINDS = ("clusterroles,clusterrolebindings,mutatingwebhookconfigurations,"
                 "validatingadmissionpolicies,validatingadmissionpolicybindings")

Json = dict[str, Any]


def pod_of(stack: ChartStack, name: str, limits: Json | None = None,
           script: str = "exec gpuhog 512MiB", **spec: object) -> Json:
    """A pod that names no scheduler, unless `spec` does."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "terminationGracePeriodSeconds": 1, **spec, "containers": [{
            "name": "main", "image": stack.gpuhog, "command": ["sh", "-c", script],
            "resources": {"limits": limits or {}}}]}}


class ChartClusterCase(unittest.TestCase):
    """The tests share a cluster, on which nothing is installed. Subclasses may set the version of
    Kubernetes, arguments of its components, and the nodes."""

    kubernetes: ClassVar[str] = versions.DEFAULT
    with_dns: ClassVar[bool] = False
    extra_arguments: ClassVar[Mapping[str, Sequence[str]]] = {}
    audit_users: ClassVar[Sequence[str]] = ()
    stack: ClassVar[ChartStack]
    cluster: ClassVar[Cluster]
    api: ClassVar[Api]

    kubelet_of_node_b: ClassVar[Mapping[str, Any]] = {}  # entries of its configuration

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        """The nodes of the cluster."""
        return [GpuNode("node-a", GPUS / "two-15gib.yaml"),
                GpuNode("node-b", GPUS / "15-and-24gib.yaml", kubelet=cls.kubelet_of_node_b)]

    @classmethod
    def setUpClass(cls) -> None:
        cls.stack = ChartStack(cls.gpu_nodes(), kubernetes=cls.kubernetes, with_dns=cls.with_dns,
                               audit_users=cls.audit_users,
                               extra_arguments=cls.extra_arguments).start()
        cls.addClassCleanup(cls.stack.cluster.stop)
        cls.cluster = cls.stack.cluster
        cls.api = cls.cluster.api()

    def environment(self) -> dict[str, str]:
        """Of our command line, as cluster-admin."""
        return {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)}

    def wait_event(self, name: str, *words: str) -> None:
        """Waits for an event of the pod that has all the words."""
        def found() -> bool:
            return any(all(word in event for word in words)
                       for event in report.events(self.api, name))
        self.cluster.wait_for(f"an event of {name} with {words}", found, 60)


class ChartCase(ChartClusterCase):
    """The chart is installed. Each test leaves it installed, unless its comment says otherwise."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.install_chart()

    @classmethod
    def install_chart(cls) -> None:
        """Installs the chart before the first test."""
        cls.stack.install()

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "pods", "--all", "--now", "--wait=true")

    def pod(self, name: str, limits: Json | None = None, **more: Any) -> Json:
        return pod_of(self.stack, name, limits, **more)

    def create(self, pod: Json) -> Json:
        created: Json = self.api.json("POST", PODS, pod)
        return created

    def running(self, *names: str) -> list[Json]:
        """Waits until these pods run, and returns them."""
        def all_run() -> list[Json]:
            pods = [self.api.json("GET", f"{PODS}/{name}") for name in names]
            waiting = [pod["metadata"]["name"] for pod in pods
                       if not any(status["ready"] for status in
                                  pod["status"].get("containerStatuses", []))]
            return [] if waiting else pods
        found: list[Json] = self.cluster.wait_for(f"{', '.join(names)} run", all_run, 40)
        return found

    def taints_of_node_b(self) -> list[Json]:
        found: list[Json] = self.api.json("GET", "/api/v1/nodes/node-b")["spec"].get("taints", [])
        return found

    def assert_no_gpu_is_over_capacity(self) -> None:
        """Of the allocations of pods that have not ended."""
        used: dict[str, int] = {}
        for pod in self.api.json("GET", PODS)["items"]:
            text = pod["metadata"].get("annotations", {}).get("tessera.dev/allocation")
            if text is None or pod["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            for gpu in json.loads(text)["containers"][0]["gpus"]:
                used[gpu["uuid"]] = used.get(gpu["uuid"], 0) + gpu["memory"]
        nodes = self.api.json("GET", "/api/v1/nodes")["items"]
        sizes = {gpu["uuid"]: gpu["memory"] - gpu["reserved"] for node in nodes
                 for gpu in json.loads(node["metadata"]["annotations"]["tessera.dev/gpus"])["gpus"]}
        for uuid, memory in used.items():
            self.assertLessEqual(memory, sizes[uuid], uuid)

    def in_pod(self, name: str, command: str) -> str:
        return self.cluster.kubectl("exec", name, "--", "sh", "-c", f"{command} 2>&1 || true")

    def run_tessera(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs our command line as cluster-admin."""
        return subprocess.run([str(builds.program("tessera")), *arguments], text=True,
                              env=self.environment(), capture_output=True, timeout=300)

    def tessera(self, *arguments: str) -> str:
        """What our command line prints, whether it fails or not."""
        return self.run_tessera(*arguments).stdout

    def tessera_says(self, *arguments: str) -> str:
        """What our command line prints. It must not fail."""
        done = self.run_tessera(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, status: int, text: str, *arguments: str) -> None:
        """Our command line ends with this status, and its error has this text."""
        done = self.run_tessera(*arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)

    def finding(self, check: str) -> Json:
        """The result of one check of `tessera doctor`."""
        checks = json.loads(self.tessera("doctor", "-o", "json"))["checks"]
        found: Json = next(each for each in checks if each["check"] == check)
        return found

    def published(self) -> list[str]:
        """What Nodes have of Tessera, apart from the label that an administrator sets. Kubelet keeps
        an amount of 0 for each device plugin that has ended."""
        found = []
        for node in self.api.json("GET", "/api/v1/nodes")["items"]:
            texts = {**node["metadata"]["annotations"], **node["metadata"]["labels"],
                     **node["status"]["capacity"], **node["status"]["allocatable"]}
            found += [f"{node['metadata']['name']}: {key}={value}" for key, value in texts.items()
                      if key.startswith(("tessera.dev/", "aliyun.com/")) and value != "0"
                      and key != "tessera.dev/agent"]
        return found

    def uninstall(self) -> None:
        """Uninstalls the chart. Only the key is left."""
        self.stack.helm("uninstall", "tessera", "--wait", "--timeout=300s")
        self.cluster.kubectl("-n", NAMESPACE, "wait", "--for=delete", "pod", "--all",
                             "--timeout=120s")
        left = self.cluster.kubectl("-n", NAMESPACE, "get", KINDS, "-o", "name").split()
        left += [name for name in self.cluster.kubectl("get", CLUSTER_KINDS, "-o", "name").split()
                 if "tessera" in name]
        left += [name for name in self.cluster.kubectl("-n", "kube-system", "get", "rolebindings",
                                                       "-o", "name").split() if "tessera" in name]
        self.assertEqual(sorted(left), [
            "configmap/kube-root-ca.crt", "secret/tessera-allocation-key", "serviceaccount/default"])
        self.assertEqual(self.published(), [])


class OneNodeCase(ChartCase):
    """The cluster has one node with two GPUs."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode("node-a", GPUS / "two-15gib.yaml")]
