"""What is in the virtual machine beside Debian: systemd units, and where everything is.

The image has the units and the programs (`files`, `links`, `programs`). All that is new in each run
(keys, configuration, the simulated driver) is in a tar archive on a second disk, the seed. The
machine unpacks it at each boot, before anything else of Kubernetes starts (`seed.py`).
"""

from __future__ import annotations

from pathlib import Path

from kube import binaries
from kube.control_plane import PROXY, Addresses, ControlPlane, Ports
from kube.pki import Pki

NODE = "vm"
ADDRESS = "10.0.2.15"  # of QEMU's user network, like the next
HOST = "10.0.2.2"      # connections to it reach loopback on the machine that runs QEMU
API_PORT = 6443
POD_NETWORK = "10.244.0.0/16"
ADDRESSES = Addresses(ADDRESS, "10.96.0.0/16", POD_NETWORK)

PROGRAMS = "/usr/local/bin"
PAUSE = "/usr/local/share/pause.tar"
DIRECTORY = "/var/lib/cluster"  # keys, kubeconfigs and the data of etcd
SEED_DEVICE = "/dev/vdb"
# Software emulation is some ten times slower than a processor. So timeouts are long, and what no
# check needs does not run.
CONTROLLERS = ("clusterrole-aggregation", "daemonset", "deployment", "endpointslice", "namespace",
               "node-lifecycle", "replicaset", "resourcequota", "root-ca-certificate-publisher",
               "serviceaccount", "taint-eviction", "validatingadmissionpolicy-status")
EXTRA = {
    "etcd": ("--heartbeat-interval=1000", "--election-timeout=10000"),
    "kube-apiserver": ("--enable-priority-and-fairness=false", "--profiling=false"),
    "kube-controller-manager": (
        "--node-monitor-grace-period=600s", "--node-monitor-period=5s",
        "--controllers=" + ",".join(f"{name}-controller" for name in CONTROLLERS)),
}
# Character devices of other drivers (hwrng and fuse) stand for NVIDIA's. The default rules of a
# container do not allow them, and no privilege is needed to open one. Their numbers:
GPU_DEVICES = ((10, 183), (10, 229))
MODULES = ("overlay", "virtio-rng", "fuse")

_ALWAYS = "Restart=always\nRestartSec=2\n"
# Fewer collections of garbage, and no journal: both are slow in emulation.
_UNIT = """[Unit]
Wants={after}
After={after}
StartLimitIntervalSec=0
[Service]
Environment=GOGC=400
StandardOutput=append:/var/log/kubernetes/{name}.log
StandardError=inherit
ExecStart={line}
{more}[Install]
WantedBy=multi-user.target
"""

# As containerd's own unit file. The image of the pause container is not in any registry.
_CONTAINERD = """Type=notify
Delegate=yes
KillMode=process
LimitNOFILE=infinity
TasksMax=infinity
OOMScoreAdjust=-999
TimeoutStartSec=infinity
ExecStartPost={programs}/ctr --namespace k8s.io images import {pause}
"""

# As with NVIDIA's driver, udev makes no link in /dev/char for the devices of GPUs.
_SEED = """[Unit]
DefaultDependencies=no
Requires=local-fs.target
After=local-fs.target systemd-modules-load.service systemd-udev-trigger.service
Before=multi-user.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/tar -C / -xf {device}
ExecStartPost=/bin/udevadm settle
ExecStartPost=/bin/rm -f {links}
"""

_NETWORK = f"""[Match]
Name=e*
[Network]
Address={ADDRESS}/24
Gateway={HOST}
LinkLocalAddressing=no
IPv6AcceptRA=no
"""


def control_plane() -> ControlPlane:
    """The command lines of the control plane, with paths in the virtual machine."""
    return ControlPlane(directory=Path(DIRECTORY), programs=Path(PROGRAMS),
                        pki=Pki(Path(DIRECTORY, "pki")),
                        ports=Ports(2379, 2380, API_PORT, 10257, 10259), addresses=ADDRESSES,
                        etcd=Path(PROGRAMS, "etcd"), node=NODE)


def programs() -> list[Path]:
    """The programs that the image contains, on this machine."""
    table = binaries.ensure()
    return [*sorted(path for path in table.iterdir() if path.is_file()),
            binaries.ensure(table=binaries.PROXY) / PROXY]


def services() -> dict[str, str]:
    """Name -> unit of each service of Kubernetes."""
    plane = control_plane()
    lines = {**plane.commands(False, EXTRA), PROXY: plane.proxy(Path(PROGRAMS, PROXY)),
             "kubelet": _kubelet()}
    units = {name: _unit(name, line, "seed.service") for name, line in lines.items()}
    units["kubelet"] = _unit("kubelet", lines["kubelet"], "seed.service containerd.service")
    units["containerd"] = _unit("containerd",
                                [f"{PROGRAMS}/containerd", "-c", "/etc/containerd/config.toml"],
                                "seed.service",
                                _CONTAINERD.format(programs=PROGRAMS, pause=PAUSE))
    return units


def files() -> dict[str, str]:
    """Path -> text of the files of the image."""
    links = " ".join(f"/dev/char/{major}:{minor}" for major, minor in GPU_DEVICES)
    return {
        "/etc/hostname": f"{NODE}\n",
        # The API server reaches kubelet by the name of its node. It refuses loopback.
        "/etc/hosts": f"127.0.0.1 localhost\n{ADDRESS} {NODE}\n",
        "/etc/fstab": "",
        "/var/log/kubernetes/README": "The logs of the services of Kubernetes.\n",
        "/etc/modules-load.d/kubernetes.conf": "\n".join(MODULES) + "\n",
        "/etc/systemd/network/ethernet.network": _NETWORK,
        # CNI's routes belong to CNI.
        "/etc/systemd/networkd.conf.d/kubernetes.conf":
            "[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n",
        "/etc/systemd/system/seed.service": _SEED.format(device=SEED_DEVICE, links=links),
        **{f"/etc/systemd/system/{name}.service": text for name, text in services().items()},
    }


def links() -> dict[str, str]:
    """Path -> target of the symbolic links of the image: units that start or do not start."""
    wants = "/etc/systemd/system/multi-user.target.wants"
    started = {f"{wants}/{name}.service": f"/etc/systemd/system/{name}.service"
               for name in services()}
    started[f"{wants}/systemd-networkd.service"] = "/lib/systemd/system/systemd-networkd.service"
    masked = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer",
              "e2scrub_all.timer", "e2scrub_reap.service", "getty.target",
              "serial-getty@ttyS0.service", "systemd-networkd-wait-online.service")
    return {**started, **{f"/etc/systemd/system/{name}": "/dev/null" for name in masked}}


def _kubelet() -> list[str]:
    return [f"{PROGRAMS}/kubelet", "--config=/etc/kubernetes/kubelet.json",
            "--kubeconfig=/etc/kubernetes/kubelet.kubeconfig", f"--hostname-override={NODE}",
            f"--node-ip={ADDRESS}", "--node-labels=tessera.dev/agent=true",
            "--housekeeping-interval=60s"]


def _unit(name: str, line: list[str], after: str, more: str = "") -> str:
    return _UNIT.format(name=name, line=" ".join(line), after=after, more=more + _ALWAYS)
