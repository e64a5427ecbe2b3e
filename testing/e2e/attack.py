"""Attacks by a tenant that may edit its own pods, and by the agent of one node.

The tests check what the admission policies refuse, and what the signature refuses without the
policies. They also check that the attack works without both: otherwise they could not fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from e2e import agent_identity, pods, truth
from e2e.case import PODS, SECONDS, StackCase
from e2e.truth import GIB, Json
from kube.api import ApiError
from stack import deploy

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


class Attack(StackCase):
    """Runs on case.two_nodes."""

    def test_who_writes_his_own_allocation_gets_no_gpu(self) -> None:
        """The tenant uses another scheduler, because ours would overwrite the allocation."""
        unsigned = self.waiting_pod("unsigned")
        with self.assertRaisesRegex(ApiError, "only Tessera writes it"):
            self.annotate("unsigned", unsigned)
        with self.without_policy("tessera-immutable-allocations"):
            self.annotate("unsigned", unsigned)
            self.annotate("signed", {**self.waiting_pod("signed"), truth.ALLOCATION_MAC: "0" * 64})
        for name, why in (("unsigned", "is missing"), ("signed", "does not match the annotation")):
            self.bind(name)
            self.wait_event(name, f"{truth.ALLOCATION_MAC} {why}", "delete the pod")
            self.assertFalse(truth.is_running(self.pod(name)))
        self.assertEqual(sum(self.allocated().values()), 0)
        with self.without_key():
            self.wait_running("unsigned")
            self.wait_running("signed")

    def test_who_edits_his_allocation_gets_no_second_pod_onto_his_gpu(self) -> None:
        """A running controller keeps the allocation that it knew. A restarted controller cannot
        trust the edited allocation, and places no pod on the node."""
        owner, = self.running(pods.simple("owner", pods.aliyun(8), node="node-a"))
        for key in (truth.ALLOCATION, truth.ALLOCATION_MAC, truth.ENFORCED_BY):
            with self.subTest(key), self.assertRaises(ApiError) as refused:
                self.annotate("owner", {key: "exclusive"})
            self.assertEqual(refused.exception.code, 403, key)
        smaller = truth.annotation(owner, truth.ALLOCATION).replace(str(8 * GIB), str(GIB))
        with self.without_policy("tessera-immutable-allocations"):
            self.annotate("owner", {truth.ALLOCATION: smaller})
            self.restart_controller()
            self.create(pods.simple("next", pods.aliyun(1), node="node-a"))
            self.wait_event("next", "pod default/owner runs with a GPU, and it is not known which",
                            "does not match the annotation", "delete the pod")
        self.delete("owner")
        self.assert_shares(self.wait_running("next"))

    def test_an_agent_speaks_for_its_own_node_alone(self) -> None:
        token = agent_identity.token_of(self.cluster, "node-a")

        def patch(node: str, part: str = "") -> int:
            return agent_identity.patch_node(self.cluster, token, node, part)
        self.assertEqual(patch("node-a", "/status"), 200)
        self.assertEqual(patch("node-a"), 200)
        self.assertEqual(patch("node-b"), 403)
        self.assertEqual(patch("node-b", "/status"), 403)
        with self.without_policy("tessera-restrict-agent-nodes"):
            self.cluster.wait_for("the attack works without the policy",
                                  lambda: patch("node-b") == 200, SECONDS)

    def test_an_agent_changes_what_it_publishes_alone(self) -> None:
        """Of its own Node, too."""
        token = agent_identity.token_of(self.cluster, "node-a")
        refused: list[tuple[str, Json]] = [
            ("", {"metadata": {"annotations": {"example.com/x": "y"}}}),
            ("", {"metadata": {"labels": {"topology.kubernetes.io/zone": "y"}}}),
            ("", {"metadata": {"labels": {"kubernetes.io/hostname": None}}}),
            ("", {"metadata": {"finalizers": ["example.com/x"]}}),
            ("", {"spec": {"unschedulable": True}}),
            ("", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
            ("/status", {"status": {"capacity": {"cpu": "1000"}}}),
            ("/status", {"status": {"allocatable": {"memory": None}}}),
            ("/status", {"status": {"addresses": []}}),
            ("/status", {"status": {"conditions": []}})]
        for part, change in refused:
            self.assertEqual(agent_identity.patch_node(self.cluster, token, "node-a", part, change),
                             403, change)
        for part, change in (("", {"metadata": {"labels": {"tessera.dev/gpu-model": "x"}}}),
                             ("/status", {"status": {"capacity": {"aliyun.com/gpu-count": "2"}}})):
            self.assertEqual(agent_identity.patch_node(self.cluster, token, "node-a", part, change),
                             200, change)

    # ---- steps

    def waiting_pod(self, name: str) -> dict[str, str]:
        """Creates a pod that requests a GPU and that no scheduler handles. Returns the allocation
        that the controller could have given it."""
        made, = self.create(pods.simple(name, pods.aliyun(1), schedulerName="example.com/mine"))
        return {truth.ALLOCATION: truth.allocation_text(made, self.gpus("node-a")[0], GIB)}

    def bind(self, name: str) -> None:
        """Binds the pod to node-a, as the tenant's own scheduler does."""
        self.api.json("POST", f"{PODS}/{name}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-a"}})

    def annotate(self, pod: str, annotations: dict[str, str]) -> None:
        """Sets annotations of a pod, as its owner may."""
        self.api.json("PATCH", f"{PODS}/{pod}", {"metadata": {"annotations": annotations}},
                      agent_identity.MERGE)

    @contextlib.contextmanager
    def without_policy(self, name: str) -> Iterator[None]:
        """Removes the binding of an admission policy, and restores it at the end. Waits both times
        until the API server has noticed the change (for tessera-immutable-allocations)."""
        binding: Json = self.api.json("GET", f"{POLICIES}/{name}")
        self.api.json("DELETE", f"{POLICIES}/{name}")
        probe, = self.create(pods.pod(f"probe-{name}", pods.container("main", script="exit"),
                                      schedulingGates=[{"name": "example.com/never"}]))
        changes = iter(range(1_000_000))

        def allowed() -> bool:
            try:
                self.annotate(probe["metadata"]["name"], {truth.ALLOCATION: str(next(changes))})
            except ApiError:
                return False
            return True
        if name == "tessera-immutable-allocations":
            self.cluster.wait_for("the policy is off", allowed, SECONDS)
        try:
            yield
        finally:
            binding["metadata"] = {"name": name}
            self.api.json("POST", POLICIES, binding)
            if name == "tessera-immutable-allocations":
                self.cluster.wait_for("the policy is on", lambda: not allowed(), SECONDS)

    @contextlib.contextmanager
    def without_key(self) -> Iterator[None]:
        """Agents run without the key, and accept any allocation."""
        self.set_agent_arguments(lambda old: [a for a in old if a != deploy.KEY_FILE])
        try:
            yield
        finally:
            self.set_agent_arguments(lambda old: [*old, deploy.KEY_FILE])

    def set_agent_arguments(self, change: Callable[[list[str]], list[str]]) -> None:
        path = f"/apis/apps/v1/namespaces/{deploy.NAMESPACE}/daemonsets/tessera-agent"
        container = self.api.json("GET", path)["spec"]["template"]["spec"]["containers"][0]
        self.api.json("PATCH", path, {"spec": {"template": {"spec": {"containers": [
            {"name": "agent", "args": change(container["args"])}]}}}},
            "application/strategic-merge-patch+json")
        deploy.wait_rolled_out(self.cluster, "daemonset/tessera-agent")
