"""A control-plane node: a folder of the run is its /etc/kubernetes, in which commands of our pages
and kube-schedulers run."""

from __future__ import annotations

import os
import shlex
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from kube.cluster import Cluster
from stack import builds

COMMAND_SECONDS = 120


class ControlPlaneNode:
    """/etc/kubernetes has kube-scheduler's kubeconfig and the folder for manifests, as kubeadm makes
    them. Programs see the node's name as that of their machine."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.etc_kubernetes = cluster.directory / f"etc-kubernetes-{name}"
        (self.etc_kubernetes / "manifests").mkdir(parents=True)
        (self.etc_kubernetes / "scheduler.conf").write_bytes(
            (cluster.directory / "kube-scheduler.kubeconfig").read_bytes())

    def run(self, script: str, folder: Path, programs: Sequence[Path] = (),
            environment: Mapping[str, str] | None = None) -> str:
        """Runs shell commands in `folder` as cluster-admin, with kubectl and these folders of
        programs. Returns what they print. Raises AssertionError if one fails."""
        folders = [*programs, self.cluster.kubernetes.programs, builds.program("tessera").parent]
        done = subprocess.run(
            self._inside(f"set -eux\n{textwrap.dedent(script)}"), cwd=folder, text=True,
            capture_output=True, timeout=COMMAND_SECONDS,
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), **(environment or {}),
                 "PATH": ":".join([*map(str, folders), os.environ["PATH"]])})
        if done.returncode != 0:
            raise AssertionError(f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def start_scheduler(self, name: str, options: Sequence[str]) -> None:
        """Starts a kube-scheduler. name: as in Cluster.start_program."""
        command = shlex.join([str(self.cluster.kubernetes.programs / "kube-scheduler"), *options])
        self.cluster.start_program(name, self._inside(f"exec {command}"))

    def _inside(self, script: str) -> list[str]:
        mount = f"mount --bind {shlex.quote(str(self.etc_kubernetes))} /etc/kubernetes"
        Path("/etc/kubernetes").mkdir(exist_ok=True)
        return ["/usr/bin/unshare", "--mount", "--uts", "--propagation=private", "/bin/bash", "-c",
                f"set -e\n/usr/bin/{mount}\n/usr/bin/hostname {self.name}\n{script}"]
