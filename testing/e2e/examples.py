"""The example in the help of every command, run as it is written, on a real cluster."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from e2e.chart_case import ChartCase
from stack import builds

SECONDS = 120
# testing/workstation/run_test.py runs the first, which needs no cluster, and e2e/tensorboard_test.py
# the second, which goes on until the job is deleted.
ELSEWHERE = {"run", "tensorboard"}
NEEDS_MPS = {("mps", "verify"), ("mps", "logs")}  # e2e/mps_test.py runs these
# A shell that is the first process of a container dies of no signal that it does not catch.
SERVE = "trap 'exit 0' TERM; echo ready; sleep 1000 & wait"
# Images have nvidia-smi where there are GPUs; ours has not.
MAKE_NVIDIA_SMI = r"printf '#!/bin/sh\necho a GPU\n' > /bin/nvidia-smi; chmod +x /bin/nvidia-smi; "


def help_of(*command: str) -> str:
    return subprocess.run([str(builds.program("tessera")), *command, "--help"], check=True,
                          capture_output=True, text=True, timeout=60).stdout


def commands(*group: str) -> Iterator[tuple[str, ...]]:
    """All commands, and those of groups, by their words."""
    _, _, listed = help_of(*group).partition("\nSubcommands:\n")
    for name in re.findall(r"^  ([a-z][a-z-]*)", listed, re.MULTILINE):
        yield (*group, name)
        yield from commands(*group, name)


def example_of(command: tuple[str, ...]) -> str:
    found = re.search(r"^Example: (.*)$", help_of(*command), re.MULTILINE)
    return found[1] if found else ""


class Examples(ChartCase):
    """For a cluster with node-a. Subclasses set the image, which has a shell."""

    image: ClassVar[str]

    def job(self, command: str) -> None:
        """A training job named train, whose pod has begun."""
        self.tessera_says("submit", "job", "--name=train", f"--image={self.image}", "--gpumemory=2",
                          "--", MAKE_NVIDIA_SMI + command)
        self.begun("tessera.dev/job-name=train")

    def server(self, command: str) -> None:
        """A serving job named mnist, whose pod has begun."""
        self.tessera_says("serve", "tensorflow", "--name=mnist", f"--image={self.image}",
                          "--model-name=mnist", "--model-path=/models/mnist", "--gpumemory=2",
                          "--command", MAKE_NVIDIA_SMI + command)
        self.begun("tessera.dev/serving-name=mnist")

    def begun(self, label: str) -> None:
        def has_begun() -> bool:
            return "ready" in self.cluster.kubectl("logs", "-l", label, "--tail=1", check=False)
        self.cluster.wait_for(f"a pod of {label} runs", has_begun, SECONDS)

    def my_pod(self) -> None:
        self.create(self.pod("my-pod", {"tessera.dev/gpu-share": "1", "tessera.dev/gpu-memory": "4Gi"}))
        self.running("my-pod")

    def my_waiting_pod(self) -> None:
        """It needs a GPU of its own. Each of the two has a movable pod, and one GPU could have
        both: when they came, it was full."""
        def serve(name: str, memory: int) -> None:
            self.tessera_says("serve", "custom", f"--name={name}", f"--image={self.image}",
                              f"--gpumemory={memory}", "--restful-port=5000",
                              "--annotation=tessera.dev/movable=true", "--command", SERVE)
            self.begun(f"tessera.dev/serving-name={name}")
        serve("first", 6)
        serve("full", 8)
        serve("second", 6)
        self.tessera_says("serve", "delete", "full")
        self.cluster.kubectl("wait", "--for=delete", "pod", "-l", "tessera.dev/serving-name=full",
                             "--timeout=120s")
        self.create(self.pod("my-pod", {"tessera.dev/gpu": "1"}))

    def served(self) -> None:
        self.server(SERVE)

    def trained(self) -> None:
        self.job(SERVE)

    def several_servers(self) -> None:
        for kind, name, *flags in (("triton", "resnet", "--model-repository=/models"),
                                   ("custom", "style", "--restful-port=5000", "--image=style:1")):
            self.tessera_says("serve", kind, f"--name={name}", "--gpumemory=1", *flags)
        self.served()

    def versions(self) -> None:
        for version in ("v1", "v2"):
            self.tessera_says("serve", "custom", "--name=mnist", f"--version={version}",
                              f"--image={self.image}", "--restful-port=5000", "--command", SERVE)

    def before(self, command: tuple[str, ...]) -> Callable[[], None]:
        """What makes the objects that the example names."""
        makers: dict[tuple[str, ...], Callable[[], None]] = {
            ("explain",): self.my_pod, ("resize",): self.my_pod, ("defrag",): self.my_waiting_pod,
            ("get",): self.trained, ("attach",): self.trained, ("delete",): self.trained,
            ("logs",): lambda: self.job("echo ready; sleep 3"),
            ("serve", "logs"): lambda: self.server("echo ready; sleep 3"),
            ("serve", "get"): self.served, ("serve", "attach"): self.served,
            ("serve", "delete"): self.served, ("serve", "update"): self.several_servers,
            ("serve", "traffic-split"): self.versions}
        for length in range(len(command), 0, -1):
            if command[:length] in makers:
                return makers[command[:length]]
        return self.nothing

    @contextmanager
    def cleaned(self, command: tuple[str, ...]) -> Iterator[None]:
        """Deletes what the command and its objects left."""
        try:
            yield
        finally:
            if self.before(command) != self.nothing or command[0] in ("submit", "serve"):
                self.cluster.kubectl("delete", "jobs,deployments", "--all", "--wait=true")
                # By force: kubelet ends no pod while it still tries to get the image.
                self.cluster.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")

    def nothing(self) -> None:
        """The example names no object."""

    def test_the_example_of_every_command(self) -> None:
        path = f"{builds.program('tessera').parent}:{os.environ['PATH']}"
        self.assertLess({("get",), ("submit", "tf"), ("serve", "update", "custom")},
                        set(commands()))
        for command in commands():
            if command[0] in ELSEWHERE or command in NEEDS_MPS:
                continue
            example = example_of(command)
            with self.subTest(example or command), tempfile.TemporaryDirectory() as folder, \
                    self.cleaned(command):
                self.assertTrue(example, "its help has no example")
                self.before(command)()
                done = subprocess.run(["bash", "-c", example], cwd=folder, text=True,
                                      env={**self.environment(), "PATH": path},
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
