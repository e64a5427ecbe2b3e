"""Pods whose memory the driver limits, by the cgroups of their containers."""

from __future__ import annotations

import json
from pathlib import Path

from e2e import truth
from e2e.chart_case import ChartCase, Json
from kube.errors import CommandError
from stack import builds
from stack.gpu_node import DRIVER_ROOT, gpusimctl

# The simulated driver limits the memory of cgroups of version 1, too.
UNIFIED = Path("/sys/fs/cgroup")
CGROUPS = UNIFIED if (UNIFIED / "cgroup.controllers").exists() else UNIFIED / "memory"
RECORDS = "/var/lib/tessera/guard/memory-limits"
BY_DRIVER = "memory=driver,compute=guard"
SECONDS = 30
VALUES = (f"guard.cgroupFolder={CGROUPS}",)

# Removes the limits of a cgroup for a GPU, as `nvidia-smi memory-limits` does.
REMOVE = """
import ctypes, sys
class Limits(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("soft", ctypes.c_ulonglong), ("hard", ctypes.c_ulonglong)]
nvml, device = ctypes.CDLL(sys.argv[1] + "/libnvidia-ml.so.1"), ctypes.c_void_p()
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetHandleByUUID(sys.argv[3].encode(), ctypes.byref(device)) == 0
limits = Limits(sys.argv[2].encode(), 0, 2 ** 64 - 1)
sys.exit(nvml.nvmlDeviceSetMemoryLimits_v1(device, ctypes.byref(limits)))
"""


