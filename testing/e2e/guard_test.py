"""The guard, with both ways to recognise a container."""

from __future__ import annotations

from e2e import isolation, resizing


class NriGuardTest(resizing.Resized, isolation.IsolatedByNri):
    """The runtime asks the agent."""

    identity = "nri"


class KubeletGuardTest(resizing.Resized, isolation.Isolated):
    """Kubelet's checkpoint tells the agent."""

    identity = "kubelet"
