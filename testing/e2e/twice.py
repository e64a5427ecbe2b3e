"""An image whose environment sets NVIDIA_VISIBLE_DEVICES twice. kubelet merges duplicates of a pod,
so only an image's duplicates reach the runtime, which replaces one and leaves the other."""

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
    """Imports the image on each node of the cluster, and returns a pod that uses it."""
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
