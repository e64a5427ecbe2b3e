"""Copies of a pod that have its allocation: made by kubectl debug, or restored from a backup."""

from __future__ import annotations

import copy

from e2e import pods, truth
from e2e.case import StackCase
from e2e.truth import Json


class Copies(StackCase):
    """Runs on case.two_nodes."""

    def test_a_copy_on_the_same_node_is_refused_and_closes_no_node(self) -> None:
        """`kubectl debug --copy-to --keep-annotations --same-node` makes such a copy."""
        first, = self.running(pods.simple("first", pods.aliyun(8), node="node-a"))
        self.cluster.kubectl("debug", "first", "--copy-to=copy", "--keep-annotations",
                             "--same-node", "--set-image=*=" + self.image_of(first))
        self.wait_event("copy", "was made for pod uid", "create the pod again")
        self.assertEqual(truth.annotation(self.pod("copy"), truth.ALLOCATION),
                         truth.annotation(first, truth.ALLOCATION), "it is a copy")
        self.assert_open_for_others()

    def test_a_restored_pod_is_refused_with_its_node_and_placed_without(self) -> None:
        first, = self.running(pods.simple("first", pods.aliyun(8), node="node-a"))
        self.create(self.restored(first, "bound"))
        self.wait_event("bound", "was made for pod uid", "create the pod again")
        unbound = self.restored(first, "unbound")
        del unbound["spec"]["nodeName"]
        self.create(unbound)
        self.assert_shares(self.wait_running("unbound"))
        self.assertFalse(truth.is_running(self.pod("bound")))
        self.assert_open_for_others()

    # ---- steps

    def assert_open_for_others(self) -> None:
        """The controller still places pods on the node, and so does a restarted controller."""
        self.assert_shares(*self.running(pods.simple("next", pods.aliyun(2), node="node-a")))
        self.restart_controller()
        self.assert_shares(*self.running(pods.simple("after", pods.aliyun(2), node="node-a")))

    @staticmethod
    def image_of(pod: Json) -> str:
        """The image of its only container."""
        return str(pod["spec"]["containers"][0]["image"])

    @staticmethod
    def restored(pod: Json, name: str) -> Json:
        """The pod that a backup restores, with another name."""
        spec = copy.deepcopy(pod["spec"])
        return {"apiVersion": "v1", "kind": "Pod", "spec": spec,
                "metadata": {"name": name, "annotations": pod["metadata"]["annotations"]}}
