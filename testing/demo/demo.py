#!/usr/bin/env python3
"""The demo: pods share GPUs on a real Kubernetes, step by step.

The demo prints every command before its output. It also checks every claim, and fails if a claim is
not true. `--keep` leaves the cluster running and prints how to use it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kube import binaries  # noqa: E402
from kube.errors import KubeError  # noqa: E402
from kube.handle import ClusterHandle  # noqa: E402
from stack import builds  # noqa: E402
from stack.gpu_node import GpuNode  # noqa: E402
from stack.stack import Stack  # noqa: E402

HERE = Path(__file__).resolve().parent
GPUS = builds.ROOT / "gpusim" / "gpus"
NODES = (GpuNode("node-a", GPUS / "two-15gib.yaml"), GpuNode("node-b", GPUS / "15-and-24gib.yaml"))
NAME = "tessera-demo"


BOLD, GREEN = 1, 32


def styled(style: int, text: str) -> str:
    """The text with a terminal style, or unchanged if the output is not a terminal."""
    return f"\033[{style}m{text}\033[0m" if sys.stdout.isatty() else text


class Demo:
    """Runs the steps of the demo on a running stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.cluster: ClusterHandle = stack.cluster

    def say(self, text: str) -> None:
        """Prints the title of a step."""
        print(f"\n{styled(BOLD, f'# {text}')}", flush=True)

    def show(self, command: str, output: str) -> str:
        """Prints a command, as a person would type it, and its output. Returns the output."""
        print(styled(GREEN, f"$ {command}"), flush=True)
        print(output.rstrip("\n"), flush=True)
        return output

    def kubectl(self, *arguments: str) -> str:
        """Shows a kubectl command; returns its output."""
        return self.show(shlex.join(["kubectl", *arguments]), self.cluster.kubectl(*arguments))

    def event(self, pod: str, reason: str) -> str:
        """Waits for an event of the pod, and shows its message."""
        command = ["get", "events", "--field-selector",
                   f"involvedObject.name={pod},reason={reason}", "-o",
                   "jsonpath={.items[0].message}"]
        message = str(self.cluster.wait_for(f"the event {reason} of {pod}",
                                            lambda: self.cluster.kubectl(*command), 20))
        return self.show(shlex.join(["kubectl", *command]), message)

    def apply(self, file: str) -> None:
        """Applies a manifest, and shows the command."""
        path = HERE / file
        self.show(f"kubectl apply -f {path.relative_to(builds.ROOT)}",
                  self.cluster.kubectl("apply", "-f", str(path)))

    def inspect(self, *arguments: str) -> str:
        """Shows `kubectl inspect gpushare`, run by the stock kubectl, which finds our plugin."""
        words = ["inspect", "gpushare", *arguments]
        return self.show(" ".join(["kubectl", *words]), self.stack.stock_kubectl(*words))

    def wait_running(self, selector: str, count: int) -> None:
        """Waits until `count` pods of the selector run."""
        def running() -> bool:
            phases = self.cluster.kubectl("get", "pods", "-l", selector, "-o",
                                          "jsonpath={.items[*].status.phase}").split()
            return phases == ["Running"] * count
        self.cluster.wait_for(f"{count} pods of {selector} running", running, 30)

    def gpus_of(self, selector: str) -> list[str]:
        """The UUID that each pod of the selector gets from the CUDA driver, read from its log."""
        uuids = []
        for pod in self.cluster.kubectl("get", "pods", "-l", selector, "-o", "name").split():
            uuids.append(self.log_of(pod).split("uuid ")[1].split(",")[0])
        return uuids

    def log_of(self, pod: str) -> str:
        """Waits until the pod has printed its GPU, and returns what it printed."""
        def printed() -> str:
            text = self.cluster.kubectl("logs", pod)
            return text if "allocated" in text else ""
        log: str = self.cluster.wait_for(f"{pod} has printed its GPU", printed, 20)
        return log

    def in_pod(self, name: str, command: str) -> str:
        """Shows a command in a container and its output, including errors."""
        return self.show(f"kubectl exec {name} -- {command}", self.cluster.kubectl(
            "exec", name, "--", "sh", "-c", f"{{ {command}; }} 2>&1; true"))

    def top(self) -> dict[str, Any]:
        """The output of tessera top, as JSON."""
        said: dict[str, Any] = json.loads(self.stack.tessera("top", "-o", "json"))
        return said

    def show_top(self) -> None:
        """Shows the output of tessera top, including stderr. Every agent must answer."""
        done = self.stack.run_tessera("top")
        self.show("tessera top", done.stdout + done.stderr)
        expect(done.stderr == "", "every node's agent reports what its containers use")

    def time_shares(self) -> dict[str, int]:
        """The percentage of GPU time of each pod of limits.yaml; empty until both pods are busy."""
        times = {share["name"]: share["timePercent"] for share in self.top()["shares"]
                 if "timePercent" in share}
        return times if sum(times.values()) > 90 and {"modest", "greedy"} <= set(times) else {}


def expect(holds: bool, claim: str) -> None:
    """Ends the demo with an error if a claim is not true."""
    if not holds:
        raise KubeError(f"the demo's claim does not hold: {claim}")


