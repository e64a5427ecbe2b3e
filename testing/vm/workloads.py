"""The pods that the checks run, and what they say of themselves."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any

from kube.errors import KubeError
from stack import builds
from vm.cluster import VmCluster

GIB = 1 << 30
MIB = 1 << 20
PODS = "/api/v1/namespaces/default/pods"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
DEVICE = re.compile(r"^device \d+: uuid (GPU-[0-9a-f-]+)", re.M)
LOADER = Path("/lib64/ld-linux-x86-64.so.2")

# Holds 512 MiB, and prints a line about every 10 seconds: whether the GPU's device opens, a new
# program gets memory, and the working program, if there is one, still runs.
WORK = """
set -- /dev/nvidia[0-9]*
gpuhog 512MiB &
{working} &
working=$!
round=0
while true; do
  round=$((round + 1))
  fault=
  true < "$1" || fault="cannot open $1"
  gpuhog --once 16MiB > /dev/null || fault="no memory"
  kill -0 $working || fault="the working program ended"
  echo "round $round ${{fault:-is good}}"
  sleep 10
done
"""
SPIN = "gpuspin 1000000"  # always has work for the GPU
REST = "sleep 1000000"
# The attack's input stays open, so it keeps its memory.
BYPASS = ("busybox mkfifo /tmp/in; exec 3<>/tmp/in; guard_attack static_dlopen <&3; "
          "exec sleep 1000000")
ROUND = re.compile(r" F round (\d+) (.*)$", re.M)  # F: a complete line, in the format of CRI


def image(directory: Path) -> Path:
    """Makes the image of the pods in a folder of the run."""
    folder = directory / "workload-image"
    folder.mkdir()
    programs = []
    for name in ("gpuhog", "gpuspin", "guard_attack", "guard_attack_static"):
        programs += ["--program", f"{builds.program(name)}=/usr/bin/{name}"]
    return builds.make_image(folder, "workload", *programs, "--busybox", "--without",
                             "libcuda.so.1", "--without", "libnvidia-ml.so.1",
                             # A static program loads the loader by its name.
                             "--file", f"{LOADER}=/usr/lib/x86_64-linux-gnu/{LOADER.name}")


class Workload:
    """A ReplicaSet with one pod. kubelet refuses for good the pods of extended resources that it
    finds at its start after a reboot, because their device plugin runs later. The ReplicaSet then
    makes another pod. So `now` is always the pod that counts."""

    def __init__(self, cluster: VmCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name

    def now(self) -> dict[str, Any]:
        """The pod, once it exists. Waits for it."""
        def one() -> Any:
            pods = [pod for pod in self.cluster.api().json(
                        "GET", f"{PODS}?labelSelector=app%3D{self.name}")["items"]
                    if pod["status"].get("phase") not in ("Failed", "Succeeded")
                    and "deletionTimestamp" not in pod["metadata"]]
            return pods[0] if pods else None
        found: dict[str, Any] = self.cluster.wait_for(f"a pod of {self.name}", one)
        return found

    def uid(self) -> str:
        """The uid of its pod."""
        return str(self.now()["metadata"]["uid"])

    def pod_name(self) -> str:
        """The name of its pod."""
        return str(self.now()["metadata"]["name"])

    def annotation(self, key: str) -> str:
        """An annotation; empty if it does not exist."""
        return str(self.now()["metadata"].get("annotations", {}).get(key, ""))

    def allocation(self) -> str:
        """Its allocation, as text."""
        return self.annotation("tessera.dev/allocation")

    def gpu(self) -> str:
        """The UUID of the GPU of its allocation."""
        return str(self._share()["uuid"])

    def memory(self) -> int:
        """The bytes of its allocation."""
        return int(self._share()["memory"])

    def container_id(self) -> str:
        """The id of its container, as containerd://ID."""
        return str(self._status()["containerID"])

    def identity(self) -> tuple[str, int]:
        """The uid of its pod, and how often its container was started again."""
        return self.uid(), int(self._status()["restartCount"])

    def shell(self, command: str) -> str:
        """The output of a shell command in the container, including errors. It runs by containerd,
        as with kubectl exec, but needs neither the API server nor kubelet."""
        container = self.container_id().removeprefix("containerd://")
        return self.cluster.guest(
            "ctr", "--namespace=k8s.io", "task", "exec", f"--exec-id=check{secrets.randbits(31)}",
            container, "sh", "-c", f"{{ {command}; }} 2>&1; true")

    def seen_gpus(self) -> list[str]:
        """The UUIDs that the CUDA driver names to a new program in the container."""
        return DEVICE.findall(self.shell("gpuhog --once 0"))

    def wait_started(self, other_than: str = "") -> None:
        """Waits until its container runs, and is not the one with this id."""
        def started() -> bool:
            return any("running" in each["state"] and each["containerID"] != other_than
                       for each in self.now()["status"].get("containerStatuses", []))
        self.cluster.wait_for(f"{self.name} runs", started)

    def wait_rounds(self, count: int) -> None:
        """Waits until the running container has done `count` more rounds of its work. Raises
        KubeError if any of its rounds was not good."""
        began, = self.cluster.wait_for(f"the log of {self.name}", lambda: [self._last_round()])
        self.cluster.wait_for(f"{self.name} does {count} rounds",
                              lambda: self._last_round() >= began + count)

    def _last_round(self) -> int:
        """The number of the last round in the log of the newest container; 0 if there is none."""
        folder = f"/var/log/pods/default_{self.pod_name()}_{self.uid()}/main"
        text = self.cluster.guest("sh", "-c", f'cat "$(ls -v {folder}/*.log | tail -n 1)"')
        rounds = ROUND.findall(text)
        bad = [f"round {number}: {fault}" for number, fault in rounds if fault != "is good"]
        if bad:
            raise KubeError(f"{self.name}: {', '.join(bad[:3])}")
        return int(rounds[-1][0]) if rounds else 0

    def events(self) -> list[str]:
        """REASON: MESSAGE of each event of the pod."""
        items = self.cluster.api().json("GET", "/api/v1/namespaces/default/events?fieldSelector="
                                        f"involvedObject.uid={self.uid()}")["items"]
        return [f"{each['reason']}: {each['message']}" for each in items]

    def delete(self) -> None:
        """Deletes the ReplicaSet and its pods, and returns when they are gone."""
        for what in ("replicaset", "pods"):
            self.cluster.kubectl("delete", what, "-l", f"app={self.name}", "--wait=true",
                                 "--timeout=600s", timeout=660.0)

    def _status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.cluster.wait_for(
            f"the status of {self.name}",
            lambda: (self.now()["status"].get("containerStatuses") or [None])[0])
        return found

    def _share(self) -> dict[str, Any]:
        allocation = json.loads(self.allocation() or "{}")
        if not allocation:
            raise KubeError(f"{self.name} has no allocation: {self.events()}")
        share: dict[str, Any] = allocation["containers"][0]["gpus"][0]
        return share


