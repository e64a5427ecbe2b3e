"""Deploys Tessera's own manifests (deploy/base) on a cluster of the harness without Services and
without control-plane nodes."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kube.errors import KubeError
from kube.handle import ClusterHandle
from stack import builds
from stack.gpu_node import DRIVER_ROOT

DEPLOY = builds.ROOT / "deploy"
BASE = DEPLOY / "base"
SHIPPED_PORT = "12345"
NAMESPACE = "tessera-system"

LEASE = f"--lease={NAMESPACE}/tessera-controller"
CONTROLLER_USER = f"system:serviceaccount:{NAMESPACE}:tessera-controller"
AGENT_USER = f"system:serviceaccount:{NAMESPACE}:tessera-agent"
TLS_FILES = (("tls-certificate-file", "tls.crt"), ("tls-key-file", "tls.key"),
             ("client-ca-file", "ca.crt"))
KEY_FILE = "--allocation-key-file=/etc/tessera/allocation-key/keys"
GUARD_LIBRARY = "--guard-library=/usr/lib/tessera/libtessera-guard.so"


def pods_of(component: str) -> str:
    """The path of the list of Tessera's pods of a component: "controller" or "agent"."""
    return (f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io%2Fname%3Dtessera,"
            f"app.kubernetes.io%2Fcomponent%3D{component}")


@dataclass(frozen=True)
class AgentRules:
    """arguments: additional arguments of the agents. folders: folders of the node that are mounted
    read-only into the agents' pods, at the same paths."""

    arguments: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def scheduler_config(port: int, certificates: Path | None = None) -> str:
    """The shipped configuration of kube-scheduler, with the controller on `port`, and without
    leader election: there is only one kube-scheduler, and after a restart it must not wait for its
    old Lease. certificates: the folder that `deploy/ha/certificates` made; then the extender uses
    TLS."""
    text = (DEPLOY / "scheduler" / "config.yaml").read_text()
    if certificates is not None:
        text = (DEPLOY / "ha" / "scheduler.yaml").read_text()
        text = text.replace("TESSERA_HOST", "127.0.0.1")
        text = text.replace("/etc/kubernetes/tessera", str(certificates / "scheduler"))
    return text.replace(SHIPPED_PORT, str(port)).replace("leaderElect: true", "leaderElect: false")


def make_certificates(directory: Path) -> None:
    """Creates missing certificates with deploy/ha/certificates. Raises KubeError if that fails."""
    done = subprocess.run([str(DEPLOY / "ha" / "certificates"), str(directory)], text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise KubeError(f"deploy/ha/certificates: {done.stderr.strip()}")


def apply(cluster: ClusterHandle, port: int, health_port: int, key: str, identity: str = "nri",
          memory_unit: str = "GiB", certificates: Path | None = None, guard: bool = False,
          rules: AgentRules = AgentRules()) -> None:
    """Deploys the shipped manifests; `wait` waits until they run. key: the hexadecimal key that
    signs allocations. certificates: as for `scheduler_config`; then deploy/ha is used, for several
    controllers."""
    overlay = cluster.directory / "overlay"
    overlay.mkdir(exist_ok=True)
    def relative(path: Path) -> str:  # kustomize needs relative paths
        return os.path.relpath(path, overlay.resolve())
    components = [DEPLOY / "identity-kubelet"] if identity == "kubelet" else []
    if guard:
        components += [DEPLOY / "guard", DEPLOY / "kill-bypassing", DEPLOY / "listening"]
    if certificates is not None:
        components.append(DEPLOY / "ha")
        cluster.kubectl("create", "namespace", NAMESPACE)
        put_certificates(cluster, certificates)
    # JSON is YAML.
    (overlay / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [relative(BASE)], "components": [relative(path) for path in components],
        "secretGenerator": [{"name": "tessera-allocation-key", "namespace": NAMESPACE,
                             "literals": [f"keys={key}"]}],
        "generatorOptions": {"disableNameSuffixHash": True},
        "patches": [
            _patch("Deployment", "tessera-controller", _controller(
                cluster, port, health_port, certificates is not None)),
            _patch("DaemonSet", "tessera-agent", [
                *_agent(cluster, identity, memory_unit, guard), *_rules(rules)]),
        ],
    }))
    cluster.kubectl("apply", "-k", str(overlay))


def put_certificates(cluster: ClusterHandle, certificates: Path) -> None:
    """Creates or updates the Secret of the controllers' certificates."""
    folder = certificates / "controller"
    secret = cluster.kubectl(
        "-n", NAMESPACE, "create", "secret", "generic", "tessera-controller-tls",
        "--type=kubernetes.io/tls", "-o", "yaml", "--dry-run=client",
        *(f"--from-file={folder / name}" for _, name in TLS_FILES))
    cluster.kubectl("apply", "-f", "-", input=secret)


