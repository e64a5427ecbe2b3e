"""The commands of docs/install/kubeadm.md for extender mode, run as they are written there, with the
real kubeadm: `./dev check kubeadm`. kubeadm writes kube-scheduler's manifest, and the program then
runs with the arguments of that manifest. There is no cluster that kubeadm made: kubeadm cannot start
etcd and the API server here as pods of a kubelet with the machine's own folders."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import ClassVar

import yaml

from e2e.case import GPUS, PODS
from e2e.chart_case import MEMORY, ChartClusterCase, Json, pod_of
from kube import binaries
from stack import builds
from stack.control_plane_node import ControlPlaneNode
from stack.gpu_node import GpuNode

PAGE = builds.ROOT / "docs" / "install" / "kubeadm.md"
PATCH = "kube-scheduler+json.yaml"
MANIFEST = "manifests/kube-scheduler.yaml"
OPTION = "--config=/etc/kubernetes/tessera/scheduler.yaml"


def steps() -> tuple[list[str], str]:
    """The commands of the section about extender mode, and its patch of the manifest."""
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## Extender mode"):text.index("## Check")]
    patch, = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    blocks = re.findall(r"(?m)(?:^ {7}.*\n)+", section)
    return [textwrap.dedent(block) for block in blocks], textwrap.dedent(patch)


class KubeadmCheck(ChartClusterCase):
    """The folder /root of the commands is a folder of the run, because the programs of this machine
    may be below /root."""

    node: ClassVar[ControlPlaneNode]
    programs: ClassVar[Path]
    home: ClassVar[Path]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode("node-a", GPUS / "two-15gib.yaml")]

    @classmethod
    def setUpClass(cls) -> None:
        cls.programs = binaries.ensure(table=binaries.KUBEADM)
        super().setUpClass()
        cls.node = ControlPlaneNode(cls.cluster, "node-a")
        cls.home = cls.cluster.directory / "home"
        cls.home.mkdir()
        cls.cluster.kubectl("label", "node", "node-a", "node-role.kubernetes.io/control-plane=")
        cls.stack.install("mode=extender")
        cls.as_on_the_node(f"""
            cat > {cls.home}/init.yaml <<EOT
            apiVersion: kubeadm.k8s.io/v1beta4
            kind: ClusterConfiguration
            kubernetesVersion: {cls.cluster.kubernetes.release}
            EOT
            kubeadm init phase upload-config kubeadm --config {cls.home}/init.yaml \\
              --kubeconfig {cls.cluster.kubeconfig}""")

    def test_the_pages_commands(self) -> None:
        commands, patch = steps()
        prepare, write, upgrade = commands
        self.as_on_the_node(prepare)
        (self.node.etc_kubernetes / "patches" / PATCH).write_text(patch)
        self.as_on_the_node(write)
        arguments = self.arguments()
        self.assertIn(OPTION, arguments)
        container, = self.manifest()["spec"]["containers"]
        self.assertIn("/etc/kubernetes/tessera", [m["mountPath"] for m in container["volumeMounts"]])
        with self.subTest("without the patches, the configuration is lost; the page says so"):
            self.assertIn("kubeadm upgrade apply VERSION --patches /etc/kubernetes/patches", upgrade)
            self.as_on_the_node(
                f"kubeadm init phase control-plane scheduler --config {self.home}/init.yaml")
            self.assertNotIn(OPTION, self.arguments())
            self.as_on_the_node(write)
            self.assertEqual(self.arguments(), arguments)
        self.run_the_manifests_scheduler(arguments)
        for name, limits in (("native", MEMORY), ("gpushare", {"aliyun.com/gpu-mem": "3"})):
            self.api.json("POST", PODS, pod_of(self.stack, name, limits))
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod", "native", "gpushare",
                             "--timeout=120s")
        # The cluster's own kube-scheduler has no leader election.
        holder = self.cluster.kubectl("-n", "kube-system", "get", "lease", "kube-scheduler",
                                      "-o", "jsonpath={.spec.holderIdentity}")
        self.assertTrue(holder)

    # ---- steps

    @classmethod
    def as_on_the_node(cls, script: str) -> None:
        """Runs commands of the page."""
        cls.node.run(script.replace("/root", str(cls.home)), cls.home, [cls.programs],
                     {"HOME": str(cls.home)})

    def manifest(self) -> Json:
        """kube-scheduler's manifest as kubeadm wrote it."""
        found: Json = yaml.safe_load((self.node.etc_kubernetes / MANIFEST).read_text())
        return found

    def arguments(self) -> list[str]:
        """The command of the manifest."""
        container, = self.manifest()["spec"]["containers"]
        command: list[str] = container["command"]
        return command

    def run_the_manifests_scheduler(self, arguments: list[str]) -> None:
        """Replaces the cluster's kube-scheduler by one with these arguments."""
        self.cluster.kill("kube-scheduler")
        program, *options = arguments
        self.assertEqual(program, "kube-scheduler")
        self.node.start_scheduler("kubeadm-sched", options)
