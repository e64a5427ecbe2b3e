"""Constraints on GPUs with the real scheduler: models, UUIDs, affinity; and `tessera explain`."""

from __future__ import annotations

import json

from e2e import pods, truth
from e2e.case import StackCase
from e2e.truth import Json


def ruled(name: str, limits: dict[str, object], **rules: str) -> Json:
    """A pod with one container. rules: its annotations tessera.dev/gpu-..., and its labels of GPU
    affinity."""
    pod = pods.simple(name, limits)
    for rule, text in rules.items():
        kind = "labels" if "affinity" in rule else "annotations"
        key = f"tessera.dev/gpu-{rule.replace('_', '-')}"
        pod["metadata"].setdefault(kind, {})[key] = text
    return pod


class GpuRules(StackCase):
    """Runs on case.two_nodes: of four GPUs one is an A10, on node-b."""

    def test_models_and_uuids(self) -> None:
        a10, = self.running(ruled("a10", pods.native("2Gi"), models="A10"))
        gpu = self.gpu_of(truth.uuids(a10)[0])
        self.assertEqual((gpu.node, gpu.memory >> 30), ("node-b", 24))
        self.assert_shares(a10)
        same, = self.running(ruled("same", pods.native("2Gi"), uuids=truth.uuids(a10)[0]))
        self.assertEqual(truth.uuids(same), truth.uuids(a10))
        other, = self.running(ruled("other", pods.native("2Gi"), models="!T4",
                                    uuids="!GPU-that-no-node-has"))
        self.assertEqual(truth.uuids(other), truth.uuids(a10))
        self.create(ruled("a100", pods.native("2Gi"), models="A100"))
        self.wait_event("a100", "No GPU of the requested kind: asked a GPU of model A100",
                        "Tesla T4")
        self.create(ruled("wrong", pods.native("2Gi"), models="A10,,"))
        self.wait_event("wrong", 'annotation tessera.dev/gpu-models: "A10,,"', "A100, H100")

    def test_a_node_shows_its_gpus(self) -> None:
        """A Node counts whole GPUs and shares, and its labels name its GPUs, so that an ordinary
        node selector chooses a model."""
        nodes = {name: self.api.json("GET", f"/api/v1/nodes/{name}")
                 for name in ("node-a", "node-b")}
        counted = nodes["node-a"]["status"]["allocatable"]
        self.assertEqual((counted["tessera.dev/gpu"], counted["tessera.dev/gpu-share"]),
                         ("2", "128"))
        labels = {name: {key.removeprefix("tessera.dev/"): value
                         for key, value in node["metadata"]["labels"].items()
                         if key.startswith("tessera.dev/gpu-")} for name, node in nodes.items()}
        self.assertEqual(labels["node-a"], {"gpu-count": "2", "gpu-model": "Tesla-T4",
                                            "gpu-memory": str(15 << 10)})
        self.assertEqual(labels["node-b"]["gpu-model"], "mixed")
        chosen = pods.simple("on-a-t4", pods.native("1Gi"))
        chosen["spec"]["nodeSelector"] = {"tessera.dev/gpu-model": "Tesla-T4"}
        self.assertEqual(self.running(chosen)[0]["spec"]["nodeName"], "node-a")

    def test_unknown_annotation(self) -> None:
        """A misspelled annotation has no effect, and an event suggests the right one."""
        meant = "tessera.dev/gpu-model is not known: did you mean tessera.dev/gpu-models?"
        self.running(ruled("misspelt", pods.native("2Gi"), model="A10"))
        self.wait_event("misspelt", meant)
        self.assertIn(meant, self.stack.tessera("explain", "misspelt"))

    def test_anti_affinity(self) -> None:
        """Four replicas run on four GPUs. A fifth waits until one of them is deleted."""
        made = self.running(*(ruled(f"web-{i}", pods.native("1Gi"), anti_affinity="web") for i in range(4)))
        self.assertEqual(len({truth.uuids(pod)[0] for pod in made}), 4)
        self.create(ruled("web-4", pods.native("1Gi"), anti_affinity="web"))
        self.wait_event("web-4", "No GPU with the requested affinity", "tessera.dev/gpu-anti-affinity")
        self.delete("web-1")
        self.assertEqual(truth.uuids(self.wait_running("web-4")), truth.uuids(made[1]))

    def test_affinity(self) -> None:
        """The second pod goes to the GPU of the first, although binpack would choose another."""
        first, = self.running(ruled("one", pods.native("3Gi"), affinity="pair"))
        self.running(pods.simple("fills", pods.native("11Gi")))
        second, = self.running(ruled("two", pods.native("1Gi"), affinity="pair"))
        self.assertEqual(truth.uuids(second), truth.uuids(first))

    def test_explain(self) -> None:
        """tessera explain names the GPUs that a pod gets. For a pod that fits nowhere it says why,
        node by node."""
        self.running(pods.simple("there", pods.native("3Gi")))
        self.create(pods.simple("late", pods.native("9Gi", gpus=3)))
        self.wait_event("late", "on each of 3 GPUs")
        text = self.stack.tessera("explain", "late")
        self.assertIn("It fits on no node.", text)
        self.assertIn("Not on node-a, node-b: Insufficient GPU Memory in one device", text)
        self.delete("late")
        late, = self.running(pods.simple("late", pods.native("5Gi"), node="node-a"))
        explanation = json.loads(self.stack.tessera("explain", "pod/late", "-o", "json"))
        self.assertEqual(explanation["on"], "node-a")
        nodes = {node["node"]: node for node in explanation["nodes"]}
        self.assertEqual([gpu["uuid"] for gpu in nodes["node-a"]["gpus"]], truth.uuids(late))
        self.assertIn("node selector", nodes["node-b"]["why"])
        self.assertIn("The cluster's policy is binpack", self.stack.tessera("explain", "late"))
        said = self.stack.tessera("explain", "late", "--policy", "fgd")
        self.assertIn("fragmentation before", said)
