"""A TestCase with a stack of its own, shared by its tests. Each test begins on an empty cluster."""

from __future__ import annotations

import functools
import json
import unittest
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from e2e import report, truth
from e2e.truth import Json
from e2e.watch import Watch
from kube.api import Api
from kube.cluster import Cluster
from stack import builds, deploy
from stack.deploy import AgentRules
from stack.gpu_node import GpuNode, gpusimctl
from stack.stack import Stack

CARDS = builds.ROOT / "gpusim" / "cards"
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
SECONDS = 40.0
NEVER = "1970-01-01T00:00:00Z"  # how kubelet shows a moment that was not
# It then says what its device plugins send, and tells of new amounts at once.
KUBELET = {"logging": {"verbosity": 2}, "nodeStatusUpdateFrequency": "1s"}


def two_nodes(nri: bool) -> list[GpuNode]:
    """node-a has cards of 15 and 15 GiB with minors 3 and 1, node-b of 15 and 24 GiB."""
    return [GpuNode("node-a", CARDS / "two-15gib.yaml", nri=nri, kubelet=KUBELET),
            GpuNode("node-b", CARDS / "15-and-24gib.yaml", nri=nri, kubelet=KUBELET)]


class StackCase(unittest.TestCase):
    """Subclasses say what they run on. A failure tells what the cluster looked like."""

    identity: ClassVar[str] = "nri"
    memory_unit: ClassVar[str] = "GiB"
    tls: ClassVar[bool] = False
    guard: ClassVar[bool] = False
    audit: ClassVar[bool] = False
    pod_groups: ClassVar[bool] = False
    rules: ClassVar[AgentRules] = AgentRules()
    stack: ClassVar[Stack]
    cluster: ClassVar[Cluster]
    api: ClassVar[Api]
    watch: ClassVar[Watch]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, _explained(member))

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        """The nodes of the stack."""
        return two_nodes(nri=cls.identity == "nri")

    @classmethod
    def setUpClass(cls) -> None:
        cls.stack = Stack(cls.gpu_nodes(), identity=cls.identity, memory_unit=cls.memory_unit,
                          tls=cls.tls, audit=cls.audit, guard=cls.guard,
                          pod_groups=cls.pod_groups, rules=cls.rules)
        cls.stack.start()
        cls.addClassCleanup(cls.stack.cluster.stop)
        cls.cluster = cls.stack.cluster
        cls.api = cls.cluster.api()
        cls.watch = Watch(cls.stack)
        cls.watch.start()
        cls.addClassCleanup(cls.watch.stop)

    def tearDown(self) -> None:
        self.delete_all()

    # ---- pods

    def create(self, *objects: Json) -> list[Json]:
        """Makes pods or ReplicaSets; as the API server made them."""
        return [self.api.json("POST", PODS if item["kind"] == "Pod" else REPLICA_SETS, item)
                for item in objects]

    def pod(self, name: str) -> Json:
        """A pod as it is now."""
        found: Json = self.api.json("GET", f"{PODS}/{name}")
        return found

    def bound_of(self, prefix: str) -> list[str]:
        """The pods PREFIX-... that are on a node."""
        return [pod["metadata"]["name"] for pod in self.pods()
                if pod["metadata"]["name"].startswith(f"{prefix}-") and pod["spec"].get("nodeName")]

    def pods(self) -> list[Json]:
        """All pods of the tests' namespace."""
        found: list[Json] = self.api.json("GET", PODS)["items"]
        return found

    def running(self, *objects: Json) -> list[Json]:
        """Makes pods and returns them as they are once all run."""
        self.create(*objects)
        return [self.wait_running(item["metadata"]["name"]) for item in objects]

    def wait_running(self, name: str, seconds: float = SECONDS) -> Json:
        """The pod, once its containers have started and printed."""
        def ready() -> Json | None:
            pod = self.pod(name)
            return pod if truth.is_running(pod) else None
        found: Json = self.cluster.wait_for(f"pod {name} runs", ready, seconds)
        return found

    def delete(self, name: str, grace: int | None = None) -> None:
        """Asks for a pod's end, and does not wait for it."""
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        self.api.json("DELETE", f"{PODS}/{name}{query}")

    def wait_gone(self, *names: str) -> None:
        """Until no pod has one of these names."""
        self.cluster.wait_for(
            f"pods {names} are gone",
            lambda: not {p["metadata"]["name"] for p in self.pods()} & set(names), SECONDS)

    def delete_all(self, seconds: float = SECONDS) -> None:
        """Ends all pods; returns when they are gone and the controller has all memory back."""
        self.api.json("DELETE", f"{REPLICA_SETS}?propagationPolicy=Background")

        def empty() -> bool:
            self.api.json("DELETE", PODS)  # again: a ReplicaSet may just have made another
            return not self.pods() and not self.api.json("GET", REPLICA_SETS)["items"]
        self.cluster.wait_for("all pods are gone", empty, seconds)
        self.cluster.wait_for("all memory is back", lambda: not any(self.held().values()), SECONDS)

    # ---- what is so

    def log(self, pod: str, container: str = "main") -> truth.Seen:
        """What a container printed, complete up to its memory."""
        def done() -> str:
            text = self.api.text("GET", f"{PODS}/{pod}/log?container={container}")
            return text if "memory: free" in text else ""
        text: str = self.cluster.wait_for(f"{pod}/{container} printed its cards", done, SECONDS)
        return truth.parse_log(text)

    def cards(self, node: str | None = None) -> list[truth.Card]:
        """The published cards, of one node or all."""
        found = truth.cards(self.api.json("GET", "/api/v1/nodes")["items"])
        return [card for card in found if node in (None, card.node)]

    def card_of(self, uuid: str) -> truth.Card:
        """The card with this UUID."""
        return next(card for card in self.cards() if card.uuid == uuid)

    def wait_condition(self, node: str, index: int, condition: str,
                       seconds: float = SECONDS) -> str:
        """Until the Node's report says so of the card; returns the reason that it gives."""
        self.cluster.wait_for(f"card {index} of {node} is {condition}", lambda: (
            self.cards(node)[index].condition == condition), seconds)
        return self.cards(node)[index].reason

    def agents(self) -> list[Json]:
        """The agents' pods."""
        found: list[Json] = self.api.json("GET", f"/api/v1/namespaces/{deploy.NAMESPACE}/pods"
                                          "?labelSelector=app%3Dtessera,component%3Dagent")["items"]
        return found

    def doctor_check(self, check: str) -> Json:
        """What `tessera doctor` says of one check, whatever it says of the others."""
        said = json.loads(self.stack.run_tessera("doctor", "-o", "json", check=False).stdout)
        found: Json = next(each for each in said["checks"] if each["check"] == check)
        return found

    def inspect(self) -> dict[str, Json]:
        """Node name -> what the controller's inspect API says of it."""
        text = self.controller_get("/gpushare-scheduler/inspect")
        return {node["name"]: node for node in json.loads(text)["nodes"]}

    def controller_get(self, path: str) -> str:
        """What the controller answers to a reader."""
        return report.http_get(self.stack.port, path)

    def held(self) -> dict[tuple[str, int], int]:
        """(node, card index) -> units that the controller counts as held."""
        return {(name, dev["id"]): dev["usedGPU"]
                for name, node in self.inspect().items() for dev in node["devs"]}

    def events(self, name: str) -> list[str]:
        """The messages of a pod's events."""
        return report.events(self.api, name)

    def wait_event(self, pod: str, *words: str) -> str:
        """The first event of the pod that has all the words."""
        def found() -> str:
            return next((e for e in self.events(pod) if all(w in e for w in words)), "")
        try:
            message: str = self.cluster.wait_for(f"an event of {pod} with {words}", found, SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}; its events: {self.events(pod)}") from error
        return message

    # ---- cards

    def gpusim(self, node: str, *arguments: str) -> str:
        """Runs gpusimctl on a node's driver."""
        root = self.stack.nodes[node].driver_root(self.cluster.directory)
        return gpusimctl("--root", str(root), *arguments)

    # ---- controller

    def restart_controller(self) -> None:
        """Another process, which knows only what the API server says."""
        self.cluster.kubectl("-n", deploy.NAMESPACE, "rollout", "restart",
                             "deployment/tessera-controller")
        deploy.wait_rolled_out(self.cluster, "deployment/tessera-controller")

    # ---- claims

    def assert_shares(self, pod: Json, containers: Iterable[str] = ("main",)) -> None:
        """Each container sees exactly the cards that its allocation names, and no others."""
        name = pod["metadata"]["name"]
        for container in containers:
            given = truth.uuids(pod, container)
            seen = self.log(name, container)
            self.assertTrue(given, f"{name}/{container} has no share")
            self.assertEqual(sorted(seen.uuids), sorted(given), f"{name}/{container}: {seen.text}")
            self.assertEqual(seen.env["NVIDIA_VISIBLE_DEVICES"], ",".join(given))
            memory = ",".join(str(s["memory"]) for s in truth.shares(pod)[container])
            self.assertEqual(seen.env["TESSERA_GPU_MEMORY_BYTES"], memory)

    def assert_never_started(self, name: str, container: str = "main") -> None:
        """No program of the container has run: it was not made, or was made and then refused."""
        for status in self.pod(name)["status"].get("containerStatuses", []):
            if status["name"] != container:
                continue
            self.assertFalse(status.get("started"), status)
            self.assertNotIn("running", status["state"])
            for state in (status["state"], status["lastState"]):
                # containerd says so of one that it made and could not start.
                ended = state.get("terminated", {"reason": "StartError", "startedAt": NEVER})
                self.assertEqual((ended["reason"], ended["startedAt"]), ("StartError", NEVER),
                                 status)

    def assert_refused(self, name: str, *words: str) -> str:
        """The agent refused the container `main`, and says why; the pod's event."""
        message = self.wait_event(name, "Tessera: ", *words)
        self.assert_never_started(name)
        return message

    def assert_never_above(self) -> None:
        """At no moment so far was a card given or used beyond its memory."""
        self.assertEqual(self.watch.problems, [])
        self.cluster.wait_for("the cards were looked at", lambda: self.watch.samples > 0, SECONDS)


def _explained(test: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(test)
    def wrapper(case: StackCase) -> None:
        try:
            test(case)
            case.assert_never_above()
        except unittest.SkipTest:
            raise
        except Exception as error:
            saved = case.cluster.save_logs()
            # The reason last: where a log is cut, its end is what stays.
            raise AssertionError(f"{report.state(case.cluster, case.api)}\n"
                                 f"logs: {saved or 'set TESSERA_E2E_LOGS to keep them'}\n"
                                 f"{type(error).__name__}: {error}") from error
    return wrapper

