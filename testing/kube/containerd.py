"""The configuration file of a node's containerd, in the format of its release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from kube import images

SOCKET = "/run/containerd/containerd.sock"
CNI_DIRECTORIES = ("/usr/lib/cni", "/opt/cni/bin")


def config(release: str, *, nri: bool, systemd: bool = False) -> str:
    """The text of the file. release: as in NodeSpec.containerd_release. nri: whether NRI is
    enabled. systemd: whether systemd creates the cgroups of containers."""
    runc = shutil.which("runc", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    cni = [place for place in CNI_DIRECTORIES if Path(place, "ptp").exists()]
    # Since 2.1 there is a list, bin_dirs.
    bin_dir = f"bin_dirs = {json.dumps(cni)}" if not release else f"bin_dir = {json.dumps(cni[0])}"
    if release.startswith("1."):
        runtime, version = "io.containerd.grpc.v1.cri", 2
        sandbox = _SANDBOX_1.format(pause=images.PAUSE)
    else:
        runtime, version = "io.containerd.cri.v1.runtime", 3
        sandbox = _SANDBOX_2.format(pause=images.PAUSE)
    return _COMMON.format(version=version, socket=SOCKET, nri_disable=str(not nri).lower()) + \
        sandbox + _RUNTIME.format(runtime=runtime, bin_dir=bin_dir, runc=runc,
                                  systemd=str(systemd).lower())


# opt: the default path is in /opt, which belongs to the machine.
_COMMON = """version = {version}
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = {nri_disable}
  socket_path = "/var/run/nri/nri.sock"
  plugin_path = "/var/lib/nri/plugins"
  plugin_config_path = "/etc/nri/conf.d"
"""

_SANDBOX_2 = """[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{pause}"
[plugins."io.containerd.cri.v1.runtime"]
"""

_SANDBOX_1 = """[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
"""

# restrict_oom_score_adj: some kernels refuse a negative value.
_RUNTIME = """  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."{runtime}".cni]
    {bin_dir}
    conf_dir = "/etc/cni/net.d"
  [plugins."{runtime}".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."{runtime}".containerd.runtimes.runc.options]
      BinaryName = "{runc}"
      SystemdCgroup = {systemd}
"""
