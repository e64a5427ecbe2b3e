"""The command line of a release: one file that needs nothing else. Not part of `./dev test`."""

from __future__ import annotations

import json
import subprocess
import unittest

from kube.cluster import Cluster
from stack import builds, release

FILE = (builds.ROOT / "build" / f"release-{release.VERSION}"
        / f"tessera-{release.VERSION}-linux-amd64")


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
