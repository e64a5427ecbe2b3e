"""The Gateway API of a cluster: its kinds, without a controller. So routes are checked and stored, and
no Gateway carries them out."""

from __future__ import annotations

from pathlib import Path

from kube import binaries
from kube.cluster import Cluster

KINDS = ("gatewayclasses", "gateways", "httproutes")
GROUP = "gateway.networking.k8s.io"


def install(cluster: Cluster) -> None:
    """Returns when the API server serves them."""
    for file in _files():
        cluster.kubectl("apply", "--server-side", "-f", str(file))
    for kind in KINDS:
        cluster.kubectl("wait", "--for=condition=Established", f"crd/{kind}.{GROUP}")


def uninstall(cluster: Cluster) -> None:
    """Deletes the kinds and all of their objects."""
    cluster.kubectl("delete", "crd", *(f"{kind}.{GROUP}" for kind in KINDS), "--wait=true")


def _files() -> list[Path]:
    source = binaries.source(*binaries.GATEWAY_API)
    return [source / "config/crd/standard" / f"{GROUP}_{kind}.yaml" for kind in KINDS]
