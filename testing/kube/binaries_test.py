"""The pins of the programs."""

from __future__ import annotations

import itertools
import unittest

from kube import binaries


class BinariesTest(unittest.TestCase):
    def test_every_module_is_pinned(self) -> None:
        for module in (*binaries.TABLE, *binaries.PROXY, *binaries.COREDNS, *binaries.HELM,
                       *binaries.HELM_3,
                       *binaries.KUBEADM, *binaries.KREW, *binaries.TOOLKIT, *binaries.KWOK,
                       *binaries.KARPENTER, *binaries.KUEUE, *binaries.GATEWAY_API,
                       *itertools.chain(*binaries.CONTAINERDS.values())):
            self.assertRegex(binaries.pinned_version(module), r"^v\d+\.\d+\.\d+$")

    def test_a_release_of_containerd_has_the_version_that_names_it(self) -> None:
        for release, (module,) in binaries.CONTAINERDS.items():
            version = binaries.pinned_version(module)
            self.assertTrue(f"{version}.".startswith(f"v{release.removesuffix('-unnamed')}."),
                            version)

    def test_programs_of_kubernetes_have_the_version_of_the_others(self) -> None:
        versions = {binaries.pinned_version(module) for module in (
            *binaries.PROXY, *binaries.KUBEADM, *binaries.TABLE) if module.pin == "k8s.io/kubernetes"}
        self.assertEqual(len(versions), 1, versions)

    def test_key_is_stable(self) -> None:
        self.assertEqual(binaries.cache_key(), binaries.cache_key())
        self.assertNotEqual(binaries.cache_key(), binaries.cache_key(binaries.KWOK))

    def test_program_names(self) -> None:
        names = [name for module in binaries.TABLE for name in module.programs()]
        self.assertIn("etcd", names)
        self.assertEqual(len(names), 9)


if __name__ == "__main__":
    unittest.main()
