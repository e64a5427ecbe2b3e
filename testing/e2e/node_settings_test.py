"""Settings of single nodes: a configuration of the agent, chosen by a label of the Node."""

from __future__ import annotations

import json

from e2e.chart_case import MEMORY, ChartCase
from stack.chart import NAMESPACE

NODE = "node-b"  # 15 and 24 GiB
LABEL = "tessera.dev/agent-config"
# An agent reads the labels of its Node every 30 seconds.
LABEL_SECONDS = 90
Json = dict[str, object]


class NodeConfigTest(ChartCase):
    """One configuration of the agent for node-b."""

    def allocatable(self, node: str) -> tuple[str, str]:
        """The shares and the whole GPUs that kubelet offers on the node."""
        amounts = self.api.json("GET", f"/api/v1/nodes/{node}")["status"]["allocatable"]
        return amounts["tessera.dev/gpu-share"], amounts["tessera.dev/gpu"]

    def gpu_uuid(self, index: int) -> str:
        node = self.api.json("GET", f"/api/v1/nodes/{NODE}")
        gpus = json.loads(node["metadata"]["annotations"]["tessera.dev/gpus"])["gpus"]
        return str(gpus[index]["uuid"])

    def on_gpu(self, name: str, uuid: str) -> None:
        """Creates a pod with a share of this GPU."""
        pod = self.pod(name, MEMORY, script="until [ -e /tmp/end ]; do sleep 0.2; done")
        pod["metadata"]["annotations"] = {"tessera.dev/gpu-uuids": uuid}
        self.create(pod)

    def test_slots_and_an_excluded_gpu_of_one_node(self) -> None:
        """The Node follows its label. A pod that runs on the excluded GPU keeps its share until its
        container ends. No pod is placed there, and a label without a configuration is reported."""
        excluded = self.gpu_uuid(1)
        self.on_gpu("stays", excluded)
        self.running("stays")
        self.assertEqual(self.allocatable(NODE), ("128", "2"))
        self.stack.upgrade("agent.nodeConfigs.small.slotsPerGpu=8",
                           "agent.nodeConfigs.small.excludedGpus={1}")
        self.assertEqual(self.allocatable(NODE), ("128", "2"))
        self.cluster.kubectl("label", "node", NODE, f"{LABEL}=small")
        self.cluster.wait_for("the node has the configuration",
                              lambda: self.allocatable(NODE) == ("8", "1"), LABEL_SECONDS)
        self.assertEqual(self.allocatable("node-a"), ("128", "2"))
        self.cluster.wait_for("doctor finds no fault of the agents",
                              lambda: self.finding("agents")["status"] == "ok", LABEL_SECONDS)
        self.assertEqual(self.finding("gpus")["found"],
                         "4 GPUs, 1 of them excluded, the others healthy")

        stays, = self.running("stays")
        self.assertEqual(stays["status"]["containerStatuses"][0]["restartCount"], 0)
        self.assertIn("OUT_OF_MEMORY", self.in_pod("stays", "gpuhog --once 1025MiB"))
        self.on_gpu("refused", excluded)
        self.on_gpu("placed", self.gpu_uuid(0))
        self.running("placed")
        self.wait_event("refused", "out of use")
        self.in_pod("stays", "mkdir -p /tmp && touch /tmp/end")
        self.wait_event("stays", "excluded from sharing by excluded_gpus", "delete the pod")

        self.cluster.kubectl("label", "node", NODE, "--overwrite", f"{LABEL}=smal")
        self.cluster.wait_for("doctor names the label", lambda: (
            f"{NODE}: its label {LABEL}=smal names no configuration; there are small"
            in str(self.finding("agents")["found"])), 10)
        self.cluster.wait_for("the agent is not ready", lambda: "False" in self.cluster.kubectl(
            "-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=agent", "-o",
            'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'), LABEL_SECONDS)
        self.assertEqual(self.allocatable(NODE), ("8", "1"))
        self.cluster.kubectl("label", "node", NODE, f"{LABEL}-")
        self.cluster.wait_for("the node has the settings of the others again",
                              lambda: self.allocatable(NODE) == ("128", "2"), LABEL_SECONDS)
