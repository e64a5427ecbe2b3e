"""Health: a faulty GPU is out of use with a reason, and is used again after it recovers."""

from __future__ import annotations

import re

from e2e import pods, truth
from e2e.case import SECONDS, StackCase

NODE = "node-b"
SLOTS = 64  # of a GPU, by default
RESOURCES = ("aliyun.com/gpu-mem", "tessera.dev/gpu", "tessera.dev/gpu-share")


class Health(StackCase):
    """Runs on case.two_nodes; breaks and recovers the GPUs of node-b (15 and 24 GiB)."""

    def tearDown(self) -> None:
        self.gpusim(NODE, "driver", "current")
        for gpu in ("0", "1"):
            self.gpusim(NODE, "recover", gpu)
        self.wait_health(0, True)
        self.wait_health(1, True)
        self.wait_allocatable(39)
        super().tearDown()

    def test_an_xid_takes_the_gpu_out_until_it_recovers(self) -> None:
        """One change sends one device list per resource. gpushare sends one per fake device:
        thousands."""
        lists = self.lists_sent()
        self.assertEqual(set(lists), set(RESOURCES))
        self.gpusim(NODE, "xid", "1", "79")
        self.assertIn("Xid 79", self.wait_health(1, False))
        self.wait_allocatable(15)
        self.assertEqual(self.lists_sent(), {name: n + 1 for name, n in lists.items()})
        made, = self.running(pods.simple("avoids", pods.native("1Gi"), node=NODE))
        self.assertEqual(self.gpu_of(truth.uuids(made)[0]).index, 0)
        self.create(pods.simple("too-large", pods.native("20Gi"), node=NODE))
        self.wait_event("too-large", "asked 20Gi", "1 out of use")
        self.gpusim(NODE, "recover", "1")
        self.wait_health(1, True)
        self.wait_allocatable(39)
        self.assertEqual(self.lists_sent(), {name: n + 2 for name, n in lists.items()})
        self.assert_shares(self.wait_running("too-large"))

    def test_a_lost_gpu(self) -> None:
        made, = self.running(pods.simple("tenant", pods.native("20Gi"), node=NODE))
        before = truth.uuids(made)
        self.gpusim(NODE, "lose", "1")
        self.assertRegex(self.wait_health(1, False), "Xid 79|does not answer")
        self.wait_allocatable(15)
        self.assertEqual([gpu.uuid for gpu in self.gpus(NODE)][1:], before,
                         "a lost GPU keeps its name")
        self.create(pods.simple("next", pods.native("1Gi"), node=NODE))
        self.assertEqual(self.gpu_of(truth.uuids(self.wait_running("next"))[0]).index, 0)
        self.gpusim(NODE, "recover", "1")
        self.wait_health(1, True)
        self.wait_allocatable(39)

    def test_a_gpu_that_answers_an_error(self) -> None:
        """A GPU that returns an error is out of use, even without an event. The other GPUs are not
        affected. The Node and kubelet show it."""
        self.gpusim(NODE, "fail", "0")
        self.assertIn("does not answer: Unknown Error", self.wait_health(0, False))
        self.wait_allocatable(24)
        self.assertTrue(self.gpus(NODE)[1].healthy)

    def test_a_driver_that_stays_silent(self) -> None:
        self.gpusim(NODE, "driver", "dead")
        self.assertIn("the driver does not answer", self.wait_health(0, False))
        self.assertIn("the driver does not answer", self.wait_health(1, False))
        self.wait_allocatable(0)

    def test_an_applications_fault_changes_nothing(self) -> None:
        lists = self.lists_sent()
        self.gpusim(NODE, "xid", "1", "31")
        # The second fault shows that the first was handled: the agent handles faults in order.
        self.gpusim(NODE, "xid", "0", "48")
        self.assertIn("Xid 48", self.wait_health(0, False))
        self.wait_allocatable(24)
        self.assertTrue(self.gpus(NODE)[1].healthy)
        self.assertEqual(self.lists_sent(), {name: n + 1 for name, n in lists.items()})

    def lists_received(self) -> dict[str, list[int]]:
        """Resource -> number of healthy devices in each list that kubelet has received for it, in
        order (from its log)."""
        log = self.cluster.logs("kubelet", NODE)
        found = re.findall(r'"Processed device updates for resource".* resourceName="([^"]+)"'
                           r'.* healthyCount=(\d+)', log)
        lists: dict[str, list[int]] = {}
        for name, healthy in found:
            lists.setdefault(name, []).append(int(healthy))
        return lists

    def lists_sent(self) -> dict[str, int]:
        """Resource -> number of device lists that kubelet has received for it."""
        return {name: len(lists) for name, lists in self.lists_received().items()}

    def wait_health(self, index: int, healthy: bool) -> str:
        """Waits until the Node reports this health of the GPU. Returns the reported reason."""
        return self.wait_condition(NODE, index, "healthy" if healthy else "unhealthy")

    def wait_allocatable(self, units: int) -> None:
        """Waits until kubelet offers `units` of memory, those GPUs and their slots. The node's
        capacity must not change."""
        gpus = {39: 2, 24: 1, 15: 1, 0: 0}[units]
        wanted = [units, gpus, SLOTS * gpus]

        def offered() -> bool:
            status = self.api.json("GET", f"/api/v1/nodes/{NODE}")["status"]
            self.assertEqual(status["capacity"]["aliyun.com/gpu-mem"], "39")
            amounts = [int(status["allocatable"][name]) for name in RESOURCES]
            # kubelet may offer a list before it has stored and logged it.
            received = self.lists_received()
            logged = [received[name][-1] if name in received else -1 for name in RESOURCES]
            return amounts == wanted == logged
        self.cluster.wait_for(f"allocatable {wanted} of {RESOURCES}", offered, SECONDS)
