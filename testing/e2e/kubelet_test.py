"""Tessera on a runtime without NRI: containers are recognised through kubelet's checkpoint."""

from __future__ import annotations

from e2e import front, gate, health, lifecycle, sharing


class KubeletTest(sharing.Sharing, gate.Gate, lifecycle.Lifecycle, health.Health, front.Front):
    """The same assertions as with NRI."""

    identity = "kubelet"

    def test_the_runtime_has_no_nri(self) -> None:
        for node in self.stack.nodes:
            self.assertEqual("no\n", self.cluster.nsenter(
                node, "sh", "-c", "test -e /var/run/nri/nri.sock && echo yes || echo no"))