class DriverLimits(ChartCase):
    """The chart is installed with VALUES, on one node whose agent may change the simulated driver's
    state."""

    NODE: str

    @classmethod
    def switch_limits(cls, mode: str) -> None:
        """Off, or on with the kernel's controller (dmem)."""
        gpusimctl("--root", str(cls.stack.nodes[0].driver_root(cls.cluster.directory)),
                  "memory-limits", mode)

    @classmethod
    def limits_memory(cls) -> bool:
        """Whether the Node shows that the driver limits memory on all of its GPUs."""
        node = cls.api.json("GET", f"/api/v1/nodes/{cls.NODE}")
        published = json.loads(node["metadata"]["annotations"].get(truth.GPUS, '{"gpus": []}'))
        return bool(published["gpus"]) and all(gpu.get("memoryLimits") for gpu in published["gpus"])

    def held(self, name: str, isolation: str = "driver", cores: int = 25) -> Json:
        limits = {"tessera.dev/gpu-memory": "3Gi", "tessera.dev/gpu-cores": cores}
        pod = self.pod(name, limits, script="exec sleep 1000")
        if isolation:
            pod["metadata"]["annotations"] = {"tessera.dev/isolation": isolation}
        return pod

    def record(self, pod: Json) -> Json:
        """What the driver is to limit the container of the pod to, by the agent's record."""
        path = f"{RECORDS}/{pod['metadata']['uid']}/main.json"
        found: Json = json.loads(self.cluster.nsenter(self.NODE, "cat", path))
        return found

    def beside(self, pod: Json, size: str) -> str:
        """What a program says that allocates in the container's cgroup, without the guard."""
        script = (f"echo $$ > {self.record(pod)['cgroup']}/cgroup.procs && "
                  f"CUDA_VISIBLE_DEVICES={truth.uuids(pod)[0]} "
                  f"LD_LIBRARY_PATH={DRIVER_ROOT}/usr/lib/x86_64-linux-gnu "
                  f"{builds.program('gpuhog')} --once {size} 2>&1; true")
        return self.cluster.nsenter(self.NODE, "sh", "-c", script)

    def remove_limit(self, pod: Json) -> None:
        self.cluster.nsenter(self.NODE, "python3", "-c", REMOVE,
                             f"{DRIVER_ROOT}/usr/lib/x86_64-linux-gnu", self.record(pod)["cgroup"],
                             truth.uuids(pod)[0])

    def test_the_driver_limits_the_memory_of_a_container(self) -> None:
        """Also for programs that the guard does not see. A limit that someone takes away is reported,
        the next agent sets it again, and nothing is left when the pod is gone."""
        self.create(self.held("kept"))
        self.create(self.held("plain", isolation=""))
        kept, plain = self.running("kept", "plain")
        for pod in (kept, plain):
            self.assertEqual(truth.annotation(pod, truth.ENFORCED_BY), BY_DRIVER)
            limit, = self.record(pod)["limits"]
            self.assertEqual(limit["memoryBytes"], 3 * truth.GIB)
        self.assertIn(f"total {3 * truth.GIB} bytes", self.in_pod("kept", "gpuhog --once 0"))
        self.assertIn("allocated", self.in_pod("kept", "gpuhog --once 2944MiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("kept", "gpuhog --once 3074MiB"))
        self.holds_without_the_guard(kept)
        self.remove_limit(kept)
        self.assertIn("allocated", self.beside(kept, "4GiB"))
        self.wait_event("kept", "What enforces the GPU share is no longer in force",
                        f"is none, and must be {3 * truth.GIB} bytes")
        self.cluster.nsenter(self.NODE, "pkill", "-9", "-x", "tessera-agent")
        self.holds_without_the_guard(plain)
        self.cluster.wait_for("the next agent sets the limit again", lambda: (
            f"of {3 * truth.GIB} bytes on" in self.beside(kept, "0")), SECONDS)
        self.tessera_says("resize", "plain", "-n", "default", "--memory", "2Gi")
        self.cluster.wait_for("the driver has the new limit", lambda: f"of {2 * truth.GIB} bytes on" in
                              self.beside(plain, "0"), SECONDS)
        self.cluster.kubectl("delete", "pod", "kept", "plain", "--now", "--wait=true")
        self.cluster.wait_for("no record is left", lambda: not self.cluster.nsenter(
            self.NODE, "ls", RECORDS).split(), SECONDS)

    def go(self, command: str) -> bool:
        """Whether the command succeeds in the container that holds up the pod `early`."""
        try:
            self.cluster.kubectl("exec", "early", "-c", "wait", "--", "sh", "-c", command)
        except CommandError:
            return False
        return True

    def holds_without_the_guard(self, pod: Json) -> None:
        self.assertIn(f"of {3 * truth.GIB} bytes on", self.beside(pod, "0"))
        self.assertIn("allocated", self.beside(pod, "2560MiB"))
        self.assertIn("OUT_OF_MEMORY", self.beside(pod, "4GiB"))

    def test_no_container_starts_with_less_than_its_pod_was_placed_for(self) -> None:
        """The driver loses its limits between the placement and the start. Until it has them
        again, pods are placed for the guard."""
        pod = self.held("early")
        pod["spec"]["initContainers"] = [{
            "name": "wait", "image": self.stack.gpuhog,
            "command": ["sh", "-c", "until [ -e /tmp/go ]; do sleep 0.2; done"]}]
        self.create(pod)
        self.cluster.wait_for("the pod is placed and waits", lambda: self.go("true"), SECONDS)
        self.switch_limits("off")
        self.assertTrue(self.go("touch /tmp/go"))
        self.wait_event("early", "limits its memory", "Delete the pod")
        self.cluster.wait_for("the node shows that", lambda: not self.limits_memory(), SECONDS)
        self.create(self.held("by-guard", isolation=""))
        by_guard, = self.running("by-guard")
        self.assertEqual(truth.annotation(by_guard, truth.ENFORCED_BY), "guard")
        self.create(self.held("waits"))
        self.wait_event("waits", "tessera.dev/isolation driver, which this node does not offer")
        self.switch_limits("dmem")
        self.cluster.wait_for("the node shows them again", self.limits_memory, SECONDS)
        waits, = self.running("waits", "early")[:1]
        self.assertEqual(truth.annotation(waits, truth.ENFORCED_BY), BY_DRIVER)
