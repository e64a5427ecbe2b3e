"""The guard, with both ways to recognise a container."""

from __future__ import annotations

from e2e import resizing


class NriGuardTest(resizing.Resized):
    """The runtime asks the agent."""

    identity = "nri"


class KubeletGuardTest(resizing.Resized):
    """Kubelet's checkpoint tells the agent."""

    identity = "kubelet"
