"""Tessera on a runtime without NRI: the agent identifies containers by kubelet's checkpoint."""

from __future__ import annotations

from e2e import front, gate, health, lifecycle, rights, sharing, truth, twice
from stack import deploy


class KubeletTest(sharing.Sharing, gate.Gate, lifecycle.Lifecycle, health.Health, front.Front):
    """The same assertions as with NRI."""

    identity = "kubelet"
    audit = True

    def test_zz_the_agent_has_the_rights_that_it_uses(self) -> None:
        """Must be the last test. The agent has one right more than with nri."""
        self.assertEqual(rights.of_account(self.cluster, deploy.AGENT_USER), [])

    def test_the_runtime_has_no_nri(self) -> None:
        for node in self.stack.nodes:
            self.assertEqual("no\n", self.cluster.nsenter(
                node, "sh", "-c", "test -e /var/run/nri/nri.sock && echo yes || echo no"))

    def test_an_image_that_names_the_variable_twice_sees_its_own_gpus_alone(self) -> None:
        """Without NRI, nothing checks the image's environment. The container gets only the GPUs of
        its CDI devices."""
        made, = self.running(twice.pod(self.cluster))
        self.assertEqual(self.log("twice").uuids, truth.uuids(made))
