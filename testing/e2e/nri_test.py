"""Tessera on a runtime with NRI."""

from __future__ import annotations

from e2e import gpu_modes, gpu_rules, front, gangs, gate, health, lifecycle, nri, preemption, sharing


class NriTest(gpu_modes.GpuModes, sharing.Sharing, gate.Gate, lifecycle.Lifecycle,
              health.Health, front.Front, nri.OnlyNri, preemption.Preemption, gangs.Gangs,
              gpu_rules.GpuRules):
    """The tests for both ways to identify a container, and those for NRI only."""

    identity = "nri"
