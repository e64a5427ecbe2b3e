"""The chart with NVIDIA's real container toolkit and simulated GPUs: `./dev check toolkit`. The
toolkit's runtime gives the agent its driver, as on a node that `nvidia-ctk runtime configure` set up.
One node has the toolkit's default settings. The other is hardened: containers that are not privileged
get no GPU by NVIDIA_VISIBLE_DEVICES."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from e2e import truth
from e2e.case import GPUS, PODS, SECONDS
from e2e.chart_case import MEMORY, ChartClusterCase, Json, pod_of
from kube import binaries
from kube.node import NodeSpec
from stack.chart import NAMESPACE
from stack.gpu_node import DRIVER_ROOT, GpuNode

SHOW = "exec gpuhog 512MiB"
RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"},
                 "handler": "nvidia"}
# The defaults of the chart, which ChartStack changes.
DEFAULTS = ("agent.driver.root=/", "agent.driver.runtimeClassName=nvidia")


@dataclasses.dataclass(frozen=True)
class ToolkitNode(GpuNode):
    """is_hardened: containers that are not privileged get no GPU by an environment variable."""

    is_hardened: bool = False

    def spec(self, directory: Path) -> NodeSpec:
        programs = binaries.directory(binaries.TOOLKIT)
        made = super().spec(directory)
        accepts = str(not self.is_hardened).lower()
        settings = (f"accept-nvidia-visible-devices-envvar-when-unprivileged = {accepts}\n"
                    "[nvidia-container-runtime]\nmode = \"cdi\"\nruntimes = [\"runc\"]\n")
        runtime = 'plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia'
        table = (f'[{runtime}]\nruntime_type = "io.containerd.runc.v2"\n'
                 f'[{runtime}.options]\nBinaryName = "{programs / "nvidia-container-runtime"}"\n')
        files = dict(made.files) | {"/etc/nvidia-container-runtime/config.toml": settings}
        return dataclasses.replace(made, containerd=made.containerd + table, files=files)


class ToolkitCheck(ChartClusterCase):
    """node-a has the default settings, node-b is hardened."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [ToolkitNode("node-a", GPUS / "two-15gib.yaml"),
                ToolkitNode("node-b", GPUS / "15-and-24gib.yaml", is_hardened=True)]

    @classmethod
    def setUpClass(cls) -> None:
        binaries.ensure(table=binaries.TOOLKIT)
        super().setUpClass()
        cls.api.json("POST", "/apis/node.k8s.io/v1/runtimeclasses", RUNTIME_CLASS)

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "pods", "--all", "--now", "--wait=true")
        self.stack.helm("uninstall", "tessera", "--wait", "--ignore-not-found")

    def agent(self, node: str) -> Json:
        """The agent's pod on a node."""
        found: Json = next(pod for pod in self.api.json(
            "GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
            if pod["spec"].get("nodeName") == node and pod["metadata"]["labels"][
                "app.kubernetes.io/component"] == "agent")
        return found

    def log_of_agent(self, node: str) -> str:
        name = self.agent(node)["metadata"]["name"]
        return self.cluster.kubectl("-n", NAMESPACE, "logs", name, check=False)

    def assert_has_its_gpu(self, name: str, node: str, **spec: Any) -> None:
        """A pod on the node sees exactly the GPU of its allocation, and is held to its memory."""
        self.api.json("POST", PODS, pod_of(self.stack, name, MEMORY, script=SHOW, nodeSelector={
            "kubernetes.io/hostname": node}, **spec))
        self.cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=120s")
        pod = self.api.json("GET", f"{PODS}/{name}")
        seen = self.cluster.wait_for(f"{name} prints its GPU", lambda: truth.parse_log(
            self.api.text("GET", f"{PODS}/{name}/log")).uuids, SECONDS)
        self.assertEqual(seen, truth.uuids(pod))
        self.assertIn("OUT_OF_MEMORY", self.cluster.kubectl(
            "exec", name, "--", "sh", "-c", "gpuhog --once 513MiB 2>&1; true"))

    def assert_sees_no_driver(self, name: str, node: str) -> None:
        """A pod without a share, which demands all GPUs of the toolkit's runtime, gets none."""
        pod = pod_of(self.stack, name, script="ls /usr/lib/*/libcuda* 2>&1; echo done; sleep 60",
                     nodeName=node, runtimeClassName="nvidia")
        pod["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
        self.api.json("POST", PODS, pod)
        said = self.cluster.wait_for(f"{name} looked", lambda: (
            "done" in (text := self.api.text("GET", f"{PODS}/{name}/log")) and text), SECONDS)
        self.assertIn("No such file", said)

    # ---- tests

    def test_the_defaults_of_toolkit_and_chart(self) -> None:
        """The runtime gives the agent the driver. On the hardened node it does not, and the agent says
        what to do. It takes no other node with it."""
        self.stack.helm("install", "tessera", str(self.stack.package), "--create-namespace",
                        *[option for option in self.stack.arguments(*DEFAULTS) if option != "--wait"])
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/tessera-controller")
        self.assert_has_its_gpu("first", "node-a")
        self.cluster.wait_for("the hardened node's agent says what is wrong", lambda: (
            "agent.driver.privileged" in self.log_of_agent("node-b")), SECONDS)
        self.assertNotIn("tessera.dev/gpus",
                         self.api.json("GET", "/api/v1/nodes/node-b")["metadata"]["annotations"])

    def test_a_driver_root_on_hardened_nodes(self) -> None:
        """The driver's folder is mounted, and pods get their GPUs by CDI devices, not by a variable."""
        self.stack.install(f"agent.driver.root={DRIVER_ROOT}", "agent.driver.runtimeClassName=")
        self.assert_has_its_gpu("plain", "node-b")
        self.assert_has_its_gpu("by-the-runtime", "node-b", runtimeClassName="nvidia")

    def test_a_privileged_agent_on_hardened_nodes(self) -> None:
        """The toolkit accepts the variable of a privileged container."""
        self.stack.install(*DEFAULTS, "agent.driver.privileged=true")
        self.assert_has_its_gpu("privileged-agent", "node-b")

    def test_the_toolkit_gives_pods_their_gpus(self) -> None:
        """The CDI specifications are of another kind than the agent's, as with the GPU Operator, so the
        variable counts, for pods of the RuntimeClass that the webhook sets."""
        self.stack.install(*DEFAULTS, "webhook.runtimeClassName=nvidia", "agent.cdiKind=example.com/none",
                           r"agent.nodeLabels.kubernetes\.io/hostname=node-a",
                           r"agent.nodeLabels.tessera\.dev/agent=null")
        self.assert_has_its_gpu("by-variable", "node-a")
        pod = self.api.json("GET", f"{PODS}/by-variable")
        self.assertEqual(pod["spec"]["runtimeClassName"], "nvidia")
        self.assert_sees_no_driver("without-a-share", "node-a")
