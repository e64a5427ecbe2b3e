"""Unusual GPUs and drivers: a GPU in a mode that forbids sharing, of unknown size, or faulty
before the agent read it; a reloaded driver, and a driver that the agent must release."""

from __future__ import annotations

from e2e import pods, truth
from e2e.case import SECONDS, StackCase

NODE = "node-b"  # 15 and 24 GiB
LARGE = "1"      # the GPU of 24 GiB
LOOKS_EVERY = 30  # seconds between reads of the Node's labels by the agent (NodePublisherOptions)
RELEASE = "tessera.dev/release-driver"


class GpuModes(StackCase):
    """Runs on case.two_nodes; changes the GPUs of node-b."""

    def tearDown(self) -> None:
        self.cluster.kubectl("label", "node", NODE, f"{RELEASE}-")
        self.gpusim(NODE, "driver", "current")
        for gpu in ("0", LARGE):
            self.gpusim(NODE, "recover", gpu)
        for index in (0, 1):
            self.wait_condition(NODE, index, "healthy", LOOKS_EVERY + 15)
        super().tearDown()

    def test_a_gpu_that_cannot_be_shared(self) -> None:
        """The Node shows the GPU and the command that makes it shareable. No pod is placed on it,
        no alert fires, and the running agent sees changes. A pod that uses the GPU goes on."""
        made, = self.running(pods.simple("before", pods.native("20Gi"), node=NODE))
        uuid = truth.uuids(made)[0]
        for setting, reason in ((("mig", "on"), f"nvidia-smi -i {uuid} -mig 0"),
                                (("compute-mode", "prohibited"), f"nvidia-smi -i {uuid} -c DEFAULT"),
                                (("memory", "hidden"), "NVML does not say how much memory")):
            with self.subTest(setting):
                self.gpusim(NODE, "set", LARGE, *setting)
                self.assertIn(reason, self.wait_condition(NODE, 1, "not-shareable"))
                self.assertEqual([gpu.uuid for gpu in self.gpus(NODE)][1:], [uuid])
                self.gpusim(NODE, "recover", LARGE)
                self.wait_condition(NODE, 1, "healthy")
        self.gpusim(NODE, "set", LARGE, "mig", "on")
        self.wait_condition(NODE, 1, "not-shareable")
        self.create(pods.simple("no-room", pods.native("20Gi"), node=NODE))
        self.wait_event("no-room", "asked 20Gi", "1 out of use")
        self.assertIn(f"not shareable: {NODE} GPU 1", self.doctor_check("gpus")["found"])
        metrics = self.controller_get("/metrics")
        self.assertIn("tessera_gpu_not_shareable_info{", metrics)
        self.assertNotIn("tessera_gpu_unhealthy_info{", metrics)
        self.assertIn("not shareable: MIG mode is on", self.stack.tessera("top"))
        self.assertTrue(truth.is_running(self.pod("before")))

    def test_a_gpu_that_was_faulty_before(self) -> None:
        """A driver that cannot report the needed repair of a GPU still reports its memory rows."""
        self.gpusim(NODE, "driver", "old")
        self.gpusim(NODE, "set", LARGE, "rows", "pending")
        self.assertIn("rows of its memory", self.wait_condition(NODE, 1, "unhealthy"))
        self.gpusim(NODE, "set", LARGE, "rows", "failed")
        self.gpusim(NODE, "driver", "current")
        self.cluster.wait_for("the reason says that the GPU must be replaced", lambda: (
            "replace it" in self.gpus(NODE)[1].reason), SECONDS)

    def test_what_a_driver_need_not_say(self) -> None:
        """A GPU is used even if the driver hides its minor number, model and links."""
        for what in ("minor", "name", "topology"):
            self.gpusim(NODE, "set", LARGE, what, "hidden")
        self.cluster.wait_for("the agent has noticed",
                              lambda: self.gpus(NODE)[1].minor == -1, SECONDS)
        made, = self.running(pods.simple("tenant", pods.native("20Gi"), node=NODE))
        self.assert_shares(made)

    def test_a_driver_that_was_reloaded(self) -> None:
        """The agent reopens the driver, and does not restart."""
        before = self.agent_restarts()
        self.gpusim(NODE, "driver", "reload")
        self.gpusim(NODE, "set", LARGE, "mig", "on")  # visible only through the new driver
        self.wait_condition(NODE, 1, "not-shareable")
        self.assertEqual(self.agent_restarts(), before)

    def test_the_agent_lets_go_of_the_driver(self) -> None:
        """The agent releases the driver for an upgrade or a GPU reset. Running pods keep their
        shares, and no new pod starts. The Node says when the driver is released. Later the agent
        opens it again. (GpuMonitorTest tests the GPU Operator's label.)"""
        self.running(pods.simple("before", pods.native("2Gi"), node=NODE))
        restarts = self.agent_restarts()
        self.assertTrue(self.agent_has_driver())
        self.cluster.kubectl("label", "node", NODE, f"{RELEASE}=true")
        self.cluster.kubectl("wait", f"node/{NODE}", f"--timeout={LOOKS_EVERY + 200}s",
                             r"--for=jsonpath={.metadata.annotations.tessera\.dev/driver}=released")
        self.assertFalse(self.agent_has_driver())
        self.assertIn(f"{RELEASE}=true", self.wait_condition(NODE, 0, "not-shareable"))
        self.create(pods.simple("waits", pods.native("2Gi"), node=NODE))
        # The event is ours, or kube-scheduler's if kubelet has already removed the resources.
        self.cluster.wait_for("an event says why nothing starts", lambda: any(
            "2 out of use" in said or "Insufficient tessera.dev/gpu" in said
            for said in self.events("waits")), SECONDS)
        self.assertTrue(truth.is_running(self.pod("before")))
        self.cluster.kubectl("label", "node", NODE, f"{RELEASE}-")
        self.wait_condition(NODE, 0, "healthy", LOOKS_EVERY + 15)
        self.assertTrue(self.agent_has_driver())
        self.assert_shares(self.wait_running("waits"))
        self.assertEqual(self.agent_restarts(), restarts)

    def agent_has_driver(self) -> bool:
        """Whether the agent of the node has the driver's library or one of its files open."""
        found = self.cluster.nsenter(NODE, "sh", "-c", (
            "for pid in $(pgrep -x tessera-agent); do cat /proc/$pid/maps; ls -l /proc/$pid/fd; "
            "done"))
        return "libnvidia-ml" in found or "gpusim" in found

    def agent_restarts(self) -> dict[str, int]:
        """Agent pod -> number of restarts of its container."""
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"]
                for pod in self.agents()}
