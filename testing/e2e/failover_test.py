"""Two controllers: one leads, the other takes over, and pods arrive all the while. kube-scheduler asks
the first; it sends binds on when the second leads."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

from e2e import pods, truth
from e2e.case import SECONDS, StackCase
from e2e.truth import Json
from stack import deploy

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{deploy.NAMESPACE}/leases/tessera-controller"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{deploy.NAMESPACE}/deployments"
SYSTEM_PODS = f"/api/v1/namespaces/{deploy.NAMESPACE}/pods"
FIRST, SECOND = "tessera-controller", "tessera-controller-b"
PAUSE = 0.4  # between two pods that arrive


class FailoverTest(StackCase):
    """Runs on case.two_nodes."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        first = cls.api.json("GET", f"{DEPLOYMENTS}/{FIRST}")
        cls.second_port = cls.cluster.free_port()
        cls.api.json("POST", DEPLOYMENTS, _second(first, cls.second_port, cls.cluster.free_port()))
        deploy.wait_rolled_out(cls.cluster, f"deployment/{SECOND}")

    def setUp(self) -> None:
        self.hand_over_to(SECOND)

    def test_a_leader_that_ends_hands_over(self) -> None:
        with self.pods_arriving() as arriving:
            self.hand_over_to(FIRST)
            self.wait_bound_since(arriving, time.monotonic(), "handed over")
            self.hand_over_to(SECOND)
            self.wait_bound_since(arriving, time.monotonic(), "handed back")

    def test_a_leader_that_hangs_is_replaced_and_sends_binds_on(self) -> None:
        leader = self.controller(SECOND)
        with self.pods_arriving() as arriving:
            self.signal(leader, "STOP")
            self.wait_bound_since(arriving, time.monotonic(), "the leader hung")
            self.assertEqual(self.deployment_that_leads(), FIRST)
            self.signal(leader, "CONT")
        late = self.create(pods.simple("late", pods.native("1Gi"), schedulerName="nobody"))[0]
        status, where = self.bind_at(self.second_port, late)
        self.assertEqual((status, where), (307, f"http://127.0.0.1:{self.stack.port}"
                                                "/gpushare-scheduler/bind"))
        self.delete("late")

    def test_a_leader_that_is_killed_leads_again_or_is_replaced(self) -> None:
        with self.pods_arriving() as arriving:
            self.signal(self.controller(SECOND), "KILL")
            self.wait_bound_since(arriving, time.monotonic(), "the leader was killed")

    # ---- steps

    @contextlib.contextmanager
    def pods_arriving(self) -> Iterator[list[str]]:
        """Their names; in the end all run, each on the cards of its allocation."""
        names: list[str] = []
        stop = threading.Event()

        def arrive() -> None:
            while not stop.wait(PAUSE):
                self.create(pods.simple(f"pod-{len(names)}", pods.native("256Mi"), size="128MiB"))
                names.append(f"pod-{len(names)}")
        thread = threading.Thread(target=arrive)
        thread.start()
        try:
            yield names
        finally:
            stop.set()
            thread.join()
        for name in names:
            self.assert_shares(self.wait_running(name))
        self.assert_never_above()

    def wait_bound_since(self, names: list[str], since: float, what: str) -> None:
        """Until a pod that was made afterwards is bound; says how long that took."""
        before = len(names)
        self.cluster.wait_for("a pod that arrived since is bound", lambda: any(
            truth.shares(self.pod(name)) for name in list(names)[before:]), 2 * SECONDS)
        print(f"{what}: the next pod was bound after {time.monotonic() - since:.1f} s",
              file=sys.stderr)

    def leader(self) -> str:
        """The pod that holds the Lease; empty for nobody."""
        return str(self.api.json("GET", LEASE)["spec"].get("holderIdentity", ""))

    def deployment_that_leads(self) -> str:
        """Whose pod holds the Lease."""
        return self.leader().rsplit("-", 2)[0]

    def hand_over_to(self, deployment: str) -> None:
        """Ends the other's controller, and starts it again once this one leads."""
        if self.deployment_that_leads() == deployment:
            return
        other = FIRST if deployment == SECOND else SECOND
        self.scale(other, 0)
        self.cluster.wait_for(f"{deployment} leads", lambda: (
            self.deployment_that_leads() == deployment), SECONDS)
        self.scale(other, 1)
        deploy.wait_rolled_out(self.cluster, f"deployment/{other}")

    def scale(self, deployment: str, replicas: int) -> None:
        """Says how many of its pods there shall be."""
        self.api.json("PATCH", f"{DEPLOYMENTS}/{deployment}", {"spec": {"replicas": replicas}},
                      "application/merge-patch+json")

    def controller(self, deployment: str) -> Json:
        """Its pod."""
        found = [item for item in self.api.json("GET", SYSTEM_PODS)["items"]
                 if item["metadata"]["name"].rsplit("-", 2)[0] == deployment
                 and "deletionTimestamp" not in item["metadata"]]
        self.assertEqual(len(found), 1)
        pod: Json = found[0]
        return pod

    def signal(self, pod: Json, name: str) -> None:
        """To the one process of a controller's pod."""
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        pids = [pid for pid in self.cluster.nsenter(
            node, "pgrep", "-x", "tessera-control").split()
            if uid.replace("-", "_") in (group := self.cluster.nsenter(
                node, "cat", f"/proc/{pid}/cgroup")) or uid in group]
        self.assertEqual(len(pids), 1, f"{pod['metadata']['name']}: {pids}")
        self.cluster.nsenter(node, "kill", f"-{name}", pids[0])

    def bind_at(self, port: int, pod: Json) -> tuple[int, str]:
        """Status and Location of the answer to a bind."""
        class NoRedirect(urllib.request.HTTPRedirectHandler):
            """Shows a redirect as it is."""

            def redirect_request(self, *_: object) -> None:
                return None
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/gpushare-scheduler/bind", method="POST",
            headers={"Content-Type": "application/json"},
            data=json.dumps({"PodName": pod["metadata"]["name"], "PodNamespace": "default",
                             "PodUID": pod["metadata"]["uid"], "Node": "node-a"}).encode())
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Location", "")


def _second(first: Json, port: int, health_port: int) -> Json:
    """Another replica: on this machine all nodes have the same network, so it needs its own ports."""
    spec = copy.deepcopy(first["spec"])
    labels = {"app": "tessera", "component": "controller-b"}
    spec["selector"]["matchLabels"] = labels
    spec["template"]["metadata"]["labels"] = labels
    container = spec["template"]["spec"]["containers"][0]
    container["args"] = [a for a in container["args"] if not a.startswith(("--port", "--health"))]
    container["args"] += [f"--port={port}", f"--health-port={health_port}"]
    for probe in ("readinessProbe", "livenessProbe"):
        container[probe]["httpGet"]["port"] = health_port
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": SECOND, "namespace": deploy.NAMESPACE}, "spec": spec}
