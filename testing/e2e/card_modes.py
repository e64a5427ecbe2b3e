"""Cards that are not what they seem: in a mode that forbids sharing, of unknown size, faulty before
the agent looked; a reloaded driver, and a driver that the agent is asked to release."""

from __future__ import annotations

from e2e import pods, truth
from e2e.case import SECONDS, StackCase

NODE = "node-b"  # 15 and 24 GiB
LARGE = "1"      # the card of 24 GiB
LOOKS_EVERY = 30  # seconds: how often the agent reads its Node's labels (NodePublisherOptions)
RELEASE = "tessera.dev/release-driver"


class CardModes(StackCase):
    """Runs on case.two_nodes; sets the cards of node-b otherwise."""

    def tearDown(self) -> None:
        self.cluster.kubectl("label", "node", NODE, f"{RELEASE}-")
        self.gpusim(NODE, "driver", "current")
        for card in ("0", LARGE):
            self.gpusim(NODE, "recover", card)
        for card in (0, 1):
            self.wait_condition(NODE, card, "healthy", LOOKS_EVERY + 15)
        super().tearDown()

    def test_a_card_that_cannot_be_shared(self) -> None:
        """It is on the Node with the command that changes it, no pod is placed there, no
        alert fires, and the change is seen while the agent runs. What runs on it is left alone."""
        made, = self.running(pods.simple("before", pods.native("20Gi"), node=NODE))
        uuid = truth.uuids(made)[0]
        for setting, reason in ((("mig", "on"), f"nvidia-smi -i {uuid} -mig 0"),
                                (("compute-mode", "prohibited"), f"nvidia-smi -i {uuid} -c DEFAULT"),
                                (("memory", "hidden"), "NVML does not say how much memory")):
            with self.subTest(setting):
                self.gpusim(NODE, "set", LARGE, *setting)
                self.assertIn(reason, self.wait_condition(NODE, 1, "not-shareable"))
                self.assertEqual([card.uuid for card in self.cards(NODE)][1:], [uuid])
                self.gpusim(NODE, "recover", LARGE)
                self.wait_condition(NODE, 1, "healthy")
        self.gpusim(NODE, "set", LARGE, "mig", "on")
        self.wait_condition(NODE, 1, "not-shareable")
        self.create(pods.simple("no-room", pods.native("20Gi"), node=NODE))
        self.wait_event("no-room", "asked 20Gi", "1 out of use")
        self.assertIn(f"not shareable: {NODE} card 1", self.doctor_check("cards")["found"])
        metrics = self.controller_get("/metrics")
        self.assertIn("tessera_gpu_not_shareable_info{", metrics)
        self.assertNotIn("tessera_gpu_unhealthy_info{", metrics)
        self.assertIn("not shareable: MIG mode is on", self.stack.tessera("top"))
        self.assertTrue(truth.is_running(self.pod("before")))

    def test_a_card_that_was_faulty_before(self) -> None:
        """A driver that cannot say what a card needs tells of its memory."""
        self.gpusim(NODE, "driver", "old")
        self.gpusim(NODE, "set", LARGE, "rows", "pending")
        self.assertIn("rows of its memory", self.wait_condition(NODE, 1, "unhealthy"))
        self.gpusim(NODE, "set", LARGE, "rows", "failed")
        self.gpusim(NODE, "driver", "current")
        self.cluster.wait_for("what no reset repairs counts with any driver", lambda: (
            "replace it" in self.cards(NODE)[1].reason), SECONDS)

    def test_what_a_driver_need_not_say(self) -> None:
        """Its minor number, model and links: the card is used all the same."""
        for what in ("minor", "name", "topology"):
            self.gpusim(NODE, "set", LARGE, what, "hidden")
        self.cluster.wait_for("the agent has noticed",
                              lambda: self.cards(NODE)[1].minor == -1, SECONDS)
        made, = self.running(pods.simple("tenant", pods.native("20Gi"), node=NODE))
        self.assert_shares(made)

    def test_a_driver_that_was_loaded_anew(self) -> None:
        """The agent reopens it, and is not restarted."""
        before = self.agent_restarts()
        self.gpusim(NODE, "driver", "reload")
        self.gpusim(NODE, "set", LARGE, "mig", "on")  # to be seen by who reads the new driver
        self.wait_condition(NODE, 1, "not-shareable")
        self.assertEqual(self.agent_restarts(), before)

    def test_the_agent_lets_go_of_the_driver(self) -> None:
        """For an upgrade or a reset of a GPU. What runs keeps its share; nothing new starts; the Node says
        when the driver is free, and all is back after. (GPU Operator's label: CardsTest.)"""
        self.running(pods.simple("before", pods.native("2Gi"), node=NODE))
        restarts = self.agent_restarts()
        self.assertTrue(self.agent_has_driver())
        self.cluster.kubectl("label", "node", NODE, f"{RELEASE}=true")
        self.cluster.kubectl("wait", f"node/{NODE}", f"--timeout={LOOKS_EVERY + 200}s",
                             r"--for=jsonpath={.metadata.annotations.tessera\.dev/driver}=released")
        self.assertFalse(self.agent_has_driver())
        self.assertIn(f"{RELEASE}=true", self.wait_condition(NODE, 0, "not-shareable"))
        self.create(pods.simple("waits", pods.native("2Gi"), node=NODE))
        # Ours, or kube-scheduler's own where kubelet has already taken the resources off the Node.
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
        """Whether the agent of the node has the driver's library or a file of the driver open."""
        found = self.cluster.nsenter(NODE, "sh", "-c", (
            "for pid in $(pgrep -x tessera-agent); do cat /proc/$pid/maps; ls -l /proc/$pid/fd; "
            "done"))
        return "libnvidia-ml" in found or "gpusim" in found

    def agent_restarts(self) -> dict[str, int]:
        """Agent pod -> how often its container was restarted."""
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"]
                for pod in self.agents()}
