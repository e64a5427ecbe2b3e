"""The guard and gpu-manager's dialect, with both ways to identify a container."""

from __future__ import annotations

from e2e import gpu_manager, isolation, resizing


class NriGuardTest(resizing.Resized, isolation.IsolatedByNri, gpu_manager.GpuManager):
    """The agent identifies containers by NRI."""

    identity = "nri"


class KubeletGuardTest(resizing.Resized, isolation.Isolated, gpu_manager.GpuManager):
    """The agent identifies containers by kubelet's checkpoint."""

    identity = "kubelet"
