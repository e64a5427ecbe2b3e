"""A control plane with kwok's nodes: pods that are bound there run at once, nothing else happens.

It has no kube-controller-manager, which would miss the nodes' heartbeats. kube-scheduler runs only
after a row of the benchmark starts it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kube import binaries, versions
from kube.cluster import Cluster

# Without kube-controller-manager, nothing creates service accounts or removes the taint of a node.
WITHOUT = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"


def _stage(name: str, kind: str, selector: dict[str, Any], status: str) -> dict[str, Any]:
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name},
            "spec": {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector,
                     "next": {"statusTemplate": status}}}


STAGES = (
    _stage("pod-runs", "Pod", {"matchExpressions": [
        {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
        {"key": ".status.phase", "operator": "In", "values": ["Pending"]}]}, "phase: Running"),
    # Without a stage for nodes, kwok ignores the pods of all nodes. Our nodes are created Ready, so
    # the stage matches none.
    _stage("node-stays", "Node", {"matchLabels": {"bench": "no-such-node"}}, "{}"))


def new_cluster(arguments: Mapping[str, Sequence[str]] | None = None,
                kubernetes: str = versions.DEFAULT) -> Cluster:
    """A cluster that is not started yet. arguments: additional arguments, by component. kubernetes:
    the minor version."""
    return Cluster([], control_plane=("etcd", "kube-apiserver"), kubernetes=kubernetes,
                   extra_arguments={"kube-apiserver": [WITHOUT], **(arguments or {})})


def keys(cluster: Cluster) -> Path:
    """The file with the key that signs allocations."""
    path = cluster.directory / "allocation-keys"
    if not path.exists():
        path.write_text(secrets.token_hex(32) + "\n")
    return path


def start_kwok(cluster: Cluster) -> None:
    """Starts kwok, which ends with the cluster."""
    config = cluster.directory / "kwok.yaml"
    config.write_text("\n---\n".join(map(json.dumps, STAGES)))
    program = binaries.ensure(table=binaries.KWOK) / "kwok"
    cluster.start_program("kwok", [
        str(program), f"--kubeconfig={cluster.kubeconfig}", f"--config={config}",
        "--manage-all-nodes", "--node-lease-duration-seconds=0", "--v=WARN"])


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
