"""Valid and invalid NodeSpecs."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from kube.errors import KubeError
from kube.node import NodeSpec


class NodeSpecTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def test_a_good_one(self) -> None:
        NodeSpec("gpu-1", binds=((self.directory, "/run/nvidia/driver"),),
                 files={"/run/cdi/nvidia.json": "{}"}).check()

    def test_refuses_what_would_change_the_machine(self) -> None:
        for spec in (NodeSpec("Node"), NodeSpec("-"), NodeSpec("n" * 41),
                     NodeSpec("n", binds=((self.directory, "/not/there"),)),
                     NodeSpec("n", binds=((self.directory / "none", "/run/x"),)),
                     NodeSpec("n", binds=(("/var/lib", "/run/x"),)),
                     NodeSpec("n", binds=(("/etc/ssl", "/run/x"),)),
                     NodeSpec("n", containerd_release="0.9"),
                     NodeSpec("n", files={"/usr/x": ""}), NodeSpec("n", files={"/run/../x": ""})):
            with self.subTest(spec=spec), self.assertRaises(KubeError):
                spec.check()


if __name__ == "__main__":
    unittest.main()
