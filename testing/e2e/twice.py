"""An image whose environment names NVIDIA_VISIBLE_DEVICES twice. Kubelet merges a pod's own
repetition, so only an image's reaches the runtime; it replaces one entry, and the other stays."""

from __future__ import annotations

import subprocess

from e2e import pods
from e2e.truth import Json
from kube.cluster import Cluster
from kube.errors import KubeError
from stack import builds

IMAGE = "localhost/twice:dev"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"


def pod(cluster: Cluster) -> Json:
    """A pod of that image, which each node of the cluster then has."""
    out = cluster.directory / "twice.tar"
    gpuhog = f"{builds.program('gpuhog')}=/usr/bin/gpuhog"
    done = subprocess.run(
        [str(builds.IMAGE_TOOL), IMAGE, str(out), "--program", gpuhog, "--busybox",
         "--without", "libcuda.so.1", "--env", f"{VISIBLE}=all", "--env", f"{VISIBLE}=all"],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"image {IMAGE}: {done.stderr.strip()}")
    cluster.import_image(out)
    made = pods.simple("twice", pods.aliyun(1), node="node-a")
    made["spec"]["containers"][0]["image"] = IMAGE
    return made
