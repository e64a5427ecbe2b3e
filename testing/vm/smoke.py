"""./dev check vm: Tessera on a node with systemd, cgroup v2 and the systemd cgroup driver.

usage: python3 -m vm.smoke

Boots a virtual machine, installs the chart, and prints a line for each check. Status 1: a check
failed; the checks after it are not run. Status 77: skipped, because the check needs root.
$TESSERA_E2E_LOGS=DIR: a failure leaves the logs of the machine there.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from kube.errors import CommandError, KubeError
from stack import chart
from vm import guest, workloads
from vm.cluster import VmCluster
from vm.workloads import GIB, MIB, Workload

SKIPPED = 77
GPUS = Path(__file__).resolve().parent / "gpus.yaml"
SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)$", re.M)
HELD, NEIGHBOUR = 2 * GIB, 4 * GIB
USED = 512 * MIB
GPU_MEMORY = 15 * GIB  # gpus.yaml
# For a slow node whose processor is always busy: long Leases, and a guarantee of processor time.
VALUES = ("agent.listen=true", "agent.resources.requests.cpu=200m", "controller.replicas=1",
          "controller.resources.requests.cpu=200m", "scheduler.resources.requests.cpu=200m",
          "scheduler.leaseSeconds=120")
ROUNDS = 3  # of a workload's work that must be good after a disturbance


class CheckError(Exception):
    """What a check found wrong."""


def expect(holds: object, text: str) -> None:
    """Raises CheckError with the text unless `holds` is true."""
    if not holds:
        raise CheckError(text)


class Smoke:
    """The checks, in the order in which they run. Each returns what it found, for the output."""

    def __init__(self, cluster: VmCluster) -> None:
        self.cluster = cluster
        self.workloads = workloads.Workloads(cluster)

    def checks(self) -> list[tuple[str, Callable[[], str]]]:
        """Title -> check."""
        return [
            ("cgroup v2 with the systemd driver", self.cgroups),
            ("the chart is installed from a registry", self.installed),
            ("a share runs on its GPU, in cgroups of systemd", self.share_runs),
            ("its memory limit is enforced", self.limit),
            ("top and metrics show its use", self.use),
            ("a program that bypasses the guard is reported for its pod", self.bypass),
            ("systemctl daemon-reload", self.daemon_reload),
            ("systemctl restart containerd", lambda: self.restart("containerd")),
            ("systemctl restart kubelet", lambda: self.restart("kubelet")),
            ("systemctl reboot", self.reboot),
            ("tessera doctor", self.doctor),
        ]

    # ---- checks

    def cgroups(self) -> str:
        """The file system of the cgroups, and kubelet's own answer."""
        kind = self.cluster.guest("stat", "-fc", "%T", "/sys/fs/cgroup").strip()
        expect(kind == "cgroup2fs", f"/sys/fs/cgroup is {kind}")
        self.cluster.wait_node()
        said = json.loads(self.cluster.kubectl(
            "get", "--raw", f"/api/v1/nodes/{guest.NODE}/proxy/configz"))
        driver = said["kubeletconfig"]["cgroupDriver"]
        expect(driver == "systemd", f"kubelet's cgroupDriver is {driver}")
        systemd = self.cluster.guest("systemctl", "--version").split("\n")[0]
        runc = self.cluster.guest("runc", "--version").split("\n")[0]
        return f"{kind}, cgroupDriver {driver}, {systemd}, {runc}"

    def installed(self) -> str:
        """Helm waits until the controller and the agent are ready."""
        self.cluster.install(*VALUES)
        self.workloads.image = self.cluster.push(workloads.image(self.cluster.directory),
                                               "workload:test")
        agent = self.agent()
        return f"{agent['spec']['containers'][0]['image']} is ready"

    def share_runs(self) -> str:
        """Two pods share a GPU. Each sees only this GPU, and its cgroup is a scope of systemd."""
        pods = [self.workloads.create("held", HELD, 30, spins=True),
                self.workloads.create("neighbour", NEIGHBOUR, 30)]
        self.all_good(pods)
        for pod in pods:
            uid = pod.uid().replace("-", "_")
            name = pod.container_id().removeprefix("containerd://")
            path = self.cluster.guest("systemctl", "show", "--value", "--property=ControlGroup",
                                      f"cri-containerd-{name}.scope").strip()
            expect(re.fullmatch(rf"/kubepods\.slice/\S*-pod{uid}\.slice/\S+\.scope", path),
                   f"the cgroup of {pod.name} is {path!r}")
            expect(pod.annotation("tessera.dev/enforced-by") == "guard", f"{pod.name} has no guard")
        return f"GPU {pods[0].gpu()}, {path}"

    def limit(self) -> str:
        """The container sees its limit as the GPU's memory. Above it, allocations fail."""
        pod = self.workloads.named("held")
        inside, above = HELD - 2 * USED, HELD - USED + MIB
        said = pod.shell(f"gpuhog --once {inside}")
        expect(f"total {HELD} bytes" in said and "allocated" in said, f"gpuhog {inside}: {said}")
        refused = pod.shell(f"gpuhog --once {above}")
        expect("OUT_OF_MEMORY" in refused, f"gpuhog {above}, with {USED} in use: {refused}")
        return f"limit {HELD >> 20} MiB; with {USED >> 20} MiB in use, {above >> 20} MiB more fail"

    def use(self) -> str:
        """The agent finds the processes of the container and their pod."""
        pod = self.workloads.named("held")
        name = pod.pod_name()

        def shown() -> Any:
            shares = json.loads(self.cluster.tessera("top", "-o", "json"))["shares"]
            return next((share for share in shares
                         if share["name"] == name and share["limitBytes"] == HELD
                         and share["usedBytes"] >= USED
                         and USED in [each["usedBytes"] for each in share["processes"]]), None)
        share = self.cluster.wait_for("tessera top shows the share", shown)
        label = f'pod_uid="{pod.uid()}"'
        limit = self.metric("tessera_agent_share_limit_bytes", label)
        expect(limit == HELD, f"tessera_agent_share_limit_bytes is {limit}")
        before = self.metric("tessera_agent_share_time_seconds_total", label)
        self.cluster.wait_for("the metric of GPU time grows", lambda: self.metric(
            "tessera_agent_share_time_seconds_total", label) > before)
        expect(self.metric("tessera_agent_gpu_used_bytes", pod.gpu()) >= 2 * USED,
               "the use of the GPU is less than its pods use")
        return f"used {share['usedBytes'] >> 20} MiB, {len(share['processes'])} processes"

    def bypass(self) -> str:
        """The agent reads the pod of a process from its cgroup. Here it must: the guard is not in
        this program, so only the driver names the process."""
        pod = self.workloads.create_bypassing("bypass", GIB)

        def reported() -> str:
            return next((each for each in pod.events() if each.startswith("GpuMemoryUnaccounted")),
                        "")
        event: str = self.cluster.wait_for("the event GpuMemoryUnaccounted", reported)
        pod.delete()
        return event.partition(".")[0]

    def daemon_reload(self) -> str:
        """systemd sets the device rules of its units again. A container whose devices are not in
        its unit would lose them."""
        pods = self.workloads.all()
        for pod in pods:
            self.isolated(pod)
        before = {pod.name: pod.identity() for pod in pods}
        self.cluster.guest("systemctl", "daemon-reload")
        self.undisturbed(pods, before)
        for pod in pods:
            self.isolated(pod)
        device = pods[0].shell("echo /dev/nvidia[0-9]*").strip()
        return f"{len(pods)} pods still open {device}, and compute"

    def restart(self, unit: str) -> str:
        """The pods go on, and the agent connects again: a new share runs."""
        pods = self.workloads.all()
        before = {pod.name: pod.identity() for pod in pods}
        agent = self.agent_restarts()
        self.cluster.guest("systemctl", "restart", unit)
        self.undisturbed(pods, before)
        self.cluster.wait_node()
        self.agent()
        new = self.workloads.create(f"after-{unit}", GIB, 10)
        self.all_good([new])
        self.undisturbed(pods, before)
        again = self.agent_restarts() - agent
        new.delete()
        return f"{len(pods)} pods went on, {again} restarts of the agent, a new share runs"

    def reboot(self) -> str:
        """The pods come back, each on the GPU that its allocation names. An allocation is never
        another one for the same pod, and no GPU has more of them than memory."""
        pods = self.workloads.all()
        before = {pod.uid(): pod.allocation() for pod in pods}
        containers = {pod.name: pod.container_id() for pod in pods}
        self.cluster.reboot()
        self.cluster.wait_node()
        for pod in pods:
            pod.wait_started(containers[pod.name])
        self.all_good(pods)
        self.agent()
        new = self.workloads.create("after-reboot", GIB, 10)
        self.all_good([new])
        same = 0
        for pod in pods:
            if pod.uid() in before:
                same += 1
                expect(pod.allocation() == before[pod.uid()], f"{pod.name} has a new allocation")
        self.placed_once([*pods, new], HELD + NEIGHBOUR + GIB)
        new.delete()
        refused = self.workloads.refused()
        return (f"{len(pods)} pods are back on their GPUs, {same} of them the same pod; refused by "
                f"kubelet: {', '.join(refused) or 'none'}")

    def placed_once(self, pods: list[Workload], memory: int) -> None:
        """The allocations of the pods are `memory` in total and fit on their GPUs, and no other pod
        has one."""
        shares = dict.fromkeys((pod.gpu() for pod in pods), 0)
        for pod in pods:
            shares[pod.gpu()] += pod.memory()
        expect(sum(shares.values()) == memory and max(shares.values()) <= GPU_MEMORY,
               f"memory by GPU: {shares}")
        said = json.loads(self.cluster.tessera("inspect", "-o", "json"))
        counted = {gpu["uuid"]: gpu["allocatedBytes"] for node in said["nodes"]
                   for gpu in node["gpus"] if gpu["allocatedBytes"]}
        expect(counted == shares, f"tessera inspect has {counted}, and the pods {shares}")

    def doctor(self) -> str:
        """No check of doctor finds a fault."""
        said = self.cluster.tessera("doctor").splitlines()
        faults = [line for line in said if not line.startswith("ok ")]
        expect(said and not faults, "; ".join(faults) or "it prints nothing")
        return f"{len(said)} checks are ok"

    # ---- steps

    def all_good(self, pods: list[Workload]) -> None:
        """Waits until the pods run and work, each on the GPU of its allocation."""
        for pod in pods:
            pod.wait_started()
            pod.wait_rounds(1)
            seen = pod.seen_gpus()
            expect(seen == [pod.gpu()], f"{pod.name} sees {seen}, and has {pod.gpu()}")

    def undisturbed(self, pods: list[Workload], before: dict[str, tuple[str, int]]) -> None:
        """The containers are the same as before, and go on without a fault."""
        for pod in pods:
            pod.wait_rounds(ROUNDS)
            expect(pod.identity() == before[pod.name], f"{pod.name} was restarted")

    def isolated(self, pod: Workload) -> None:
        """The container opens its GPU's device, and no other one, not even with a node that it
        makes itself. Otherwise the check of daemon-reload would prove nothing."""
        script = 'busybox stat -c "own %t:%T" /dev/nvidia[0-9]*'
        for number, (major, minor) in enumerate(guest.GPU_DEVICES):
            made = f"/tmp/device{number}"
            script += (f"; busybox rm -f {made}; busybox mknod {made} c {major} {minor}"
                       f" && true < {made} && echo opens {major:x}:{minor:x}")
        said = pod.shell(script)
        own, opened = (re.findall(rf"^{word} (\S+)$", said, re.M) for word in ("own", "opens"))
        expect(len(own) == 1 and opened == own, f"devices in {pod.name}: {said}")

    def agent(self) -> dict[str, Any]:
        """The agent's pod, when it is ready."""
        def ready() -> Any:
            pod = self.agent_pod()
            statuses = pod["status"].get("containerStatuses", [])
            return pod if statuses and all(each["ready"] for each in statuses) else None
        found: dict[str, Any] = self.cluster.wait_for("the agent is ready", ready)
        return found

    def agent_pod(self) -> dict[str, Any]:
        """The agent's pod in its current state."""
        pods = json.loads(self.cluster.kubectl(
            "-n", chart.NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=agent",
            "-o", "json"))["items"]
        found: dict[str, Any] = pods[0]
        return found

    def agent_restarts(self) -> int:
        """How often kubelet restarted the agent."""
        return sum(each["restartCount"] for each in self.agent_pod()["status"]["containerStatuses"])

    def metric(self, name: str, label: str) -> float:
        """The sum of the agent's samples of the metric that have the text in their labels."""
        pod = self.agent_pod()["metadata"]["name"]
        text = self.cluster.kubectl("get", "--raw", f"/api/v1/namespaces/{chart.NAMESPACE}/pods/"
                                    f"{pod}:12347/proxy/metrics")
        return sum(float(value) for metric, labels, value in SAMPLE.findall(text)
                   if metric == name and label in labels)


def run(cluster: VmCluster) -> int:
    """Runs the checks until one fails, and returns the exit status."""
    smoke = Smoke(cluster)
    for title, check in smoke.checks():
        began = time.monotonic()
        try:
            found, word, status = check(), "ok", 0
        except (CheckError, CommandError, KubeError) as error:
            found, word, status = str(error), "FAILED", 1
        print(f"{word:<7}{title} ({time.monotonic() - began:.0f} s): {found}", flush=True)
        if status:
            cluster.save_logs()
            return status
    return 0


def _terminate(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Runs the check and returns the exit status."""
    if os.geteuid() != 0:
        print("skipped: the image of the virtual machine needs root; run: sudo ./dev check vm")
        return SKIPPED
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGHUP, _terminate)
    began = time.monotonic()
    with VmCluster(GPUS) as cluster:
        print(f"ok     the machine boots ({time.monotonic() - began:.0f} s)", flush=True)
        status = run(cluster)
    print(f"{'failed' if status else 'passed'} after {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KubeError as error:
        sys.exit(f"vm: {error}")
    except KeyboardInterrupt:
        sys.exit("vm: interrupted")
