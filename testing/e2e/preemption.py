"""Preemption with the real scheduler: the evicted pods free memory on one GPU, and no pod is
evicted without success."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from e2e import pods, truth
from e2e.case import SECONDS, StackCase
from e2e.lifecycle import STUBBORN
from kube.api import Api, ApiError

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PREEMPTS = "PreemptLowerPriority"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
OUR_PATIENCE_SECONDS = 4.0  # UnschedulablePods::kPatience, twice


class Preemption(StackCase):
    """Runs on case.two_nodes; node-a has two GPUs of 15 GiB."""

    def test_victims_share_one_gpu(self) -> None:
        """Ten pods fill both GPUs. By node totals, any two of them free 6 GiB. kube-scheduler alone
        would evict the two that started last, which are on different GPUs."""
        make_classes(self.api)
        before = self.ended_by_us()
        low = [f"low-{i}" for i in range(10)]
        for name in (*low, "low-again"):
            if name == "low-again":
                self.delete("low-0")
                self.wait_gone("low-0")
            self.running(pods.simple(name, pods.aliyun(3), node="node-a",
                                     priorityClassName="low"))
        low = [*low[1:], "low-again"]
        gpus = {name: truth.uuids(self.pod(name))[0] for name in low}
        made, = self.running(pods.simple("high", pods.aliyun(6), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        evicted = self.evicted(low)
        self.assertEqual(len(evicted), 2, evicted)
        self.assertEqual(self.ended_by_us(), before,
                         "kube-scheduler called the extender, and evicted the pods itself")
        self.assertEqual({gpus[name] for name in evicted}, set(truth.uuids(made)))

    def test_nobody_ends_where_no_gpu_comes_free(self) -> None:
        """Each GPU has a pod of a high priority, so no eviction can free 15 GiB on a GPU."""
        make_classes(self.api)
        for gpu in ("one", "two"):
            self.running(
                pods.simple(f"stays-{gpu}", pods.aliyun(1), node="node-a", priorityClassName="high"),
                *(pods.simple(f"low-{gpu}-{i}", pods.aliyun(7), node="node-a",
                              priorityClassName="low") for i in range(2)))
        before = {pod["metadata"]["uid"] for pod in self.pods()}
        self.create(pods.simple("high", pods.aliyun(15), node="node-a", priorityClassName="high"))
        self.wait_event("high", "preemption")
        time.sleep(OUR_PATIENCE_SECONDS)
        after = {pod["metadata"]["uid"] for pod in self.pods()
                 if "deletionTimestamp" not in pod["metadata"]}
        self.assertEqual(after - {self.pod("high")["metadata"]["uid"]}, before)
        self.delete("high")
        self.cluster.wait_for("it is gone", lambda: len(self.pods()) == len(before), SECONDS)

    def test_freed_room_is_kept_for_whom_it_was_freed(self) -> None:
        """One of two victims is gone, and the other still has its share of the GPU. Another pod
        would fit into the freed memory, also by kube-scheduler's sums, but goes to the other
        GPU."""
        make_classes(self.api)
        ended = self.ended_by_us()
        slow = pods.pod("slow", pods.container("main", pods.aliyun(8), script=STUBBORN),
                        node="node-a", priorityClassName="low", terminationGracePeriodSeconds=10)
        first, _ = (*self.running(slow), *self.running(
            pods.simple("quick", pods.aliyun(7), node="node-a", priorityClassName="low")))
        stays, = self.running(pods.simple("stays", pods.aliyun(3), node="node-a",
                                          priorityClassName="high"))
        self.assertNotEqual(truth.uuids(first), truth.uuids(stays))
        self.create(pods.simple("high", pods.aliyun(15), node="node-a", priorityClassName="high"))
        self.cluster.wait_for(
            "kube-scheduler nominates the node",
            lambda: self.pod("high")["status"].get("nominatedNodeName") == "node-a", SECONDS)
        self.wait_gone("quick")
        later, = self.running(pods.simple("later", pods.aliyun(4), node="node-a",
                                          priorityClassName="low"))
        self.assertEqual(truth.uuids(later), truth.uuids(stays))
        self.assertIn("deletionTimestamp", self.pod("slow")["metadata"], "it was too fast")
        self.assertEqual(truth.uuids(self.wait_running("high")), truth.uuids(first))
        self.assertNotIn("deletionTimestamp", self.pod("later")["metadata"])
        self.assertEqual(self.ended_by_us(), ended)

    def test_kube_scheduler_sees_no_lack(self) -> None:
        """kube-scheduler ignores tessera.dev/gpu-memory, so by its sums the pod fits without an
        eviction. Tessera evicts the pods."""
        make_classes(self.api)
        low = {name: truth.uuids(self.running(
            pods.simple(name, pods.native("7Gi"), node="node-a", priorityClassName="low"))[0])
            for name in ("low-0", "low-1", "low-2", "low-3")}
        made, = self.running(pods.simple("high", pods.native("10Gi"), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        self.wait_event("high", "asked 10Gi", "largest free share on a GPU is 1Gi")
        gone = self.evicted(low)
        self.assertEqual(gone, {n for n in low if low[n] == truth.uuids(made)})
        for name in gone:
            self.wait_event(name, "Preempted by pod default/high")

    def test_victims_that_are_made_again(self) -> None:
        """A ReplicaSet replaces each victim at once. No replacement gets the freed memory, and only
        the pods on one GPU are evicted."""
        make_classes(self.api)
        low = pods.replicas("low", 14, pods.container("main", pods.native("2Gi")))
        low["spec"]["template"]["spec"].update(
            priorityClassName="low", nodeSelector={pods.NODE_LABEL: "node-a"},
            terminationGracePeriodSeconds=1)
        self.create(low)
        self.cluster.wait_for("14 pods run", lambda: sum(map(truth.is_running, self.pods())) == 14,
                              2 * SECONDS)
        before = self.ended_by_us()
        made, = self.running(pods.simple("high", pods.native(), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        # An eviction whose answer comes too late is carried out and not counted.
        self.assertLessEqual(self.ended_by_us() - before, 7)
        running = [pod for pod in self.pods() if truth.is_running(pod)]
        self.assertEqual(len(running), 8, "seven on the other GPU, and the high one")

    def test_whole_gpu_and_budget(self) -> None:
        """A pod requests a whole GPU. The pod that is alone on a GPU would be the cheapest victim,
        but a PodDisruptionBudget protects it. A pod that must not preempt evicts no pod."""
        make_classes(self.api)
        guarded = pods.simple("guarded", pods.native("8Gi"), node="node-a", priorityClassName="low")
        guarded["metadata"]["labels"] = {"app": "guarded"}
        low = {"guarded": truth.uuids(self.running(guarded)[0])}
        for name in ("low-0", "low-1"):
            pod, = self.running(pods.simple(name, pods.native("7.5Gi"), node="node-a",
                                            priorityClassName="low"))
            low[name] = truth.uuids(pod)
        self.assertEqual(low["low-0"], low["low-1"])
        self.assertNotEqual(low["guarded"], low["low-0"])
        self.api.json("POST", BUDGETS, {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "guarded"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})
        self.addCleanup(self.api.json, "DELETE", f"{BUDGETS}/guarded")
        self.create(pods.simple("patient", pods.native(), node="node-a",
                                priorityClassName="patient"))
        self.wait_event("patient", "asked a whole GPU")
        time.sleep(OUR_PATIENCE_SECONDS)
        self.assertEqual(self.evicted(low), set())
        made, = self.running(pods.simple("high", pods.native(), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        self.assertEqual(self.evicted(low), {"low-0", "low-1"})
        self.assertEqual(truth.uuids(made), low["low-0"])

    def ended_by_us(self) -> int:
        """The number of pods that the controller evicted, without those that kube-scheduler
        evicted."""
        number, = re.findall(r"^tessera_preempted_pods_total (\d+)$",
                             self.controller_get("/metrics"), re.M)
        return int(number)

    def evicted(self, names: Iterable[str]) -> set[str]:
        """The pods of `names` that are gone or terminating."""
        left = {pod["metadata"]["name"] for pod in self.pods()
                if "deletionTimestamp" not in pod["metadata"]}
        return set(names) - left


def make_classes(api: Api) -> None:
    """Creates the PriorityClasses, if they do not exist. A pod of the class patient never
    preempts."""
    for name, value, policy in (("low", 1, PREEMPTS), ("high", 1000, PREEMPTS),
                                ("patient", 1000, "Never")):
        try:
            api.json("POST", CLASSES, {
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        except ApiError as error:
            if error.code != 409:
                raise
