#!/usr/bin/env python3
"""`./dev bench batching`: whether kube-scheduler's opportunistic batching changes where pods go.

Since Kubernetes 1.35, kube-scheduler may place a pod of the same kind on the next node of the last
ranking, without asking an extender to score. The benchmark creates the same 1,000 pods with the
feature gate OpportunisticBatching on and off, on fresh control planes. The row without an extender
shows that the measurement detects batching.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import fake_nodes  # noqa: E402
from bench.load import Load  # noqa: E402
from bench.row import Variant, measure, say  # noqa: E402
from e2e import truth  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from kube.errors import KubeError  # noqa: E402

NODES = 100
PODS = 1000
SECONDS = 300
GROUP = "batching"


@dataclass(frozen=True)
class Packing:
    """Nodes and GPUs that the pods use. looks: how often kube-scheduler considered the last
    ranking."""

    nodes: int
    gpus: int
    looks: int

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {self.gpus} GPUs; {self.looks} looks at the last ranking"


def packing(gate: bool, variant: Variant) -> Packing:
    """Places the pods on a fresh control plane and returns their packing."""
    gates = {"kube-scheduler": [f"--feature-gates=OpportunisticBatching={str(gate).lower()}"]}
    with fake_nodes.new_cluster(gates) as cluster:
        load = Load(cluster)
        load.request("nodes", NODES)
        fake_nodes.start_kwok(cluster)
        row = measure(cluster, load, variant, GROUP, PODS, SECONDS)
        return Packing(row.nodes, gpus_of(cluster), row.looks_at_batches)


def gpus_of(cluster: Cluster) -> int:
    """The number of GPUs of which at least one pod has a share."""
    pods = cluster.api().json("GET", "/api/v1/namespaces/default/pods")["items"]
    return len({uuid for pod in pods for uuid in truth.uuids(pod)})


def main() -> int:
    print("figure | goal | measured | holds", flush=True)
    plain = packing(True, Variant("extended", batchable=True))
    on = packing(True, Variant("ours", batchable=True))
    off = packing(False, Variant("ours", batchable=True))
    say(json.dumps({"plain": str(plain), "on": str(on), "off": str(off)}))
    title = f"{NODES} nodes x 8 GPUs, {PODS} equal pods: "
    holds = True
    for name, goal, measured, held in (
            ("no extender, gate on", "looks > 0", plain, plain.looks > 0),
            ("Tessera, gate on", "looks = 0", on, on.looks == 0),
            ("Tessera, gate off", "as on", off, (off.nodes, off.gpus) == (on.nodes, on.gpus))):
        holds &= held
        print(f"{title}{name} | {goal} | {measured} | {'holds' if held else 'falls short'}",
              flush=True)
    return 0 if holds else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KubeError as error:
        sys.exit(f"bench: {error}")
