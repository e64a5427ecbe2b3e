"""The ground truth of tests: allocations by the annotations, and GPUs as containers see them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

ALLOCATION = "tessera.dev/allocation"
ALLOCATION_MAC = "tessera.dev/allocation-mac"
ENFORCED_BY = "tessera.dev/enforced-by"
GPUS = "tessera.dev/gpus"
GIB = 1 << 30

_DEVICE = re.compile(r"^device \d+: uuid (GPU-[0-9a-f-]+), name (.*), total (\d+) bytes$", re.M)


@dataclass(frozen=True)
class GpuState:
    """A GPU as its node's agent publishes it."""

    node: str
    uuid: str
    index: int
    minor: int
    memory: int
    condition: str  # healthy, unhealthy, not-shareable
    reason: str

    @property
    def healthy(self) -> bool:
        """Whether pods may be placed on it."""
        return self.condition == "healthy"


@dataclass(frozen=True)
class Seen:
    """What a container printed: its environment, and its GPUs by the CUDA driver."""

    env: dict[str, str]
    uuids: list[str]
    text: str


def gpus(nodes: Iterable[Json]) -> list[GpuState]:
    """All published GPUs, by node and index."""
    found = []
    for node in nodes:
        published = json.loads(node["metadata"].get("annotations", {}).get(GPUS, '{"gpus":[]}'))
        for gpu in published["gpus"]:
            found.append(GpuState(node["metadata"]["name"], gpu["uuid"], gpu["index"],
                              gpu.get("minor", -1), gpu["memory"] - gpu["reserved"], gpu["health"],
                              gpu.get("reason", "")))
    return sorted(found, key=lambda gpu: (gpu.node, gpu.index))


def annotation(pod: Json, key: str) -> str:
    """An annotation of a pod; empty if it does not exist."""
    return str(pod["metadata"].get("annotations", {}).get(key, ""))


def allocation_text(pod: Json, gpu: GpuState, memory: int) -> str:
    """The allocation that the controller would write for a pod with one container, `main`."""
    return json.dumps({
        "version": 1, "pod": pod["metadata"]["uid"], "node": gpu.node, "dialect": "native",
        "containers": [{"name": "main", "kind": "app", "gpus": [
            {"uuid": gpu.uuid, "index": gpu.index, "memory": memory, "cores": 0}]}]})


def _containers(pod: Json) -> list[Json]:
    """The containers of the pod's allocation; empty if the annotation is of another pod."""
    allocation = json.loads(annotation(pod, ALLOCATION) or "{}")
    mine = allocation.get("version") == 1 and allocation["pod"] == pod["metadata"]["uid"]
    return list(allocation["containers"]) if mine else []


def shares(pod: Json) -> dict[str, list[Json]]:
    """Container name -> the shares that its allocation names; empty without an allocation."""
    return {container["name"]: container["gpus"] for container in _containers(pod)}


def uuids(pod: Json, container: str = "main") -> list[str]:
    """The UUIDs of the GPUs in a container's allocation."""
    return [share["uuid"] for share in shares(pod).get(container, [])]


def gpu_bytes(pod: Json) -> dict[str, int]:
    """GPU -> bytes that are allocated to the pod at its peak. This is an independent implementation
    of docs/formats/allocation.md."""
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in _containers(pod):
        for share in container["gpus"]:
            gpu, after = share["uuid"], running.get(share["uuid"], 0) + share["memory"]
            peak[gpu] = max(peak.get(gpu, 0), after)
            if container["kind"] != "init":
                running[gpu] = after
    return peak


def is_live(pod: Json) -> bool:
    """Whether the pod is bound and has not finished."""
    return (bool(pod["spec"].get("nodeName"))
            and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"))


def is_running(pod: Json) -> bool:
    """Whether the pod runs and all its containers are running."""
    return (pod["status"]["phase"] == "Running"
            and all("running" in status["state"]
                    for status in pod["status"].get("containerStatuses", [])))


def allocated(pods: Iterable[Json]) -> dict[str, int]:
    """GPU -> bytes that are allocated to all live pods together."""
    sums: dict[str, int] = {}
    for pod in filter(is_live, pods):
        for gpu, amount in gpu_bytes(pod).items():
            sums[gpu] = sums.get(gpu, 0) + amount
    return sums


def parse_log(text: str) -> Seen:
    """Parses the log of a container that pods.container made."""
    pairs = [line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Z_]+=", line)]
    return Seen({name: value for name, value in pairs},
                [match[1] for match in _DEVICE.finditer(text)], text)


def driver_use(report: str) -> dict[str, tuple[int, int]]:
    """UUID -> (used bytes, memory) of each GPU in the output of `gpusimctl show`."""
    line = re.compile(r"^GPU \d+: (\S+), .* memory (\d+) bytes, .* used (\d+) bytes", re.M)
    return {match[1]: (int(match[3]), int(match[2])) for match in line.finditer(report)}
