"""The steps that start a run: keys, the run's namespaces, the control plane and the nodes.

All processes of a run descend from one init (`init.py`). Each node has its own init below that. The
directory of a run describes it: run.json, cluster.json, components/ and nodes/*/components/.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from kube import binaries, cgroups, images, mounts, network, versions
from kube.containerd import SOCKET
from kube.control import Init, init_argv, init_env
from kube.control_plane import PROXY, Addresses, ControlPlane, Ports
from kube.errors import CommandError, KubeError
from kube.node import Node, NodeSpec
from kube.pki import Identity, Pki
from kube.run_dir import Run
from kube.state import ClusterState

NODE_ETC = "/etc/kubernetes"
IMPORT_SECONDS = 300.0
CONTAINERD_SECONDS = 150.0


@dataclass(frozen=True)
class Options:
    """The options of a cluster; see Cluster for their meaning."""

    nodes: Sequence[NodeSpec]
    images: Sequence[Path] = ()
    scheduler_config: str | None = None
    audit: bool = False
    audit_users: Sequence[str] = ()
    extra_arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    services: bool = False
    kubernetes: versions.KubernetesVersion = versions.of(versions.DEFAULT)


class Launch:
    """Starts the components of one run, whose programs are built."""

    def __init__(self, run: Run, options: Options) -> None:
        self.run = run
        self.options = options
        self.directory = run.directory
        self.init = Init(self.directory)
        self.programs = self.directory / "bin"
        self.pki = Pki(self.directory / "pki")
        take = run.ports.take
        self.link = network.Link(run.record.slot) if options.services else None
        self.plane = ControlPlane(
            directory=self.directory, programs=self.programs, pki=self.pki,
            ports=Ports(take(), take(), take(), take(), take()), addresses=self._addresses(),
            etcd=binaries.directory() / "etcd",
            node=options.nodes[0].name if options.nodes else "")
        self.nodes = {spec.name: self._node(index, spec)
                      for index, spec in enumerate(options.nodes)}

    def prepare(self) -> None:
        """Writes all files and creates all cgroups. Starts nothing."""
        self.pki.create([*self.plane.addresses.identities(), *(
            Identity(name, f"system:node:{name}", "system:nodes", (f"DNS:{name}", "IP:127.0.0.1"))
            for name in self.nodes)])
        self.plane.write_kubeconfigs()
        self.plane.write_scheduler_config(self.options.scheduler_config)
        self.plane.write_audit_policy(self.options.audit_users)
        (self.directory / "hosts").write_text(self._hosts())
        ClusterState(
            api_host=self.plane.addresses.host, api_port=self.plane.ports.api,
            api_service=self.plane.addresses.api_service if self.link else None,
            scheduler_port=self.plane.ports.scheduler, nodes=list(self.nodes),
            kubernetes=self.options.kubernetes.minor).write(self.directory)
        self.groups = cgroups.Cgroups.of_machine()
        for name in (f"{self.run.cgroup}/daemons", *(n.cgroup for n in self.nodes.values())):
            self.groups.create(name)
        self.init.write_spec(
            join=self.groups.join_files(f"{self.run.cgroup}/daemons"),
            steps=[mounts.bind(self.options.kubernetes.programs, self.programs),
                   mounts.bind(self.directory / "hosts", "/etc/hosts")],
            ends_with_stdin=True, keep_open=self.run.locks[:1])
        commands = self.plane.commands(self.options.audit, self.options.extra_arguments)
        for name, line in commands.items():
            self.init.define(name, line)
        if self.link:
            self.plane.write_proxy_config()
            self.init.define(
                PROXY, self.plane.proxy(self.options.kubernetes.kube_proxy),
                # The lock of older versions of iptables is in the machine's /run.
                {"XTABLES_LOCKFILE": str(self.directory / "xtables.lock")})

    def start_init(self) -> subprocess.Popen[bytes]:
        """Starts the init of the run. It ends when the stdin of the returned process is closed."""
        path = self.directory / "logs" / "init.log"
        with open(path, "ab") as log:
            process = subprocess.Popen(
                init_argv(self.directory, network=bool(self.link)), stdin=subprocess.PIPE,
                stdout=log, stderr=log, env=init_env(), start_new_session=True,
                pass_fds=self.run.locks[:1])
        self.init.wait_alive(path)
        if self.link:
            self.link.create(self.init.pid(), [node.address for node in self.nodes.values()])
        return process

    def start_containerds(self) -> None:
        """Prepares all nodes in parallel, up to a running containerd, so that kubelet can start."""
        with ThreadPoolExecutor(max(1, len(self.nodes))) as pool:
            for future in [pool.submit(self._start_containerd, n) for n in self.nodes.values()]:
                future.result()

    def start_kubelets(self) -> None:
        """Starts kubelet in every node, and kube-proxy."""
        for node in self.nodes.values():
            if not self.link:
                network.give_address(node.address)
            Init(node.directory).start("kubelet")
        if self.link:
            self.init.start(PROXY)

    def _addresses(self) -> Addresses:
        slot = self.run.record.slot
        if not self.link:
            return Addresses()
        return Addresses(self.link.run, str(network.service_network(slot)),
                         str(network.pod_network(slot)))

    def _node(self, index: int, spec: NodeSpec) -> Node:
        return Node(spec, self.directory / "nodes" / spec.name, f"{self.run.cgroup}/{spec.name}",
                    str(network.node_network(self.run.record.slot, index)),
                    network.node_address(self.run.record.slot, index), self.run.ports.take(),
                    self.options.services)

    def _hosts(self) -> str:
        names = " ".join(self.nodes)
        return Path("/etc/hosts").read_text().rstrip("\n") + f"\n127.0.0.1 {names}\n"

    def _prepare_node(self, node: Node) -> None:
        name = node.spec.name
        steps = node.prepare(self._hosts())
        etc = node.directory / "etc" / "kubernetes"
        etc.mkdir()
        for source, target in ((self.pki.ca, "ca.crt"), (self.pki.certificate(name), "kubelet.crt"),
                               (self.pki.key(name), "kubelet.key")):
            shutil.copy(source, etc / target)
        self.pki.kubeconfig(etc / "kubelet.kubeconfig", self.plane.server, name)
        config = node.kubelet_config(
            *(Path(NODE_ETC, file) for file in ("ca.crt", "kubelet.crt", "kubelet.key")))
        (etc / "kubelet.json").write_text(
            json.dumps(self.options.kubernetes.kubelet_config(config), indent=1))
        init = Init(node.directory)
        init.write_spec(join=[], steps=steps, hostname=name)
        # containerd finds its shim by PATH.
        path = {"PATH": f"{node.directory / 'bin'}:{init_env()['PATH']}"}
        for program, line in node.commands(self.programs).items():
            init.define(program, line, path)
        self.init.define(name, init_argv(node.directory, hostname=True), init_env())

    def _start_containerd(self, node: Node) -> None:
        self._prepare_node(node)
        boot_node(self.init, node.directory, node.spec.name)
        for target, content in node.spec.files.items():
            data = content.read_bytes() if isinstance(content, Path) else content
            write_file(node.directory, target, data)
        Init(node.directory).start("containerd")
        wait_containerd(node.directory)
        for image in (images.pause_archive(), *self.options.images):
            import_image(node.directory, image)


def boot_node(run_init: Init, directory: Path, name: str) -> None:
    """Starts the init of a node, without any programs."""
    run_init.start(name)
    Init(directory).wait_alive(run_init.directory / "logs" / f"{name}.log")


def enter(directory: Path, *command: str, stdin: bytes | None = None,
          timeout: float | None = 300.0) -> subprocess.CompletedProcess[bytes]:
    """Runs a command of the machine in the namespaces of a node."""
    pid = Init(directory).pid()
    line = ["nsenter", "--target", str(pid), "--mount", "--pid", "--uts", "--net", "--", *command]
    try:
        return subprocess.run(line, input=stdin or b"", capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise CommandError(list(command), None, (error.stdout or b"").decode(errors="replace"),
                           (error.stderr or b"").decode(errors="replace")) from error


def enter_checked(directory: Path, *command: str, stdin: bytes | None = None,
                  timeout: float | None = 300.0) -> str:
    """Like `enter`, but returns stdout, and raises CommandError if the exit code is not 0."""
    done = enter(directory, *command, stdin=stdin, timeout=timeout)
    if done.returncode != 0:
        raise CommandError(list(command), done.returncode, done.stdout.decode(errors="replace"),
                           done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def write_file(directory: Path, target: str, content: str | bytes) -> None:
    """Writes a file from inside the node: links in /proc/PID/root/... would point outside it."""
    data = content.encode() if isinstance(content, str) else content
    enter_checked(directory, "sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1"', "sh", target,
                  stdin=data)


def wait_containerd(directory: Path) -> None:
    """Returns when containerd of a node accepts connections."""
    init = Init(directory)
    path = f"/proc/{init.pid()}/root{SOCKET}"
    deadline = time.monotonic() + CONTAINERD_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
            probe.connect(path)
            return
        if "containerd" in init.ended() or time.monotonic() > deadline:
            raise KubeError(f"containerd of {directory.name} does not start:\n"
                            + "\n".join(init.log("containerd").strip().splitlines()[-5:]))
        time.sleep(0.02)


def import_image(directory: Path, archive: Path) -> None:
    """Loads a docker archive into the node's containerd."""
    with open(archive, "rb") as source:
        data = source.read()
    enter_checked(directory, str(directory / "bin" / "ctr"), "--namespace", "k8s.io", "images",
                  "import", "-", stdin=data, timeout=IMPORT_SECONDS)
