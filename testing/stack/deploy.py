"""Tessera's own manifests (deploy/base), fitted to a cluster of the harness: it has no Services and
no control-plane nodes."""

from __future__ import annotations

import json
import os
from typing import Any

from kube.handle import ClusterHandle
from stack import builds
from stack.gpu_node import DRIVER_ROOT

BASE = builds.ROOT / "deploy" / "base"
SCHEDULER_CONFIG = builds.ROOT / "deploy" / "scheduler" / "config.yaml"
SHIPPED_PORT = "12345"
NAMESPACE = "tessera-system"
LEASE = f"--lease={NAMESPACE}/tessera-controller"
KEY_FILE = "--allocation-key-file=/etc/tessera/allocation-key/keys"


def scheduler_config(port: int) -> str:
    """The shipped configuration of kube-scheduler, with the controller on `port`, and without the
    election: there is one kube-scheduler, and a restarted one should not wait for its old lease."""
    text = SCHEDULER_CONFIG.read_text()
    return text.replace(SHIPPED_PORT, str(port)).replace("leaderElect: true", "leaderElect: false")


def apply(cluster: ClusterHandle, port: int, health_port: int, key: str, identity: str = "nri",
          memory_unit: str = "GiB") -> None:
    """Deploys the shipped manifests; `wait` says when they run. key: what allocations are signed
    with, in hexadecimal."""
    overlay = cluster.directory / "overlay"
    overlay.mkdir(exist_ok=True)
    # JSON is YAML; kustomize wants paths relative to the overlay.
    (overlay / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [os.path.relpath(BASE, overlay.resolve())],
        "secretGenerator": [{"name": "tessera-allocation-key", "namespace": NAMESPACE,
                             "literals": [f"keys={key}"]}],
        "generatorOptions": {"disableNameSuffixHash": True},
        "patches": [
            _patch("Deployment", "tessera-controller", _controller(cluster, port, health_port)),
            _patch("DaemonSet", "tessera-agent", _agent(cluster, identity, memory_unit)),
        ],
    }))
    cluster.kubectl("apply", "-k", str(overlay))


def wait(cluster: ClusterHandle, nodes: int) -> None:
    """Until the controller answers and every agent has published its cards."""
    def ready() -> bool:
        text = cluster.kubectl("get", "nodes", "-o", "json")
        published = [n for n in json.loads(text)["items"]
                     if "tessera.dev/gpus" in n["metadata"].get("annotations", {})
                     and int(n["status"]["allocatable"].get("aliyun.com/gpu-mem", "0")) > 0
                     and int(n["status"]["allocatable"].get("tessera.dev/gpu", "0")) > 0]
        return len(published) == nodes
    cluster.wait_for("every agent has published its GPUs", ready, 60)
    wait_rolled_out(cluster, "deployment/tessera-controller")


def wait_rolled_out(cluster: ClusterHandle, what: str) -> None:
    """Until all pods of a workload of ours (KIND/NAME) are those of its newest template."""
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", what, "--timeout=60s", timeout=70)


def _with_api(cluster: ClusterHandle) -> list[dict[str, Any]]:
    variables = {"KUBERNETES_SERVICE_HOST": cluster.api_host,
                 "KUBERNETES_SERVICE_PORT": str(cluster.api_port)}
    return [{"op": "add", "path": "/spec/template/spec/containers/0/env/-",
             "value": {"name": name, "value": value}} for name, value in variables.items()]


def _controller(cluster: ClusterHandle, port: int, health_port: int) -> list[dict[str, Any]]:
    container = "/spec/template/spec/containers/0"
    return [
        {"op": "remove", "path": "/spec/template/spec/nodeSelector"},
        {"op": "replace", "path": f"{container}/args",
         "value": ["--listen=127.0.0.1", f"--port={port}", f"--health-port={health_port}",
                   "--policy=binpack", "--open-reads", KEY_FILE, LEASE]},
        {"op": "replace", "path": f"{container}/readinessProbe/httpGet/port",
         "value": health_port},
        {"op": "replace", "path": f"{container}/livenessProbe/httpGet/port",
         "value": health_port},
        *_with_api(cluster),
    ]


def _agent(cluster: ClusterHandle, identity: str, memory_unit: str) -> list[dict[str, Any]]:
    container = "/spec/template/spec/containers/0"
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/spec/template/spec/hostNetwork", "value": True},
        {"op": "replace", "path": f"{container}/args",
         "value": [f"--driver-root={DRIVER_ROOT}", f"--memory-unit={memory_unit}",
                   f"--identity={identity}", KEY_FILE]},
    ]
    return operations + _with_api(cluster)


def _patch(kind: str, name: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(operations)}
