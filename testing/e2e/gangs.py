"""Gangs with the real scheduler: all pods of a gang get their GPUs, or none of them does."""

from __future__ import annotations

import time

from e2e import pods
from e2e.case import SECONDS, StackCase

SIZE = 8
GIB_EACH = 6  # four fit on node-a, six on node-b


def member(gang: str, number: int, size: int = SIZE) -> pods.Json:
    pod = pods.simple(f"{gang}-{number}", pods.aliyun(GIB_EACH))
    pod["metadata"]["annotations"] = {"tessera.dev/gang": gang, "tessera.dev/gang-size": str(size)}
    return pod


class Gangs(StackCase):
    """Runs on case.two_nodes."""

    def test_two_gangs_that_fit_one_at_a_time(self) -> None:
        """The pods of the gangs are created alternately. First one gang runs completely while the
        other has no pod on a node; then the other runs."""
        for number in range(SIZE):
            for gang in ("blue", "red"):
                self.create(member(gang, number))
        first = self.wait_whole(("blue", "red"))
        second, = {"blue", "red"} - {first}
        self.wait_event(f"{second}-0", f"gang {second} is placed as a whole", "of its 8 pods")
        self.assertEqual(self.bound_of(second), [])
        for number in range(SIZE):
            self.assert_shares(self.wait_running(f"{first}-{number}"))
        for number in range(SIZE):
            self.delete(f"{first}-{number}")
        self.assertEqual(self.wait_whole((second,)), second)

    def test_a_gang_waits_for_its_last_pod(self) -> None:
        """The last pod exists but has a scheduling gate, so it does not count. The events of the
        other pods and tessera explain say so."""
        gated = member("green", 2, 3)
        gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
        self.create(gated)
        for number in range(2):
            self.create(member("green", number, 3))
        self.wait_event("green-1", "gang green waits for its pods", "of 3 are there",
                        "green-2 does not count: it has scheduling gates")
        self.assertIn("It waits for 1 more.", self.stack.tessera("explain", "green-0"))
        self.assertEqual(self.bound_of("green"), [])
        self.delete("green-2")
        self.create(member("green", 2, 3))
        for number in range(3):
            self.assert_shares(self.wait_running(f"green-{number}"))

    def wait_whole(self, gangs: tuple[str, ...]) -> str:
        """Waits until all pods of a gang are on nodes, and returns the gang. At no time two gangs
        have pods on nodes."""
        ends = time.monotonic() + 2 * SECONDS
        while time.monotonic() < ends:
            bound = {gang: len(self.bound_of(gang)) for gang in gangs}
            self.assertLessEqual(sum(count > 0 for count in bound.values()), 1, bound)
            for gang, count in bound.items():
                if count == SIZE:
                    return gang
            time.sleep(0.1)
        self.fail(f"no gang of {gangs} was placed whole: {bound}")
