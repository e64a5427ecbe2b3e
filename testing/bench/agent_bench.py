#!/usr/bin/env python3
"""`./dev bench agent`: memory and idle CPU of the agent on a real node with shared GPUs.

The agents run as pods on the test cluster. 20 pods have GPU shares; nothing else happens.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stack import builds  # noqa: E402
from stack.gpu_node import GpuNode  # noqa: E402
from stack.stack import Stack  # noqa: E402

SECONDS = 60
RSS_GOAL_MB = 40
CPU_GOAL_PERCENT = 1
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: hog-{0}}}
spec:
  containers:
    - name: main
      image: localhost/gpuhog:dev
      imagePullPolicy: IfNotPresent
      args: ["0"]
      resources: {{limits: {{aliyun.com/gpu-mem: 1}}}}
---
"""


def agents() -> list[int]:
    """Process ids of the agents, as this machine sees them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == "tessera-agent":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def line(figure: str, goal: float, measured: float, unit: str) -> bool:
    """Prints one figure. Returns whether it meets its goal."""
    holds = measured <= goal
    print(f"{figure} | <= {goal} {unit} | {measured:.2f} {unit} | "
          f"{'holds' if holds else 'falls short'}", flush=True)
    return holds


def main() -> int:
    node = GpuNode("node-a", builds.ROOT / "gpusim" / "gpus" / "eight-80gib.yaml")
    with Stack([node]) as stack:
        cluster = stack.cluster
        cluster.kubectl("apply", "-f", "-", input="".join(POD.format(i) for i in range(20)))
        cluster.wait_for("20 pods running", lambda: cluster.kubectl(
            "get", "pods", "-o", "jsonpath={.items[*].status.phase}").split() == ["Running"] * 20, 60)
        before = {pid: cpu_seconds(pid) for pid in agents()}
        time.sleep(SECONDS)
        after = {pid: cpu_seconds(pid) for pid in before}
        worst = max((after[pid] - before[pid]) / SECONDS * 100 for pid in before)
        memory = max(rss_mb(pid) for pid in before)
    print("figure | goal | measured | holds")
    held = [line("agent, 8 GPUs, 20 pods: RSS", RSS_GOAL_MB, memory, "MB"),
            line(f"agent, idle {SECONDS} s: CPU of one core", CPU_GOAL_PERCENT, worst, "%")]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
