"""Two controllers: one leads, and the other takes over while pods arrive."""

from __future__ import annotations

import time

from e2e import pods
from e2e.replicas import FIRST, SECOND, Replicas


class FailoverTest(Replicas):
    """Runs on case.two_nodes."""

    def test_a_leader_that_ends_hands_over(self) -> None:
        with self.pods_arriving() as arriving:
            self.hand_over_to(FIRST)
            self.wait_bound_since(arriving, time.monotonic(), "handed over")
            self.hand_over_to(SECOND)
            self.wait_bound_since(arriving, time.monotonic(), "handed back")

    def test_a_leader_that_hangs_is_replaced_and_sends_binds_on(self) -> None:
        leader = self.controller(SECOND)
        with self.pods_arriving() as arriving:
            self.signal(leader, "STOP")
            self.wait_bound_since(arriving, time.monotonic(), "the leader hung")
            self.assertEqual(self.deployment_that_leads(), FIRST)
            self.signal(leader, "CONT")
        late = self.create(pods.simple("late", pods.native("1Gi"), schedulerName="no-scheduler"))[0]
        answer = self.bind_at(self.second_port, late)
        self.assertEqual((answer.status, answer.location), (
            307, f"http://127.0.0.1:{self.stack.port}/gpushare-scheduler/bind"))
        self.delete("late")

    def test_a_leader_that_is_killed_leads_again_or_is_replaced(self) -> None:
        with self.pods_arriving() as arriving:
            self.signal(self.controller(SECOND), "KILL")
            self.wait_bound_since(arriving, time.monotonic(), "the leader was killed")
