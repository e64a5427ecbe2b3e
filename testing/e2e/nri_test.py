"""Tessera on a runtime with NRI."""

from __future__ import annotations

from e2e import card_modes, card_rules, front, gangs, gate, health, lifecycle, nri, preemption, sharing


class NriTest(card_modes.CardModes, sharing.Sharing, gate.Gate, lifecycle.Lifecycle,
              health.Health, front.Front, nri.OnlyNri, preemption.Preemption, gangs.Gangs,
              card_rules.CardRules):
    """All that holds for both ways to recognise a container, and what only NRI can do."""

    identity = "nri"
