"""What the Helm chart renders, without a cluster."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

import yaml

from kube import binaries, versions
from kube.errors import KubeError
from stack import builds

CHART = builds.ROOT / "deploy" / "chart" / "tessera"
NAMESPACE = "tessera-system"

Json = dict[str, Any]


def render(*options: str, text: str = "", kubernetes: str = versions.DEFAULT) -> list[Json]:
    """The objects of the chart with these options of `helm template`. text: a file of values.
    Raises KubeError with Helm's message if the chart refuses the values."""
    program = binaries.ensure(table=binaries.HELM) / "helm"
    done = subprocess.run(
        [str(program), "template", "tessera", str(CHART), "--namespace", NAMESPACE,
         "--kube-version", versions.of(kubernetes).release, *options,
         *(["--values=-"] if text else [])],
        input=text, text=True, capture_output=True, timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    if done.returncode != 0:
        raise KubeError(done.stderr)
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def scheduler_config(*values: str) -> Json:
    """The KubeSchedulerConfiguration of the chart with these values, each NAME=VALUE."""
    made, = render("--show-only=templates/scheduler-config.yaml", "--set=image.registry=localhost",
                   *(f"--set={value}" for value in values))
    config: Json = yaml.safe_load(made["data"]["config.yaml"])
    return config


def for_program(config: Json, port: int) -> Json:
    """The configuration for a kube-scheduler of the harness: it fills in the kubeconfig, and reaches
    the controller on this port of loopback."""
    config["clientConnection"]["kubeconfig"] = "KUBECONFIG_PATH"
    for extender in config["extenders"]:
        extender["urlPrefix"] = re.sub("//[^/]+/", f"//127.0.0.1:{port}/", extender["urlPrefix"])
    return config
