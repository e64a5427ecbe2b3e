"""GPU shares that change while their containers run, with real API server, kubelet and runtime."""

from __future__ import annotations

import contextlib
import json

from e2e import guard, pods, truth
from e2e.case import PODS
from e2e.killer import kill_process
from e2e.truth import GIB, Json
from kube.errors import CommandError

RESIZE = "tessera.dev/resize-request"
CORES_LIMIT = "tessera.dev/gpu-cores-limit"
MERGE = "application/merge-patch+json"


class Resized(guard.Guarded):
    """Runs on case.two_nodes; the agents have the guard."""

    def resize(self, name: str, *arguments: str) -> str:
        """The output of tessera resize. Raises CommandError if the request is refused."""
        return self.stack.tessera("resize", name, "-n", "default", *arguments)

    def refused(self, status: int, name: str, *arguments: str) -> str:
        """Runs tessera resize, which must fail with this exit status. Returns the error."""
        with self.assertRaises(CommandError) as caught:
            self.resize(name, *arguments)
        self.assertEqual(caught.exception.code, status, str(caught.exception))
        return str(caught.exception)

    def wait_in_pod(self, name: str, command: str, word: str, seconds: float = 20) -> None:
        """Waits until the output of a command in the container has the word. The node's agent needs
        a moment to apply a new share."""
        self.cluster.wait_for(f"{word} from {command} in {name}",
                              lambda: word in self.in_pod(name, command), seconds)

    def share(self, name: str) -> Json:
        """The only share of the pod's container main."""
        found, = truth.shares(self.pod(name))["main"]
        return found

    def restarts(self, name: str) -> int:
        """The number of restarts of the pod's container main."""
        status, = self.pod(name)["status"]["containerStatuses"]
        return int(status["restartCount"])

    def test_a_container_grows_while_it_runs(self) -> None:
        self.running(pods.simple("grows", pods.native("4Gi"), node="node-a", size="3GiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("grows", "gpuhog --once 2GiB"))
        said = self.resize("grows", "--memory", "6Gi", "--cores", "20")
        self.assertRegex(said, r"^pod default/grows: main on GPU \d: memory 4Gi -> 6Gi, "
                               r"cores 0 -> 20\n$")
        self.wait_in_pod("grows", "gpuhog --once 2GiB", "allocated")
        self.assertIn("OUT_OF_MEMORY", self.in_pod("grows", "gpuhog --once 3073MiB"))
        self.assertIn(f"used {3 * GIB} of {6 * GIB} bytes", self.in_pod("grows", "gpusmi"))
        self.assertEqual(self.restarts("grows"), 0)
        self.wait_event("grows", "memory 4Gi -> 6Gi")
        share = self.share("grows")
        self.assertEqual((share["memory"], share["cores"]), (6 * GIB, 20))
        self.assertIn("has that already", self.resize("grows", "--memory", "6Gi"))

    def test_below_its_use_it_keeps_what_it_has_and_gets_nothing_new(self) -> None:
        self.running(pods.simple("shrinks", pods.native("4Gi"), node="node-a", size="3GiB"))
        self.resize("shrinks", "--memory", "2Gi")
        self.wait_in_pod("shrinks", "gpusmi", f"of {2 * GIB} bytes")
        self.assertIn("OUT_OF_MEMORY", self.in_pod("shrinks", "gpuhog --once 2MiB"))
        gpu, = truth.uuids(self.pod("shrinks"))
        report = self.gpusim("node-a", "show")
        self.assertEqual(truth.driver_use(report)[gpu][0], 3 * GIB, "it keeps what it has")
        self.assertEqual(self.restarts("shrinks"), 0)
        # The container still uses 1 GiB above its new limit. As soon as the agent reports this, the
        # controller allocates that memory to no pod; 12 GiB remain.
        self.running(pods.simple("next", pods.native("12Gi"), node="node-a", size="0"))
        self.assertEqual(truth.uuids(self.pod("next")), [gpu], "the room was given back")

    def test_what_does_not_fit_is_refused_with_the_reason(self) -> None:
        first, second = self.running(
            pods.simple("first", pods.native("6Gi", cores=30), node="node-a", size="0"),
            pods.simple("second", pods.native("6Gi", cores=40), node="node-a", size="0"))
        self.assertEqual(truth.uuids(first), truth.uuids(second), "both on one GPU")
        self.assertIn("beside the others it can have 9Gi",
                      self.refused(4, "first", "--memory", "10Gi"))
        self.wait_event("first", "no room on GPU", "10Gi")
        self.assertIn("beside the others it can have 60",
                      self.refused(4, "first", "--cores", "61"))
        self.assertIn("more than GPU", self.refused(2, "first", "--memory", "99Gi"))
        self.assertIn("no container other", self.refused(3, "first", "-c", "other", "--cores", "1"))
        self.assertEqual(self.share("first")["memory"], 6 * GIB)
        self.resize("second", "--memory", "5Gi")
        self.resize("first", "--memory", "10Gi")
        self.wait_in_pod("first", "gpuhog --once 10GiB", "allocated")

    def test_a_compute_limit_is_enforced_and_changes(self) -> None:
        alone, = self.running(pods.pod(
            "alone", pods.container("main", pods.native("4Gi", cores=20),
                                    script="exec gpuspin 1000"),
            node="node-a", annotations={CORES_LIMIT: "30"}))
        gpu, = truth.uuids(alone)
        self.assert_time_shares(gpu, 30)
        self.resize("alone", "--compute-limit", "60")
        self.assert_time_shares(gpu, 60)
        self.create(pods.simple("wrong", pods.native("4Gi", cores=20), node="node-a")
                    | {"metadata": {"name": "wrong", "annotations": {CORES_LIMIT: "10"}}})
        self.wait_event("wrong", CORES_LIMIT, "write 20 or more")

    def test_it_stays_when_the_container_or_the_agent_starts_again(self) -> None:
        self.running(pods.simple("again", pods.native("4Gi"), node="node-b", size="0"))
        self.resize("again", "--memory", "6Gi")
        self.wait_in_pod("again", "gpuhog --once 6GiB", "allocated")
        with contextlib.suppress(CommandError):  # the shell may end with its container
            self.in_pod("again", "kill 1")
        self.cluster.wait_for("the container has started again",
                              lambda: self.restarts("again") == 1
                              and truth.is_running(self.pod("again")), 60)
        self.assertEqual(self.log("again").env["TESSERA_GPU_MEMORY_BYTES"], str(6 * GIB))
        self.assertIn("allocated", self.in_pod("again", "gpuhog --once 6GiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("again", "gpuhog --once 6145MiB"))
        # A restarted agent continues, and enforces the limits of the container as before.
        self.assertTrue(kill_process(self.cluster, "node-b", "tessera-agent"))
        self.resize("again", "--memory", "7Gi")
        self.wait_in_pod("again", "gpuhog --once 7GiB", "allocated", 90)
        self.assertEqual(self.restarts("again"), 1)

    def test_a_controller_that_dies_meanwhile_goes_on_where_it_was(self) -> None:
        self.running(pods.simple("steady", pods.native("4Gi"), node="node-b", size="0"))
        self.assertTrue(any([kill_process(self.cluster, node, "tessera-control")
                             for node in ("node-a", "node-b")]))
        requested = {"version": 1, "containers": [{"name": "main", "memory": "7Gi"}]}
        self.api.json("PATCH", f"{PODS}/steady", content_type=MERGE, body={
            "metadata": {"annotations": {RESIZE: json.dumps(requested)}}})
        self.wait_in_pod("steady", "gpuhog --once 7GiB", "allocated", 90)
        self.assertEqual(self.share("steady")["memory"], 7 * GIB)
