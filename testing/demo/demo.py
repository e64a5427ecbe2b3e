#!/usr/bin/env python3
"""The demo: three pods share one GPU on a real Kubernetes, told step by step.

Every command is shown before its output, and every claim is checked: the demo fails where the story
does. `--keep` leaves the cluster and says how to use it.
"""

from __future__ import annotations

import argparse
import json
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
CARDS = builds.ROOT / "gpusim" / "cards"
NODES = (GpuNode("node-a", CARDS / "two-15gib.yaml"), GpuNode("node-b", CARDS / "15-and-24gib.yaml"))
NAME = "tessera-demo"


BOLD, GREEN = 1, 32


def styled(style: int, text: str) -> str:
    """For a terminal; as it is elsewhere."""
    return f"\033[{style}m{text}\033[0m" if sys.stdout.isatty() else text


class Demo:
    """Tells the story on a running stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.cluster: ClusterHandle = stack.cluster

    def say(self, text: str) -> None:
        """One step of the story."""
        print(f"\n{styled(BOLD, f'# {text}')}", flush=True)

    def show(self, command: str, output: str) -> str:
        """A command, as a person would type it, and what it printed."""
        print(styled(GREEN, f"$ {command}"), flush=True)
        print(output.rstrip("\n"), flush=True)
        return output

    def kubectl(self, *arguments: str) -> str:
        """Shows a kubectl command; returns its output."""
        return self.show("kubectl " + " ".join(arguments), self.cluster.kubectl(*arguments))

    def apply(self, file: str) -> None:
        """Shows a manifest's interesting lines and applies it."""
        path = HERE / file
        self.show(f"kubectl apply -f {path.relative_to(builds.ROOT)}",
                  self.cluster.kubectl("apply", "-f", str(path)))

    def inspect(self, *arguments: str) -> str:
        """Shows `kubectl inspect gpushare`, run by the stock kubectl that finds our plugin."""
        words = ["inspect", "gpushare", *arguments]
        return self.show(" ".join(["kubectl", *words]), self.stack.stock_kubectl(*words))

    def wait_running(self, selector: str, count: int) -> None:
        """Until `count` pods of the selector run."""
        def running() -> bool:
            phases = self.cluster.kubectl("get", "pods", "-l", selector, "-o",
                                          "jsonpath={.items[*].status.phase}").split()
            return phases == ["Running"] * count
        self.cluster.wait_for(f"{count} pods of {selector} running", running, 30)

    def cards_of(self, selector: str) -> list[str]:
        """The UUID that each pod of the selector sees through the driver, read in its own log."""
        uuids = []
        for pod in self.cluster.kubectl("get", "pods", "-l", selector, "-o", "name").split():
            log = self.cluster.wait_for(
                f"{pod} has printed its card",
                lambda pod=pod: (text := self.cluster.kubectl("logs", pod)) and "allocated" in text
                and text, 20)
            uuids.append(log.split("uuid ")[1].split(",")[0])
        return uuids

    def in_pod(self, name: str, command: str) -> str:
        """Shows a command in a container, and what it says, its errors too."""
        return self.show(f"kubectl exec {name} -- {command}", self.cluster.kubectl(
            "exec", name, "--", "sh", "-c", f"{{ {command}; }} 2>&1; true"))

    def top(self) -> dict[str, Any]:
        """What tessera top says, for programs."""
        said: dict[str, Any] = json.loads(self.stack.tessera("top", "-o", "json"))
        return said

    def show_top(self) -> None:
        """Shows tessera top, and what it says on stderr too; it must know all of every node."""
        done = self.stack.run_tessera("top")
        self.show("tessera top", done.stdout + done.stderr)
        expect(done.stderr == "", "every node's agent says what its containers use")

    def times_of_held(self) -> dict[str, int]:
        """Percent of the card's time of the pods of held.yaml; nothing until both work on it."""
        times = {share["name"]: share["timePercent"] for share in self.top()["shares"]
                 if "timePercent" in share}
        return times if sum(times.values()) > 90 and {"modest", "greedy"} <= set(times) else {}


def expect(holds: bool, claim: str) -> None:
    """Ends the demo where the story is not true."""
    if not holds:
        raise KubeError(f"the demo's claim does not hold: {claim}")