class Workloads:
    """Creates workloads, and finds them."""

    def __init__(self, cluster: VmCluster) -> None:
        self.cluster = cluster
        self.image = ""  # set it before `create`

    def create(self, name: str, memory: int, cores: int, spins: bool = False) -> Workload:
        """Creates a workload with a share. spins: it computes all the time."""
        return self._create(name, WORK.format(working=SPIN if spins else REST), {
            "tessera.dev/gpu-memory": str(memory), "tessera.dev/gpu-cores": str(cores)})

    def create_bypassing(self, name: str, memory: int) -> Workload:
        """Creates a workload that takes more memory than its share, in a program without the
        guard."""
        return self._create(name, BYPASS, {"tessera.dev/gpu-memory": str(memory)})

    def all(self) -> list[Workload]:
        """All workloads that were not deleted."""
        def listed() -> Any:
            return self.cluster.api().json("GET", REPLICA_SETS)["items"]
        return [Workload(self.cluster, item["metadata"]["name"])
                for item in self.cluster.wait_for("the ReplicaSets are listed", listed)]

    def named(self, name: str) -> Workload:
        """The workload with this name."""
        return Workload(self.cluster, name)

    def refused(self) -> list[str]:
        """The reasons of the pods that kubelet refused."""
        pods = self.cluster.wait_for("the pods are listed",
                                     lambda: self.cluster.api().json("GET", PODS))["items"]
        return [str(pod["status"].get("reason")) for pod in pods
                if pod["status"].get("phase") == "Failed"]

    def _create(self, name: str, script: str, limits: dict[str, str]) -> Workload:
        labels = {"app": name}
        body = {"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {"name": name, "labels": labels},
                "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                         "template": {"metadata": {"labels": labels}, "spec": {
                             "terminationGracePeriodSeconds": 1, "containers": [{
                                 "name": "main", "image": self.image,
                                 "command": ["sh", "-c", script],
                                 "resources": {"limits": limits, "requests": {"cpu": "50m"}},
                             }]}}}}
        self.cluster.wait_for(f"{name} is created",
                              lambda: self.cluster.api().json("POST", REPLICA_SETS, body))
        return Workload(self.cluster, name)
