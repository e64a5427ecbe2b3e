"""Preemption through the real scheduler: who is evicted makes room on one card, and nobody is evicted
in vain."""

from __future__ import annotations

from e2e import pods, truth
from e2e.case import SECONDS, StackCase
from e2e.lifecycle import STUBBORN
from kube.api import ApiError

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Preemption(StackCase):
    """Runs on case.two_nodes; node-a has two cards of 15 GiB."""

    def test_victims_share_one_card(self) -> None:
        """Ten pods fill both cards. In sum any two of them would do for 6 GiB; kube-scheduler would
        take those that started last, which are on different cards."""
        self.make_classes()
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
        left = {pod["metadata"]["name"] for pod in self.pods()
                if "deletionTimestamp" not in pod["metadata"]}
        evicted = [name for name in low if name not in left]
        self.assertEqual(len(evicted), 2, evicted)
        self.assertEqual({cards[name] for name in evicted}, set(truth.uuids(made)))

    def test_nobody_ends_where_no_card_comes_free(self) -> None:
        """Each card has a pod that must stay, so none has 15 GiB, whoever ends."""
        self.make_classes()
        for card in ("one", "two"):
            self.running(
                pods.simple(f"stays-{card}", pods.aliyun(1), node="node-a", priorityClassName="high"),
                *(pods.simple(f"low-{card}-{i}", pods.aliyun(7), node="node-a",
                              priorityClassName="low") for i in range(2)))
        before = {pod["metadata"]["uid"] for pod in self.pods()}
        self.create(pods.simple("high", pods.aliyun(15), node="node-a", priorityClassName="high"))
        self.wait_event("high", "preemption")
        after = {pod["metadata"]["uid"] for pod in self.pods()
                 if "deletionTimestamp" not in pod["metadata"]}
        self.assertEqual(after - {self.pod("high")["metadata"]["uid"]}, before)
        self.delete("high")
        self.cluster.wait_for("it is gone", lambda: len(self.pods()) == len(before), SECONDS)

    def test_freed_room_is_kept_for_whom_it_was_freed(self) -> None:
        """One of two victims is gone, the other still holds its part of the card. A pod that fits
        into what is free already, also by kube-scheduler's sums, goes to the other card."""
        self.make_classes()
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

    def make_classes(self) -> None:
        """Once for all tests."""
        for name, value in (("low", 1), ("high", 1000)):
            try:
                self.api.json("POST", CLASSES, {
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": name}, "value": value})
            except ApiError as error:
                self.assertEqual(error.code, 409, error)
