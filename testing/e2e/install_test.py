"""The Helm chart as it is shipped: install, use, failover, upgrade, rollback, uninstall and install
again, on a real cluster with Services and a registry."""

from __future__ import annotations

import json
import time
import unittest

from e2e.case import GPUS, PODS
from e2e.chart_case import MEMORY, ChartCase, pod_of
from kube.api import ApiError
from kube.errors import CommandError
from stack import deploy
from stack.chart import NAMESPACE, SCHEDULER, ChartStack
from stack.gpu_node import GpuNode

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"


class InstallTest(ChartCase):
    """The tests share a cluster on which the chart is installed. Each leaves it installed."""

    # ---- tools

    def leader(self, lease: str) -> str:
        """The pod that holds a Lease; empty if none does."""
        spec = self.api.json("GET", f"{LEASES}/{lease}").get("spec") or {}
        return str(spec.get("holderIdentity", "")).partition("_")[0]

    def wait_led(self) -> str:
        """Waits until the kube-scheduler and the controller of one pod lead; returns the pod."""
        def same() -> str:
            leaders = {self.leader(SCHEDULER), self.leader("tessera-controller")}
            return leaders.pop() if len(leaders) == 1 else ""
        found: str = self.cluster.wait_for("the kube-scheduler and controller of one pod lead",
                                           same, 40)
        return found

    def kill(self, pod: str) -> None:
        """Kills both programs of a controller's pod at the same time."""
        found = self.api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}")
        node, uid = found["spec"]["nodeName"], found["metadata"]["uid"]
        script = (f'kill -9 $(grep -l "pod{uid}" /proc/[0-9]*/cgroup | cut -d/ -f3 |'
                  ' while read p; do grep -q -e tessera-controller -e kube-scheduler'
                  ' /proc/$p/cmdline && echo $p; done)')
        self.cluster.nsenter(node, "sh", "-c", script)

    # ---- tests

    def test_a_pod_that_asks_for_memory_alone_gets_an_enforced_share(self) -> None:
        created = self.create(self.pod("share", MEMORY, script="sleep 1000"))
        self.assertEqual(created["spec"]["schedulerName"], SCHEDULER)
        self.assertEqual(created["spec"]["containers"][0]["resources"]["limits"],
                         {**MEMORY, "tessera.dev/gpu-share": "1"})
        pod, = self.running("share")
        self.assertEqual(pod["metadata"]["annotations"]["tessera.dev/enforced-by"], "guard")
        self.assertIn("allocated", self.in_pod("share", "gpuhog --once 1024MiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("share", "gpuhog --once 1025MiB"))

    def test_doctor_finds_no_fault(self) -> None:
        self.create(self.pod("share", MEMORY))
        self.running("share")
        found = self.tessera("doctor")
        self.assertEqual([line for line in found.splitlines() if not line.startswith("ok ")], [])

    def test_a_copied_pod_is_placed_as_a_new_one(self) -> None:
        self.create(self.pod("first", MEMORY))
        first, = self.running("first")
        copy = self.pod("second", MEMORY)
        copy["metadata"]["annotations"] = dict(first["metadata"]["annotations"])
        created = self.create(copy)
        self.assertEqual(created["metadata"].get("annotations", {}), {})
        self.running("second")

    def test_a_scheduler_that_the_user_chose_stays(self) -> None:
        created = self.create(self.pod("other", MEMORY, schedulerName="another-scheduler"))
        self.assertEqual(created["spec"]["schedulerName"], "another-scheduler")

    def test_without_controllers_only_pods_with_gpus_are_refused(self) -> None:
        self.cluster.kubectl("-n", NAMESPACE, "scale", "deployment/tessera-controller", "--replicas=0")
        self.cluster.kubectl("-n", NAMESPACE, "wait", "--for=delete", "pod", "--timeout=120s",
                             "-l", "app.kubernetes.io/component=controller")
        try:
            with self.assertRaisesRegex(ApiError, "pods.tessera.dev"):
                self.create(self.pod("share", MEMORY))
            self.create(self.pod("plain", script="sleep 1000"))
            self.running("plain")
        finally:
            self.cluster.kubectl("-n", NAMESPACE, "scale", "deployment/tessera-controller",
                                 "--replicas=2")
            self.cluster.kubectl("-n", NAMESPACE, "rollout", "status", "--timeout=300s",
                                 "deployment/tessera-controller")
        self.create(self.pod("share", MEMORY))
        self.running("share")

    def test_failover_of_the_leading_pod(self) -> None:
        """Both programs of the leading pod are killed, twice, while pods arrive: none is lost, and
        no GPU is over capacity."""
        names = []
        for round_ in range(2):
            self.kill(self.wait_led())
            for number in range(8):
                names.append(f"pod-{round_}-{number}")
                self.cluster.wait_for("the pod is created",
                                      lambda: self.create(self.pod(names[-1], MEMORY)), 30)
                time.sleep(0.5)
            self.running(*names)
        self.wait_led()
        used: dict[str, int] = {}
        for pod in self.running(*names):
            allocation = json.loads(pod["metadata"]["annotations"]["tessera.dev/allocation"])
            for gpu in allocation["containers"][0]["gpus"]:
                used[gpu["uuid"]] = used.get(gpu["uuid"], 0) + gpu["memory"]
        self.assertEqual(sum(used.values()), len(names) << 30)
        self.assertLessEqual(max(used.values()), 24 << 30, used)

    def test_upgrade_and_rollback(self) -> None:
        """Running pods stay as they are, and pods are placed all the time afterwards."""
        self.create(self.pod("stays", MEMORY))
        before, = self.running("stays")
        self.stack.upgrade("controller.policy=spread", "agent.slotsPerGpu=32")
        self.create(self.pod("after-upgrade", MEMORY))
        self.running("after-upgrade")
        self.stack.helm("rollback", "tessera", "--wait", "--timeout=600s")
        self.create(self.pod("after-rollback", MEMORY))
        after = self.running("stays", "after-upgrade", "after-rollback")[0]
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        self.assertEqual([status["restartCount"] for status in after["status"]["containerStatuses"]],
                         [0])

    def test_uninstall_leaves_the_key_and_a_new_installation_accepts_running_pods(self) -> None:
        self.create(self.pod("stays", MEMORY))
        before, = self.running("stays")
        self.uninstall()
        self.running("stays")
        self.stack.install()
        self.create(self.pod("new", MEMORY))
        after, _ = self.running("stays", "new")
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        self.assertEqual(after["status"]["containerStatuses"][0]["restartCount"], 0)
        # The pod's memory is still counted: the GPU that it is on has no room for 15 GiB more.
        gpu = json.loads(before["metadata"]["annotations"]["tessera.dev/allocation"])
        uuid = gpu["containers"][0]["gpus"][0]["uuid"]
        too_large = self.pod("too-large", {"tessera.dev/gpu-memory": "24Gi"})
        too_large["metadata"]["annotations"] = {"tessera.dev/gpu-uuids": uuid}
        self.create(too_large)

        def is_refused() -> bool:
            return "too-large" in self.cluster.kubectl(
                "get", "events", "--field-selector", "reason=FailedScheduling")
        self.cluster.wait_for("the pod that does not fit waits", is_refused, 30)

    def test_wrong_values_are_refused_with_the_fix(self) -> None:
        for value, message in (("mode=both", "'scheduler', 'extender'"),
                               ("agent.slotsPerGpu=many", "/agent/slotsPerGpu"),
                               ("nonsense=1", "additional properties 'nonsense' not allowed"),
                               ("image.registry=", "image.registry: missing; set it to")):
            with self.assertRaises(CommandError) as refused:
                self.stack.upgrade(value)
            self.assertIn(message, str(refused.exception))


class ExtenderModeTest(unittest.TestCase):
    """mode: extender, with the shipped configuration for the cluster's own kube-scheduler. The
    control-plane node has the label as k3s gives it."""

    def test_a_share_runs_and_the_dialect_of_gpushare_too(self) -> None:
        stack = ChartStack([GpuNode("node-a", GPUS / "two-15gib.yaml")])
        stack.cluster.scheduler_config = deploy.scheduler_config(int(deploy.SHIPPED_PORT))
        with stack:
            stack.cluster.kubectl("label", "node", "node-a",
                                  "node-role.kubernetes.io/control-plane=true")
            stack.install("mode=extender")
            api = stack.cluster.api()
            for name, limits in (("native", MEMORY), ("gpushare", {"aliyun.com/gpu-mem": "3"})):
                created = api.json("POST", PODS, pod_of(stack, name, limits))
                self.assertEqual(created["spec"]["schedulerName"], "default-scheduler")
            stack.cluster.kubectl("wait", "--for=condition=Ready", "pod", "native", "gpushare",
                                  "--timeout=120s")
