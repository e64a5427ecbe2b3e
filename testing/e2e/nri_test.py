"""Tessera on a runtime with NRI."""

from __future__ import annotations

from e2e import gpu_modes, gpu_rules, front, gangs, gate, health, lifecycle, nri, preemption, sharing


class NriTest(sharing.Sharing, gate.Gate, lifecycle.Lifecycle, front.Front, nri.OnlyNri):
    """The tests for both ways to identify a container, and those for NRI only."""

    identity = "nri"


class PlacementTest(gpu_modes.GpuModes, health.Health, preemption.Preemption, gangs.Gangs,
                    gpu_rules.GpuRules):
    """Tests of GPUs and placement, on a cluster of their own, so that both run at the same time."""

    identity = "nri"
