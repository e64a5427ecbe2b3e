"""The table of Kubernetes versions."""

from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path

from kube import versions
from kube.cluster import Cluster
from kube.errors import KubeError
from kube.node import Node, NodeSpec


class VersionsTest(unittest.TestCase):
    def test_a_row_has_the_version_that_names_it(self) -> None:
        for minor, version in versions.TABLE.items():
            self.assertRegex(version.release, rf"^v{minor}\.\d+$")
            self.assertIn("kubelet", [p for m in version.modules for p in m.programs()])
            self.assertIn("kube-proxy", [p for m in version.proxy for p in m.programs()])

    def test_all_versions_have_their_own_programs(self) -> None:
        places = {version.programs for version in versions.TABLE.values()}
        self.assertEqual(len(places), len(versions.TABLE))

    def test_an_unknown_version_is_refused_with_the_list(self) -> None:
        for name in ("1.29", "", "1.36.3"):
            with self.assertRaisesRegex(KubeError, "1.30, 1.32, 1.34, 1.36, 1.37"):
                Cluster(kubernetes=name)

    def test_an_unknown_field_of_kubelet_is_one_that_the_harness_sets(self) -> None:
        node = Node(NodeSpec("n"), Path("/n"), "n", "10.0.0.0/24", "10.0.0.1", 1)
        config = node.kubelet_config(Path("a"), Path("b"), Path("c"))
        for version in versions.TABLE.values():
            self.assertLessEqual(version.unknown_to_kubelet, config.keys())
            self.assertEqual(config.keys() - version.kubelet_config(config).keys(),
                             version.unknown_to_kubelet)
        old = replace(versions.of("1.30"), unknown_to_kubelet=frozenset(["maxPods"]))
        self.assertNotIn("maxPods", old.kubelet_config(config))


if __name__ == "__main__":
    unittest.main()
