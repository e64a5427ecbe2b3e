"""A cluster with Tessera from its Helm chart, exactly as it is shipped: the chart and the images that
tools/release makes, installed by Helm and pulled by containerd from a registry.

    with ChartStack([GpuNode("node-a", GPUs)]) as stack:
        stack.install()
        stack.cluster.kubectl("apply", "-f", "-", input=manifest)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from kube import dns, versions
from kube.cluster import Cluster
from kube.registry import ImageRegistry
from stack import builds, release
from stack.gpu_node import DRIVER_ROOT, GpuNode
from stack.render import NAMESPACE

RELEASE = "tessera"
SCHEDULER = "tessera-scheduler"
WAIT_SECONDS = 600
# The charts of earlier versions that are kept in testing/fixtures/charts. They are installed with the
# present programs.
OLD_VERSIONS = ("0.1.0",)
PREVIOUS = builds.ROOT / "testing" / "fixtures" / "charts" / f"tessera-{OLD_VERSIONS[-1]}.tgz"


class ChartStack:
    """nodes: nodes with simulated GPUs. Their driver is in a folder of the node, as with the GPU
    Operator's driver container. kubernetes and extra_arguments: as in Cluster. with_dns: pods find
    each other by name.
    audit_users: the API server logs their requests to logs/audit.log."""

    def __init__(self, nodes: Sequence[GpuNode], name: str | None = None, *,
                 kubernetes: str = versions.DEFAULT, with_dns: bool = False,
                 audit_users: Sequence[str] = (),
                 extra_arguments: Mapping[str, Sequence[str]] | None = None) -> None:
        self.nodes = list(nodes)
        self.with_dns = with_dns
        self.cluster = Cluster(name=name, services=True, kubernetes=kubernetes,
                               audit_users=audit_users, extra_arguments=extra_arguments)
        self.registry: ImageRegistry
        self.package: Path  # the packed chart
        self.digests: dict[str, str] = {}  # of our images, by name
        self.gpuhog = ""  # the image of the sample program, as pods name it

    def start(self) -> "ChartStack":
        """Starts the cluster and fills the registry. A failure leaves nothing."""
        cluster = self.cluster
        try:
            if self.with_dns:
                found = dns.kubelet_entries(cluster)
                self.nodes = [replace(node, kubelet={**node.kubelet, **found})
                              for node in self.nodes]
            cluster.nodes = [node.spec(cluster.directory) for node in self.nodes]
            cluster.start()
            if self.with_dns:
                dns.start(cluster)
            self.registry = ImageRegistry(cluster)
            self.package, self.digests = publish(self.registry, cluster.directory,
                                                 cluster.kubernetes)
            images = cluster.directory / "stack-images"
            self.gpuhog = self.registry.push(builds.gpuhog_image(images), "gpuhog:test")
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __enter__(self) -> "ChartStack":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.cluster.__exit__(kind, error, trace)

    def helm(self, *arguments: str, check: bool = True) -> str:
        """Runs Helm in Tessera's namespace."""
        return self.cluster.helm("--namespace", NAMESPACE, *arguments, check=check)

    def install(self, *values: str, chart: Path | None = None) -> str:
        """Installs the chart, or another one; `values` are NAME=VALUE. Returns what Helm prints. The
        images have the tags of all charts in testing/fixtures/charts, too."""
        return self.helm("install", RELEASE, str(chart or self.package), "--create-namespace",
                         *self.arguments(*values))

    def upgrade(self, *values: str) -> str:
        """Upgrades to the chart with these values."""
        return self.helm("upgrade", RELEASE, str(self.package), *self.arguments(*values))

    def arguments(self, *values: str) -> list[str]:
        """The options of Helm's install and upgrade."""
        return options(self.registry.address, *values)


def publish(registry: ImageRegistry, directory: Path,
            kubernetes: versions.KubernetesVersion) -> tuple[Path, dict[str, str]]:
    """Makes a release below `directory`, and pushes its images and that of kube-scheduler. Returns
    the packed chart, and the digests of our images by name."""
    package, released = release.write(directory / "release")
    digests = {}
    for name, archive in released.items():
        digests[name] = release.module().oci.digest(archive)
        for version in (release.VERSION, *OLD_VERSIONS):
            registry.push(archive, f"{name}:{version}")
    path = "/usr/local/bin/kube-scheduler"
    made = directory / "scheduler-image"
    made.mkdir()
    scheduler = builds.make_image(made, "kube-scheduler", "--program",
                                  f"{kubernetes.programs / 'kube-scheduler'}={path}",
                                  "--entrypoint", path)
    registry.push(scheduler, f"kube-scheduler:{kubernetes.release}")
    return package, digests


def options(registry: str, *values: str, seconds: int = WAIT_SECONDS) -> list[str]:
    """The options of Helm's install and upgrade. registry: its address, as nodes reach it.
    values: NAME=VALUE. seconds: how long Helm waits."""
    all_values = [f"image.registry={registry}",
                  f"scheduler.image.repository={registry}/kube-scheduler",
                  f"agent.driver.root={DRIVER_ROOT}", "agent.driver.runtimeClassName=", *values]
    return [*(f"--set={value}" for value in all_values), "--wait", f"--timeout={seconds}s"]