def wait(cluster: ClusterHandle, nodes: int) -> None:
    """Waits until the controller runs and every agent has published its GPUs."""
    def ready() -> bool:
        text = cluster.kubectl("get", "nodes", "-o", "json")
        published = [n for n in json.loads(text)["items"]
                     if "tessera.dev/gpus" in n["metadata"].get("annotations", {})
                     and int(n["status"]["allocatable"].get("aliyun.com/gpu-mem", "0")) > 0
                     and int(n["status"]["allocatable"].get("tessera.dev/gpu-share", "0")) > 0]
        return len(published) == nodes
    cluster.wait_for("every agent has published its GPUs", ready, 60)
    wait_rolled_out(cluster, "deployment/tessera-controller")


def wait_rolled_out(cluster: ClusterHandle, what: str) -> None:
    """Waits until all pods of one of our workloads (KIND/NAME) have its newest template."""
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", what, "--timeout=300s", timeout=310)


def _with_api(cluster: ClusterHandle) -> list[dict[str, Any]]:
    variables = {"KUBERNETES_SERVICE_HOST": cluster.api_host,
                 "KUBERNETES_SERVICE_PORT": str(cluster.api_port)}
    return [{"op": "add", "path": "/spec/template/spec/containers/0/env/-",
             "value": {"name": name, "value": value}} for name, value in variables.items()]


def ports_of(port: int, health_port: int) -> list[dict[str, Any]]:
    """The declared ports of a controller."""
    return [{"name": "http", "containerPort": port}, {"name": "health", "containerPort": health_port}]


def _controller(cluster: ClusterHandle, port: int, health_port: int,
                tls: bool) -> list[dict[str, Any]]:
    container = "/spec/template/spec/containers/0"
    listen = ["--listen=127.0.0.1", "--open-reads"]
    replicas = []
    if tls:
        # All nodes share one network on this machine, so each replica needs its own ports.
        replicas = [{"op": "replace", "path": "/spec/replicas", "value": 1}]
        listen = ["--listen=0.0.0.0", f"--advertise=https://$(POD_IP):{port}",
                  *(f"--{name}=/etc/tessera/tls/{file}" for name, file in TLS_FILES)]
    return [
        *replicas,
        {"op": "remove", "path": "/spec/template/spec/nodeSelector"},
        {"op": "replace", "path": f"{container}/ports", "value": ports_of(port, health_port)},
        {"op": "replace", "path": f"{container}/args",
         "value": [*listen, f"--port={port}", f"--health-port={health_port}", "--policy=binpack",
                   KEY_FILE, LEASE]},
        {"op": "replace", "path": f"{container}/readinessProbe/httpGet/port",
         "value": health_port},
        {"op": "replace", "path": f"{container}/livenessProbe/httpGet/port",
         "value": health_port},
        *_with_api(cluster),
    ]


def _agent(cluster: ClusterHandle, identity: str, memory_unit: str,
           guard: bool) -> list[dict[str, Any]]:
    container = "/spec/template/spec/containers/0"
    port = cluster.free_port()
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/spec/template/spec/hostNetwork", "value": True},
        {"op": "replace", "path": f"{container}/args",
         "value": [f"--driver-root={DRIVER_ROOT}", f"--memory-unit={memory_unit}",
                   f"--identity={identity}", KEY_FILE, "--listen=$(POD_IP)",
                   f"--metrics-port={port}",
                   *([GUARD_LIBRARY, "--bypass-action=kill"] if guard else [])]},
        # All nodes share one network here, so each agent uses the port on its own node's address.
        {"op": "add", "path": f"{container}/env/-", "value": {
            "name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}},
    ]
    operations.append({"op": "replace", "path": f"{container}/ports",
                       "value": [{"name": "metrics", "containerPort": port}]})
    return operations + _with_api(cluster)


def _rules(rules: AgentRules) -> list[dict[str, Any]]:
    pod = "/spec/template/spec"
    container = f"{pod}/containers/0"
    added: list[tuple[str, object]] = [(f"{container}/args/-", text) for text in rules.arguments]
    for number, folder in enumerate(rules.folders):
        name = f"folder-{number}"
        added += [
            (f"{container}/volumeMounts/-", {"name": name, "mountPath": folder, "readOnly": True}),
            (f"{pod}/volumes/-",
             {"name": name, "hostPath": {"path": folder, "type": "DirectoryOrCreate"}})]
    return [{"op": "add", "path": path, "value": value} for path, value in added]


def _patch(kind: str, name: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(operations)}
