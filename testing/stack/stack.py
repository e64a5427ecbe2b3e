"""A cluster with Tessera on it.

    with Stack([GpuNode("node-a", GPUs)]) as stack:
        stack.cluster.kubectl("apply", "-f", "-", input=manifest)
        print(stack.tessera("inspect"))
"""

from __future__ import annotations

import hmac
import os
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from kube import binaries, versions
from kube.cluster import Cluster
from kube.errors import CommandError
from stack import builds, deploy
from stack.gpu_node import GpuNode


class Stack:
    """nodes: nodes with simulated GPUs. identity: how the agents identify a container (nri,
    kubelet). tls: kube-scheduler uses TLS, with the certificates in `certificates`. audit: the API
    server logs our programs' requests to logs/audit.log. guard: shares are enforced. pod_groups:
    enable Kubernetes' own gang scheduling. values: further values of the chart, each NAME=VALUE."""

    def __init__(self, nodes: Sequence[GpuNode], *, identity: str = "nri",
                 memory_unit: str = "GiB", name: str | None = None, tls: bool = False,
                 audit: bool = False, guard: bool = False, pod_groups: bool = False,
                 values: Sequence[str] = ()) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.identity = identity
        self.memory_unit = memory_unit
        self.tls = tls
        self.guard = guard
        self.values = values
        users = (deploy.CONTROLLER_USER, deploy.AGENT_USER) if audit else ()
        groups = versions.of(versions.DEFAULT).pod_groups if pod_groups else None
        self.cluster = Cluster(name=name, audit_users=users,
                               extra_arguments=groups.arguments() if groups else None)
        self.port = self.health_port = 0
        self.key = secrets.token_hex(32)

    def start(self) -> "Stack":
        """Starts the stack and returns when pods with GPUs can be created. A failure leaves
        nothing."""
        cluster = self.cluster
        try:
            cluster.nodes = [node.spec(cluster.directory) for node in self.nodes.values()]
            cluster.images = builds.images(cluster.directory / "stack-images")
            self.port, self.health_port = cluster.free_port(), cluster.free_port()
            if self.tls:
                deploy.make_certificates(self.certificates)
            certificates = self.certificates if self.tls else None
            cluster.scheduler_config = deploy.scheduler_config(self.port, certificates,
                                                               self.values)
            cluster.start()
            self.apply()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def apply(self) -> None:
        """Deploys Tessera with the current settings of this stack, and returns when it runs."""
        certificates = self.certificates if self.tls else None
        deploy.apply(self.cluster, self.port, self.health_port, self.key, self.identity,
                     self.memory_unit, certificates, self.guard, self.values)
        deploy.wait(self.cluster, sum(node.publishes for node in self.nodes.values()))

    @property
    def certificates(self) -> Path:
        """The folder of the certificates that deploy/extender-tls/certificates made."""
        return self.cluster.directory / "certificates"

    def __enter__(self) -> "Stack":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.cluster.__exit__(kind, error, trace)

    def sign(self, allocation: str) -> str:
        """The signature that the controller would give this text."""
        return hmac.new(bytes.fromhex(self.key), allocation.encode(), "sha256").hexdigest()

    def stock_kubectl(self, *arguments: str) -> str:
        """Runs kubectl with our programs in the PATH, where it finds our plugin."""
        path = f"{builds.build_directory() / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "PATH": path,
                       "HOME": str(self.cluster.directory)}
        return self._run([str(binaries.directory() / "kubectl"), *arguments], environment, True).stdout

    def tessera(self, *arguments: str, program: str = "tessera", check: bool = True) -> str:
        """Runs our command line as cluster-admin and returns what it prints."""
        return self.run_tessera(*arguments, program=program, check=check).stdout

    def run_tessera(self, *arguments: str, program: str = "tessera",
                    check: bool = True) -> subprocess.CompletedProcess[str]:
        """Like `tessera`, but returns the completed process, including its stderr."""
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)}
        return self._run([str(builds.program(program)), *arguments], environment, check)

    @staticmethod
    def _run(command: list[str], environment: dict[str, str],
             check: bool) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300)
        if check and done.returncode != 0:
            raise CommandError(command, done.returncode, done.stdout, done.stderr)
        return done
