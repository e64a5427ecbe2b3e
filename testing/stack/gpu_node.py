"""A node with simulated GPUs, with its driver root where the NVIDIA GPU Operator puts it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kube.errors import KubeError
from kube.node import NodeSpec
from stack import builds

DRIVER_ROOT = "/run/nvidia/driver"  # inside the node


@dataclass(frozen=True)
class GpuNode:
    """gpus: a file of gpusim/gpus (see gpusim/README.md for its format). kubelet: entries of its
    configuration. publishes: whether its agent is expected to start. containerd_release: as in
    NodeSpec."""

    name: str
    gpus: Path
    nri: bool = True
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    publishes: bool = True
    containerd_release: str = ""

    def driver_root(self, directory: Path) -> Path:
        """The path of its driver root on this machine."""
        return directory / "drivers" / self.name

    def spec(self, directory: Path) -> NodeSpec:
        """Creates the driver root below `directory`, and returns a node that uses it."""
        root = self.driver_root(directory)
        root.parent.mkdir(parents=True, exist_ok=True)
        gpusimctl("create", "--seed", self.name, str(self.gpus), str(root))
        cdi = gpusimctl("cdi", str(root)).replace(str(root), DRIVER_ROOT)
        json.loads(cdi)
        return NodeSpec(self.name, nri=self.nri, binds=((root, DRIVER_ROOT),),
                        files={"/run/cdi/nvidia.json": cdi}, labels={"tessera.dev/agent": "true"},
                        kubelet=self.kubelet, containerd_release=self.containerd_release)


def gpusimctl(*arguments: str) -> str:
    """Runs gpusimctl and returns what it prints."""
    done = subprocess.run([str(builds.program("gpusimctl")), *arguments], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise KubeError(f"gpusimctl {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
