"""Deploys the Helm chart, in extender mode, on a cluster of the harness without Services and without
control-plane nodes. (stack/chart.py installs the chart as it is shipped.)"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kube.cluster import Cluster
from kube.errors import KubeError
from kube.handle import ClusterHandle
from stack import builds, render
from stack.gpu_node import DRIVER_ROOT
from stack.render import NAMESPACE, Json

CERTIFICATES = builds.ROOT / "deploy" / "extender-tls" / "certificates"

CONTROLLER_USER = f"system:serviceaccount:{NAMESPACE}:tessera-controller"
AGENT_USER = f"system:serviceaccount:{NAMESPACE}:tessera-agent"
TLS_FILES = ("tls.crt", "tls.key", "ca.crt")
KEY_FILE = "--allocation-key-file=/etc/tessera/allocation-key/keys"


def pods_of(component: str) -> str:
    """The path of the list of Tessera's pods of a component: "controller" or "agent"."""
    return (f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io%2Fname%3Dtessera,"
            f"app.kubernetes.io%2Fcomponent%3D{component}")


def scheduler_config(port: int, certificates: Path | None = None,
                     extra_values: Sequence[str] = ()) -> str:
    """The chart's configuration of the cluster's kube-scheduler, with the controller on `port`, and
    without leader election: there is only one kube-scheduler, and after a restart it must not wait
    for its old Lease. certificates: the folder that `make_certificates` filled; then the extender
    uses TLS. extra_values: as for `apply`."""
    values = ["mode=extender", *extra_values]
    if certificates is not None:
        values += ["extender.tls.enabled=true", f"extender.tls.folder={certificates / 'scheduler'}"]
    config = render.for_program(render.scheduler_config(*values), port)
    config["leaderElection"] = {"leaderElect": False}
    return json.dumps(config)


def make_certificates(directory: Path) -> None:
    """Creates missing certificates with deploy/extender-tls/certificates. Raises KubeError if that
    fails."""
    done = subprocess.run([str(CERTIFICATES), str(directory)], text=True, capture_output=True)
    if done.returncode != 0:
        raise KubeError(f"{CERTIFICATES.name}: {done.stderr.strip()}")


def put_certificates(cluster: ClusterHandle, certificates: Path) -> None:
    """Creates or updates the Secret of the controllers' certificates."""
    folder = certificates / "controller"
    secret = cluster.kubectl(
        "-n", NAMESPACE, "create", "secret", "generic", "tessera-controller-tls",
        "--type=kubernetes.io/tls", "-o", "yaml", "--dry-run=client",
        *(f"--from-file={folder / name}" for name in TLS_FILES))
    cluster.kubectl("apply", "-f", "-", input=secret)


def values(identity: str, memory_unit: str, guard: bool, tls_port: int | None) -> Json:
    """The values of the chart. tls_port: the port of a controller over TLS; None without TLS."""
    advertised = [] if tls_port is None else [f"--advertise=https://$(POD_IP):{tls_port}"]
    return {
        "mode": "extender",
        "image": {"registry": "localhost", "tag": "dev"},
        # All nodes share one network on this machine, so each replica would need its own ports.
        "controller": {"replicas": 1, "extraArgs": advertised or ["--open-reads"]},
        "extender": {"tls": {"enabled": tls_port is not None}},
        "agent": {"identity": identity, "memoryUnit": memory_unit, "listen": True,
                  "driver": {"root": DRIVER_ROOT, "runtimeClassName": ""}},
        "guard": {"enabled": guard, "bypassAction": "kill"},
        "webhook": {"enabled": False},
        "allocationKey": {"create": False},
    }


