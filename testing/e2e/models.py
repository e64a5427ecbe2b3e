"""Models for the model server of the tests (testing/model_server), on a volume that pods mount."""

from __future__ import annotations

from pathlib import Path

from kube.api import Api


def make_volume(api: Api, folder: Path) -> None:
    """The claim `models` with models in this folder: half computes 0.5 x + 2, and its version 2
    0.5 x + 3; double computes 2 x."""
    for name, weights in {"half/1": "0.5 2", "half/2": "0.5 3", "double/1": "2 0"}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "weights").write_text(weights)
    storage = {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "models"}
    api.json("POST", "/api/v1/persistentvolumes", {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "models"},
        "spec": {"accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"},
                 "hostPath": {"path": str(folder)}}})
    api.json("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "models"},
        "spec": {**storage, "resources": {"requests": {"storage": "1Gi"}}}})
