"""A Kubernetes cluster of one node, in a virtual machine.

    with VmCluster(GPUs) as cluster:
        cluster.install()
        cluster.kubectl("get", "nodes")
        cluster.guest("systemctl", "restart", "kubelet")
        cluster.reboot()

QEMU, the registry and the folder of the run end with the `with` block, by whatever exception. If
this process is killed, the kernel ends QEMU and the registry, and the next run of any cluster of
the harness removes the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from kube import versions
from kube.errors import CommandError, KubeError
from kube.handle import ClusterHandle
from kube.pki import Pki
from kube.registry import ImageRegistry
from kube.run_dir import Registry, Run
from kube.state import ClusterState
from stack import builds, chart
from vm import clock, guest, seed
from vm.agent import GuestAgent
from vm.image import Image, ensure

QEMU = "qemu-system-x86_64"
# What these two features protect costs an emulated processor much at each entry into the kernel and
# at each miss of its page tables.
CPU = "max,-la57,-smap"
MEMORY = "4096"
PROCESSORS = str(min(4, os.cpu_count() or 1))
KERNEL_LINE = ("root=/dev/vda rw console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off "
               "audit=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 random.trust_cpu=on "
               # Another clock would be read by an exit to QEMU. An unmap within a huge page would
               # make QEMU forget all translations of addresses.
               "tsc=reliable transparent_hugepage=never")
BOOT_SECONDS = 600.0  # multiplied by handle.PATIENCE, like all limits of `wait_for`
COMMAND_SECONDS = 600.0
HELM_SECONDS = 1800
STOP_SECONDS = 10.0
UNANSWERED = re.compile("Unable to connect to the server|TLS handshake timeout|i/o timeout|"
                        "connection (refused|lost|reset)|unexpected EOF")
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class VmCluster(ClusterHandle):
    """gpus: a file of gpusim/gpus with two GPUs, which the node has."""

    poll_seconds = 5.0  # a TLS handshake takes the emulated processors a tenth of a second

    def __init__(self, gpus: Path) -> None:
        self.gpus = gpus
        self._runs = Registry()
        self._run_: Run = self._runs.claim()
        super().__init__(self._run_.directory)
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._agent = GuestAgent(self.directory / "agent.socket")
        self.registry: ImageRegistry
        self.registry_address = ""  # as the node reaches it
        self.package: Path          # the packed chart

    def __enter__(self) -> "VmCluster":
        try:
            self._start(ensure())
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            if isinstance(error, Exception):  # ^C ends at once
                self.save_logs()
        finally:
            for process in reversed(self._programs.values()):
                _end(process)
            self._runs.remove(self._run_)

    # ---- the machine

    def guest(self, *command: str, check: bool = True, timeout: float = COMMAND_SECONDS) -> str:
        """Runs a command in the virtual machine as root, and returns its stdout."""
        return self._agent.run(*command, timeout=timeout, check=check)

    def reboot(self) -> None:
        """Reboots the machine by systemd. Returns when its next kernel runs."""
        before = self.guest("cat", BOOT_ID)
        self._agent.start("systemctl", "reboot", timeout=COMMAND_SECONDS)
        self.wait_for("the machine reboots", lambda: self._boot_id() not in ("", before),
                      BOOT_SECONDS)

    def wait_node(self) -> None:
        """Returns when the API server answers, and the node is Ready."""
        def ready() -> bool:
            node = self.api().json("GET", f"/api/v1/nodes/{guest.NODE}")
            conditions = {each["type"]: each for each in node["status"].get("conditions", [])}
            return (conditions["Ready"]["status"] == "True" and not node["spec"].get("taints")
                    and self.api().ok("/api/v1/namespaces/default/serviceaccounts/default"))
        self.wait_for("the node is Ready", ready, BOOT_SECONDS)

    def kubectl(self, *arguments: str, input: str | None = None, check: bool = True,
                timeout: float = COMMAND_SECONDS) -> str:
        """As ClusterHandle.kubectl. Tries again while the API server does not answer in time."""
        deadline = time.monotonic() + COMMAND_SECONDS
        while True:
            try:
                return super().kubectl(*arguments, input=input, check=check, timeout=timeout)
            except CommandError as error:
                if not UNANSWERED.search(error.stderr) or time.monotonic() > deadline:
                    raise
                time.sleep(self.poll_seconds)

    # ---- Tessera

    def install(self, *values: str) -> None:
        """Makes a release, pushes it to the registry, and installs its chart with Helm."""
        self.package, _ = chart.publish(self.registry, self.directory,
                                        versions.of(versions.DEFAULT))
        self.helm("--namespace", chart.NAMESPACE, "install", chart.RELEASE, str(self.package),
                  "--create-namespace",
                  *chart.options(self.registry_address, *values, seconds=HELM_SECONDS),
                  timeout=HELM_SECONDS + 60.0)

    def push(self, archive: Path, name: str) -> str:
        """Pushes an image, and returns its name for pods."""
        pushed = self.registry.push(archive, name)
        return pushed.replace(self.registry.address, self.registry_address)

    def tessera(self, *arguments: str) -> str:
        """Runs our command line as cluster-admin on this machine, and returns its stdout."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run([str(builds.program("tessera")), *arguments], env=environment,
                              text=True, capture_output=True, timeout=300).stdout

    # ---- programs on this machine, as kube.registry.Host

    def free_port(self) -> int:
        """A TCP port of this run on loopback."""
        return self._run_.ports.take()

    def start_program(self, name: str, argv: Sequence[str], *_: Any, **__: Any) -> None:
        """Starts a program that ends with the run, and with this process however it ends."""
        log = self.directory / "logs" / f"{name}.log"
        log.parent.mkdir(exist_ok=True)
        with open(log, "ab") as out:
            # A new session: ^C reaches only this process, which ends the others in order.
            self._programs[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True, pass_fds=self._run_.locks[:1])

    def running(self, node: str | None = None) -> list[str]:
        """The names of the running programs on this machine."""
        return [name for name, process in self._programs.items() if process.poll() is None]

    def logs(self, name: str, node: str | None = None) -> str:
        """The output of a program."""
        return (self.directory / "logs" / f"{name}.log").read_text(errors="replace")

    def in_network(self, *command: str) -> str:
        """Runs a command on this machine."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=COMMAND_SECONDS)
        if done.returncode != 0:
            raise CommandError(list(command), done.returncode, done.stdout, done.stderr)
        return done.stdout

    def wait_for(self, what: str, condition: Callable[[], Any], timeout: float = 300.0) -> Any:
        """As ClusterHandle.wait_for, with a longer default. Fails at once if QEMU ended."""
        def alive() -> Any:
            if QEMU in self._programs and QEMU not in self.running():
                raise KubeError(f"QEMU ended: {self.logs(QEMU).strip()[-500:]}")
            return condition()
        return super().wait_for(what, alive, timeout)

    def save_logs(self, to: str | Path | None = None) -> Path | None:
        """Copies the logs and the machine's journal below `to`, or else $TESSERA_E2E_LOGS."""
        base = to or os.environ.get("TESSERA_E2E_LOGS")
        if not base:
            return None
        target = Path(base) / self.directory.name
        shutil.copytree(self.directory / "logs", target, dirs_exist_ok=True)
        try:
            text = self.guest("sh", "-c", "journalctl --no-pager | tail -c 2000000; "
                              "tail -c 1000000 /var/log/kubernetes/*.log", timeout=120.0)
        except KubeError as error:
            text = str(error)
        (target / "journal.log").write_text(text)
        return target

    # ---- internal

    def _start(self, image: Image) -> None:
        program = shutil.which(QEMU)
        if program is None:
            raise KubeError(f"no {QEMU}: apt-get install qemu-system-x86")
        api_port = self.free_port()
        self.registry = ImageRegistry(self)
        registry_port = self.registry.address.partition(":")[2]
        self.registry_address = f"{guest.HOST}:{registry_port}"
        archive = seed.write(self.directory, self.gpus, int(registry_port))
        Pki(self.directory / "pki").kubeconfig(
            self.kubeconfig, f"https://127.0.0.1:{api_port}", "admin")
        ClusterState(api_host="127.0.0.1", api_port=api_port, nodes=[guest.NODE],
                     kubernetes=versions.DEFAULT).write(self.directory)
        self.start_program(QEMU, self._command(program, image, archive, api_port))
        self.wait_for("the machine boots", self._boot_id, BOOT_SECONDS)

    def _command(self, program: str, image: Image, archive: Path, api_port: int) -> list[str]:
        forward = f"hostfwd=tcp:127.0.0.1:{api_port}-{guest.ADDRESS}:{guest.API_PORT}"
        return [
            program, "-accel", "tcg,thread=multi", "-cpu", CPU, "-smp", PROCESSORS, "-m", MEMORY,
            "-nodefaults", "-display", "none", "-serial", f"file:{self.directory}/logs/console.log",
            "-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append",
            f"{KERNEL_LINE} tsc_early_khz={clock.tsc_khz()}",
            # What the machine writes is in a file without a name, which ends with QEMU.
            "-drive", f"file={image.disk},if=virtio,format=raw,cache=unsafe,snapshot=on",
            "-drive", f"file={archive},if=virtio,format=raw,readonly=on",
            "-nic", f"user,model=virtio-net-pci,restrict=off,{forward}",
            "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=agent,path={self.directory}/agent.socket,server=on,wait=off",
            "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"]

    def _boot_id(self) -> str:
        """The id of the running kernel; empty while the guest agent does not answer."""
        try:
            return self._agent.run("cat", BOOT_ID, timeout=20.0)
        except KubeError:
            return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program, and returns when it is gone."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

