"""Checks whether this machine can run a cluster, and says what to do if it cannot."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kube import binaries, cgroups, images, network, run_dir
from kube.containerd import CNI_DIRECTORIES
from kube.errors import KubeError

# program -> Debian package
TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "openssl": "openssl", "runc": "runc",
         "ip": "iproute2", "iptables": "iptables"}
RUN_BYTES = 2 << 30

TOUCHES = f"""It needs root, for namespaces, mounts and cgroups. A run creates, and removes at its
end:
  files        {run_dir.BASE}/NAME
  cgroups      {cgroups.PREFIX}NAME, in every hierarchy
  interfaces   one veth per pod, with addresses in a 10.x.0.0/16 that the machine does not use
  addresses    one per node, of that network, on lo
  ports        up to 100 on 127.0.0.1, from 20000 on
  with Services, in place of these interfaces, addresses and ports: one network namespace, one veth
               {network.Link.PREFIX}N, and a route to that 10.x.0.0/16
Programs and images stay in {binaries.cache_root()}.
Nothing else changes: not the machine's /etc, /run, /var/lib, /var/log, sysctls and iptables."""


@dataclass(frozen=True)
class Finding:
    """One line of the report. fix: what to do; empty if nothing is wrong."""

    subject: str
    state: str
    fix: str = ""


def require_usable() -> None:
    """Raises KubeError with the first problem that prevents a cluster from starting."""
    for finding in machine():
        if finding.fix:
            raise KubeError(f"{finding.subject}: {finding.state}: {finding.fix}")


def machine() -> list[Finding]:
    """The requirements of a cluster, in the order in which to fix them."""
    return [_root(), *_tools(), _cni(), _cgroups(), _overlay(), _route(), _disk()]


def build() -> list[Finding]:
    """The requirements of a build, and whether it is done."""
    there = binaries.built()
    state = f"in {binaries.directory()}" if there else "not built: `kube build`, or the first start"
    findings = [Finding("programs", state)]
    try:
        findings.append(Finding("go", binaries.find_go()))
    except KubeError as error:
        findings.append(Finding("go", str(error), "" if there else "see the message"))
    findings.append(Finding("busybox image", "can be built" if Path("/bin/busybox").exists()
                            else "not possible", "" if Path("/bin/busybox").exists()
                            else "apt-get install busybox-static"))
    return findings


def _root() -> Finding:
    if os.geteuid() != 0:
        return Finding("root", f"no, uid {os.geteuid()}", "run it with sudo -E; " + TOUCHES)
    return Finding("root", "yes")


def _tools() -> list[Finding]:
    findings = []
    for tool, package in TOOLS.items():
        path = shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin")
        findings.append(Finding(tool, path or "missing",
                                "" if path else f"apt-get install {package}"))
    if not shutil.which("gcc"):
        try:
            images.pause_archive()
        except KubeError:
            findings.append(Finding("gcc", "missing", "apt-get install gcc libc6-dev"))
    return findings


def _cni() -> Finding:
    found = [place for place in CNI_DIRECTORIES if Path(place, "ptp").exists()]
    return Finding("CNI plugins", *(found[:1] or ("missing",
                   "apt-get install containernetworking-plugins")))


def _cgroups() -> Finding:
    try:
        groups = cgroups.Cgroups.of_machine()
        groups.join_files("x")
    except KubeError as error:
        return Finding("cgroups", "missing", str(error))
    note = "" if groups.version == 1 else " (this harness has only been run on v1)"
    return Finding("cgroups", f"v{groups.version}{note}")


def _overlay() -> Finding:
    there = "overlay" in Path("/proc/filesystems").read_text().split()
    return Finding("overlayfs", "yes" if there else "missing", "" if there else "modprobe overlay")


def _route() -> Finding:
    lines = Path("/proc/net/route").read_text().splitlines()[1:]
    there = any(line.split()[1] == "00000000" for line in lines)
    return Finding("default route", "yes" if there else "missing", "" if there else
                   "kubelet gets the node's address from it: add one, for example to a dummy "
                   "interface")


def _disk() -> Finding:
    base = run_dir.BASE if run_dir.BASE.exists() else run_dir.BASE.parent
    free = shutil.disk_usage(base).free
    return Finding("disk", f"{free >> 30} GB free at {base}", "" if free >= RUN_BYTES else
                   f"delete files: a run needs up to {RUN_BYTES >> 30} GB")
