"""A stack with two controllers. kube-scheduler calls the first, which redirects binds to the second
while that one leads."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import time
from collections.abc import Iterator
from typing import ClassVar

from e2e import pods, report, truth
from e2e.case import SECONDS, StackCase
from e2e.repeated import repeated
from e2e.truth import Json
from stack import deploy

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{deploy.NAMESPACE}/leases/tessera-controller"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{deploy.NAMESPACE}/deployments"
SYSTEM_PODS = f"/api/v1/namespaces/{deploy.NAMESPACE}/pods"
FIRST, SECOND = "tessera-controller", "tessera-controller-b"
PAUSE = 0.4  # between two pods that arrive


class Replicas(StackCase):
    """The base of tests with two controllers. Each test begins while the second one leads."""

    second_port: ClassVar[int]  # of the second controller

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        first = cls.api.json("GET", f"{DEPLOYMENTS}/{FIRST}")
        cls.second_port = cls.cluster.free_port()
        cls.api.json("POST", DEPLOYMENTS, _second(
            first, cls.second_port, cls.cluster.free_port(), cls.cluster.free_port()))
        deploy.wait_rolled_out(cls.cluster, f"deployment/{SECOND}")

    def setUp(self) -> None:
        self.hand_over_to(SECOND)

    # ---- steps

    @contextlib.contextmanager
    def pods_arriving(self) -> Iterator[list[str]]:
        """Creates pods until the end of the context, and yields the growing list of their names. At
        the end all pods must run, each on the GPUs of its allocation."""
        names: list[str] = []

        def arrive() -> None:
            self.create(pods.simple(f"pod-{len(names)}", pods.native("256Mi"), size="128MiB"))
            names.append(f"pod-{len(names)}")
        with repeated(arrive, PAUSE):
            yield names
        for name in names:
            self.assert_shares(self.wait_running(name))
        self.assert_never_above()

    def wait_bound_since(self, names: list[str], since: float, what: str) -> None:
        """Waits until a pod that is created from now on is bound, and prints the time since
        `since`."""
        before = len(names)
        self.cluster.wait_for("a pod that arrived since is bound", lambda: any(
            truth.shares(self.pod(name)) for name in list(names)[before:]), 2 * SECONDS)
        print(f"{what}: the next pod was bound after {time.monotonic() - since:.1f} s",
              file=sys.stderr)

    def leader(self) -> str:
        """The pod that holds the Lease; empty if no pod holds it."""
        return str(self.api.json("GET", LEASE)["spec"].get("holderIdentity", ""))

    def deployment_that_leads(self) -> str:
        """The Deployment whose pod holds the Lease."""
        return self.leader().rsplit("-", 2)[0]

    def hand_over_to(self, deployment: str) -> None:
        """Stops the other Deployment's controller, and starts it again when this one leads."""
        if self.deployment_that_leads() == deployment:
            return
        other = FIRST if deployment == SECOND else SECOND
        self.scale(other, 0)
        self.cluster.wait_for(f"{deployment} leads", lambda: (
            self.deployment_that_leads() == deployment), SECONDS)
        self.scale(other, 1)
        deploy.wait_rolled_out(self.cluster, f"deployment/{other}")

    def scale(self, deployment: str, replicas: int) -> None:
        """Sets the number of replicas of a Deployment."""
        self.api.json("PATCH", f"{DEPLOYMENTS}/{deployment}", {"spec": {"replicas": replicas}},
                      "application/merge-patch+json")

    def controller(self, deployment: str) -> Json:
        """The only pod of a Deployment."""
        found = [item for item in self.api.json("GET", SYSTEM_PODS)["items"]
                 if item["metadata"]["name"].rsplit("-", 2)[0] == deployment
                 and "deletionTimestamp" not in item["metadata"]]
        self.assertEqual(len(found), 1)
        pod: Json = found[0]
        return pod

    def signal(self, pod: Json, name: str) -> None:
        """Sends a signal to the only process of a controller's pod."""
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        pids = [pid for pid in self.cluster.nsenter(
            node, "pgrep", "-x", "tessera-control").split()
            if uid.replace("-", "_") in (group := self.cluster.nsenter(
                node, "cat", f"/proc/{pid}/cgroup")) or uid in group]
        self.assertEqual(len(pids), 1, f"{pod['metadata']['name']}: {pids}")
        self.cluster.nsenter(node, "kill", f"-{name}", pids[0])

    def bind_at(self, port: int, pod: Json) -> report.Answer:
        """The response of a controller to a request to bind a pod to node-a."""
        return self.ask(port, "POST", "/gpushare-scheduler/bind", json.dumps({
            "PodName": pod["metadata"]["name"], "PodNamespace": "default",
            "PodUID": pod["metadata"]["uid"], "Node": "node-a"}).encode())

    def ask(self, port: int, method: str, path: str, body: bytes = b"") -> report.Answer:
        """The response of a controller to a request of kube-scheduler."""
        return report.http_answer(port, method, path, body)


def _second(first: Json, http: int, health: int, service: int) -> Json:
    """The Deployment of a second controller. It needs its own ports, because all nodes share one
    network on this machine."""
    spec = copy.deepcopy(first["spec"])
    labels = {"app.kubernetes.io/name": "tessera",
              "app.kubernetes.io/component": "controller-b"}
    spec["selector"]["matchLabels"] = labels
    spec["template"]["metadata"]["labels"] = labels
    container = spec["template"]["spec"]["containers"][0]
    old = container["args"]
    container["args"] = [a for a in old if not a.startswith("--advertise")]
    if len(container["args"]) < len(old):
        container["args"].append(f"--advertise=https://$(POD_IP):{http}")
    deploy.use_ports(container, http=http, health=health, service=service)
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": SECOND, "namespace": deploy.NAMESPACE}, "spec": spec}
