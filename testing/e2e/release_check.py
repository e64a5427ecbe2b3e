"""What a release has beside the images for x86-64: the command line as one file that needs nothing
else, the plugin of kubectl, and the programs for arm64, run by QEMU. Not part of `./dev test`."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from e2e import report
from kube import binaries
from kube.cluster import Cluster
from stack import builds, release
from workstation.machine import BIN, GIB, Machine

FOLDER = builds.ROOT / "build" / f"release-{release.VERSION}"
NO_VARIABLES: dict[str, str] = {}
FILE = FOLDER / f"tessera-{release.VERSION}-linux-amd64"


class ReleaseCheck(unittest.TestCase):
    def test_the_command_line_needs_no_other_file(self) -> None:
        """It resolves the server's name, checks its certificate, and asks it, in a root folder that
        has only the file, a kubeconfig and /etc/hosts."""
        with Cluster() as cluster:
            root = cluster.directory / "root"
            (root / "etc").mkdir(parents=True)
            (root / "etc" / "hosts").write_text("127.0.0.1 kubernetes\n")
            (root / "tessera").write_bytes(FILE.read_bytes())
            (root / "tessera").chmod(0o755)
            kubeconfig = cluster.kubeconfig.read_text()
            (root / "kubeconfig").write_text(kubeconfig.replace("//127.0.0.1:", "//kubernetes:"))
            self.assertIn("//kubernetes:", (root / "kubeconfig").read_text())
            done = subprocess.run(["/usr/sbin/chroot", str(root), "/tessera", "doctor", "-o", "json",
                                   "--kubeconfig=/kubeconfig"], env=NO_VARIABLES, capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual(done.stderr, "")
            self.assertIn("controller", json.dumps(json.loads(done.stdout)))
            shown = subprocess.run(["/usr/sbin/chroot", str(root), "/tessera", "--version"], env=NO_VARIABLES,
                                   capture_output=True, text=True, timeout=60).stdout
            self.assertIn(release.VERSION, shown)

    def test_workstation(self) -> None:
        """The files of the archive find each other, and start a program with a share."""
        with tempfile.TemporaryDirectory() as folder:
            archive, = FOLDER.glob("tessera-run-*-linux-amd64.tar.gz")
            subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)
            machine = Machine(Path(folder))
            self.addCleanup(machine.close)
            done = machine.run("--memory=4Gi", "-q", "--", BIN / "gpusmi")
        self.assertIn(f"used 0 of {4 * GIB} bytes", done.stdout, done.stderr)

    def test_krew_installs_the_plugin(self) -> None:
        """As docs/install/helm.md says: from the files of the release, without a download."""
        krew = binaries.ensure(table=binaries.KREW) / "krew"
        with tempfile.TemporaryDirectory() as home:
            environment = {"HOME": home, "KREW_ROOT": f"{home}/krew",
                           "PATH": f"{home}/krew/bin:{binaries.ensure()}:/usr/bin:/bin"}
            archive, = FOLDER.glob("kubectl-tessera-*-linux-amd64.tar.gz")
            subprocess.run([str(krew), "install", f"--manifest={FOLDER / 'tessera.krew.yaml'}",
                            f"--archive={archive}"], env=environment, check=True,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            shown = subprocess.run(["kubectl", "tessera", "--version"], env=environment, check=True,
                                   capture_output=True, text=True, timeout=60).stdout
        self.assertIn(release.VERSION, shown)


class Arm64Check(unittest.TestCase):
    """The programs for arm64 run in QEMU's user mode: their system calls are the machine's."""

    root: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        for name in ("tessera-controller", "tessera-agent"):
            cls.unpack(FOLDER / f"{name}-{release.VERSION}.oci.tar", cls.root / name)

    @staticmethod
    def unpack(archive: Path, to: Path) -> None:
        """Unpacks the layer for arm64, as a runtime does on such a node."""
        layout = to.with_suffix(".layout")
        subprocess.run(["skopeo", "--insecure-policy", "--override-arch=arm64", "copy", "--quiet",
                        f"oci-archive:{archive}", f"dir:{layout}"], check=True)
        manifest = json.loads((layout / "manifest.json").read_text())
        config = manifest["config"]["digest"].partition(":")[2]
        assert json.loads((layout / config).read_text())["architecture"] == "arm64"
        layer, = manifest["layers"]
        to.mkdir()
        subprocess.run(["tar", "-xf", str(layout / layer["digest"].partition(":")[2]), "-C", str(to)],
                       check=True)

    def emulated(self, image: str, program: str, *arguments: str) -> list[str]:
        """The command of a program of an image."""
        root = self.root / image
        return ["/usr/bin/qemu-aarch64", "-L", str(root), str(root / "usr" / "bin" / program), *arguments]

    def said(self, *command: str) -> str:
        """What a command prints, also where it fails."""
        done = subprocess.run(command, env=NO_VARIABLES, capture_output=True, text=True, timeout=120)
        return done.stdout + done.stderr

    def test_versions(self) -> None:
        for image, program in (("tessera-controller", "tessera-controller"),
                               ("tessera-controller", "tessera"), ("tessera-agent", "tessera-agent")):
            self.assertIn(release.VERSION, self.said(*self.emulated(image, program, "--version")))

    def test_the_agent_says_that_the_guard_is_for_other_processors(self) -> None:
        self.assertFalse(list((self.root / "tessera-agent").rglob("libtessera-guard.so")))
        options = ("--check-config", "--node=n", "--allocation-key-file=")
        self.assertNotIn("guard", self.said(*self.emulated("tessera-agent", "tessera-agent", *options)))
        self.assertIn("guard.enabled=false", self.said(*self.emulated(
            "tessera-agent", "tessera-agent", *options, "--guard-library=/libtessera-guard.so")))

    def test_controller_and_command_line_on_a_cluster(self) -> None:
        with Cluster() as cluster:
            port, health = cluster.free_port(), cluster.free_port()
            cluster.start_program("arm64", self.emulated(
                "tessera-controller", "tessera-controller", f"--kubeconfig={cluster.kubeconfig}",
                "--allocation-key-file=", f"--port={port}", f"--health-port={health}", "--open-reads",
                "--lease=default/tessera"))
            cluster.wait_for("the controller is ready", lambda: report.http_get(
                health, "/readyz") == "ok\n", 60)
            body = json.dumps({"Pod": {"metadata": {"name": "p", "namespace": "default", "uid": "u"},
                                       "spec": {"containers": [{"name": "c", "resources": {
                                           "limits": {"aliyun.com/gpu-mem": "3"}}}]}},
                               "NodeNames": ["node-a"]}).encode()
            status, answer = report.http_call(port, "POST", "/gpushare-scheduler/filter", body)
            self.assertEqual(status, 200)
            filtered = json.loads(answer)
            self.assertIn("node-a", {**filtered["FailedNodes"], **filtered[
                "FailedAndUnresolvableNodes"]}, filtered)
            found = self.said("/usr/bin/qemu-aarch64", str(FOLDER / f"tessera-{release.VERSION}-linux-arm64"),
                              "doctor", "-o", "json", f"--kubeconfig={cluster.kubeconfig}")
            checks = {each["check"]: each for each in json.loads(found)["checks"]}
            self.assertEqual(checks["api_server"]["status"], "ok", checks)