def apply(cluster: Cluster, port: int, health_port: int, key: str, identity: str = "nri",
          memory_unit: str = "GiB", certificates: Path | None = None, guard: bool = False,
          extra_values: Sequence[str] = ()) -> None:
    """Deploys the chart; `wait` waits until it runs. key: the hexadecimal key that signs
    allocations. certificates: as for `scheduler_config`. extra_values: further values of the chart,
    each NAME=VALUE."""
    tls_port = None if certificates is None else port
    objects = render.render("--no-hooks", *(f"--set={value}" for value in extra_values),
                            text=json.dumps(values(identity, memory_unit, guard, tls_port)))
    for each in objects:
        if each["kind"] in ("Deployment", "DaemonSet"):
            _fit(each, cluster, port, health_port)
    cluster.kubectl("apply", "-f", "-", input=json.dumps(_list([_namespace(), _key(key)])))
    if certificates is not None:
        put_certificates(cluster, certificates)
    # kubectl refuses objects of another namespace than that of its flag.
    others = [each for each in objects if each["metadata"].get("namespace", NAMESPACE) != NAMESPACE]
    own = [each for each in objects if each not in others]
    cluster.kubectl("apply", "-f", "-", input=json.dumps(_list(others)))
    cluster.kubectl("-n", NAMESPACE, "apply", "-f", "-", input=json.dumps(_list(own)))


def _list(objects: Iterable[Json]) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def _namespace() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {
        "pod-security.kubernetes.io/enforce": "privileged"}}}


def _key(key: str) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "stringData": {"keys": key},
            "metadata": {"name": "tessera-allocation-key", "namespace": NAMESPACE}}


def wait(cluster: ClusterHandle, nodes: int) -> None:
    """Waits until the controller runs and every agent has published its GPUs."""
    def ready() -> bool:
        text = cluster.kubectl("get", "nodes", "-o", "json")
        published = [n for n in json.loads(text)["items"]
                     if "tessera.dev/gpus" in n["metadata"].get("annotations", {})
                     and int(n["status"]["allocatable"].get("aliyun.com/gpu-mem", "0")) > 0
                     and int(n["status"]["allocatable"].get("tessera.dev/gpu-share", "0")) > 0]
        return len(published) == nodes

    def agents_ready() -> bool:
        text = cluster.kubectl("-n", NAMESPACE, "get", "daemonset", "tessera-agent", "-o", "json")
        return int(json.loads(text)["status"].get("numberReady", 0)) >= nodes
    cluster.wait_for("every agent has published its GPUs", ready, 60)
    cluster.wait_for("the agents are ready", agents_ready, 60)
    wait_rolled_out(cluster, "deployment/tessera-controller")


def wait_rolled_out(cluster: ClusterHandle, what: str) -> None:
    """Waits until all pods of one of our workloads (KIND/NAME) have its newest template."""
    cluster.kubectl("-n", NAMESPACE, "rollout", "status", what, "--timeout=300s", timeout=310)


def use_ports(container: Json, **ports: int) -> None:
    """Gives a controller's container these ports, by their names in the manifest: http, health,
    service."""
    options = {"http": "--port", "health": "--health-port", "service": "--service-port"}
    for each in container["ports"]:
        each["containerPort"] = ports[each["name"]]
    container["args"] = [
        next((f"{option}={ports[name]}" for name, option in options.items()
              if argument.startswith(f"{option}=")), argument) for argument in container["args"]]


def _fit(workload: Json, cluster: Cluster, port: int, health_port: int) -> None:
    """Changes a workload of the chart for a cluster without Services, whose nodes share one network
    and are no control-plane nodes."""
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    container, = pod["containers"]
    # Without Services, a pod reaches the API server only in the network of its node.
    pod["hostNetwork"] = True
    container["env"] += [{"name": "KUBERNETES_SERVICE_HOST", "value": cluster.api_host},
                         {"name": "KUBERNETES_SERVICE_PORT", "value": str(cluster.api_port)}]
    workload["spec"].pop("minReadySeconds", None)  # tests that restart agents would wait for it
    if workload["kind"] == "Deployment":
        del pod["affinity"]["nodeAffinity"]
        use_ports(container, http=port, health=health_port, service=cluster.free_port())
        container["args"] = [a.replace("--listen=$(POD_IP)", "--listen=0.0.0.0")
                             for a in container["args"]]
