"""Jobs while a node has no agent, as during a rollout: kubelet refuses GPU pods on the node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from e2e import pods
from e2e.case import SECONDS, StackCase
from e2e.truth import Json
from stack import deploy

JOBS = "/apis/batch/v1/namespaces/default/jobs"
AGENTS = f"/apis/apps/v1/namespaces/{deploy.NAMESPACE}/daemonsets/tessera-agent"
# docs/limits.md, "Kubernetes", has the same in YAML. A rule with the action Ignore cannot match:
# kubelet removes its own conditions from a pod that it refuses, and no container has an exit code.
FAILS_BY_EXIT_CODE: Json = {"backoffLimit": 6, "podFailurePolicy": {"rules": [
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]}}


class Jobs(StackCase):
    """Runs on case.two_nodes."""

    def tearDown(self) -> None:
        self.api.json("DELETE", f"{JOBS}?propagationPolicy=Background")
        super().tearDown()

    def test_a_refused_pod_does_not_fail_a_job_that_fails_by_exit_code(self) -> None:
        """The pods bypass kube-scheduler, which soon notices that the node has no GPUs. kubelet
        refuses only pods that are bound before that."""
        with self.without_agent("node-a"):
            self.make_job("plain", "exit 0", {"backoffLimit": 0}, nodeName="node-a")
            self.make_job("lenient", "exit 0", FAILS_BY_EXIT_CODE, nodeName="node-a")
            self.cluster.wait_for("one refusal fails the plain Job",
                                  lambda: self.has("plain", "Failed"), SECONDS)
            self.cluster.wait_for("the lenient Job tries again",
                                  lambda: len(self.refused("lenient")) > 1, 2 * SECONDS)
            self.assertFalse(self.has("lenient", "Failed"))
            for pod in (*self.refused("plain"), *self.refused("lenient")):
                self.assertEqual(pod["status"].get("conditions", []), [], "nothing to match")
        self.make_job("broken", "exit 3", FAILS_BY_EXIT_CODE)
        self.cluster.wait_for("an exit code fails it", lambda: self.has("broken", "Failed"),
                              SECONDS)
        self.assertEqual(len(self.pods_of("broken")), 1)

    # ---- steps

    def make_job(self, name: str, script: str, how: Json, **spec: Any) -> None:
        """Creates a Job. how: fields of the Job's spec. spec: fields of its pod spec."""
        template = pods.pod(name, pods.container("main", pods.aliyun(1), script=script),
                            restartPolicy="Never", **spec)
        self.api.json("POST", JOBS, {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": {"spec": template["spec"]}, **how}})

    def has(self, job: str, condition: str) -> bool:
        """Whether a Job has a condition."""
        status = self.api.json("GET", f"{JOBS}/{job}")["status"]
        return any(c["type"] == condition and c["status"] == "True"
                   for c in status.get("conditions", []))

    def pods_of(self, job: str) -> list[Json]:
        """All pods of a Job."""
        return [pod for pod in self.pods()
                if pod["metadata"].get("labels", {}).get("job-name") == job]

    def refused(self, job: str) -> list[Json]:
        """The pods of a Job that kubelet refused for good."""
        return [pod for pod in self.pods_of(job)
                if pod["status"].get("reason") == "UnexpectedAdmissionError"]

    @contextlib.contextmanager
    def without_agent(self, node: str) -> Iterator[None]:
        """Keeps the agent off the node, and restores it at the end."""
        def select(selector: Json) -> None:
            self.api.json("PATCH", AGENTS, [{
                "op": "add", "path": "/spec/template/spec/affinity", "value": selector}],
                "application/json-patch+json")
        before = self.api.json("GET", AGENTS)["spec"]["template"]["spec"].get("affinity", {})
        select({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": pods.NODE_LABEL, "operator": "NotIn", "values": [node]}]}]}}})
        self.cluster.wait_for("the agent is gone", lambda: not self.has_agent(node), SECONDS)
        try:
            yield
        finally:
            select(before)
            self.cluster.wait_for("the agent is back", lambda: self.has_agent(node), SECONDS)
            deploy.wait_rolled_out(self.cluster, "daemonset/tessera-agent")

    def has_agent(self, node: str) -> bool:
        """Whether a pod of the DaemonSet is on the node."""
        return any(pod["spec"].get("nodeName") == node for pod in self.agents())
