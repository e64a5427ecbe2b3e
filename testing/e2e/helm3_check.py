"""The chart with Helm 3, which `./dev check helm3` runs: install, upgrade, rollback, uninstall, and the
messages for wrong values. The tests are those of Helm 4."""

from __future__ import annotations

import unittest

from e2e import install_test
from e2e.chart_case import MEMORY
from kube import binaries
from stack.chart import NAMESPACE

CHOSEN = (
    "test_doctor_finds_no_fault",
    "test_optional_values",
    "test_uninstall_leaves_the_key_and_a_new_installation_accepts_running_pods",
    "test_upgrade_and_rollback",
    "test_wrong_values_are_refused_with_the_fix",
)


class Helm3Test(install_test.InstallTest):
    @classmethod
    def install_chart(cls) -> None:
        cls.cluster.helm_table = binaries.HELM_3
        cls.stack.install()

    def test_helm_test(self) -> None:
        """Helm 3 deletes the Pod before it reads the logs, so --logs fails (docs/install/helm.md)."""
        self.create(self.pod("share", MEMORY))
        self.running("share")
        printed = self.stack.helm("test", "tessera", "--timeout=180s")
        self.assertRegex(printed, r"TEST SUITE: +tessera-test\n.*\n.*\nPhase: +Succeeded\n")
        self.assertNotIn("tessera-test", self.cluster.kubectl("-n", NAMESPACE, "get", "pods"))

    def test_the_program_is_helm_3(self) -> None:
        """Otherwise the other tests show nothing about it."""
        self.assertEqual(self.stack.helm("version", "--template", "{{.Version}}"),
                         binaries.pinned_version(binaries.HELM_3[0]))


def load_tests(_loader: object, _tests: object, _pattern: object) -> unittest.TestSuite:
    """Only these tests of InstallTest depend on Helm."""
    own = ("test_the_program_is_helm_3", "test_helm_test")
    return unittest.TestSuite(Helm3Test(name) for name in (*own, *CHOSEN))
