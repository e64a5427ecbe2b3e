"""What only NRI can do: refuse a container by its environment, and check running containers."""

from __future__ import annotations

from e2e import pods, twice
from e2e.case import SECONDS, StackCase
from e2e.killer import kill_process
from e2e.truth import Json


class OnlyNri(StackCase):
    """Runs on case.two_nodes."""

    def test_an_image_that_names_the_variable_twice_is_refused(self) -> None:
        """The runtime would replace the first variable, and the container would read the second."""
        self.create(twice.pod(self.cluster))
        self.wait_event("twice", f"sets {twice.VISIBLE} 2 times", "remove it")
        self.assert_never_started("twice")

    def test_a_restart_of_the_agent_ends_no_container(self) -> None:
        """A restarted agent checks the running containers before any other container may start, and
        ends none of them."""
        kept = self.running(
            pods.simple("kept", pods.aliyun(2), node="node-a"),
            pods.simple("kept-dual", pods.native("2Gi", gpus=2), node="node-a"),
            pods.pod("kept-plain", pods.container("main", script="echo; exec sleep 1000"),
                     node="node-a"))
        lists = self._lists_received()
        self.assertTrue(kill_process(self.cluster, "node-a", "tessera-agent"))
        # kubelet refuses permanently a pod that is bound while the device plugin is away.
        self.cluster.wait_for("kubelet has the new agent's lists",
                              lambda: self._lists_received() >= lists + 2, SECONDS)
        self.cluster.wait_for("kubelet offers GPUs again", self._offers_gpus, SECONDS)
        self.running(pods.simple("later", pods.aliyun(1), node="node-a"))
        for pod in kept:
            self.assertEqual(self._containers(self.pod(pod["metadata"]["name"])),
                             self._containers(pod))

    def _lists_received(self) -> int:
        """The number of device lists that kubelet has received, for any resource."""
        return self.cluster.logs("kubelet", "node-a").count("Processed device updates for resource")

    def _offers_gpus(self) -> bool:
        status = self.api.json("GET", "/api/v1/nodes/node-a")["status"]
        return bool(status["allocatable"]["aliyun.com/gpu-mem"] == "30")

    @staticmethod
    def _containers(pod: Json) -> list[str]:
        return [status["containerID"] for status in pod["status"]["containerStatuses"]]
