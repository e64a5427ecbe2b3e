"""The command line of a release: one file that needs nothing else, also as a plugin of kubectl. Not
part of `./dev test`."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest

from kube import binaries
from kube.cluster import Cluster
from stack import builds, release

FOLDER = builds.ROOT / "build" / f"release-{release.VERSION}"
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
                                   "--kubeconfig=/kubeconfig"], env={}, capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual(done.stderr, "")
            self.assertIn("controller", json.dumps(json.loads(done.stdout)))
            shown = subprocess.run(["/usr/sbin/chroot", str(root), "/tessera", "--version"], env={},
                                   capture_output=True, text=True, timeout=60).stdout
            self.assertIn(release.VERSION, shown)

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
