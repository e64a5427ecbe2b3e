"""One node: containerd and a kubelet in their own PID, mount and host-name namespaces.

In a node all paths are the same as on a real node, and these are private: /run and /var/run (a
tmpfs), /var/lib and /var/log (folders of the run), and /etc (an overlay on the machine's /etc).
kubelet and CNI would set some sysctls on the machine. Files that already have the right values are
mounted over these sysctls.

    /var/lib/kubelet/device-plugins  /var/lib/kubelet/pod-resources  /run/containerd/containerd.sock
    /var/run/nri/nri.sock  /var/run/cdi  /etc/cdi  /run/netns  /etc/cni/net.d  /var/log/pods
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kube import binaries, containerd, mounts
from kube.errors import KubeError

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
PRIVATE = ("/run", "/var/run", "/var/lib", "/var/log", "/etc")

# Values that kubelet and the ptp plugin would set. They find these values, and write nothing.
SYSCTLS = {
    "net/ipv4/ip_forward": "1", "vm/overcommit_memory": "1", "vm/panic_on_oom": "0",
    "kernel/panic": "10", "kernel/panic_on_oops": "1", "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


@dataclass(frozen=True)
class NodeSpec:
    """The options of a node.

    binds: (directory of the machine, path in the node), writable; pods see it by hostPath. The path
    must be in a private place (see PRIVATE), or exist on the machine.
    files: path in the node -> contents, or a file of the machine to copy. The path must be in a
    private place. The files exist before containerd starts.
    kubelet: entries for its configuration file. containerd: TOML tables to add to its
    configuration file.
    containerd_release: one of binaries.CONTAINERDS in place of the one in binaries.TABLE.
    """

    name: str
    nri: bool = True
    binds: tuple[tuple[str | Path, str], ...] = ()
    files: Mapping[str, str | bytes | Path] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    max_pods: int = 250
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    containerd: str = ""
    containerd_release: str = ""

    def containerd_table(self) -> Sequence[binaries.Module]:
        """The modules from which its containerd is built."""
        if not self.containerd_release:
            return binaries.TABLE
        return binaries.CONTAINERDS[self.containerd_release]

    def check(self) -> None:
        """Raises KubeError if the node cannot be created."""
        if not NAME.fullmatch(self.name):
            raise KubeError(f"node name {self.name!r}: use 1-40 of a-z, 0-9, - (not at the ends)")
        if self.containerd_release not in ("", *binaries.CONTAINERDS):
            raise KubeError(f"node {self.name}: no containerd {self.containerd_release!r}; there "
                            f"is {', '.join(binaries.CONTAINERDS)}")
        for source, target in self.binds:
            if not Path(source).is_dir():
                raise KubeError(f"node {self.name}: {source} is not a directory")
            if is_private(f"{Path(source).resolve()}/"):
                raise KubeError(f"node {self.name}: {source} is not visible in a node, like all of "
                                f"{', '.join(PRIVATE)}: move it, for example to /var/tmp")
            if not is_private(target) and not Path(target).is_dir():
                raise KubeError(f"node {self.name}: {target} does not exist on the machine: "
                                f"use a path in {', '.join(PRIVATE)}")
        for target in self.files:
            if not is_private(target):
                raise KubeError(f"node {self.name}: {target} belongs to the machine: use a path in "
                                f"{', '.join(PRIVATE)}")


def is_private(path: str) -> bool:
    """Whether the path in a node is private to the node."""
    return any(path.startswith(place + "/") for place in PRIVATE) and ".." not in path


@dataclass(frozen=True)
class Node:
    """A node of a run. directory: its folder on the machine. services: whether the run has
    kube-proxy. Then pods have a default route."""

    spec: NodeSpec
    directory: Path
    cgroup: str
    pod_network: str
    address: str
    kubelet_port: int
    services: bool = False

    def prepare(self, hosts: str) -> list[mounts.Step]:
        """Creates its folders and the files of its /etc. Returns the mounts for its init."""
        for part in ("bin", "var-lib", "var-log", "etc", "etc-work", "sysctl"):
            (self.directory / part).mkdir(parents=True)
        etc = self.directory / "etc"
        self._write(etc / "hosts", hosts)
        self._write(etc / "cni" / "net.d" / "10-ptp.conflist", self.cni())
        self._write(etc / "containerd" / "config.toml", self._containerd_toml())
        for empty in (etc / "cdi", etc / "nri" / "conf.d"):
            empty.mkdir(parents=True)
        steps = [mounts.overlay("/etc", etc, self.directory / "etc-work"),
                 mounts.tmpfs("/run"),
                 mounts.bind(binaries.directory(self.spec.containerd_table()),
                             self.directory / "bin"),
                 mounts.bind(self.directory / "var-lib", "/var/lib"),
                 mounts.bind(self.directory / "var-log", "/var/log")]
        for name, value in SYSCTLS.items():
            source = self.directory / "sysctl" / name.replace("/", ".")
            self._write(source, value + "\n")
            steps.append(mounts.bind(source, f"/proc/sys/{name}"))
        steps += [mounts.bind(Path(s).resolve(), target) for s, target in self.spec.binds]
        return [*steps, mounts.shared("/")]

    def commands(self, programs: Path) -> dict[str, list[str]]:
        """The command lines of its two programs in the node. Start containerd first."""
        labels = ",".join(f"{k}={v}" for k, v in self.spec.labels.items())
        return {
            "containerd": [str(self.directory / "bin" / "containerd"), "-c", "/etc/containerd/config.toml"],
            "kubelet": [str(programs / "kubelet"), "--config=/etc/kubernetes/kubelet.json",
                        "--kubeconfig=/etc/kubernetes/kubelet.kubeconfig",
                        f"--hostname-override={self.spec.name}", f"--node-ip={self.address}",
                        *([f"--node-labels={labels}"] if labels else [])],
        }

    def kubelet_config(self, ca: Path, certificate: Path, key: Path) -> dict[str, Any]:
        """The contents of /etc/kubernetes/kubelet.json."""
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "address": "127.0.0.1", "port": self.kubelet_port, "healthzPort": 0,
            "tlsCertFile": str(certificate), "tlsPrivateKeyFile": str(key),
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": str(ca)}},
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{containerd.SOCKET}",
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.cgroup}", "failCgroupV1": False,
            "enforceNodeAllocatable": [], "failSwapOn": False, "oomScoreAdj": 0,
            # Uses nothing of the machine: no iptables, no resolver (its file may be in /run, which
            # is private), no plugins.
            "makeIPTablesUtilChains": False, "resolvConf": "",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            # A nearly full disk of the machine must cause no eviction and no removal of images.
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%",
                             "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100, "maxPods": self.spec.max_pods,
            "serializeImagePulls": False, "kubeAPIQPS": 500, "kubeAPIBurst": 1000,
            **self.spec.kubelet}

    def cni(self) -> str:
        """The text of its file in /etc/cni/net.d."""
        ipam = {"type": "host-local", "ranges": [[{"subnet": self.pod_network}]],
                "routes": [{"dst": "0.0.0.0/0"}] if self.services else []}
        return json.dumps({"cniVersion": "1.0.0", "name": "tessera",
                           "plugins": [{"type": "ptp", "ipMasq": False, "ipam": ipam}]})

    def _containerd_toml(self) -> str:
        text = containerd.config(self.spec.containerd_release, nri=self.spec.nri)
        return text + self.spec.containerd

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
