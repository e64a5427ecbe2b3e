"""The DNS server of a cluster with Services: CoreDNS, beside the control plane.

Pods find it if their node's kubelet has `kubelet_entries`. It is no Deployment, as in other clusters,
so it needs no image, and answers as long as the run lives.
"""

from __future__ import annotations

from typing import Any

from kube import binaries, network
from kube.cluster import Cluster

DOMAIN = "cluster.local"
PROGRAM = "coredns"


def address(cluster: Cluster) -> str:
    """The address of the server: that of the first node. Works before `start`."""
    return network.node_address(cluster.slot, 0)


def kubelet_entries(cluster: Cluster) -> dict[str, Any]:
    """Entries of kubelet's configuration, for NodeSpec.kubelet."""
    return {"clusterDNS": [address(cluster)], "clusterDomain": DOMAIN}


def start(cluster: Cluster) -> None:
    """Starts the server, and returns when it answers."""
    programs = binaries.ensure(table=binaries.COREDNS)
    config = cluster.directory / "Corefile"
    config.write_text(f".:53 {{\n  errors\n  kubernetes {DOMAIN} {{\n"
                      f"    kubeconfig {cluster.kubeconfig}\n  }}\n}}\n")
    cluster.start_program(PROGRAM, [str(programs / PROGRAM), "-conf", str(config)])
    cluster.wait_for("CoreDNS", lambda: "CoreDNS-" in cluster.logs(PROGRAM))
