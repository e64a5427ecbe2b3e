"""tessera defrag on the real Kubernetes: a card comes free for a pod that waits for a whole one."""

from __future__ import annotations

import json

from e2e import case, pods, truth
from e2e.case import SECONDS, StackCase
from e2e.truth import Json
from kube.errors import CommandError
from stack.gpu_node import GpuNode

MOVABLE = {"tessera.dev/movable": "true"}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


class DefragTest(StackCase):
    """One node with two cards of 15 GiB."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return case.two_nodes(nri=True)[:1]

    def tearDown(self) -> None:
        self.api.json("DELETE", BUDGETS)
        super().tearDown()

    def owned(self, name: str, memory: str, annotations: dict[str, str]) -> Json:
        """The only pod of a new ReplicaSet, once it runs."""
        made = pods.replicas(name, 1, pods.container("main", pods.native(memory)))
        made["spec"]["template"]["metadata"]["annotations"] = annotations
        self.create(made)
        return self.wait_owned(name)

    def of(self, name: str) -> list[Json]:
        """The pods of a ReplicaSet that are not ending."""
        return [pod for pod in self.pods()
                if pod["metadata"].get("labels", {}).get("app") == name
                and "deletionTimestamp" not in pod["metadata"]]

    def wait_owned(self, name: str) -> Json:
        """The pod of a ReplicaSet of one, once it runs."""
        def ready() -> Json | None:
            running = [pod for pod in self.of(name) if truth.is_running(pod)]
            return running[0] if running else None
        found: Json = self.cluster.wait_for(f"a pod of {name} runs", ready, SECONDS)
        return found

    def scatter(self, **annotations: dict[str, str]) -> dict[str, Json]:
        """A pod of 6 GiB on each card, of ReplicaSets with these names and annotations. Others fill
        the cards meanwhile, so that the second goes where the first is not."""
        (first, of_first), (second, of_second) = annotations.items()
        self.running(pods.simple("fills", pods.native("10Gi")))
        made = {first: self.owned(first, "6Gi", of_first)}
        self.running(pods.simple("fills-too", pods.native("9Gi")))
        self.delete("fills")
        self.wait_gone("fills")
        made[second] = self.owned(second, "6Gi", of_second)
        self.delete("fills-too")
        self.wait_gone("fills-too")
        self.assertEqual(len({truth.uuids(pod)[0] for pod in made.values()}), 2)
        return made

    def refused(self, *arguments: str) -> str:
        """What it prints where there is no plan, or it stops."""
        with self.assertRaises(CommandError) as caught:
            self.stack.tessera("defrag", *arguments)
        self.assertEqual(caught.exception.code, 4, str(caught.exception))
        return caught.exception.stdout + caught.exception.stderr

    def test_a_card_comes_free_for_a_pod_that_waits(self) -> None:
        made = self.scatter(first=MOVABLE, second=MOVABLE)
        self.create(pods.simple("whole", pods.native()))
        self.wait_event("whole", "asked a whole card")
        target = ("--for", "whole", "-n", "default")
        plan = json.loads(self.stack.tessera("defrag", "--plan", *target, "-o", "json"))
        self.assertEqual(len(plan["moves"]), 1, plan)
        self.assertTrue(plan["fewest"])
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods()} & {
            pod["metadata"]["uid"] for pod in made.values()}, {
            pod["metadata"]["uid"] for pod in made.values()}, "a plan ends nobody")
        said = self.stack.tessera("defrag", "--apply", "--yes", *target, "--timeout", "25")
        self.assertIn("done: pod default/whole is on node node-a, 1 pod was evicted", said)
        whole = self.wait_running("whole")
        self.assert_shares(whole)
        first, second = (self.wait_owned(name) for name in ("first", "second"))
        self.assertEqual(truth.uuids(first), truth.uuids(second), "they share the other card")
        self.assertNotEqual(truth.uuids(first), truth.uuids(whole))
        ended = {pod["metadata"]["uid"] for pod in made.values()} - {
            pod["metadata"]["uid"] for pod in self.pods()}
        self.assertEqual(ended, {plan["moves"][0]["uid"]}, "one pod ended, the planned one")

    def test_it_frees_a_card_for_nobody(self) -> None:
        self.scatter(first=MOVABLE, second={})
        said = self.stack.tessera("defrag", "--apply", "--yes", "--timeout", "25")
        self.assertIn("done: 1 whole card is free, 1 pod was evicted", said)
        first, second = (self.wait_owned(name) for name in ("first", "second"))
        self.assertEqual(truth.uuids(first), truth.uuids(second))

    def test_who_may_not_be_moved_stays(self) -> None:
        """No annotation, and a budget that allows nothing."""
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
