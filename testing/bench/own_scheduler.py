"""The chart's mode scheduler in a benchmark: its kube-scheduler beside the cluster's own."""

from __future__ import annotations

import json
import shutil
import socket

from kube import binaries
from kube.cluster import Cluster
from stack import render

SECOND = "second-sched"  # the name of the second kube-scheduler as a program
# RBAC gives kube-scheduler this Lease, so the chart's own Lease is not used.
LEASE = ("kube-system", "kube-scheduler")
# The controller leads where the kube-scheduler of its "pod" leads. That names itself after the host.
CONTROLLER = (f"--lease={LEASE[0]}/tessera-controller", f"--scheduler-lease={'/'.join(LEASE)}")
POD_NAME = {"POD_NAME": socket.gethostname()}


def config(port: int) -> str:
    """The chart's KubeSchedulerConfiguration. port: the port of our controller."""
    made = render.for_program(render.scheduler_config(), port)
    made["leaderElection"] |= {"resourceNamespace": LEASE[0], "resourceName": LEASE[1]}
    return json.dumps(made)


def start_second(cluster: Cluster, name: str) -> None:
    """Starts a kube-scheduler for pods whose spec.schedulerName is `name`: with the chart's mode
    scheduler, the cluster's own. It ends with the cluster."""
    program = cluster.directory / SECOND  # a name of its own in the list of processes
    if not program.exists():
        shutil.copy(binaries.directory() / "kube-scheduler", program)
    kubeconfig = str(cluster.directory / "kube-scheduler.kubeconfig")
    file = cluster.directory / f"{SECOND}.json"
    file.write_text(json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": kubeconfig},
        "profiles": [{"schedulerName": name}]}))
    cluster.start_program(SECOND, [
        str(program), f"--config={file}", "--bind-address=127.0.0.1",
        f"--secure-port={cluster.free_port()}", f"--cert-dir={cluster.directory / 'certificates'}"])
