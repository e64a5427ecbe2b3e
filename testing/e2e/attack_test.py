"""The attacks, with both ways to recognise a container."""

from __future__ import annotations

from e2e import attack


class NriAttackTest(attack.Attack):
    """The runtime asks the agent."""

    identity = "nri"


class KubeletAttackTest(attack.Attack):
    """Kubelet's checkpoint tells the agent."""

    identity = "kubelet"
