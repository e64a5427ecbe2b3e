"""Several releases of containerd: which of them apply the CDI devices that an NRI plugin adds, and
what happens to GPU containers on the others. This is the evidence for the table in
src/domain/container_start/runtime_support.cpp. `./dev check runtimes` runs it.

Each node has its own containerd (binaries.CONTAINERDS). An "unnamed" containerd reports the version
"unknown": the table does not know it, so the test shows what the release really does.
"""

from __future__ import annotations

from typing import ClassVar

from e2e import pods
from e2e.case import GPUS, KUBELET, StackCase
from kube import binaries
from stack.gpu_node import GpuNode

IGNORING = {"c20": "2.0", "c1729": "1.7.29"}
UNNAMED = {"c20-unnamed": "2.0-unnamed", "c1729-unnamed": "1.7.29-unnamed"}
CARRYING = {"c1730": "1.7.30", "c-default": ""}
SHARE = pods.aliyun(2)
TAKES_TOO_MUCH = "gpuhog --once 3GiB"


def version_of(release: str) -> str:
    """The version as the runtime reports it: v2.0.14."""
    table = binaries.CONTAINERDS[release] if release else binaries.TABLE
    return binaries.pinned_version(next(m for m in table if m.folder.startswith("containerd")))


class Runtimes(StackCase):
    """One node for each release; the agents have the guard."""

    guard = True
    releases: ClassVar[dict[str, str]]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode(node, GPUS / "two-15gib.yaml", kubelet=KUBELET,
                        containerd_release=release) for node, release in cls.releases.items()]

    def assert_gets_its_gpu(self, *nodes: str) -> None:
        """A pod on each of these nodes runs with its GPU, and its memory limit is enforced."""
        for pod in self.running(*(pods.simple(f"gpu-{n}", SHARE, node=n) for n in nodes)):
            self.assert_shares(pod)
            said = self.cluster.kubectl("exec", pod["metadata"]["name"], "--", "sh", "-c",
                                        f"{TAKES_TOO_MUCH} 2>&1; true")
            self.assertIn("OUT_OF_MEMORY", said)


class RuntimesByNriTest(Runtimes):
    identity = "nri"
    releases = {**IGNORING, **UNNAMED, **CARRYING}

    def test_a_release_that_ignores_the_devices(self) -> None:
        """A GPU pod is refused with the reason; a pod without a GPU runs."""
        self.create(*(pods.simple(f"gpu-{node}", SHARE, node=node) for node in IGNORING))
        plain = pods.container("main", script="echo; exec sleep 1000")
        self.running(*(pods.pod(f"plain-{node}", plain, node=node) for node in IGNORING))
        for node, release in IGNORING.items():
            self.assert_refused(
                f"gpu-{node}", f"containerd {version_of(release)} ignores CDI devices that an NRI "
                "plugin adds, so the container would start without its GPU",
                "upgrade containerd (1.7 from 1.7.30; 2.1.0 or later)",
                "set the agent's identity to kubelet")

    def test_doctor_names_the_nodes_and_their_runtimes(self) -> None:
        said = self.doctor_check("injection")
        self.assertEqual(said["status"], "failed")
        for node, release in IGNORING.items():
            # With some releases kubelet shows the version without the "v".
            self.assertRegex(said["found"], f"{node}: containerd v?{version_of(release)[1:]} "
                                            "ignores CDI devices")
        for node in (*UNNAMED, *CARRYING):
            self.assertNotIn(f"{node}:", said["found"])

    def test_what_the_same_release_does_where_its_version_is_not_known(self) -> None:
        """The release creates the container with our environment and mounts, but without the
        device. The agent detects this before the program runs, and prevents the start."""
        self.create(*(pods.simple(f"gpu-{node}", SHARE, node=node) for node in UNNAMED))
        for node in UNNAMED:
            message = self.assert_refused(
                f"gpu-{node}", "the runtime (containerd unknown) did not carry out what Tessera "
                "set on it", "kept from starting without its GPU share")
            self.assertRegex(message, r"set on it: (device|mount) /\S+ of nvidia\.com/gpu=")

    def test_a_release_that_carries_them(self) -> None:
        self.assert_gets_its_gpu(*CARRYING)


class RuntimesByKubeletTest(Runtimes):
    identity = "kubelet"
    releases = {**IGNORING, "c-default": ""}

    def test_every_release_hands_the_gpu_over(self) -> None:
        self.assert_gets_its_gpu(*self.releases)

    def test_doctor_shows_the_runtime_of_each_node(self) -> None:
        said = self.doctor_check("injection")
        self.assertEqual(said["status"], "ok", said)
        for release in self.releases.values():
            self.assertRegex(said["found"],
                             f"containerd v?{version_of(release)[1:]} on 1 node")
