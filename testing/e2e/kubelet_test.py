"""Tessera on a runtime without NRI: containers are recognised through kubelet's checkpoint."""

from __future__ import annotations

from e2e import front, gate, health, lifecycle, rights, sharing, truth, twice
from stack import deploy


class KubeletTest(sharing.Sharing, gate.Gate, lifecycle.Lifecycle, health.Health, front.Front):
    """The same assertions as with NRI."""

    identity = "kubelet"
    audit = True

    def test_zz_the_agent_has_the_rights_that_it_uses(self) -> None:
        """The last test: with deploy/identity-kubelet it has one more than without."""
        self.assertEqual(rights.of_account(self.cluster, deploy.AGENT_USER), [])

    def test_the_runtime_has_no_nri(self) -> None:
        for node in self.stack.nodes:
            self.assertEqual("no\n", self.cluster.nsenter(
                node, "sh", "-c", "test -e /var/run/nri/nri.sock && echo yes || echo no"))

    def test_an_image_that_names_the_variable_twice_sees_its_own_cards_alone(self) -> None:
        """Nobody looks at its environment here; the cards are those that the CDI device brings."""
        made, = self.running(twice.pod(self.cluster))
        self.assertEqual(self.log("twice").uuids, truth.uuids(made))