def binpack(demo: Demo) -> None:
    demo.say("Two nodes: node-a has two 15 GiB GPUs, node-b a 15 and a 24 GiB GPU. All free.")
    demo.inspect()
    demo.say("Three pods of 3 GiB each, written for gpushare: aliyun.com/gpu-mem: 3.")
    demo.apply("binpack-1.yaml")
    demo.wait_running("app=binpack-1", 3)
    demo.kubectl("get", "pods", "-l", "app=binpack-1", "-o", "wide")
    demo.say("They share one GPU. Each sees it through the CUDA driver, and only it.")
    uuids = demo.gpus_of("app=binpack-1")
    demo.kubectl("logs", "binpack-1-0")
    expect(len(set(uuids)) == 1, f"three pods on one GPU, seen: {uuids}")
    demo.say("The environment that gpushare's users rely on is in the container.")
    env = demo.cluster.kubectl("exec", "binpack-1-0", "--", "env")
    wanted = [line for line in env.splitlines() if line.startswith(("ALIYUN", "NVIDIA", "TESSERA"))]
    demo.show("kubectl exec binpack-1-0 -- env | grep -E '^(ALIYUN|NVIDIA|TESSERA)'", "\n".join(wanted))
    expect("ALIYUN_COM_GPU_MEM_CONTAINER=3" in wanted, "gpushare's variables are in the container")
    text = demo.inspect("-d")
    expect("9/69" in text, "9 of 69 GiB are allocated")


def scale(demo: Demo) -> None:
    demo.say("Scale to six: 18 GiB do not fit one 15 GiB GPU, so a second one is opened.")
    demo.kubectl("scale", "statefulset", "binpack-1", "--replicas=6")
    demo.wait_running("app=binpack-1", 6)
    uuids = demo.gpus_of("app=binpack-1")
    demo.inspect()
    counts = sorted(uuids.count(uuid) for uuid in set(uuids))
    expect(counts == [1, 5], f"five pods on one GPU and one on another, seen {counts}")


def too_large(demo: Demo) -> None:
    demo.say("A pod of 25 GiB fits the sum of a node, but no GPU. It waits, and its event says why.")
    demo.apply("too-large.yaml")

    message = demo.event("too-large", "FailedScheduling")
    expect("GPU Memory" in message, "the event says that the pod waits for a GPU's memory")
    demo.kubectl("get", "pod", "too-large")


def native(demo: Demo) -> None:
    demo.say("The native spelling beside it: one GPU, 3Gi of it, a quarter of its compute.")
    demo.apply("native.yaml")
    demo.wait_running("app=native", 1)
    demo.gpus_of("app=native")
    demo.show_top()
    demo.kubectl("get", "pod", "native", "-o",
                 r"jsonpath={.metadata.annotations.tessera\.dev/allocation}")
    demo.kubectl("delete", "pod", "native")


def limits(demo: Demo) -> None:
    demo.say("A library in each container enforces the shares. Two greedy pods share one GPU.")
    demo.apply("limits.yaml")
    demo.wait_running("app=limits", 2)
    demo.say("The pod greedy tries to allocate 12 GiB: CUDA reports that the GPU is out of memory.")
    refused = demo.in_pod("greedy", "gpuhog --once 12GiB")
    expect("OUT_OF_MEMORY" in refused, "an allocation beyond the share is refused")
    demo.say("An event of the pod says why.")
    demo.event("greedy", "GpuMemoryLimit")
    demo.say("What each container uses of its share: TIME% is its percentage of the GPU's time.")
    shares = demo.cluster.wait_for("both are busy", demo.time_shares, 60)
    demo.show_top()
    expect(abs(shares["modest"] - 25) <= 10, f"a quarter and three quarters, not {shares}")
    demo.say("A running pod gets more, if the GPU has it.")
    demo.show("tessera resize greedy --memory 6Gi",
              demo.stack.tessera("resize", "greedy", "-n", "default", "--memory", "6Gi"))
    demo.cluster.wait_for("the new limit", lambda: "allocated" in demo.cluster.kubectl(
        "exec", "greedy", "--", "sh", "-c", "gpuhog --once 5GiB 2>&1; true"), 30)
    demo.in_pod("greedy", "gpuhog --once 5GiB")


def clean(demo: Demo) -> None:
    demo.say("Delete everything: the memory is back.")
    demo.kubectl("delete", "statefulset/binpack-1", "pod/too-large",
                         "pod/modest", "pod/greedy", "--wait=false")
    demo.cluster.wait_for(
        "all pods are gone",
        lambda: not json.loads(demo.cluster.kubectl("get", "pods", "-o", "json"))["items"], 30)
    text = demo.inspect()
    expect("0/69 (0%)" in text, "all memory is free again")


def keep(stack: Stack) -> None:
    """Leaves the cluster running, and prints how to use it."""
    cluster = stack.cluster
    print(f"""
The cluster stays. To use it:
  export KUBECONFIG={cluster.kubeconfig}
  export PATH={builds.build_directory() / 'bin'}:{binaries.directory()}:$PATH
  tessera inspect
  kubectl inspect gpushare -d
  ./dev kube kubectl --name {cluster.name} -- get pods -A
To end it:
  ./dev kube down --name {cluster.name}""")
    cluster.detach()


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the cluster running at the end")
    options = parser.parse_args()
    began = time.monotonic()
    stack = Stack(NODES, guard=True)
    try:
        print("Starting Kubernetes with two nodes, and Tessera on it as pods ...", flush=True)
        with stack:
            demo = Demo(stack)
            demo.kubectl("get", "nodes")
            demo.kubectl("get", "pods", "-n", "tessera-system")
            try:
                for step in (binpack, scale, too_large, native, limits, clean):
                    step(demo)
            except (KubeError, subprocess.SubprocessError):
                print(demo.cluster.kubectl("get", "events", "--field-selector", "type=Warning"))
                if options.keep:
                    keep(stack)
                raise
            print(f"\nDone in {time.monotonic() - began:.0f} s.")
            if options.keep:
                keep(stack)
    except (KubeError, subprocess.SubprocessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted; the cluster is gone", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `./dev demo | head`: the reader had enough
        sys.stdout = open(os.devnull, "w")
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
