"""Kubeflow Trainer, installed by its own Helm chart with that of JobSet, on which it depends. The
charts are in the sources of the Go modules that kube/modules/trainer and kube/modules/jobset pin.
The images are made from the programs that are built from the same modules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from kube import binaries
from kube.cluster import Cluster
from kube.registry import ImageRegistry
from stack import builds

NAMESPACE = "kubeflow-system"
USER = 65532  # nonroot, as in the images of both projects
Json = dict[str, Any]


def install(cluster: Cluster, registry: ImageRegistry) -> None:
    """Installs both, and returns when they are ready. The cluster has Services."""
    values = cluster.directory / "trainer-values.json"
    values.write_text(json.dumps(_values(cluster, registry)))
    cluster.helm("install", "trainer", str(_chart(cluster)), "--namespace", NAMESPACE,
                 "--create-namespace", "--values", str(values), "--wait", "--timeout=600s")


def _chart(cluster: Cluster) -> Path:
    """A copy of Trainer's chart, with JobSet's inside."""
    made = cluster.directory / "trainer-chart"
    for table, name, into in ((binaries.TRAINER, "kubeflow-trainer", made),
                              (binaries.JOBSET, "jobset", made / "charts" / "jobset")):
        # Only the contents: the sources may not be written.
        shutil.copytree(binaries.source(*table) / "charts" / name, into,
                        copy_function=shutil.copyfile)
        for folder in (into, *(each for each in into.rglob("*") if each.is_dir())):
            folder.chmod(0o755)
    return made


def _push(cluster: Cluster, registry: ImageRegistry, name: str, program: Path) -> tuple[str, str]:
    """Makes an image, and pushes it. Returns the registry, and the image's name in it."""
    made = cluster.directory / f"{name}-image"
    made.mkdir()
    image = registry.push(builds.make_image(made, name, "--program", f"{program}=/manager",
                                            "--user", str(USER)), f"{name}:test")
    address, _, rest = image.partition("/")
    return address, rest.rsplit(":", 1)[0]


def _values(cluster: Cluster, registry: ImageRegistry) -> Json:
    """The values of the chart."""
    trainer = binaries.ensure(table=binaries.TRAINER) / "trainer-controller-manager"
    jobset = binaries.ensure(table=binaries.JOBSET) / "jobset"
    address, trainer_image = _push(cluster, registry, "trainer", trainer)
    _, jobset_image = _push(cluster, registry, "jobset", jobset)
    return {"image": {"registry": address, "repository": trainer_image, "tag": "test"},
            "jobset": {"image": {"repository": f"{address}/{jobset_image}", "tag": "test"},
                       "controller": {"resources": {}}}}
