"""A container registry for the nodes of a run, so that containerd pulls images as in production.

It is Debian's docker-registry, on loopback in the network namespace of the run. containerd uses
plain HTTP for a registry on localhost. skopeo copies docker archives to it. The registry ends with
the run, and its data is in the directory of the run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from kube import binaries
from kube.errors import KubeError

PROGRAM = "docker-registry"


def program() -> Path:
    """The path of docker-registry. Raises KubeError with the fix if it does not exist."""
    cache = binaries.cache_root().parent / PROGRAM / "usr" / "bin"
    found = shutil.which(PROGRAM, path=f"{cache}:{os.environ['PATH']}")
    if found is None:
        raise KubeError(f"no {PROGRAM} in {cache} nor in PATH: run tools/setup")
    return Path(found)


class Host(Protocol):
    """What the registry needs of its run. A `Cluster` is one; see `ClusterHandle` for the
    contracts."""

    @property
    def directory(self) -> Path: ...

    def free_port(self) -> int: ...

    def start_program(self, name: str, argv: Sequence[str]) -> None: ...

    def running(self) -> list[str]: ...

    def logs(self, name: str) -> str: ...

    def in_network(self, *command: str) -> str: ...

    def wait_for(self, what: str, condition: Callable[[], Any]) -> Any: ...


class ImageRegistry:
    """The registry of a running cluster.

        registry = ImageRegistry(cluster)
        image = registry.push(Path("agent.tar"), "tessera-agent:0.1.0")
    """

    def __init__(self, cluster: Host) -> None:
        """Starts the registry, and returns when it serves requests."""
        self.cluster = cluster
        self.directory = cluster.directory / "registry"
        port = cluster.free_port()
        # REGISTRY in the names of its images
        self.address = f"localhost:{port}"
        self.directory.mkdir()
        config = self.directory / "config.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "version": "0.1", "log": {"accesslog": {"disabled": True}, "level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(self.directory / "data")}},
            "http": {"addr": f"127.0.0.1:{port}", "secret": "none"}}))
        cluster.start_program(PROGRAM, [str(program()), "serve", str(config)])
        cluster.wait_for(f"{PROGRAM} serves requests", self._serves)

    def push(self, archive: Path, name: str) -> str:
        """Copies a docker archive, or an OCI archive (.oci.tar), to the registry. name: NAME:TAG.
        Returns the full name of the image, for pods."""
        kind = "oci-archive" if archive.name.endswith(".oci.tar") else "docker-archive"
        image = f"{self.address}/{name}"
        self.cluster.in_network(
            "skopeo", "--insecure-policy", "--tmpdir", str(self.directory), "copy", "--quiet",
            "--dest-tls-verify=false", "--dest-no-creds", f"{kind}:{archive}",
            f"docker://{image}")
        return image

    def _serves(self) -> bool:
        if PROGRAM not in self.cluster.running():
            raise KubeError(f"{PROGRAM} ended: {self.cluster.logs(PROGRAM).strip()}")
        test = f"exec 3<> /dev/tcp/{self.address.replace(':', '/')}"
        self.cluster.in_network("bash", "-c", test)
        return True
