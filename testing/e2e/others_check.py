"""What `tessera doctor` finds of other products: objects as their manifests make them, on node-a, which
is Tessera's, and on node-b, which is not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from e2e.chart_case import MEMORY, ChartCase
from kube.api import ApiError
from stack import builds

OURS, OTHER = "node-a", "node-b"
LABEL = "tessera.dev/agent"
RESERVATIONS = "kai-resource-reservation"
Json = dict[str, Any]

# Image, name and command of a container, as the products' manifests have them; what doctor says of it
# on a node of Tessera, and the fix. Nothing: it assigns no GPU of the node.
PROGRAMS = (
    ("nvidia/k8s-device-plugin", "nvidia-device-plugin-ctr", "", "NVIDIA's device plugin",
     "nvidia.com/gpu.deploy.device-plugin=false"),
    ("nvidia/cloud-native/k8s-mig-manager", "nvidia-mig-manager", "", "NVIDIA's MIG manager",
     "nvidia.com/gpu.deploy.mig-manager=false"),
    ("dra-driver-nvidia/dra-driver-nvidia-gpu", "gpus", "gpu-kubelet-plugin -v 1",
     "NVIDIA's DRA driver", "resources.gpus.enabled=false"),
    ("projecthami/hami", "device-plugin", "nvidia-device-plugin --mig-strategy=none", "HAMi",
     "kubectl label node NODE gpu-"),
    ("volcanosh/volcano-vgpu-device-plugin", "volcano-device-plugin", "",
     "Volcano's vGPU device plugin", "Volcano"),
    ("tkestack/gpu-manager", "gpu-manager", "", "Tencent's gpu-manager", "gpu-manager"),
    ("acs/k8s-gpushare-plugin", "gpushare", "", "gpushare's device plugin", "migrate-gpushare.md"),
    ("nvidia/k8s-device-plugin", "gpu-feature-discovery", "", "", ""),
    ("dra-driver-nvidia/dra-driver-nvidia-gpu", "compute-domains", "compute-domain-kubelet-plugin",
     "", ""),
    ("projecthami/hami", "vgpu-scheduler-extender", "scheduler --leader-elect=true", "", ""),
    ("kai-scheduler/kai-scheduler/binder", "binder", "", "", ""),
    ("nvidia/k8s/dcgm-exporter", "nvidia-dcgm-exporter", "", "", ""),
)
DRIVER = "gpu.nvidia.com"
POLICIES = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusterpolicies.nvidia.com"}, "spec": {
                "group": "nvidia.com", "scope": "Cluster",
                "names": {"plural": "clusterpolicies", "singular": "clusterpolicy",
                          "kind": "ClusterPolicy"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                    "openAPIV3Schema": {"type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True}}}]}}


class OthersTest(ChartCase):
    """Each test removes what it creates of other products."""

    images: ClassVar[dict[str, str]]  # by the path in the registry

    @classmethod
    def install_chart(cls) -> None:
        cls.cluster.kubectl("label", "node", OTHER, f"{LABEL}-")
        cls.stack.install()
        archive = builds.gpuhog_image(cls.cluster.directory / "others")
        cls.images = {path: cls.stack.registry.push(archive, f"{path}:v1")
                      for path in {row[0] for row in PROGRAMS}}

    # ---- tools

    def assert_clean(self) -> None:
        found = self.finding("others")
        self.assertEqual(found["status"], "ok", found)

    def assert_found(self, fix: str, *texts: str, check: str = "others") -> None:
        """Doctor names these, with the fix, and nothing of the other product's node."""
        found = self.finding(check)
        self.assertEqual(found["status"], "failed", found)
        for text in texts:
            self.assertIn(text, found["found"])
        self.assertIn(fix, found["fix"])
        self.assertNotIn(OTHER, found["found"])

    def apply(self, *objects: Json) -> None:
        """Creates the objects, and deletes them after the test."""
        for each in objects:
            text = json.dumps(each)
            self.addCleanup(self.cluster.kubectl, "delete", "--ignore-not-found", "--now", "-f", "-",
                            input=text)
            self.cluster.kubectl("apply", "-f", "-", input=text)

    def program(self, name: str, node: str, row: tuple[str, ...], ns: str = "default") -> Json:
        """A pod of another product on a node."""
        image, container, command = row[:3]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns},
                "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": container, "image": self.images[image],
                    "command": ["sh", "-c", "sleep 1000", *([command] if command else [])]}]}}

    def run_programs(self, rows: Iterable[tuple[str, ...]]) -> None:
        """Runs the programs on both nodes until the end of the test."""
        for number, row in enumerate(rows):
            for node in (OURS, OTHER):
                self.apply(self.program(f"other-{number}-{node}", node, row))
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")

    def set_amount(self, node: str, amount: str | None) -> None:
        self.cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
                             json.dumps({"status": {"capacity": {"nvidia.com/gpu": amount}}}))

    # ---- tests

    def test_programs_that_assign_gpus(self) -> None:
        self.assert_clean()
        for row in PROGRAMS:
            if not row[3]:
                continue
            with self.subTest(row[3]):
                self.run_programs([row])
                self.assert_found(row[4], f"{row[3]} (default/other-0-{OURS}) runs on {OURS}")
            self.doCleanups()
        self.assert_clean()

    def test_programs_that_assign_none(self) -> None:
        self.run_programs(row for row in PROGRAMS if not row[3])
        self.assert_clean()

    def test_amounts_of_another_plugin(self) -> None:
        for node in (OTHER, OURS):
            self.addCleanup(self.set_amount, node, None)
            if node == OURS:
                self.assert_clean()
            self.set_amount(node, "2")
        self.assert_found("keep the device plugin", f"{OURS} also offers 2 nvidia.com/gpu",
                          "NVIDIA's device plugin, or a product that uses its names, such as HAMi")

    def test_labels_of_hami(self) -> None:
        """The label is common, so it counts only where HAMi is installed."""
        for node in (OURS, OTHER):
            self.addCleanup(self.cluster.kubectl, "label", "node", node, "gpu-")
            self.cluster.kubectl("label", "node", node, "gpu=on")
        self.assert_clean()
        scheduler = next(row for row in PROGRAMS if "vgpu-scheduler" in row[1])
        self.apply(self.program("scheduler", OTHER, scheduler))
        self.assert_found("kubectl label node NODE gpu-", f"{OURS} has the label gpu=on")

    def test_a_reservation_of_kai(self) -> None:
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RESERVATIONS}})
        self.cluster.wait_for("the namespace has its account", lambda: self.cluster.kubectl(
            "-n", RESERVATIONS, "get", "serviceaccount", "default"), 20)
        row = ("kai-scheduler/kai-scheduler/binder", "resource-reservation", "")
        self.apply(self.program("gpu-reservation-b", OTHER, row, RESERVATIONS))
        self.assert_clean()
        self.apply(self.program("gpu-reservation-a", OURS, row, RESERVATIONS))
        self.assert_found("give KAI nodes of its own",
                          f"KAI has a GPU of {OURS} reserved ({RESERVATIONS}/gpu-reservation-a)")

    def test_gpus_of_a_dra_driver(self) -> None:
        """kube-scheduler allocates the device; no driver runs, so the container does not start."""
        for node in (OURS, OTHER):
            self.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                        "metadata": {"name": f"gpus-{node}"},
                        "spec": {"driver": DRIVER, "nodeName": node, "devices": [{"name": "gpu-0"}],
                                 "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}})
        self.assert_found("resources.gpus.enabled=false",
                          f"{OURS} also offers its GPUs by ResourceSlices of {DRIVER}")
        self.apply({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
                    "metadata": {"name": DRIVER}, "spec": {"selectors": [
                        {"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}})
        for node in (OURS, OTHER):
            self.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                        "metadata": {"name": f"on-{node}", "namespace": "default"},
                        "spec": {"devices": {"requests": [
                            {"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}})
            pod = self.pod(f"claims-{node}", script="sleep 1000",
                           nodeSelector={"kubernetes.io/hostname": node},
                           resourceClaims=[{"name": "gpu", "resourceClaimName": f"on-{node}"}])
            pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
            self.apply(pod)
        self.cluster.wait_for("the claims are allocated", lambda: self.cluster.kubectl(
            "get", "resourceclaims", "-o", "jsonpath={.items[*].status.allocation.devices.results"
            "[*].pool}").split() == [OURS, OTHER], 40)
        self.assert_found("delete the pods of these ResourceClaims, then the claims",
                          f"ResourceClaim default/on-{OURS} has a GPU of {OURS} ({DRIVER})")

    def test_pods_of_two_products(self) -> None:
        self.create(self.pod("both", {**MEMORY, "nvidia.com/gpu": "1"}))
        self.assert_found("one product", "default/both requests nvidia.com/gpu beside Tessera's")
        self.cluster.kubectl("delete", "pod", "both", "--now")
        self.create(self.pod("volcano", MEMORY, schedulerName="volcano"))
        self.assert_found("without spec.schedulerName",
                          "default/volcano requests Tessera's resources and has schedulerName volcano")
        self.cluster.kubectl("delete", "pod", "volcano", "--now")
        self.create(self.pod("theirs", {"nvidia.com/gpu": "1"}, schedulerName="volcano"))
        self.assert_clean()

    def test_settings_of_the_gpu_operator(self) -> None:
        """Its NRI plugin removes the RuntimeClass that Tessera's pods name."""
        self.apply(POLICIES)
        self.cluster.kubectl("wait", "--for=condition=Established",
                             "crd/clusterpolicies.nvidia.com", "--timeout=60s")
        self.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
                    "metadata": {"name": "cluster-policy"}, "spec": {"cdi": {"nriPluginEnabled": True}}})
        self.assert_clean()  # no pod of Tessera needs a RuntimeClass here
        self.addCleanup(self.stack.upgrade)
        self.stack.upgrade("webhook.runtimeClassName=nvidia")
        self.assert_found("cdi.nriPluginEnabled=false", "cdi.nriPluginEnabled: it removes the "
                          "RuntimeClass nvidia")
        self.assert_found("cdi.nriPluginEnabled", "there is no RuntimeClass nvidia, which the webhook "
                          "gives to pods that request GPUs", check="injection")
        with self.assertRaisesRegex(ApiError, "RuntimeClass .*nvidia.* not found"):
            self.create(self.pod("refused", MEMORY))
