"""Preemption through the real scheduler: who is evicted makes room on one card, and nobody is evicted
in vain."""

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
OUR_PATIENCE_SECONDS = 4.0  # RefusedPods::kPatience, twice


class Preemption(StackCase):
    """Runs on case.two_nodes; node-a has two cards of 15 GiB."""

    def test_victims_share_one_card(self) -> None:
        """Ten pods fill both cards. In sum any two of them would do for 6 GiB; kube-scheduler would
        take those that started last, which are on different cards."""
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
        cards = {name: truth.uuids(self.pod(name))[0] for name in low}
        made, = self.running(pods.simple("high", pods.aliyun(6), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        evicted = self.evicted(low)
        self.assertEqual(len(evicted), 2, evicted)
        self.assertEqual(self.ended_by_us(), before, "kube-scheduler asked us, and ended them itself")
        self.assertEqual({cards[name] for name in evicted}, set(truth.uuids(made)))

    def test_nobody_ends_where_no_card_comes_free(self) -> None:
        """Each card has a pod that must stay, so none has 15 GiB, whoever ends."""
        make_classes(self.api)
        for card in ("one", "two"):
            self.running(
                pods.simple(f"stays-{card}", pods.aliyun(1), node="node-a", priorityClassName="high"),
                *(pods.simple(f"low-{card}-{i}", pods.aliyun(7), node="node-a",
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
        """One of two victims is gone, the other still holds its part of the card. A pod that fits
        into what is free already, also by kube-scheduler's sums, goes to the other card."""
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
            "kube-scheduler names the node of which room is made",
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
        """It ignores tessera.dev/gpu-memory, so by its sums the pod fits beside all others."""
        make_classes(self.api)
        low = {name: truth.uuids(self.running(
            pods.simple(name, pods.native("7Gi"), node="node-a", priorityClassName="low"))[0])
            for name in ("low-0", "low-1", "low-2", "low-3")}
        made, = self.running(pods.simple("high", pods.native("10Gi"), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        self.wait_event("high", "asked 10Gi", "largest free share on a card is 1Gi")
        gone = self.evicted(low)
        self.assertEqual(gone, {n for n in low if low[n] == truth.uuids(made)})
        for name in gone:
            self.wait_event(name, "Preempted by pod default/high")

    def test_victims_that_are_made_again(self) -> None:
        """A ReplicaSet makes another of each victim at once; none of them gets the room, and nobody
        ends but who was on the card."""
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
        self.assertEqual(self.ended_by_us() - before, 7)
        running = [pod for pod in self.pods() if truth.is_running(pod)]
        self.assertEqual(len(running), 8, "seven on the other card, and the high one")

    def test_whole_card_and_budget(self) -> None:
        """A whole card: who holds one alone would be the cheapest, but his budget keeps him. Nobody
        ends for a pod that must not preempt."""
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
        self.wait_event("patient", "asked a whole card")
        time.sleep(OUR_PATIENCE_SECONDS)
        self.assertEqual(self.evicted(low), set())
        made, = self.running(pods.simple("high", pods.native(), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        self.assertEqual(self.evicted(low), {"low-0", "low-1"})
        self.assertEqual(truth.uuids(made), low["low-0"])

    def ended_by_us(self) -> int:
        """Pods that the controller evicted, not kube-scheduler."""
        return int(re.search(r"^tessera_preempted_pods_total (\d+)$",
                             self.controller_get("/metrics"), re.M)[1])

    def evicted(self, names: Iterable[str]) -> set[str]:
        """Those that are gone, or about to be."""
        left = {pod["metadata"]["name"] for pod in self.pods()
                if "deletionTimestamp" not in pod["metadata"]}
        return set(names) - left


def make_classes(api: Api) -> None:
    """The PriorityClasses, once for all tests of a cluster; a patient pod preempts nobody."""
    for name, value, policy in (("low", 1, PREEMPTS), ("high", 1000, PREEMPTS),
                                ("patient", 1000, "Never")):
        try:
            api.json("POST", CLASSES, {
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        except ApiError as error:
            if error.code != 409:
                raise
