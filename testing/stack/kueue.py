"""Kueue, installed by its own Helm chart. The chart is in the source of the Go module that
kube/modules/kueue pins. Its image is made from the program that is built from the same module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from kube import binaries
from kube.cluster import Cluster
from kube.registry import ImageRegistry
from stack import builds

NAMESPACE = "kueue-system"
USER = 65532  # nonroot, as in Kueue's own image
Json = dict[str, Any]


def install(cluster: Cluster, registry: ImageRegistry, configuration: Json) -> None:
    """Installs Kueue, and returns when its webhooks answer. configuration: fields of Kueue's
    Configuration that replace those of the chart. The cluster has Services."""
    chart = binaries.source(*binaries.KUEUE) / "charts" / "kueue"
    values = cluster.directory / "kueue-values.json"
    values.write_text(json.dumps(_values(chart, _push(cluster, registry), configuration)))
    cluster.helm("install", "kueue", str(chart), "--namespace", NAMESPACE, "--create-namespace",
                 "--values", str(values), "--wait", "--timeout=600s")


def _push(cluster: Cluster, registry: ImageRegistry) -> str:
    """Makes the image, and pushes it. Returns its name for pods."""
    program = binaries.ensure(table=binaries.KUEUE) / "kueue"
    made = cluster.directory / "kueue-image"
    made.mkdir()
    return registry.push(builds.make_image(made, "kueue", "--program", f"{program}=/manager",
                                           "--user", str(USER)), "kueue:test")


def _values(chart: Path, image: str, configuration: Json) -> Json:
    """The values of the chart."""
    defaults = yaml.safe_load((chart / "values.yaml").read_text())
    complete = yaml.safe_load(defaults["managerConfig"]["controllerManagerConfigYaml"])
    complete.update(configuration)
    repository, tag = image.rsplit(":", 1)
    return {"managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(complete)},
            "controllerManager": {"manager": {
                "image": {"repository": repository, "tag": tag},
                "podSecurityContext": {"runAsNonRoot": True, "runAsUser": USER}}}}
