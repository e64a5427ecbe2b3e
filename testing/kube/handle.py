"""The functions of a running cluster: call its API, kill and restart components, enter nodes.

A handle needs only `directory`, so every process can use it, not only the one that started the
cluster. Every method may be called from any thread. Failures are KubeErrors that say what to do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kube import binaries, launch, network, versions
from kube.api import Api, ApiError
from kube.cgroups import PREFIX, Cgroups
from kube.control import Init
from kube.control_plane import KUBECONFIG_PLACEHOLDER
from kube.errors import CommandError, KubeError
from kube.node import is_private
from kube.pki import Pki
from kube.state import ClusterState

READY_SECONDS = 90.0
POLL_SECONDS = 0.1
# Factor on all time limits. A wait ends as soon as its condition is true, so a long limit costs
# nothing. It must only separate what never happens from what is late on a slow or busy machine.
PATIENCE = 5
API_SERVICE_PORT = 443


class ClusterHandle:
    """A running cluster in `directory`. Its API server listens on `api_host` and `api_port`.
    Without Services, a pod with hostNetwork needs them as KUBERNETES_SERVICE_HOST and
    KUBERNETES_SERVICE_PORT.

    poll_seconds: how long `wait_for` sleeps between two calls of its condition.
    helm_table: the table of binaries.py whose Helm `helm` runs."""

    poll_seconds = POLL_SECONDS
    helm_table: Sequence[binaries.Module] = binaries.HELM

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @property
    def directory(self) -> Path:
        """The directory with all files of the run."""
        return self._directory

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a cluster-admin, for any program on this machine."""
        return self.directory / "admin.kubeconfig"

    @property
    def api_host(self) -> str:
        """The address of the API server, for this machine and for pods with hostNetwork."""
        return self._state().api_host

    @property
    def api_port(self) -> int:
        """The port of the API server."""
        return self._state().api_port

    @property
    def kubernetes(self) -> versions.KubernetesVersion:
        """The version of Kubernetes."""
        return versions.of(self._state().kubernetes)

    # ---- the API

    @property
    def ca(self) -> Path:
        """The CA certificate of the API server."""
        return Pki(self.directory / "pki").ca

    def kubectl(self, *arguments: str, input: str | None = None, check: bool = True,
                timeout: float = 300.0) -> str:
        """Runs kubectl as cluster-admin and returns its stdout."""
        command = [str(self.kubernetes.programs / "kubectl"), f"--kubeconfig={self.kubeconfig}",
                   f"--cache-dir={self.directory / 'kubectl-cache'}", *arguments]
        environment = {**os.environ, "HOME": str(self.directory)}  # it writes to ~/.kube
        return _run(["kubectl", *arguments], command, environment, input, check, timeout)

    def helm(self, *arguments: str, check: bool = True, timeout: float = 600.0) -> str:
        """Runs Helm as cluster-admin and returns its stdout. It keeps its files in the directory of
        the run, and does not read those of the user."""
        program = binaries.ensure(table=self.helm_table) / "helm"
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("HELM_", "XDG_"))}
        environment |= {"HOME": str(self.directory / "helm"), "KUBECONFIG": str(self.kubeconfig)}
        return _run(["helm", *arguments], [str(program), *arguments], environment, None, check,
                    timeout)

    def api(self) -> Api:
        """An API client with the rights of cluster-admin, for polling."""
        return self._client(self.api_port)

    def scheduler_api(self) -> Api:
        """Like `api`, for kube-scheduler's health and metrics."""
        return self._client(self._state().scheduler_port)

    def wait_for(self, what: str, condition: Callable[[], Any], timeout: float = 30.0) -> Any:
        """Polls until the condition is true, and returns its value. Raises KubeError with `what`
        after the timeout.

        timeout: seconds for an idle machine; the real limit is PATIENCE times as long. An ApiError
        or CommandError in the condition counts as "not yet".
        """
        timeout *= PATIENCE
        deadline = time.monotonic() + timeout
        last = ""
        while True:
            try:
                if value := condition():
                    return value
            except (ApiError, CommandError) as error:
                last = f"; last: {error}"
            if time.monotonic() > deadline:
                raise KubeError(f"{what}: not within {timeout:.0f} s{last}")
            time.sleep(self.poll_seconds)

    def wait_ready(self, timeout: float = READY_SECONDS) -> None:
        """Returns when all nodes are Ready, and pods can be created and scheduled. With Services,
        the API server then also accepts connections at its ClusterIP."""
        api, scheduler = self.api(), self.scheduler_api()
        names = set(self._state().nodes)
        service = self._state().api_service

        def ready() -> bool:
            self._check_alive()
            listed = api.json("GET", "/api/v1/nodes")["items"]
            return ({n["metadata"]["name"] for n in listed if _is_ready(n)} >= names
                    and api.ok("/api/v1/namespaces/default/serviceaccounts/default")
                    and api.ok("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
                    and scheduler.ok("/healthz")
                    and (service is None or network.accepts(service, API_SERVICE_PORT)))
        self.wait_for(f"nodes {', '.join(sorted(names))} Ready", ready, timeout)

    # ---- components. node: a node's name, or None for the control plane

    def start_component(self, name: str, node: str | None = None) -> None:
        """Starts a stopped program with the same command line as before."""
        self._init(node).start(name)
        if name == "containerd" and node is not None:  # without containerd, kubelet exits
            launch.wait_containerd(self._node(node))

    def kill(self, name: str, node: str | None = None, number: int = signal.SIGKILL,
             wait: bool = True) -> int | None:
        """Sends a signal to a program (kubelet, containerd, kube-scheduler, ...). With `wait`,
        returns its exit code."""
        return self._init(node).kill(name, number, wait)

    def restart(self, name: str, node: str | None = None) -> None:
        """Kills a program with SIGKILL, and starts it again."""
        self.kill(name, node)
        self.start_component(name, node)

    def start_program(self, name: str, argv: Sequence[str], node: str | None = None,
                      env: Mapping[str, str] | None = None) -> None:
        """Starts a program of the caller. It can be killed and restarted like the components, its
        output is in `logs`, and it ends with the run. argv[0] is an absolute path."""
        init = self._init(node)
        init.define(name, argv, env)
        init.start(name)

    def running(self, node: str | None = None) -> list[str]:
        """The names of the running programs; for the control plane including its nodes."""
        return self._init(node).running()

    def logs(self, name: str, node: str | None = None) -> str:
        """The complete output of a program, including earlier starts."""
        return self._init(node).log(name)

    def write_scheduler_config(self, text: str) -> None:
        """Writes kube-scheduler's configuration, which takes effect at its next start."""
        path = str(self.directory / "kube-scheduler.kubeconfig")
        (self.directory / "scheduler-config.yaml").write_text(
            text.replace(KUBECONFIG_PLACEHOLDER, path))

    def use_scheduler_config(self, text: str) -> None:
        """Restarts kube-scheduler with another configuration."""
        self.write_scheduler_config(text)
        self.restart("kube-scheduler")

    def pids(self) -> dict[str, int]:
        """Name -> pid on the machine, of every running program of the control plane and of the
        caller. The names are the kernel's, with at most 15 characters."""
        found = {}
        for pid in Cgroups.of_machine().processes(self._cgroup("daemons")):
            with contextlib.suppress(OSError):  # ended after the listing
                found[Path(f"/proc/{pid}/comm").read_text().strip()] = pid
        return found

    # ---- nodes

    def in_network(self, *command: str) -> str:
        """Runs a command of the machine in the network namespace of the run; returns its stdout."""
        line = ["nsenter", "--target", str(self._init().pid()), "--net", "--", *command]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300.0)
        if done.returncode != 0:
            raise CommandError(list(command), done.returncode, done.stdout, done.stderr)
        return done.stdout

    def nsenter(self, node: str, *command: str, input: str | bytes | None = None,
                check: bool = True, timeout: float = 300.0) -> str:
        """Runs a command in a node's namespaces; returns its stdout."""
        data = input.encode() if isinstance(input, str) else input
        if check:
            return launch.enter_checked(self._node(node), *command, stdin=data, timeout=timeout)
        done = launch.enter(self._node(node), *command, stdin=data, timeout=timeout)
        return done.stdout.decode(errors="replace")

    def node_pid(self, node: str) -> int:
        """The pid on the machine of a node's process 1."""
        return Init(self._node(node)).pid()

    def write_file(self, node: str, path: str, content: str | bytes) -> None:
        """Writes a file in a node, and creates its folder. See NodeSpec.files for allowed paths."""
        if not is_private(path):
            raise KubeError(f"{path} belongs to the machine, not to the node")
        launch.write_file(self._node(node), path, content)

    def import_image(self, archive: str | Path) -> None:
        """Loads a docker archive into every node."""
        self._each_node(lambda directory: launch.import_image(directory, Path(archive)))

    def power_off(self, node: str) -> None:
        """Kills all processes of a node at once, as a power cut does; its disk stays."""
        os.kill(self.node_pid(node), signal.SIGKILL)
        self.wait_for(f"{node} off", lambda: node not in self.running(), 10.0)
        # Cgroups do not survive a reboot, and kubelet fails if it finds old ones.
        groups = Cgroups.of_machine()
        groups.kill_all(self._cgroup(node))
        groups.remove(self._cgroup(node))

    def power_on(self, node: str) -> None:
        """Starts a node that was powered off, with /run empty."""
        Cgroups.of_machine().create(self._cgroup(node))
        launch.boot_node(self._init(), self._node(node), node)
        for program in ("containerd", "kubelet"):
            self.start_component(program, node)

    def save_logs(self, to: str | Path | None = None) -> Path | None:
        """Copies all logs to a folder below `to`, or else $TESSERA_E2E_LOGS. Returns the folder, or
        None if neither is set."""
        base = to or os.environ.get("TESSERA_E2E_LOGS")
        if not base:
            return None
        target = Path(base) / self.directory.name
        for logs in (*self.directory.glob("logs"), *self.directory.glob("nodes/*/logs"),
                     *self.directory.glob("nodes/*/var-log/pods")):
            shutil.copytree(logs, target / logs.relative_to(self.directory), symlinks=True,
                            dirs_exist_ok=True)
        return target

    # ---- internal

    def _state(self) -> ClusterState:
        return ClusterState.read(self.directory)

    def _client(self, port: int) -> Api:
        pki = Pki(self.directory / "pki")
        return Api(self.api_host, port, pki.ca, pki.certificate("admin"), pki.key("admin"))

    def _init(self, node: str | None = None) -> Init:
        return Init(self.directory if node is None else self._node(node))

    def _node(self, name: str) -> Path:
        path = self.directory / "nodes" / name
        if not path.is_dir():
            raise KubeError(f"no node {name}: there are {', '.join(self._state().nodes)}")
        return path

    def _cgroup(self, node: str) -> str:
        return f"{PREFIX}{self.directory.name}/{node}"

    def _each_node(self, do: Callable[[Path], None]) -> None:
        names = self._state().nodes
        with ThreadPoolExecutor(max(1, len(names))) as pool:
            for future in [pool.submit(do, self._node(name)) for name in names]:
                future.result()

    def _check_alive(self, control_plane_only: bool = False) -> None:
        """Raises KubeError with the end of the log if a program of the run ended by itself."""
        nodes = [] if control_plane_only else self._state().nodes
        for node in (None, *nodes):
            init = self._init(node)
            for name, code in init.ended().items():
                lines = init.log(name).strip().splitlines()[-5:]
                raise KubeError(f"{name} of {node or 'the control plane'} ended with {code}:\n"
                                + "\n".join(lines))


def _run(shown: list[str], command: list[str], environment: dict[str, str], text: str | None,
         check: bool, timeout: float) -> str:
    """Runs a program of this machine and returns its stdout. shown: the command in errors."""
    try:
        done = subprocess.run(command, input=text or "", env=environment, text=True,
                              timeout=timeout, capture_output=True)
    except subprocess.TimeoutExpired as error:
        raise CommandError(shown, None, str(error.stdout or ""), str(error.stderr or "")) from error
    if check and done.returncode != 0:
        raise CommandError(shown, done.returncode, done.stdout, done.stderr)
    return done.stdout


def _is_ready(node: dict[str, Any]) -> bool:
    """Whether the node is Ready and the node controller has removed its taints."""
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return (conditions.get("Ready") == "True"
            and not any(key.startswith("node.kubernetes.io/") for key in taints))
