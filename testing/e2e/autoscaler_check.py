"""Which pods add nodes, and which do not, as docs/install/autoscaling.md says. `./dev check
autoscaler` runs it.

Karpenter itself runs beside Tessera; only its instances are simulated. Cluster Autoscaler does not:
its Go module cannot be downloaded. Its first question is whether kube-scheduler's own filters put a
pending pod on a node that exists. If so, it adds no node. The cluster's own kube-scheduler, which
does not ask Tessera, answers this question: `fits_the_sums`.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import yaml

from e2e import console_block
from e2e.case import GPUS, PODS
from e2e.chart_case import ChartClusterCase, Json, pod_of
from kube import karpenter
from stack import builds
from stack.gpu_node import GpuNode

PAGE = builds.ROOT / "docs" / "install" / "autoscaling.md"
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
INSTANCE_TYPE = "gpu.2x15"
MEMORY = "tessera.dev/gpu-memory"
POOL = "tessera"
TAINT = {"key": "tessera.dev/agent-not-ready", "effect": "NoSchedule"}
SECONDS = 60.0


class AutoscalerTest(ChartClusterCase):
    """Two nodes with two GPUs of 15 GiB each, and Karpenter with instances of the same kind. Each
    test begins without pods and without Karpenter's nodes."""

    amounts: ClassVar[dict[str, str]]  # of Tessera's resources on a node
    overlay: ClassVar[Json]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode(name, GPUS / "two-15gib.yaml") for name in ("node-a", "node-b")]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.addClassCleanup(cls.cluster.save_logs)
        cls.stack.install()
        cls.amounts = cls.cluster.wait_for("node-a shows its GPUs", cls.shown_amounts, SECONDS)
        karpenter.start(cls.cluster, {INSTANCE_TYPE: {"cpu": "8", "memory": "32Gi"}})
        cls.overlay, pool = yaml.safe_load_all(console_block.yaml_block(PAGE, "Karpenter"))
        cls.overlay["spec"]["capacity"] = cls.amounts
        pool["spec"]["template"]["spec"]["nodeClassRef"] = karpenter.NODE_CLASS
        for requirements in (cls.overlay["spec"]["requirements"],
                             pool["spec"]["template"]["spec"]["requirements"]):
            requirements[0]["values"] = [INSTANCE_TYPE]
        cls.apply(pool)

    @classmethod
    def shown_amounts(cls) -> dict[str, str]:
        """Tessera's amounts of node-a; empty if it does not show them all."""
        shown = cls.api.json("GET", "/api/v1/nodes/node-a")["status"]["allocatable"]
        found = {name: amount for name, amount in shown.items()
                 if name.startswith("tessera.dev/") and amount != "0"}
        return found if len(found) == 4 else {}

    @classmethod
    def apply(cls, thing: Json) -> None:
        cls.cluster.kubectl("apply", "-f", "-", input=json.dumps(thing))

    def setUp(self) -> None:
        self.apply(self.overlay)

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "deployments", "--all", "--wait=true")
        self.cluster.kubectl("delete", "pods", "--all", "--now", "--wait=true")
        self.cluster.kubectl("delete", "nodeclaims", "--all", "--wait=true", "--timeout=60s")

    # ---- tools

    def create(self, name: str, limits: Json, **spec: object) -> Json:
        pod = pod_of(self.stack, name, limits, "exec sleep 1000", **spec)
        created: Json = self.api.json("POST", PODS, pod)
        return created

    def fill(self, node: str) -> None:
        """Places 8 GiB on each of the two GPUs of a node: 14 GiB are left in sum, and 7 on each."""
        names = [f"{node}-{number}" for number in (1, 2)]
        for name in names:
            self.create(name, {MEMORY: "8Gi"}, nodeSelector={"kubernetes.io/hostname": node})
        self.wait_running(*names)

    def wait_running(self, *names: str) -> None:
        def all_run() -> bool:
            return all(self.api.json("GET", f"{PODS}/{name}")["status"]["phase"] == "Running"
                       for name in names)
        self.cluster.wait_for(f"{', '.join(names)} run", all_run, SECONDS)

    def wait_refused(self, name: str) -> None:
        """Waits until Tessera's kube-scheduler has refused the pod."""
        self.cluster.wait_for(f"{name} waits", lambda: is_refused(
            self.api.json("GET", f"{PODS}/{name}")), SECONDS)

    def wait_message(self, name: str, part: str) -> str:
        """Waits for an event of Karpenter about the pod that has this text. Returns the text."""
        def message() -> str:
            events = self.api.json("GET", "/api/v1/namespaces/default/events")["items"]
            return next((event["message"] for event in events
                         if event["involvedObject"].get("name") == name
                         and event.get("reportingComponent") == "karpenter"
                         and part in event["message"]), "")
        found: str = self.cluster.wait_for(f"Karpenter's event about {name}", message, SECONDS)
        return found

    def wait_log(self, text: str) -> None:
        """Waits until Karpenter has logged this text."""
        self.cluster.wait_for(f"Karpenter logs: {text}",
                              lambda: text in self.cluster.logs("karpenter"), SECONDS)

    def node_claims(self) -> list[Json]:
        found: list[Json] = self.api.json("GET", NODE_CLAIMS)["items"]
        return found

    def wait_node_claim(self) -> Json:
        """Waits until Karpenter has added a node. Returns its NodeClaim."""
        claim, = self.cluster.wait_for("Karpenter adds a node", self.node_claims, SECONDS)
        return dict(claim)

    def fits_the_sums(self, pod: Json, **spec: object) -> bool:
        """Whether the cluster's own kube-scheduler puts a copy of this pod on a node. The webhook
        leaves kube-system alone. spec: more fields of the copy."""
        containers = [{"name": container["name"], "image": container["image"],
                       "resources": container["resources"]}
                      for container in pod["spec"]["containers"]]
        copy = self.api.json("POST", SYSTEM_PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "copy"},
            "spec": {"containers": containers, "terminationGracePeriodSeconds": 0, **spec}})
        self.assertEqual(copy["spec"]["schedulerName"], "default-scheduler")

        def decided() -> Json | None:
            now: Json = self.api.json("GET", f"{SYSTEM_PODS}/copy")
            return now if now["spec"].get("nodeName") or is_refused(now) else None
        try:
            found = self.cluster.wait_for("kube-scheduler decides", decided, SECONDS)
            return "nodeName" in found["spec"]
        finally:
            self.cluster.kubectl("-n", "kube-system", "delete", "pod", "copy", "--force",
                                 "--grace-period=0", "--wait=true")

    # ---- tests

    def test_only_a_missing_sum_adds_a_node(self) -> None:
        self.fill("node-a")
        self.fill("node-b")
        no_gpu = self.create("no-gpu", {MEMORY: "10Gi"})
        whole = self.create("whole", {"tessera.dev/gpu": "2"})
        for pod in (no_gpu, whole):
            name = pod["metadata"]["name"]
            with self.subTest(name):
                self.wait_refused(name)
                self.assertRegex(self.wait_message(name, "should schedule on"), "node/node-[ab]$")
                self.assertTrue(self.fits_the_sums(pod))
        self.assertEqual(self.node_claims(), [])
        no_sum = self.create("no-sum", {MEMORY: "15Gi"})
        self.wait_refused("no-sum")
        self.assertFalse(self.fits_the_sums(no_sum))
        claim = self.wait_node_claim()
        self.assertEqual(self.wait_message("no-sum", "should schedule on").split()[-1],
                         f"nodeclaim/{claim['metadata']['name']}")

    def test_a_new_node_with_the_startup_taint_is_awaited(self) -> None:
        """From zero nodes of the pool. Without the NodeOverlay, Karpenter adds none."""
        self.cluster.kubectl("delete", "nodeoverlays", "--all", "--wait=true")
        selector = {"karpenter.sh/nodepool": POOL}
        self.create("first", {MEMORY: "4Gi"}, nodeSelector=selector)
        self.wait_log("no instance type has enough resources")
        self.assertEqual(self.node_claims(), [])
        self.apply(self.overlay)
        claim = self.wait_node_claim()
        self.assertEqual(claim["spec"]["startupTaints"], [TAINT])
        node = self.cluster.wait_for("the node registers", lambda: self.node_of(claim), SECONDS)
        self.start_as_kubelet(node)
        self.wait_initialized(claim, "Unknown", "StartupTaintsExist")
        # When Karpenter has judged a later pod, it has judged the first one again, too.
        self.create("too-large", {MEMORY: "100Gi"}, nodeSelector=selector)
        self.wait_log('"Pod":{"name":"too-large"')
        self.assertEqual(len(self.node_claims()), 1)
        self.cluster.kubectl("taint", "node", node, f"{TAINT['key']}-")
        self.wait_initialized(claim, "True", "Initialized")

    def test_placeholders_add_a_node_for_a_pod_that_no_gpu_fits(self) -> None:
        self.fill("node-a")
        priority, placeholders = self.placeholders()
        self.apply(priority)
        self.apply(placeholders)
        first = self.placeholder(is_running)
        self.assertEqual(first["spec"]["nodeName"], "node-b")
        self.create("no-gpu", {MEMORY: "10Gi"})
        self.wait_running("no-gpu")
        next_one = self.placeholder(is_refused)
        self.assertFalse(self.fits_the_sums(next_one))
        claim = self.wait_node_claim()
        self.assertEqual(self.wait_message(next_one["metadata"]["name"],
                                           "should schedule on").split()[-1],
                         f"nodeclaim/{claim['metadata']['name']}")

    def test_the_tags_of_the_page_describe_a_node_that_fits(self) -> None:
        """Cluster Autoscaler makes a template Node from them, and asks the filters about it."""
        tags = re.findall(
            r"^\| `k8s.io/cluster-autoscaler/node-template/(\w+)/(\S+)` \|[^`]*`([^`]+)`",
            PAGE.read_text(), re.MULTILINE)
        labels = {key: value for kind, key, value in tags if kind == "label"}
        amounts = {key: value for kind, key, value in tags if kind == "resources"}
        self.assertEqual((labels, set(amounts)),
                         ({"tessera.dev/agent": "true"}, set(self.amounts)))
        self.addCleanup(self.cluster.kubectl, "delete", "node", "template")
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "template", "labels": {**labels, "kubernetes.io/hostname": "template"}}})
        shown = {"cpu": "8", "memory": "32Gi", "pods": "110", **amounts}
        self.patch_status("template", {"allocatable": shown, "capacity": shown})
        cases: list[tuple[Json, bool]] = [
            ({MEMORY: "20Gi", "tessera.dev/gpu-cores": "50"}, True), ({MEMORY: "96Gi"}, False),
            ({"tessera.dev/gpu": "4"}, True), ({"tessera.dev/gpu": "5"}, False)]
        for number, (limits, fits) in enumerate(cases):
            pod = self.create(f"case-{number}", limits, schedulingGates=[{"name": "example.com/x"}])
            self.assertEqual(fits, self.fits_the_sums(
                pod, nodeSelector={"kubernetes.io/hostname": "template"},
                tolerations=[{"operator": "Exists"}]), limits)

    # ---- steps

    def node_of(self, claim: Json) -> str:
        """The Node of a NodeClaim that Karpenter has registered; empty if there is none."""
        now = self.api.json("GET", f"{NODE_CLAIMS}/{claim['metadata']['name']}")
        status = now.get("status", {})
        registered = condition(status, "Registered").get("status") == "True"
        return str(status["nodeName"]) if registered else ""

    def patch_status(self, node: str, status: Json) -> None:
        self.cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                             json.dumps({"status": status}))

    def start_as_kubelet(self, node: str) -> None:
        """Makes a simulated Node Ready."""
        self.patch_status(node, {"conditions": [
            {"type": "Ready", "status": "True", "reason": "Test"}]})
        taints = self.api.json("GET", f"/api/v1/nodes/{node}")["spec"]["taints"]
        self.assertIn(TAINT, taints)

    def wait_initialized(self, claim: Json, status: str, reason: str) -> None:
        def reached() -> bool:
            now = self.api.json("GET", f"{NODE_CLAIMS}/{claim['metadata']['name']}")
            found = condition(now["status"], "Initialized")
            return (found.get("status"), found.get("reason")) == (status, reason)
        self.cluster.wait_for(f"Initialized is {status}", reached, SECONDS)

    def placeholders(self) -> list[Json]:
        """The objects of the page, for nodes of this cluster."""
        made = list(yaml.safe_load_all(console_block.yaml_block(PAGE, "Placeholder pods")))
        spec = made[1]["spec"]["template"]["spec"]
        memory = int(self.amounts[MEMORY]) // 2
        spec["containers"] = spec["containers"][:2]
        for container in spec["containers"]:
            container.update(image=self.stack.gpuhog, command=["sleep", "1000"])
            container["resources"]["limits"][MEMORY] = str(memory)
        return made

    def placeholder(self, wanted: Any) -> Json:
        """Waits until the only placeholder is so, and returns it."""
        def found() -> Json | None:
            pods = self.api.json("GET", f"{PODS}?labelSelector=app=tessera-placeholder")["items"]
            alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]
                     and pod["status"]["phase"] in ("Pending", "Running")]
            return alive[0] if len(alive) == 1 and wanted(alive[0]) else None
        pod: Json = self.cluster.wait_for(f"a placeholder {wanted.__name__}", found, SECONDS)
        return pod


def condition(status: Json, kind: str) -> Json:
    """The condition of this type; empty if there is none."""
    return next((one for one in status.get("conditions", []) if one["type"] == kind), {})


def is_refused(pod: Json) -> bool:
    """Whether a kube-scheduler has found no node for the pod."""
    return condition(pod["status"], "PodScheduled").get("reason") == "Unschedulable"


def is_running(pod: Json) -> bool:
    """Whether the pod's containers run."""
    return bool(pod["status"]["phase"] == "Running")


