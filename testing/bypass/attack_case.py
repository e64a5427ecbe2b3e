"""The cluster that attacks run on, and the steps of one attack."""

from __future__ import annotations

import queue
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bypass.rows import CAUGHT, DOCUMENTED, FAILED, REPORTED, Attack, Outcome
from bypass.use import DriverUse, Peak
from e2e import pods
from e2e.attack import Attack as AnnotationAttacks
from e2e.case import KUBELET, NAMESPACE, PODS
from e2e.truth import GIB, Json
from kube.errors import KubeError
from stack import builds
from stack.gpu_node import GpuNode
from stack.stack import Stack

IMAGE = "localhost/attacks:dev"
LOADER = "ld-linux-x86-64.so.2"
SHARE = GIB
REPORT_SECONDS = 15.0  # from the first sample in which the use is above the share
LATE_SECONDS = 8.0  # additional time, to measure how late a report is
REPORTS = ("GpuMemoryUnaccounted", "GpuAccountsDamaged", "GpuEnforcementCovered",
           "GpuShareMissing")
START_SECONDS = 60.0
ATTACK_SECONDS = 60.0
# The attack's input stays open, so that it keeps running and keeps its memory.
RUN = "busybox mkfifo /tmp/in; exec 3<>/tmp/in; {command} <&3; echo ended with $?; exec sleep 1000"
ENDED = re.compile(r"^ended with (\d+)$", re.M)
VISIBLE = re.compile(r"^NVIDIA_VISIBLE_DEVICES=(.*)$", re.M)
OVER = re.compile(r"^done$|^ended with \d+$", re.M)
# Exit statuses of guard_attack, a shell or a loader that did not run the attack.
NOT_BEGUN = (2, 3, 126, 127)
NO_DRIVER = "no attack: libcuda.so.1"  # the container has no GPU


@dataclass(frozen=True)
class Gpu:
    """A GPU that only one attack uses at a time."""

    node: str
    uuid: str


