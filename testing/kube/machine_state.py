"""The state of the machine that a run could change, to compare it before and after the run.

For tests of this harness. State that changes by itself is left out.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kube import cgroups, run_dir

FILES = ("/etc/hosts", "/etc/resolv.conf", "/proc/self/mountinfo", "/proc/net/route",
         "/proc/net/ip_tables_names")
# Directories to which Kubernetes programs write by default; they are listed two levels deep.
DIRECTORIES = ("/etc", "/run", "/opt", "/usr/libexec", "/var/lib", "/var/log", "/var/tmp",
               "~/.kube", "/usr/lib/cni", "/usr/local/bin")
SYSCTL_PARTS = ("kernel", "vm", "net/ipv4", "net/ipv6/conf/all", "net/bridge", "user")
SYSCTL_VARIES = ("kernel/random", "kernel/ns_last_pid", "kernel/pty", "net/ipv4/conf",
                 "net/ipv4/neigh", "kernel/spl", "net/ipv4/route")


def snapshot() -> dict[str, str]:
    """Name -> value of everything that must not change."""
    state = {name: _read(name) for name in FILES}
    state["links"] = "\n".join(sorted(os.listdir("/sys/class/net")))
    state["addresses"] = _addresses()
    state["iptables"] = _iptables()
    state["cgroups"] = "\n".join(_our_cgroups())
    for directory in DIRECTORIES:
        state[directory] = "\n".join(_listing(Path(directory).expanduser()))
    for part in SYSCTL_PARTS:
        for path, _, files in os.walk(Path("/proc/sys", part)):
            for file in files:
                name = os.path.relpath(f"{path}/{file}", "/proc/sys")
                if not name.startswith(SYSCTL_VARIES):
                    state[f"sysctl {name}"] = _read(f"/proc/sys/{name}")
    return state


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """One line per difference."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            gone, come = set(old.split("\n")) - set(new.split("\n")), set(new.split("\n")) - set(
                old.split("\n"))
            found.append(f"{name}: -{sorted(gone)} +{sorted(come)}")
    return found


def processes_with(text: str) -> list[str]:
    """The command lines that contain the text, without that of this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        line = _read(str(path)).replace("\0", " ")
        if text in line and path.parent.name != str(os.getpid()):
            found.append(f"{path.parent.name}: {line}")
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _addresses() -> str:
    done = subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True)
    return "\n".join(sorted(done.stdout.splitlines()))


def _iptables() -> str:
    """The rules of both kinds of iptables."""
    commands = ["iptables-nft-save", "ip6tables-nft-save"]
    if _read("/proc/net/ip_tables_names"):  # otherwise iptables-legacy-save would create tables
        commands.append("iptables-legacy-save")
    output = "".join(subprocess.run([command], capture_output=True, text=True, check=True).stdout
                     for command in commands)
    # A chain is shown with its counters: ":INPUT ACCEPT [0:0]".
    return "\n".join(line.split(" [")[0] for line in output.splitlines()
                     if not line.startswith("#"))


def _our_cgroups() -> list[str]:
    return sorted(str(path) for hierarchy in cgroups.Cgroups.of_machine().hierarchies
                  for path in hierarchy.root.glob(cgroups.PREFIX + "*"))


def _listing(directory: Path) -> list[str]:
    found = []
    for pattern in ("*", "*/*"):
        found += [str(path) for path in directory.glob(pattern)
                  if run_dir.BASE not in path.parents or path.parent == run_dir.BASE]
    return sorted(found)
