"""The guard, with both ways to identify a container."""

from __future__ import annotations

from e2e import isolation, resizing


class NriGuardTest(resizing.Resized, isolation.IsolatedByNri):
    """The agent identifies containers by NRI."""

    identity = "nri"


class KubeletGuardTest(resizing.Resized, isolation.Isolated):
    """The agent identifies containers by kubelet's checkpoint."""

    identity = "kubelet"
