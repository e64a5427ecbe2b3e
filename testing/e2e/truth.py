"""What is so: allocations as the annotations say them, and cards as containers see them."""

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
class Card:
    """A card as its node's agent publishes it."""

    node: str
    uuid: str
    index: int
    minor: int
    memory: int
    condition: str  # healthy, unhealthy, not-shareable
    reason: str

    @property
    def healthy(self) -> bool:
        """Whether it may be given."""
        return self.condition == "healthy"


@dataclass(frozen=True)
class Seen:
    """What a container printed: its environment, and its cards through the CUDA driver."""

    env: dict[str, str]
    uuids: list[str]
    text: str


def cards(nodes: Iterable[Json]) -> list[Card]:
    """All published cards, by node and index."""
    found = []
    for node in nodes:
        published = json.loads(node["metadata"].get("annotations", {}).get(GPUS, '{"gpus":[]}'))
        for gpu in published["gpus"]:
            found.append(Card(node["metadata"]["name"], gpu["uuid"], gpu["index"],
                              gpu.get("minor", -1), gpu["memory"] - gpu["reserved"], gpu["health"],
                              gpu.get("reason", "")))
    return sorted(found, key=lambda card: (card.node, card.index))


def annotation(pod: Json, key: str) -> str:
    """An annotation of a pod; empty when it has none."""
    return str(pod["metadata"].get("annotations", {}).get(key, ""))


def allocation_text(pod: Json, card: Card, memory: int) -> str:
    """The allocation that the controller would write for a pod of one container, `main`."""
    return json.dumps({
        "version": 1, "pod": pod["metadata"]["uid"], "node": card.node, "dialect": "native",
        "containers": [{"name": "main", "kind": "app", "gpus": [
            {"uuid": card.uuid, "index": card.index, "memory": memory, "cores": 0}]}]})


def _containers(pod: Json) -> list[Json]:
    """What its allocation says; nothing where the annotation was made for another pod."""
    allocation = json.loads(annotation(pod, ALLOCATION) or "{}")
    mine = allocation.get("version") == 1 and allocation["pod"] == pod["metadata"]["uid"]
    return list(allocation["containers"]) if mine else []


def shares(pod: Json) -> dict[str, list[Json]]:
    """Container name -> the shares that its allocation names; empty without an allocation."""
    return {container["name"]: container["gpus"] for container in _containers(pod)}


def uuids(pod: Json, container: str = "main") -> list[str]:
    """The cards that a container was given."""
    return [share["uuid"] for share in shares(pod).get(container, [])]


def holds(pod: Json) -> dict[str, int]:
    """Card -> bytes that the pod holds at its peak: docs/formats/allocation.md, done anew here."""
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in _containers(pod):
        for share in container["gpus"]:
            card, after = share["uuid"], running.get(share["uuid"], 0) + share["memory"]
            peak[card] = max(peak.get(card, 0), after)
            if container["kind"] != "init":
                running[card] = after
    return peak


def is_live(pod: Json) -> bool:
    """Bound, and its containers are not gone for good."""
    return (bool(pod["spec"].get("nodeName"))
            and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"))


def is_running(pod: Json) -> bool:
    """Every container, sidecars too, has started."""
    return (pod["status"]["phase"] == "Running"
            and all("running" in status["state"]
                    for status in pod["status"].get("containerStatuses", [])))


def held(pods: Iterable[Json]) -> dict[str, int]:
    """Card -> bytes that all live pods hold together."""
    sums: dict[str, int] = {}
    for pod in filter(is_live, pods):
        for card, amount in holds(pod).items():
            sums[card] = sums.get(card, 0) + amount
    return sums


def parse_log(text: str) -> Seen:
    """Reads what pods.container makes a container print."""
    pairs = [line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Z_]+=", line)]
    return Seen({name: value for name, value in pairs},
                [match[1] for match in _DEVICE.finditer(text)], text)


def driver_use(report: str) -> dict[str, tuple[int, int]]:
    """UUID -> (used bytes, memory) of each card in the output of `gpusimctl show`."""
    line = re.compile(r"^card \d+: (\S+), .* memory (\d+) bytes, .* used (\d+) bytes", re.M)
    return {match[1]: (int(match[3]), int(match[2])) for match in line.finditer(report)}
