"""Extender mode with several control-plane nodes, by the commands of docs/install/extender-mode.md:
two controllers of the chart behind its Service, and two kube-schedulers with its configuration.
`./dev check extender`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import yaml

from e2e.case import PODS
from e2e.chart_case import MEMORY, ChartCase
from e2e.repeated import repeated
from kube.api import ApiError
from stack import builds
from stack.chart import NAMESPACE, PREVIOUS, RELEASE
from stack.control_plane_node import ControlPlaneNode

PAGE = builds.ROOT / "docs" / "install" / "extender-mode.md"
TLS = ("mode=extender", "extender.tls.enabled=true")
CONFIGURATION = "tessera-scheduler.yaml"  # the commands of the page write it
PAUSE = 0.5  # seconds between two pods that arrive


def commands_of(heading: str) -> list[str]:
    """The indented blocks below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    blocks = re.findall(r"(?m)(?:^ {7}.*\n)+", section.partition("\n## ")[0])
    return [textwrap.dedent(block) for block in blocks]


class ExtenderCheck(ChartCase):
    """Each test leaves the chart installed with TLS, and two kube-schedulers that use it."""

    nodes: ClassVar[list[ControlPlaneNode]]
    folder: ClassVar[Path]  # in which the commands run
    write_configuration: ClassVar[str]  # the page's commands

    @classmethod
    def install_chart(cls) -> None:
        cls.nodes = [ControlPlaneNode(cls.cluster, name) for name in ("node-a", "node-b")]
        cls.folder = cls.cluster.directory / "page"
        cls.folder.mkdir()
        (cls.folder / "deploy").symlink_to(builds.ROOT / "deploy")
        certificates, cls.write_configuration = commands_of("More than one control-plane node")
        cls.on_the_first_node(certificates)
        for node in cls.nodes:
            cls.cluster.kubectl("label", "node", node.name,
                                "node-role.kubernetes.io/control-plane=")
            cls.on_the_first_node(f"cp -r certificates/scheduler {node.etc_kubernetes}/tessera")
        cls.install_with_tls()

    # ---- tests

    def test_leaders_end_and_controllers_are_replaced_while_pods_arrive(self) -> None:
        """No pod is lost, and no GPU is over its capacity."""
        with self.pods_arriving() as names:
            self.wait_for_more(names)
            leader = self.holder(NAMESPACE, "tessera-controller")
            self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", leader)
            self.wait_for_more(names)
            self.stack.upgrade(*TLS, "controller.podAnnotations.restart=now")
            self.wait_for_more(names)
            leader = self.holder("kube-system", "kube-scheduler")
            self.cluster.kill(f"scheduler-{leader}")
            self.wait_for_more(names)
            self.assertNotEqual(self.holder("kube-system", "kube-scheduler"), leader)
        self.start_schedulers()

    def test_from_the_previous_version_to_tls(self) -> None:
        """The previous chart, with one controller on loopback. A pod that runs is not
        restarted, and one that is created between the steps of the page is placed after the last."""
        self.stack.helm("uninstall", RELEASE, "--wait")
        self.cluster.kubectl("-n", NAMESPACE, "wait", "--for=delete", "pod", "--all",
                             "--timeout=120s")
        self.stack.install("mode=extender", chart=PREVIOUS)
        configuration = self.stack.helm(
            "template", RELEASE, str(self.stack.package), "--set=mode=extender",
            "--set=image.registry=any", "--show-only=templates/scheduler-config.yaml")
        (self.folder / CONFIGURATION).write_text(
            yaml.safe_load(configuration)["data"]["config.yaml"])
        self.start_schedulers()
        self.create(self.pod("stays", MEMORY))
        before, = self.running("stays")
        self.stack.upgrade("mode=extender")
        self.create(self.pod("upgraded", MEMORY))
        self.running("upgraded")
        self.stack.upgrade(*TLS)
        self.create(self.pod("between", MEMORY))
        self.wait_event("between", "connection refused")
        self.on_the_first_node(self.write_configuration)
        self.start_schedulers()
        self.running("between")
        after, = self.running("stays")
        containers = [pod["status"]["containerStatuses"] for pod in (before, after)]
        self.assertEqual(containers[1], containers[0])
        for check in ("controller", "leader", "agents", "routing", "certificates"):
            self.assertEqual(self.finding(check)["status"], "ok", check)

    # ---- steps

    @classmethod
    def install_with_tls(cls) -> None:
        """Installs the chart, and starts the kube-schedulers with its configuration."""
        cls.stack.install(*TLS)
        cls.on_the_first_node(cls.write_configuration)
        cls.start_schedulers()

    @classmethod
    def on_the_first_node(cls, commands: str) -> None:
        """Runs commands of the page."""
        cls.nodes[0].run(commands, cls.folder)

    @classmethod
    def start_schedulers(cls) -> None:
        """Starts the kube-scheduler of each node with the configuration, in place of one that runs.
        Each has the address of its node, because all nodes have one loopback here."""
        if "kube-scheduler" in cls.cluster.running():  # the cluster's own placed the controllers
            cls.cluster.kill("kube-scheduler")
        for node in cls.nodes:
            path = node.etc_kubernetes / CONFIGURATION
            path.write_bytes((cls.folder / CONFIGURATION).read_bytes())
            program = f"scheduler-{node.name}"
            if program in cls.cluster.running():
                cls.cluster.kill(program)
            found = cls.api.json("GET", f"/api/v1/nodes/{node.name}")["status"]["addresses"]
            address, = (each["address"] for each in found if each["type"] == "InternalIP")
            access = "/etc/kubernetes/scheduler.conf"
            node.start_scheduler(program, [
                f"--config=/etc/kubernetes/{CONFIGURATION}", f"--bind-address={address}",
                f"--authentication-kubeconfig={access}", f"--authorization-kubeconfig={access}"])

    def holder(self, namespace: str, lease: str) -> str:
        """The pod or the machine that holds a Lease; empty if none does."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}"
        return str(self.api.json("GET", path)["spec"].get("holderIdentity", "")).partition("_")[0]

    @contextmanager
    def pods_arriving(self) -> Iterator[list[str]]:
        """Creates pods until the end of the context, and yields the growing list of their names. At
        the end each must have ended well."""
        names: list[str] = []

        def arrive() -> None:
            pod = self.pod(f"pod-{len(names)}", MEMORY, restartPolicy="Never",
                           script="gpuhog --once 512MiB && sleep 10")
            try:
                self.create(pod)
            except ApiError as error:  # the webhook fails closed while no controller answers
                print(f"not created: {error}")
                return
            names.append(pod["metadata"]["name"])
        with repeated(arrive, PAUSE):
            yield names
        self.cluster.wait_for(f"{len(names)} pods have ended",
                              lambda: not self.not_ended(names), 240)
        print(f"{len(names)} pods arrived")

    def not_ended(self, names: list[str]) -> list[str]:
        """Those of the pods that have not ended well. Checks the GPUs, too."""
        self.assert_no_gpu_is_over_capacity()
        return [name for name in names
                if self.api.json("GET", f"{PODS}/{name}")["status"]["phase"] != "Succeeded"]

    def wait_for_more(self, names: list[str]) -> None:
        """Waits until five pods that are created from now on have ended."""
        first = len(names)
        self.cluster.wait_for("five more pods have ended", lambda: (
            len(names) >= first + 5 and not self.not_ended(names[first:first + 5])), 120)
