"""Karpenter with its own simulated cloud (its `kwok` provider), beside the components of a cluster.

It decides as Karpenter does everywhere. Only its instances are simulated: for each NodeClaim it
creates a Node that has no kubelet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kube import binaries
from kube.cluster import Cluster

NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
Json = dict[str, Any]


def start(cluster: Cluster, instance_types: Mapping[str, Mapping[str, str]]) -> None:
    """Starts it with these types of instances: name -> resources. It ends with the cluster. Its
    feature gate NodeOverlay is on."""
    program = binaries.ensure(table=binaries.KARPENTER) / "kwok"
    for file in crds():
        cluster.kubectl("apply", "--server-side", "-f", str(file))
    for kind in ("nodepools", "nodeclaims", "nodeoverlays"):
        cluster.kubectl("wait", "--for=condition=Established", f"crd/{kind}.karpenter.sh")
    cluster.kubectl("create", "-f", "-", input=json.dumps({
        "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": NODE_CLASS["kind"],
        "metadata": {"name": NODE_CLASS["name"]}}))
    types = cluster.directory / "instance-types.json"
    types.write_text(json.dumps([_instance_type(name, resources)
                                 for name, resources in instance_types.items()]))
    cluster.start_program("karpenter", [str(program)], env={
        "KUBECONFIG": str(cluster.kubeconfig), "SYSTEM_NAMESPACE": "kube-system",
        "INSTANCE_TYPES_FILE_PATH": str(types), "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": "NodeOverlay=true", "METRICS_PORT": str(cluster.free_port()),
        "HEALTH_PROBE_PORT": str(cluster.free_port())})


def crds() -> list[Path]:
    """The files of its custom resource definitions, from the source of the module."""
    source = binaries.source(*binaries.KARPENTER)
    return [*sorted((source / "pkg/apis/crds").glob("*.yaml")),
            *sorted((source / "kwok/apis/crds").glob("*.yaml"))]


def _instance_type(name: str, resources: Mapping[str, str]) -> Json:
    return {"name": name, "architecture": "amd64", "operatingSystems": ["linux"],
            "resources": dict(resources), "offerings": [{
                "Price": 1.0, "Available": True, "Requirements": [
                    {"key": key, "operator": "In", "values": [value]} for key, value in (
                        ("karpenter.sh/capacity-type", "on-demand"),
                        ("topology.kubernetes.io/zone", "zone-a"))]}]}
