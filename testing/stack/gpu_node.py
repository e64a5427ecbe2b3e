"""A node with simulated GPUs: a driver root where NVIDIA's operator would put the real one."""

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
    """cards: a file of gpusim/cards (its form is in gpusim/README.md). kubelet: entries of its
    configuration. publishes: its agent is expected to come up. containerd_release: as NodeSpec's."""

    name: str
    cards: Path
    nri: bool = True
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    publishes: bool = True
    containerd_release: str = ""

    def driver_root(self, directory: Path) -> Path:
        """Its driver root as this machine sees it."""
        return directory / "drivers" / self.name

    def spec(self, directory: Path) -> NodeSpec:
        """Makes the driver root below `directory`, and the node that has it."""
        root = self.driver_root(directory)
        root.parent.mkdir(parents=True, exist_ok=True)
        gpusimctl("create", "--seed", self.name, str(self.cards), str(root))
        cdi = gpusimctl("cdi", str(root)).replace(str(root), DRIVER_ROOT)
        json.loads(cdi)
        return NodeSpec(self.name, nri=self.nri, binds=((root, DRIVER_ROOT),),
                        files={"/run/cdi/nvidia.json": cdi}, labels={"gpushare": "true"},
                        kubelet=self.kubelet, containerd_release=self.containerd_release)


def gpusimctl(*arguments: str) -> str:
    """Runs gpusimctl and returns what it prints."""
    done = subprocess.run([str(builds.program("gpusimctl")), *arguments], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise KubeError(f"gpusimctl {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