def binpack(demo: Demo) -> None:
    demo.say("Two nodes: node-a has two 15 GiB cards, node-b a 15 and a 24 GiB card. All free.")
    demo.inspect()
    demo.say("Three pods of 3 GiB each, written for gpushare: aliyun.com/gpu-mem: 3.")
    demo.apply("binpack-1.yaml")
    demo.wait_running("app=binpack-1", 3)
    demo.kubectl("get", "pods", "-l", "app=binpack-1", "-o", "wide")
    demo.say("They share one card. Each sees it through the CUDA driver, and only it.")
    uuids = demo.cards_of("app=binpack-1")
    demo.kubectl("logs", "binpack-1-0")
    expect(len(set(uuids)) == 1, f"three pods on one card, seen: {uuids}")
    demo.say("The environment that gpushare's users rely on is in the container.")
    env = demo.cluster.kubectl("exec", "binpack-1-0", "--", "env")
    wanted = [line for line in env.splitlines() if line.startswith(("ALIYUN", "NVIDIA", "TESSERA"))]
    demo.show("kubectl exec binpack-1-0 -- env | grep -E '^(ALIYUN|NVIDIA|TESSERA)'", "\n".join(wanted))
    expect("ALIYUN_COM_GPU_MEM_CONTAINER=3" in wanted, "gpushare's variables are in the container")
    text = demo.inspect("-d")
    expect("9/69" in text, "nine of 69 GiB are held")


def scale(demo: Demo) -> None:
    demo.say("Scale to six: 18 GiB do not fit one 15 GiB card, so a second one is opened.")
    demo.kubectl("scale", "statefulset", "binpack-1", "--replicas=6")
    demo.wait_running("app=binpack-1", 6)
    uuids = demo.cards_of("app=binpack-1")
    demo.inspect()
    counts = sorted(uuids.count(uuid) for uuid in set(uuids))
    expect(counts == [1, 5], f"five pods on one card and one on another, seen {counts}")


def too_large(demo: Demo) -> None:
    demo.say("A pod of 25 GiB fits the sum of a node, but no card. It waits, and its event says why.")
    demo.apply("too-large.yaml")

    def refused() -> str:
        events = demo.cluster.kubectl("get", "events", "--field-selector",
                                      "involvedObject.name=too-large,reason=FailedScheduling",
                                      "-o", "jsonpath={.items[0].message}")
        return events if "GPU Memory" in events else ""
    message = demo.cluster.wait_for("the event of too-large", refused, 20)
    demo.kubectl("get", "pod", "too-large")
    demo.show("kubectl get events --field-selector involvedObject.name=too-large", str(message))


def native(demo: Demo) -> None:
    demo.say("The native spelling beside it: one card, 3Gi of it, a quarter of its compute.")
    demo.apply("native.yaml")
    demo.wait_running("app=native", 1)
    demo.cards_of("app=native")
    demo.show_top()
    demo.kubectl("get", "pod", "native", "-o",
                 r"jsonpath={.metadata.annotations.tessera\.dev/allocation}")
    demo.kubectl("delete", "pod", "native")


def held(demo: Demo) -> None:
    demo.say("Shares are held, by our library in each container. Two tenants of one card, neither "
             "ever has enough.")
    demo.apply("held.yaml")
    demo.wait_running("app=held", 2)
    demo.say("The greedy one tries to take 12 GiB of the card: to CUDA the card is full.")
    refused = demo.in_pod("greedy", "gpuhog --once 12GiB")
    expect("OUT_OF_MEMORY" in refused, "who takes more than its share is refused")
    demo.say("Its user is told why.")
    told = demo.cluster.wait_for("the event of greedy", lambda: demo.cluster.kubectl(
        "get", "events", "--field-selector", "involvedObject.name=greedy,reason=GpuMemoryLimit",
        "-o", "jsonpath={.items[*].message}"), 20)
    demo.show("kubectl get events --field-selector involvedObject.name=greedy", str(told))
    demo.say("What each uses of its share: TIME% is the part of the card's time that it had.")
    shares = demo.cluster.wait_for("both are busy", demo.times_of_held, 60)
    demo.show_top()
    expect(abs(shares["modest"] - 25) <= 10, f"a quarter and three quarters, not {shares}")
    demo.say("A running pod gets more, if the card has it.")
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
    """Detaches the cluster and says how to use it."""
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
                for step in (binpack, scale, too_large, native, held, clean):
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
