"""Pods of the tests: a container prints the variables that Tessera set, and then runs gpuhog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stack import builds

Json = dict[str, Any]

NODE_LABEL = "kubernetes.io/hostname"
SHOW = "env | grep -E '^(ALIYUN|NVIDIA|TESSERA)'"


def aliyun(units: object, **more: object) -> dict[str, object]:
    """Limits in gpushare's dialect; `more` has count and cores."""
    names = {"count": "aliyun.com/gpu-count", "cores": "aliyun.com/gpu-core.percentage"}
    return {"aliyun.com/gpu-mem": units, **{names[key]: value for key, value in more.items()}}


def vcuda(core: object = None, memory: object = None) -> dict[str, object]:
    """Limits in gpu-manager's dialect: percent, and units of 256 MiB. None leaves a resource out."""
    limits = {"tencent.com/vcuda-core": core, "tencent.com/vcuda-memory": memory}
    return {name: value for name, value in limits.items() if value is not None}


def native(memory: object = None, gpus: object = 1, cores: object = None) -> dict[str, object]:
    """Limits in Tessera's own dialect: whole GPUs without `memory`, and shares with it. None leaves a
    resource out."""
    count = "tessera.dev/gpu" if memory is None else "tessera.dev/gpu-share"
    limits = {count: gpus, "tessera.dev/gpu-memory": memory,
              "tessera.dev/gpu-cores": cores}
    return {name: value for name, value in limits.items() if value is not None}


def container(name: str, limits: Mapping[str, object] | None = None, *, script: str = "",
              size: str = "1GiB", **more: object) -> Json:
    """A container that prints its environment and then runs `script`. Without a script it allocates
    `size` of its first GPU and keeps it."""
    return {"name": name, "image": builds.GPUHOG, "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", f"{SHOW}; {script or f'exec gpuhog {size}'}"],
            "resources": {"limits": {k: str(v) for k, v in (limits or {}).items()}}, **more}


def init_container(name: str, limits: Mapping[str, object], size: str = "1GiB") -> Json:
    """An init container that allocates memory once and ends."""
    return container(name, limits, script=f"exec gpuhog --once {size}")


def sidecar(name: str, limits: Mapping[str, object]) -> Json:
    """An init container that keeps running."""
    return container(name, limits, restartPolicy="Always")


def pod(name: str, *containers: Json, init: Sequence[Json] = (), node: str = "",
        annotations: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None,
        **spec: object) -> Json:
    """A pod with these containers. node: a node selector for this node. spec: more fields of its
    spec."""
    selector = {"nodeSelector": {NODE_LABEL: node}} if node else {}
    inits = {"initContainers": list(init)} if init else {}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": dict(annotations or {}),
                         "labels": dict(labels or {})},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": list(containers),
                     **inits, **selector, **spec}}


def simple(name: str, limits: Mapping[str, object], *, node: str = "", size: str = "1GiB",
           **more: Any) -> Json:
    """A pod with one container, `main`. more: fields of the pod's spec, and `env` of the
    container."""
    extra = {"env": more.pop("env")} if "env" in more else {}
    return pod(name, container("main", limits, size=size, **extra), node=node, **more)


def replicas(name: str, count: int, *containers: Json) -> Json:
    """A ReplicaSet; its pods have the label app=name."""
    template = pod(name, *containers)
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": template["spec"]}}}
