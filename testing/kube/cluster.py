"""A Kubernetes cluster for tests: start it, use it, and kill its components. It leaves nothing.

    with Cluster([NodeSpec("node-a"), NodeSpec("node-b")], images=[Path("app.tar")]) as cluster:
        cluster.kubectl("apply", "-f", "-", input=manifest)
        cluster.restart("kubelet", "node-a")

See `handle.py` for the functions of a running cluster. Needs root. If a `with` block fails, all
logs are copied to $TESSERA_E2E_LOGS/RUN (if that is set). Killing this process ends the cluster;
the next start of any cluster removes its files, cgroups and addresses.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from kube import binaries, doctor, versions
from kube.control import Init
from kube.control_plane import COMPONENTS
from kube.handle import ClusterHandle
from kube.launch import Launch, Options
from kube.node import NodeSpec
from kube.run_dir import Registry, Run


class Cluster(ClusterHandle):
    """One cluster of this process.

    nodes: the nodes to create. images: docker archives to load into every node.
    scheduler_config: the text or path of a KubeSchedulerConfiguration, in which KUBECONFIG_PATH
    stands for the scheduler's kubeconfig; may be set until `start`.
    name: the name of the run; generated if None. audit: the API server writes logs/audit.log.
    audit_users: it logs only the requests of these users, without bodies (may be set until
    `start`). extra_arguments: component -> arguments to add to its command line.
    control_plane: the components that `start` starts, at least etcd and kube-apiserver. Start the
    others with `start_component`. If any is left out, `start` does not wait until pods can be
    created. services: kube-proxy, so that Services have traffic; the run then has a network
    namespace of its own. kubernetes: the minor version, one of versions.TABLE.
    """

    def __init__(self, nodes: Sequence[NodeSpec] = (NodeSpec("node-a"),), *,
                 images: Sequence[str | Path] = (), scheduler_config: str | Path | None = None,
                 name: str | None = None, audit: bool = False,
                 audit_users: Sequence[str] = (),
                 extra_arguments: Mapping[str, Sequence[str]] | None = None,
                 control_plane: Sequence[str] = COMPONENTS, services: bool = False,
                 kubernetes: str = versions.DEFAULT) -> None:
        self.nodes = list(nodes)
        self.images = [Path(image) for image in images]
        self.scheduler_config = scheduler_config
        self._wanted_name = name
        self._audit = audit
        self.audit_users = list(audit_users)
        self._extra = extra_arguments or {}
        self._control_plane = control_plane
        self._services = services
        self._kubernetes = versions.of(kubernetes)
        self._registry = Registry()
        self._claimed: Run | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Cluster":
        """Starts the cluster and returns when pods can be created. A failure leaves nothing."""
        doctor.require_usable()
        for spec in self.nodes:
            spec.check()
        binaries.ensure()  # etcd and containerd
        for table in {spec.containerd_table() for spec in self.nodes}:
            binaries.ensure(table=table)
        self._kubernetes.ensure(self._services)
        try:
            self._boot()
        except BaseException:
            self._fail()
            raise
        return self

    def stop(self) -> None:
        """Ends every process of the run and removes all its files. May be called repeatedly."""
        if self._claimed is None:
            return
        stop_init(self._claimed)
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None
        self._registry.remove(self._claimed)
        self._claimed = None

    def detach(self) -> None:
        """Keeps the cluster running when this process ends; `kube` finds it by its name."""
        run = self._run()
        run.keep()
        self._init().detach()
        run.unlock()
        self._process = None
        self._claimed = None

    def __enter__(self) -> "Cluster":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        else:
            self._fail()

    @property
    def name(self) -> str:
        """The name of the run, which is claimed at the first use."""
        return self._run().record.name

    @property
    def directory(self) -> Path:
        """The directory with all files of the run."""
        return self._run().directory

    @property
    def slot(self) -> int:
        """The number that the addresses of the run depend on."""
        return self._run().record.slot

    def free_port(self) -> int:
        """A TCP port, reserved for the caller until the run ends. Works before `start` too."""
        return self._run().ports.take()

    def _run(self) -> Run:
        if self._claimed is None:
            self._claimed = self._registry.claim(self._wanted_name)
        return self._claimed

    def _boot(self) -> None:
        config = self.scheduler_config
        launch = Launch(self._run(), Options(
            self.nodes, self.images, config.read_text() if isinstance(config, Path) else config,
            self._audit or bool(self.audit_users), self.audit_users, self._extra,
            self._services, self._kubernetes))
        launch.prepare()
        self._process = launch.start_init()
        control_plane = self._init()
        with ThreadPoolExecutor(1) as pool:
            containerds = pool.submit(launch.start_containerds)
            for name in COMPONENTS[:2]:
                control_plane.start(name)
            self._wait_api()
            for name in COMPONENTS[2:]:
                if name in self._control_plane:
                    control_plane.start(name)
            containerds.result()
        launch.start_kubelets()
        if set(COMPONENTS) <= set(self._control_plane):
            self.wait_ready()

    def _wait_api(self) -> None:
        api = self.api()

        def ready() -> bool:
            self._check_alive(control_plane_only=True)
            return api.ok("/readyz")
        self.wait_for("kube-apiserver ready", ready, 60.0)

    def _fail(self) -> None:
        """Ends a failed run. Only the saved logs remain."""
        try:
            if self._claimed is not None:
                self.save_logs()
        finally:
            self.stop()


def stop_init(run: Run) -> None:
    """Ends all processes of a run at once, by killing its process 1."""
    init = Init(run.directory)
    if init.alive():
        os.kill(init.pid(), signal.SIGKILL)