class AttackCase(AnnotationAttacks):
    """Two nodes with twelve GPUs each; the agents have the guard. Methods may be called from any
    thread."""

    guard = True
    use: ClassVar[DriverUse]
    free: ClassVar[queue.Queue[Gpu]]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        gpus = Path(__file__).resolve().parent / "gpus.yaml"
        return [GpuNode(name, gpus, kubelet=KUBELET) for name in ("node-a", "node-b")]

    @classmethod
    def setUpClass(cls) -> None:
        cls.stack = Stack(cls.gpu_nodes(), guard=True)
        cls.stack.start()
        cls.addClassCleanup(cls.stack.cluster.stop)
        cls.cluster = cls.stack.cluster
        cls.cluster.import_image(_image(cls.cluster.directory))
        cls.api = cls.cluster.api()
        cls.use = DriverUse(cls.stack)
        cls.use.start()
        cls.addClassCleanup(cls.use.stop)
        cls.free = queue.Queue()
        by_node = [[Gpu(gpu.node, gpu.uuid) for gpu in cls().gpus(name)]
                   for name in cls.stack.nodes]
        for pair in zip(*by_node, strict=True):  # the nodes in turn
            for gpu in pair:
                cls.free.put(gpu)

    # ---- pods

    @contextmanager
    def gpu(self) -> Iterator[Gpu]:
        """A GPU for one attack. It becomes free again when none of its memory is in use."""
        gpu = self.free.get()
        try:
            yield gpu
        finally:
            try:
                self.cluster.wait_for("the GPU is free", lambda: self.use.now(gpu.uuid) == 0, 60)
                self.free.put(gpu)
            except KubeError as error:
                print(f"GPU {gpu.uuid} on {gpu.node} is left out from now on: {error}", flush=True)

    @staticmethod
    def tenant(name: str, gpu: Gpu, script: str, limits: Json | None = None, *,
               container: Json | None = None, **spec: Any) -> Json:
        """A pod with a share of 1 GiB of that GPU (or `limits`) whose container runs `script`."""
        main = pods.container("main", pods.native("1Gi") if limits is None else limits,
                              script=script, **(container or {}))
        main["image"] = IMAGE
        annotations = {"tessera.dev/gpu-uuids": gpu.uuid} if limits != {} else {}
        return pods.pod(name, main, node=gpu.node, annotations=annotations,
                        restartPolicy="Never", **spec)

    @contextmanager
    def made(self, *objects: Json) -> Iterator[list[Json]]:
        """Creates these pods, and deletes them at the end."""
        names = [item["metadata"]["name"] for item in objects]
        try:
            yield self.create(*objects)
        finally:
            for name in names:
                self.end(name)

    def end(self, name: str) -> None:
        """Deletes a pod, if it exists, and returns when it is gone."""
        if self.exists(name):
            self.delete(name, grace=1)
        self.cluster.wait_for(f"pod {name} is gone", lambda: not self.exists(name), 60)

    def exists(self, name: str) -> bool:
        """Whether the API server has the pod."""
        found = self.api.json("GET", f"{PODS}?fieldSelector=metadata.name={name}")["items"]
        return bool(found)

    def said(self, name: str, container: str = "main") -> str:
        """The log of the container so far; empty before it runs."""
        try:
            return self.api.text("GET", f"{PODS}/{name}/log?container={container}")
        except KubeError:
            return ""

    def events_of(self, name: str) -> list[Json]:
        """The events of a pod."""
        found: list[Json] = self.api.json(
            "GET", f"{NAMESPACE}/events?fieldSelector=involvedObject.name={name}")["items"]
        return found

    def refusal(self, name: str, words: Sequence[str]) -> str:
        """The warning that has all these words, if the container does not start; else empty."""
        statuses = self.pod(name)["status"].get("containerStatuses", [])
        if any(status.get("started") for status in statuses):
            return ""
        return next((event["message"] for event in self.events_of(name) if event["type"] == "Warning"
                     and all(word in event["message"] for word in words)), "")

    # ---- verdicts

    def judge(self, name: str, *peaks: Peak) -> Outcome:
        """The outcome after the attack has run, by the memory use and the pod's events."""
        self.use.wait_samples()
        worst = max(peaks, key=lambda peak: peak.used - peak.share)
        amount = f"{worst.used / GIB:.2f} of {worst.share / GIB:.0f} GiB"
        moments = [peak.above_since for peak in peaks if peak.above_since is not None]
        if not moments:
            return Outcome(CAUGHT, amount)
        end = min(moments) + REPORT_SECONDS
        while time.monotonic() < end + LATE_SECONDS:
            reasons = [event["reason"] for event in self.events_of(name)]
            found = next((reason for reason in REPORTS if reason in reasons), "")
            seconds = time.monotonic() - min(moments)
            if found and seconds <= REPORT_SECONDS:
                return Outcome(REPORTED, f"{found} after {seconds:.1f} s, {amount}")
            if found:
                return Outcome(DOCUMENTED, f"{found} only after {seconds:.1f} s, {amount}")
            time.sleep(0.2)
        return Outcome(DOCUMENTED, f"no event, {amount}")

    def control(self) -> None:
        """Runs the same program without the guard. Raises KubeError unless it uses more than a
        share and the samples show it: otherwise every attack would count as caught."""
        with self.gpu() as gpu:
            peak = self.use.watch(gpu.uuid, SHARE)
            pod = self.tenant("control", gpu, RUN.format(command="guard_attack dlsym_handle"),
                              {"tessera.dev/gpu": 1})
            with self.made(pod):
                outcome = self.outcome("control", peak)
        if peak.above_since is None:
            raise KubeError(f"without the guard, no use above a share was seen: {outcome}")

    def run_program(self, attack: Attack, command: str, **pod: Any) -> Outcome:
        """Runs a shell command in a container with a share."""
        name = attack.pod_name
        with self.gpu() as gpu:
            peak = self.use.watch(gpu.uuid, SHARE)
            with self.made(self.tenant(name, gpu, RUN.format(command=command), **pod)) as (made,):
                return self.outcome(name, peak, self.use.watch(made["metadata"]["uid"], SHARE))

    def outcome(self, name: str, *peaks: Peak, container: str = "main") -> Outcome:
        """The outcome of a pod, when its log says `done` or `ended with`."""
        def over() -> bool:
            return OVER.search(self.said(name, container)) is not None
        try:
            self.cluster.wait_for("the attack ran", over, START_SECONDS + ATTACK_SECONDS)
        except KubeError as error:
            return Outcome(FAILED, f"{error}: {self.said(name, container)[-300:]!r} "
                           f"{self.events(name)}")
        text = self.said(name, container)
        ended = ENDED.search(text)
        if NO_DRIVER in text:
            return self.without_driver(text, *peaks)
        if ended and int(ended[1]) in NOT_BEGUN:
            return Outcome(FAILED, f"it did not begin: {text[-300:]!r}")
        return self.judge(name, *peaks)

    def without_driver(self, text: str, *peaks: Peak) -> Outcome:
        """The outcome of a container that got no GPU from the runtime. In this cluster only CDI
        gives GPUs; NVIDIA's runtime would also read the variable."""
        visible = VISIBLE.search(text)
        self.use.wait_samples()
        if any(peak.above_since is not None for peak in peaks):
            return Outcome(FAILED, "the container has no driver, but uses a GPU")
        if not visible or visible[1] != "void":
            return Outcome(FAILED, f"NVIDIA_VISIBLE_DEVICES is {visible and visible[1]}, not void")
        return Outcome(CAUGHT, "the container has no driver, and its variable is void")

    def refused_or_judged(self, name: str, words: Sequence[str], *peaks: Peak,
                          container: str = "main") -> Outcome:
        """The outcome of a pod that should be refused. If it runs, its memory use decides."""
        def known() -> str:
            return self.refusal(name, words) or self.said(name, container)
        self.cluster.wait_for(f"{name} is refused or runs", known, START_SECONDS)
        refused = self.refusal(name, words)
        if refused:
            return Outcome(CAUGHT, f"refused: {refused[:160]}")
        return self.outcome(name, *peaks, container=container)


def _image(directory: Path) -> Path:
    out = directory / "attacks.tar"
    programs = []
    for name in ("guard_attack", "guard_attack_static", "gpuhog", "gpusmi"):
        programs += ["--program", f"{builds.program(name)}=/usr/bin/{name}"]
    for name in ("guard_attack_override.so", "guard_attack_audit.so"):
        programs += ["--file", f"{builds.program(name)}=/usr/bin/{name}"]
    # A program that loads the loader by its name, such as a second libc in another namespace, needs
    # it here.
    programs += ["--file", f"/lib64/{LOADER}=/usr/lib/x86_64-linux-gnu/{LOADER}"]
    done = subprocess.run(
        [str(builds.IMAGE_TOOL), IMAGE, str(out), *programs, "--busybox", "--without",
         "libcuda.so.1", "--without", "libnvidia-ml.so.1"], capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"image {IMAGE}: {done.stderr.strip()}")
    return out
