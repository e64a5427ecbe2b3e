"""The attacks and copies of pods, with both ways to recognise a container."""

from __future__ import annotations

from e2e import attack, copies


class NriAttackTest(attack.Attack, copies.Copies):
    """The runtime asks the agent."""

    identity = "nri"


class KubeletAttackTest(attack.Attack, copies.Copies):
    """Kubelet's checkpoint tells the agent."""

    identity = "kubelet"
