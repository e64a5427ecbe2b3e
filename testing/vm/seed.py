"""The archive that the virtual machine unpacks at each boot: keys, configuration and driver."""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kube import containerd
from kube.control_plane import ControlPlane
from kube.node import Node
from kube.pki import Identity, Pki
from stack.gpu_node import DRIVER_ROOT, GpuNode
from vm import guest

KUBELET_PORT = 10250
ETC = "/etc/kubernetes"
CERTIFICATES = "/etc/containerd/certs.d"
_REGISTRIES = """[plugins."io.containerd.cri.v1.images".registry]
  config_path = "{certificates}"
"""
# As on a usual node, and unlike in the other clusters of the harness: systemd creates the cgroups,
# the machine belongs to kubelet, and cgroup v1 is refused.
_KUBELET: Mapping[str, Any] = {
    "cgroupDriver": "systemd", "cgroupRoot": "/", "failCgroupV1": True, "oomScoreAdj": -999,
    "enforceNodeAllocatable": ["pods"], "address": "0.0.0.0",
    # Software emulation is slow.
    "runtimeRequestTimeout": "10m", "nodeLeaseDurationSeconds": 600, "volumeStatsAggPeriod": "-1s",
    "nodeStatusUpdateFrequency": "20s", "nodeStatusReportFrequency": "5m"}


class Archive:
    """A tar archive of files of the virtual machine, owned by root."""

    def __init__(self, path: Path) -> None:
        self._tar = tarfile.open(path, "w", format=tarfile.GNU_FORMAT)

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()

    def text(self, path: str, text: str, mode: int = 0o600) -> None:
        """Adds a file with this text."""
        info = self._info(path, mode)
        data = text.encode()
        info.size = len(data)
        self._tar.addfile(info, io.BytesIO(data))

    def tree(self, source: Path, path: str) -> None:
        """Adds a file, or a folder and all that is in it."""
        def as_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            return info
        self._tar.add(source, arcname=path.lstrip("/"), filter=as_root)

    def device(self, path: str, major: int, minor: int) -> None:
        """Adds a character device that every user may open."""
        info = self._info(path, 0o666)
        info.type = tarfile.CHRTYPE
        info.devmajor, info.devminor = major, minor
        self._tar.addfile(info)

    @staticmethod
    def _info(path: str, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(path.lstrip("/"))
        info.mode = mode
        return info


def write(directory: Path, gpus: Path, registry_port: int) -> Path:
    """Makes the keys and the archive in the folder of a run, and returns the archive. gpus: a file
    of gpusim/gpus. registry_port: of the registry on the machine that runs QEMU."""
    pki = Pki(directory / "pki")
    pki.create([*guest.ADDRESSES.identities(), Identity(
        guest.NODE, f"system:node:{guest.NODE}", "system:nodes",
        (f"DNS:{guest.NODE}", "IP:127.0.0.1"))])
    inside = guest.control_plane()
    plane = dataclasses.replace(inside, directory=directory, pki=pki)
    plane.write_kubeconfigs()
    plane.write_scheduler_config(None)
    plane.write_proxy_config()
    gpu_node = GpuNode(guest.NODE, gpus, kubelet=_KUBELET)
    spec = gpu_node.spec(directory)
    node = Node(spec, directory, "", "10.244.0.0/24", guest.ADDRESS, KUBELET_PORT, services=True)
    path = directory / "seed.tar"
    with Archive(path) as archive:
        for file in sorted([*directory.glob("*.kubeconfig"), *directory.glob("*.json"),
                            *directory.glob("*.yaml"), *pki.directory.iterdir()]):
            archive.text(f"{guest.DIRECTORY}/{file.relative_to(directory)}",
                         file.read_text().replace(str(directory), guest.DIRECTORY))
        _add_node(archive, node, plane)
        _add_driver(archive, gpu_node.driver_root(directory), spec.files)
        _add_registry(archive, registry_port)
    return path


def _add_node(archive: Archive, node: Node, plane: ControlPlane) -> None:
    pki = plane.pki
    for source, target in ((pki.ca, "ca.crt"), (pki.certificate(guest.NODE), "kubelet.crt"),
                           (pki.key(guest.NODE), "kubelet.key")):
        archive.text(f"{ETC}/{target}", source.read_text())
    kubeconfig = pki.kubeconfig(plane.directory / "kubelet.kubeconfig", plane.server, guest.NODE)
    archive.text(f"{ETC}/kubelet.kubeconfig", kubeconfig.read_text())
    keys = (Path(ETC, name) for name in ("ca.crt", "kubelet.crt", "kubelet.key"))
    archive.text(f"{ETC}/kubelet.json", json.dumps(node.kubelet_config(*keys), indent=1))
    archive.text("/etc/cni/net.d/10-ptp.conflist", node.cni())


def _add_driver(archive: Archive, root: Path, files: Mapping[str, Any]) -> None:
    archive.tree(root, DRIVER_ROOT)
    for path, text in files.items():
        archive.text(path, with_device_nodes(text), 0o644)
    markers = sorted((root / "usr/lib/x86_64-linux-gnu/gpusim/dev").iterdir())
    for marker, (major, minor) in zip(markers, guest.GPU_DEVICES, strict=True):
        archive.device(f"/dev/{marker.name}", major, minor)


def _add_registry(archive: Archive, port: int) -> None:
    archive.text("/etc/containerd/config.toml", containerd.config("", nri=True, systemd=True)
                 + _REGISTRIES.format(certificates=CERTIFICATES))
    server = f"{guest.HOST}:{port}"
    archive.text(f"{CERTIFICATES}/{server}/hosts.toml",
                 f'server = "http://{server}"\n[host."http://{server}"]\n'
                 '  capabilities = ["pull", "resolve"]\n')


def with_device_nodes(cdi: str) -> str:
    """The CDI specification with a device node for each GPU, as NVIDIA's have: /dev/nvidiaN, where
    N is its minor number. gpusim itself needs none."""
    specification = json.loads(cdi)
    for device in specification["devices"]:
        edits = device["containerEdits"]
        edits["deviceNodes"] = [{"path": f"/dev/{Path(mount['containerPath']).name}"}
                                for mount in edits["mounts"]]
    return json.dumps(specification, indent=1)
