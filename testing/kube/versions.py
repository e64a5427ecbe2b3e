"""The minor versions of Kubernetes that a cluster of the harness can have, in one table: where the
programs of each are, and what an older or newer version does not know.

usage: python3 -m kube.versions [MINOR...]    prints the complete versions; refuses an unknown one
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kube import binaries
from kube.errors import KubeError

DEFAULT = "1.36"


@dataclass(frozen=True)
class PodGroupApi:
    """The API of Kubernetes' own PodGroups, which is off by default. group_version: its name, such
    as scheduling.k8s.io/v1beta1. gates: the feature gates of gang scheduling."""

    group_version: str
    gates: str

    @property
    def path(self) -> str:
        """The path of the pod groups of the namespace `default`."""
        return f"/apis/{self.group_version}/namespaces/default/podgroups"

    def arguments(self) -> dict[str, tuple[str, ...]]:
        """The arguments that enable the API, and kube-scheduler's gang scheduling."""
        gates = f"--feature-gates={self.gates}"
        return {"kube-apiserver": (gates, f"--runtime-config={self.group_version}=true"),
                "kube-scheduler": (gates,)}


@dataclass(frozen=True)
class KubernetesVersion:
    """One minor version. modules: the table of its programs. proxy: the table of its kube-proxy.
    unknown_to_kubelet: the fields of node.kubelet_config that its kubelet does not know.
    pod_groups: None if it has no PodGroup that a pod can name in spec.schedulingGroup."""

    minor: str
    modules: Sequence[binaries.Module]
    proxy: Sequence[binaries.Module]
    unknown_to_kubelet: frozenset[str] = field(default=frozenset())
    pod_groups: PodGroupApi | None = None

    @property
    def release(self) -> str:
        """The complete version, such as v1.36.3."""
        return binaries.pinned_version(next(
            module for module in self.modules if module.folder.startswith("kubernetes")))

    @property
    def programs(self) -> Path:
        """The directory of kube-apiserver, kubelet, kubectl and the others."""
        return binaries.directory(self.modules)

    @property
    def kube_proxy(self) -> Path:
        """The path of kube-proxy."""
        return binaries.directory(self.proxy) / "kube-proxy"

    def ensure(self, services: bool) -> None:
        """Builds missing programs; kube-proxy only for a cluster with Services. After a build,
        Go's cache is deleted if the disk is nearly full."""
        binaries.ensure(trim_go_cache=True, table=self.modules)
        if services:
            binaries.ensure(trim_go_cache=True, table=self.proxy)

    def kubelet_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of this configuration that the kubelet knows."""
        return {name: value for name, value in config.items()
                if name not in self.unknown_to_kubelet}


def _other(minor: str, *, unknown_to_kubelet: Sequence[str] = (),
           pod_groups: PodGroupApi | None = None) -> KubernetesVersion:
    modules = binaries.other_kubernetes(minor)
    return KubernetesVersion(minor, modules, modules, frozenset(unknown_to_kubelet), pod_groups)


TABLE = {version.minor: version for version in (
    # failCgroupV1 came with 1.31.
    _other("1.30", unknown_to_kubelet=("failCgroupV1",)),
    _other("1.32"),
    _other("1.34"),
    KubernetesVersion(DEFAULT, binaries.TABLE, binaries.PROXY, pod_groups=PodGroupApi(
        "scheduling.k8s.io/v1alpha2", "GenericWorkload=true,GangScheduling=true")),
    _other("1.37", pod_groups=PodGroupApi("scheduling.k8s.io/v1beta1", "GenericWorkload=true")),
)}

OTHERS = tuple(minor for minor in TABLE if minor != DEFAULT)


def of(minor: str) -> KubernetesVersion:
    """The version with this name. Raises KubeError with the list if there is none."""
    if minor not in TABLE:
        raise KubeError(f"no Kubernetes {minor!r}: there is {', '.join(TABLE)}")
    return TABLE[minor]


if __name__ == "__main__":
    try:
        print(*(of(name).release for name in sys.argv[1:] or TABLE))
    except KubeError as refused:
        sys.exit(str(refused))
