#!/usr/bin/env python3
"""`./dev bench cli`: how long a user waits for the command line, which is one static file.

How long `tessera` takes to start, and how long it takes to list and to show jobs in a namespace with
2,000 jobs of one pod each. The objects are those that `tessera submit` makes. Nothing runs them, so
the time is that of the API server and of the command. kubectl is measured with the same objects.
"""

from __future__ import annotations

import copy
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import fake_nodes  # noqa: E402
from kube.api import Api  # noqa: E402
from kube.cluster import Cluster  # noqa: E402
from kube.errors import KubeError  # noqa: E402

JOBS = 2000
STARTS = 51
LISTS = 5
START_GOAL_S = 0.020
LIST_GOAL_S = 1.0
NAMESPACE = "/apis/batch/v1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"

Json = dict[str, Any]


def seconds(command: Sequence[str | Path], times: int, kubeconfig: Path | None = None) -> float:
    """The median time of the command, which must not fail."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)} if kubeconfig else None
    took = []
    for _ in range(times):
        begun = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        took.append(time.monotonic() - begun)
    return statistics.median(took)


def template(tessera: Path) -> Json:
    """The Job that `tessera submit` makes for a job of the name placeholder."""
    made = subprocess.run(
        [tessera, "submit", "job", "--name=placeholder", "--image=image",
         "--gpumemory=3", "--dry-run", "-o", "json", "--", "true"],
        check=True, capture_output=True, text=True).stdout
    job: Json = json.loads(made)
    return job


def create(api: Api, job: Json, number: int) -> None:
    """The job with this number, and its pod."""
    one = json.loads(json.dumps(job).replace("placeholder", f"job-{number:05}"))
    made = api.json("POST", f"{NAMESPACE}/jobs", one)
    pod = copy.deepcopy(one["spec"]["template"])
    name = one["metadata"]["name"]
    pod["metadata"] |= {
        "name": f"{name}-0-abcde",
        "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name,
                             "uid": made["metadata"]["uid"], "controller": True}]}
    api.json("POST", PODS, {"apiVersion": "v1", "kind": "Pod", **pod})


def fill(cluster: Cluster, job: Json) -> None:
    api = cluster.api()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: create(api, job, number), range(JOBS)))


def line(figure: str, goal: float, measured: float, beside: str) -> bool:
    """Prints one figure, in milliseconds. Returns whether it holds."""
    holds = measured <= goal
    print(f"{figure} | at most {goal * 1000:.0f} ms | {measured * 1000:.1f} ms ({beside}) | "
          f"{'holds' if holds else 'falls short'}", flush=True)
    return holds


def main(tessera: Path) -> int:
    print("figure | goal | measured | holds", flush=True)
    holds = line("start: tessera --version, median", START_GOAL_S,
                 seconds([tessera, "--version"], STARTS),
                 f"true: {seconds(['true'], STARTS) * 1000:.1f} ms")
    with fake_nodes.new_cluster() as cluster:
        fill(cluster, template(tessera))
        config = cluster.kubeconfig
        listed = subprocess.run([tessera, "list", "--kubeconfig", config], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        if len(listed) != JOBS + 1:
            raise KubeError(f"tessera list prints {len(listed)} lines, not {JOBS + 1}")
        kubectl = cluster.kubernetes.programs / "kubectl"
        rows: list[tuple[str, list[str | Path], list[str | Path]]] = [
            (f"tessera list of {JOBS} jobs, median", [tessera, "list"],
             [kubectl, "get", "jobs,pods"]),
            (f"tessera get of one of {JOBS} jobs, median", [tessera, "get", "job-01000"],
             [kubectl, "get", "job", "job-01000-worker"])]
        for figure, command, beside in rows:
            took = seconds(command, LISTS, config)
            holds &= line(figure, LIST_GOAL_S, took,
                          f"kubectl get: {seconds(beside, LISTS, config) * 1000:.1f} ms")
    return 0 if holds else 1


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]).resolve()))
    except KubeError as error:
        sys.exit(f"bench: {error}")
