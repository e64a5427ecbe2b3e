"""The attacks and copies of pods, with both ways to identify a container."""

from __future__ import annotations

from e2e import attack, copies


class NriAttackTest(attack.Attack, copies.Copies):
    """The agent identifies containers by NRI."""

    identity = "nri"


class KubeletAttackTest(attack.Attack, copies.Copies):
    """The agent identifies containers by kubelet's checkpoint."""

    identity = "kubelet"
