"""Container starts: a pod that Tessera did not place does not start, and a tenant cannot enlarge
its own share."""

from __future__ import annotations

import json

from e2e import pods, truth
from e2e.case import PODS, SECONDS, StackCase
from kube.api import ApiError

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
# Lists the driver's libraries, and runs on without a driver.
WITHOUT_GPU = "ls /usr/lib/x86_64-linux-gnu; echo memory: free; exec sleep 1000"


class Gate(StackCase):
    """Runs on case.two_nodes."""

    def test_a_pod_that_bypassed_the_scheduler_does_not_start(self) -> None:
        self.create(pods.simple("bypass", pods.aliyun(1), nodeName="node-a"),
                    pods.simple("bypass-native", pods.native("1Gi"), nodeName="node-a"))
        for name in ("bypass", "bypass-native"):
            self.wait_event(name, "was not placed by Tessera", "tessera.dev/allocation",
                            "or spec.nodeName was set", "delete the pod")
            self.assert_never_started(name)
        self.assertEqual(sum(self.allocated().values()), 0)

    def test_a_copied_annotation_opens_nothing(self) -> None:
        owner, = self.running(pods.simple("owner", pods.aliyun(3), node="node-a"))
        stolen = {key: truth.annotation(owner, key)
                  for key in (truth.ALLOCATION, truth.ALLOCATION_MAC)}
        self.create(pods.simple("thief", pods.aliyun(3), nodeName="node-a"))
        self.wait_event("thief", "was not placed by Tessera")
        self.delete("thief", grace=0)
        self.wait_gone("thief")
        self.create({**pods.simple("copycat", pods.aliyun(3), nodeName="node-a"),
                     "metadata": {"name": "copycat", "annotations": stolen}})
        self.wait_event("copycat", "tessera.dev/allocation was made for pod uid "
                        + owner["metadata"]["uid"], "remove it from the pod's manifest")
        self.assert_never_started("copycat")
        self.assertEqual(sum(self.allocated().values()), 3, "nothing is allocated to the copy")

    def test_an_annotation_written_by_hand_opens_nothing(self) -> None:
        """A pod without limits does not reach the extender. A scheduling gate gives its owner time
        to read the uid and to write a valid allocation, which the admission policy refuses."""
        made, = self.create(pods.pod("by-hand", pods.container("main", script=WITHOUT_GPU),
                                     node="node-a", schedulingGates=[{"name": "example.com/wait"}]))
        forged = truth.allocation_text(made, self.gpus("node-a")[0], 1 << 30)
        with self.assertRaisesRegex(ApiError, "only Tessera writes it"):
            self.api.json("PATCH", f"{PODS}/by-hand",
                          {"metadata": {"annotations": {truth.ALLOCATION: forged}}},
                          "application/merge-patch+json")
        self.api.json("PATCH", f"{PODS}/by-hand", {"spec": {"schedulingGates": None}},
                      "application/merge-patch+json")
        self.wait_running("by-hand")
        self.assertNotIn("libcuda", self.log("by-hand").text)

    def test_a_record_that_lost_the_pod_is_written_again(self) -> None:
        """kubelet has two writers of its checkpoint, which may leave the older state in the file.
        The container could then not start. Here the test restores the older state."""
        self.running(pods.simple("before", pods.aliyun(1), node="node-a"))
        self.cluster.nsenter("node-a", "cp", CHECKPOINT, f"{CHECKPOINT}.old")
        wait = pods.container("wait", script="sleep 4")
        self.create(pods.pod("lost", pods.container("main", pods.aliyun(1)), init=[wait],
                             node="node-a"))
        self.cluster.wait_for("its first container runs", lambda: any(
            "running" in status["state"]
            for status in self.pod("lost")["status"].get("initContainerStatuses", [])), SECONDS)
        self.cluster.nsenter("node-a", "mv", f"{CHECKPOINT}.old", CHECKPOINT)
        self.wait_event("lost", "kubelet's checkpoint does not name the container",
                        "tries again by itself")
        self.assert_shares(self.wait_running("lost"))

    def test_an_annotation_of_the_tenant_is_overwritten(self) -> None:
        """A forged annotation on a pod that Tessera places: the Binding replaces it."""
        far = self.gpus("node-b")[1].uuid
        forged = {"version": 1, "pod": "x", "node": "node-a", "dialect": "gpushare", "containers": [
            {"name": "main", "kind": "app",
             "gpus": [{"uuid": far, "index": 1, "memory": 24 << 30, "cores": 0}]}]}
        made, = self.running(pods.simple("forger", pods.aliyun(1), node="node-a", annotations={
            truth.ALLOCATION: json.dumps(forged), "ALIYUN_COM_GPU_MEM_IDX": "7",
            truth.ENFORCED_BY: "exclusive"}))
        self.assert_shares(made)
        self.assertEqual(self.gpu_of(truth.uuids(made)[0]).node, "node-a")
        self.assertEqual(self.log("forger").env["ALIYUN_COM_GPU_MEM_IDX"],
                         truth.annotation(made, "ALIYUN_COM_GPU_MEM_IDX"))
        self.assertEqual(truth.annotation(made, truth.ENFORCED_BY), "none")

    def test_visible_devices_of_the_pod_widen_nothing(self) -> None:
        everything = ",".join(gpu.uuid for gpu in self.gpus("node-a"))
        forged_values = {"all": ["all"], "list": [everything], "index": ["0,1"], "void": ["void"],
                  "twice": ["all", everything]}
        made = self.running(*(
            pods.simple(f"request-{name}", pods.aliyun(1), node="node-a",
                        env=[{"name": VISIBLE, "value": value} for value in values])
            for name, values in forged_values.items()))
        for pod in made:
            self.assert_shares(pod)

    def test_visible_devices_bring_no_gpu_without_a_request(self) -> None:
        self.running(pods.pod("request-only", pods.container(
            "main", script=WITHOUT_GPU, env=[{"name": VISIBLE, "value": "all"}]), nodeName="node-a"))
        self.assertNotIn("libcuda", self.log("request-only").text)
