"""tessera defrag on a real Kubernetes: it frees a GPU for a pod that waits for a whole GPU."""

from __future__ import annotations

import json
from collections.abc import Callable

from e2e import case, pods, truth
from e2e.case import SECONDS, StackCase
from e2e.truth import Json
from kube.errors import CommandError
from stack.gpu_node import GpuNode

MOVABLE = {"tessera.dev/movable": "true"}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


class DefragTest(StackCase):
    """One node with two GPUs of 15 GiB."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return case.two_nodes(nri=True)[:1]

    def tearDown(self) -> None:
        self.api.json("DELETE", BUDGETS)
        self.api.json("DELETE", f"{JOBS}?propagationPolicy=Background")
        super().tearDown()

    def owned(self, name: str, memory: str, annotations: dict[str, str]) -> Json:
        """Creates a ReplicaSet with one pod. Returns the pod when it runs."""
        made = pods.replicas(name, 1, pods.container("main", pods.native(memory)))
        made["spec"]["template"]["metadata"]["annotations"] = annotations
        self.create(made)
        return self.wait_owned(name)

    def job(self, name: str, memory: str, replacement: str) -> Json:
        """Creates a Job with one movable pod. Returns the pod when it runs. An eviction is neither
        a failure (by the rule for DisruptionTarget) nor a success (by its exit code)."""
        script = "trap 'exit 1' TERM; gpuhog 1GiB & wait"
        template = pods.pod(name, pods.container("main", pods.native(memory), script=script))
        self.api.json("POST", JOBS, {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "podReplacementPolicy": replacement,
                     "podFailurePolicy": {"rules": [
                         {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
                     "template": {"metadata": {"labels": {"app": name}, "annotations": MOVABLE},
                                  "spec": template["spec"] | {"restartPolicy": "Never"}}}})
        return self.wait_owned(name)

    def of(self, name: str) -> list[Json]:
        """The pods of a ReplicaSet or Job that are not terminating."""
        return [pod for pod in self.pods()
                if pod["metadata"].get("labels", {}).get("app") == name
                and "deletionTimestamp" not in pod["metadata"]]

    def wait_owned(self, name: str) -> Json:
        """Waits until a pod of the ReplicaSet or Job runs, and returns it."""
        def ready() -> Json | None:
            running = [pod for pod in self.of(name) if truth.is_running(pod)]
            return running[0] if running else None
        found: Json = self.cluster.wait_for(f"a pod of {name} runs", ready, SECONDS)
        return found

    def on_two_gpus(self, first: Callable[[], Json],
                     second: Callable[[], Json]) -> tuple[Json, Json]:
        """Creates two pods of 6 GiB, each on its own GPU. Other pods fill the GPUs meanwhile, so
        that the second pod goes to the other GPU."""
        self.running(pods.simple("fills", pods.native("10Gi")))
        made_first = first()
        self.running(pods.simple("fills-too", pods.native("9Gi")))
        self.delete("fills")
        self.wait_gone("fills")
        made_second = second()
        self.delete("fills-too")
        self.wait_gone("fills-too")
        self.assertNotEqual(truth.uuids(made_first), truth.uuids(made_second))
        return made_first, made_second

    def scatter(self, **annotations: dict[str, str]) -> dict[str, Json]:
        """Creates two ReplicaSets with these names and annotations, each with a pod on its own
        GPU. Returns the pods by name."""
        (first, of_first), (second, of_second) = annotations.items()
        made = self.on_two_gpus(lambda: self.owned(first, "6Gi", of_first),
                                 lambda: self.owned(second, "6Gi", of_second))
        return dict(zip((first, second), made, strict=True))

    def refused(self, *arguments: str) -> str:
        """What tessera defrag prints if there is no plan, or if it stops."""
        with self.assertRaises(CommandError) as caught:
            self.stack.tessera("defrag", *arguments)
        self.assertEqual(caught.exception.code, 4, str(caught.exception))
        return caught.exception.stdout + caught.exception.stderr

    def test_a_gpu_comes_free_for_a_pod_that_waits(self) -> None:
        made = self.scatter(first=MOVABLE, second=MOVABLE)
        self.create(pods.simple("whole", pods.native()))
        self.wait_event("whole", "asked a whole GPU")
        target = ("--for", "whole", "-n", "default")
        plan = json.loads(self.stack.tessera("defrag", "--plan", *target, "-o", "json"))
        self.assertEqual(len(plan["moves"]), 1, plan)
        self.assertTrue(plan["fewest"])
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods()} & {
            pod["metadata"]["uid"] for pod in made.values()}, {
            pod["metadata"]["uid"] for pod in made.values()}, "--plan evicts no pod")
        said = self.stack.tessera("defrag", "--apply", "--yes", *target, "--timeout", "25")
        self.assertIn("done: pod default/whole is on node node-a, 1 pod was evicted", said)
        whole = self.wait_running("whole")
        self.assert_shares(whole)
        first, second = (self.wait_owned(name) for name in ("first", "second"))
        self.assertEqual(truth.uuids(first), truth.uuids(second), "they share the other GPU")
        self.assertNotEqual(truth.uuids(first), truth.uuids(whole))
        ended = {pod["metadata"]["uid"] for pod in made.values()} - {
            pod["metadata"]["uid"] for pod in self.pods()}
        self.assertEqual(ended, {plan["moves"][0]["uid"]}, "only the planned pod is evicted")

    def test_it_frees_a_gpu_for_nobody(self) -> None:
        self.scatter(first=MOVABLE, second={})
        said = self.stack.tessera("defrag", "--apply", "--yes", "--timeout", "25")
        self.assertIn("done: 1 whole GPU is free, 1 pod was evicted", said)
        first, second = (self.wait_owned(name) for name in ("first", "second"))
        self.assertEqual(truth.uuids(first), truth.uuids(second))

    def test_the_pod_of_a_job_moves(self) -> None:
        """The Job creates the new pod after the old one is gone. It goes to the other GPU."""
        stays, before = self.on_two_gpus(lambda: self.owned("stays", "6Gi", {}),
                                          lambda: self.job("train", "6Gi", "Failed"))
        said = self.stack.tessera("defrag", "--apply", "--yes", "--timeout", "25")
        self.assertIn("done: 1 whole GPU is free, 1 pod was evicted", said)
        after = self.wait_owned("train")
        self.assertNotEqual(after["metadata"]["uid"], before["metadata"]["uid"])
        self.assertEqual(truth.uuids(after), truth.uuids(stays))
        self.assertEqual(self.api.json("GET", f"{JOBS}/train")["status"].get("failed", 0), 0)

    def test_who_may_not_be_moved_stays(self) -> None:
        """One pod has no annotation; a PodDisruptionBudget protects the other."""
        made = self.scatter(first={}, second=MOVABLE)
        self.api.json("POST", BUDGETS, {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "second"}}}})
        said = self.refused("--apply", "--yes")
        self.assertIn("no pod may be moved", said)
        self.assertIn("PodDisruptionBudget default/keep allows no disruption now", said)
        self.assertIn('no annotation tessera.dev/movable: "true"', said)
        for name, pod in made.items():
            self.assertEqual(self.wait_owned(name)["metadata"]["uid"], pod["metadata"]["uid"])
