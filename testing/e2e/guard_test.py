"""The guard, with both ways to recognise a container."""

from __future__ import annotations

from e2e import guard


class NriGuardTest(guard.Guarded):
    """The runtime asks the agent."""

    identity = "nri"


class KubeletGuardTest(guard.Guarded):
    """Kubelet's checkpoint tells the agent."""

    identity = "kubelet"
