"""A stand-in of gpushare, with what collides with Tessera: the node label gpushare=true, the device
plugin's socket aliyungpushare.sock, and the extender's port 12345 on all addresses of its node.
Names, labels and annotations are those of its manifests (docs/research/gpushare.md, 4.1). The
extender only occupies its port; `place` does what it does with a pod."""

from __future__ import annotations

import json
import time
from typing import Any

from kube.handle import ClusterHandle
from stack import builds
from stack.chart import ChartStack
from stack.gpu_node import DRIVER_ROOT

NAMESPACE = "kube-system"
EXTENDER = "gpushare-schd-extender"
PLUGIN = "gpushare-device-plugin-ds"
SCHEDULER = "gpushare"  # no kube-scheduler has this name, so that only `place` binds these pods
PORT = 12345
PER_GPU = 15
_FOLDER = "/var/lib/kubelet/device-plugins"
_PODS = "/api/v1/namespaces/default/pods"

Json = dict[str, Any]


def install(stack: ChartStack) -> None:
    """Installs the stand-in on the nodes with gpushare=true, and its extender on the first node.
    Waits until both run and kubelet shows the memory."""
    images = stack.cluster.directory / "stack-images"
    program = builds.program("gpushare-plugin")
    image = stack.registry.push(builds.make_image(
        images, "k8s-gpushare-plugin", "--program", f"{program}=/usr/bin/gpushare-plugin",
        "--entrypoint", "/usr/bin/gpushare-plugin"), "k8s-gpushare-plugin:test")
    items = [*_account(), _plugin(image), _extender(stack.gpuhog, stack.nodes[0].name)]
    stack.cluster.kubectl("apply", "-f", "-", input=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": items}))
    for workload in (f"daemonset/{PLUGIN}", f"deployment/{EXTENDER}"):
        stack.cluster.kubectl("-n", NAMESPACE, "rollout", "status", workload, "--timeout=120s")
    stack.cluster.wait_for("kubelet shows the memory of gpushare", lambda: all(
        node["status"]["allocatable"].get("aliyun.com/gpu-mem", "0") == str(2 * PER_GPU)
        for node in stack.cluster.api().json("GET", "/api/v1/nodes")["items"]), 40)


def stop_extender(cluster: ClusterHandle) -> None:
    """Stops the extender, as docs/install/migrate-gpushare.md says."""
    cluster.kubectl("-n", NAMESPACE, "scale", f"deployment/{EXTENDER}", "--replicas=0")
    cluster.kubectl("-n", NAMESPACE, "wait", "--for=delete", "pod", "--timeout=60s",
                    "-l", f"component={EXTENDER}")


def place(cluster: ClusterHandle, pod: Json, node: str, gpu: int, units: int) -> None:
    """Creates the pod and binds it as gpushare's extender does: the annotations, then the
    Binding."""
    api = cluster.api()
    pod["spec"]["schedulerName"] = SCHEDULER
    name = api.json("POST", _PODS, pod)["metadata"]["name"]
    annotations = {"ALIYUN_COM_GPU_MEM_IDX": str(gpu), "ALIYUN_COM_GPU_MEM_DEV": str(PER_GPU),
                   "ALIYUN_COM_GPU_MEM_POD": str(units), "ALIYUN_COM_GPU_MEM_ASSIGNED": "false",
                   "ALIYUN_COM_GPU_MEM_ASSUME_TIME": str(time.time_ns())}
    api.json("PATCH", f"{_PODS}/{name}", {"metadata": {"annotations": annotations}},
             "application/strategic-merge-patch+json")
    api.json("POST", f"{_PODS}/{name}/binding", {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}})


def _account() -> list[Json]:
    rights = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "patch"]},
              {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]}]
    name = {"name": "gpushare-device-plugin"}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**name, "namespace": NAMESPACE}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": name,
         "rules": rights},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
         "metadata": name,
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", **name},
         "subjects": [{"kind": "ServiceAccount", **name, "namespace": NAMESPACE}]}]


def _plugin(image: str) -> Json:
    labels = {"app": "gpushare", "component": "gpushare-device-plugin", "name": PLUGIN}
    mounts = {"device-plugins": _FOLDER, "driver": DRIVER_ROOT}
    container = {
        "name": "gpushare", "image": image, "args": [DRIVER_ROOT],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"runAsUser": 0, "allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()]}
    return _workload("apps/v1", "DaemonSet", PLUGIN, labels, {
        "hostNetwork": True, "nodeSelector": {"gpushare": "true"},
        "serviceAccountName": "gpushare-device-plugin", "containers": [container],
        "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in mounts.items()]})


def _extender(image: str, node: str) -> Json:
    labels = {"app": "gpushare", "component": EXTENDER}
    container = {"name": "extender", "image": image, "command": [
        "sh", "-c", f"trap 'exit 0' TERM; while true; do nc -l -p {PORT} < /dev/null; done"]}
    return _workload("apps/v1", "Deployment", EXTENDER, labels, {
        "hostNetwork": True, "terminationGracePeriodSeconds": 1, "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": node}})


def _workload(version: str, kind: str, name: str, labels: Json, spec: Json) -> Json:
    return {"apiVersion": version, "kind": kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": spec}}}
