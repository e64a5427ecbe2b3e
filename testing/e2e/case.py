"""A TestCase with its own stack, which its tests share. Each test begins on an empty cluster."""

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
from stack.gpu_node import GpuNode, gpusimctl
from stack.stack import Stack

GPUS = builds.ROOT / "gpusim" / "gpus"
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
SECONDS = 40.0
NEVER = "1970-01-01T00:00:00Z"  # how kubelet shows a time that is not set
# With these settings kubelet logs what its device plugins send, and reports new amounts at once.
KUBELET: dict[str, Any] = {"logging": {"verbosity": 2}, "nodeStatusUpdateFrequency": "1s"}


def two_nodes(nri: bool) -> list[GpuNode]:
    """node-a has GPUs of 15 and 15 GiB with minors 3 and 1, node-b of 15 and 24 GiB."""
    return [GpuNode("node-a", GPUS / "two-15gib.yaml", nri=nri, kubelet=KUBELET),
            GpuNode("node-b", GPUS / "15-and-24gib.yaml", nri=nri, kubelet=KUBELET)]


class StackCase(unittest.TestCase):
    """Subclasses define the stack that they run on. A failure shows the state of the cluster."""

    identity: ClassVar[str] = "nri"
    memory_unit: ClassVar[str] = "GiB"
    tls: ClassVar[bool] = False
    guard: ClassVar[bool] = False
    audit: ClassVar[bool] = False
    pod_groups: ClassVar[bool] = False
    values: ClassVar[tuple[str, ...]] = ()  # further values of the chart, each NAME=VALUE
    stack: ClassVar[Stack]
    cluster: ClassVar[Cluster]
    api: ClassVar[Api]
    watch: ClassVar[Watch]
    not_empty: ClassVar[str] = ""  # which test left something, and what

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
                          pod_groups=cls.pod_groups, values=cls.values)
        cls.stack.start()
        cls.addClassCleanup(cls.stack.cluster.stop)
        cls.cluster = cls.stack.cluster
        cls.api = cls.cluster.api()
        cls.watch = Watch(cls.stack)
        cls.watch.start()
        cls.addClassCleanup(cls.watch.stop)

    def tearDown(self) -> None:
        """Empties the cluster. If that fails, the stack's other tests are not run: each would wait
        for it again."""
        try:
            self.delete_all()
        except Exception as error:
            type(self).not_empty = f"{self.id()}: {error}"
            raise

    # ---- pods

    def create(self, *objects: Json) -> list[Json]:
        """Creates pods or ReplicaSets. Returns them as the API server created them."""
        return [self.api.json("POST", PODS if item["kind"] == "Pod" else REPLICA_SETS, item)
                for item in objects]

    def pod(self, name: str) -> Json:
        """The current state of a pod."""
        found: Json = self.api.json("GET", f"{PODS}/{name}")
        return found

    def bound_of(self, prefix: str) -> list[str]:
        """The names of the pods PREFIX-... that are on a node."""
        return [pod["metadata"]["name"] for pod in self.pods()
                if pod["metadata"]["name"].startswith(f"{prefix}-") and pod["spec"].get("nodeName")]

    def pods(self) -> list[Json]:
        """All pods of the tests' namespace."""
        found: list[Json] = self.api.json("GET", PODS)["items"]
        return found

    def running(self, *objects: Json) -> list[Json]:
        """Creates pods, waits until all of them run, and returns them."""
        self.create(*objects)
        return [self.wait_running(item["metadata"]["name"]) for item in objects]

    def wait_running(self, name: str, seconds: float = SECONDS) -> Json:
        """Waits until all containers of the pod run, and returns the pod."""
        def ready() -> Json | None:
            pod = self.pod(name)
            return pod if truth.is_running(pod) else None
        found: Json = self.cluster.wait_for(f"pod {name} runs", ready, seconds)
        return found

    def delete(self, name: str, grace: int | None = None) -> None:
        """Deletes a pod, and does not wait until it is gone."""
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        self.api.json("DELETE", f"{PODS}/{name}{query}")

    def wait_gone(self, *names: str) -> None:
        """Waits until no pod has one of these names."""
        self.cluster.wait_for(
            f"pods {names} are gone",
            lambda: not {p["metadata"]["name"] for p in self.pods()} & set(names), SECONDS)

    def delete_all(self, seconds: float = SECONDS) -> None:
        """Deletes all pods. Returns when they are gone and the controller counts no memory."""
        self.api.json("DELETE", f"{REPLICA_SETS}?propagationPolicy=Background")

        def empty() -> bool:
            self.api.json("DELETE", PODS)  # repeated, because a ReplicaSet may create another
            return not self.pods() and not self.api.json("GET", REPLICA_SETS)["items"]
        self.cluster.wait_for("all pods are gone", empty, seconds)
        self.cluster.wait_for("all memory is free", lambda: not any(self.allocated().values()),
                              SECONDS)

    # ---- state of the cluster

    def log(self, pod: str, container: str = "main") -> truth.Seen:
        """What a container printed. Waits until the log is complete, up to the GPU's memory."""
        def done() -> str:
            text = self.api.text("GET", f"{PODS}/{pod}/log?container={container}")
            return text if "memory: free" in text else ""
        text: str = self.cluster.wait_for(f"{pod}/{container} printed its GPUs", done, SECONDS)
        return truth.parse_log(text)

    def gpus(self, node: str | None = None) -> list[truth.GpuState]:
        """The published GPUs of one node, or of all nodes."""
        found = truth.gpus(self.api.json("GET", "/api/v1/nodes")["items"])
        return [gpu for gpu in found if node in (None, gpu.node)]

    def gpu_of(self, uuid: str) -> truth.GpuState:
        """The GPU with this UUID."""
        return next(gpu for gpu in self.gpus() if gpu.uuid == uuid)

    def wait_condition(self, node: str, index: int, condition: str,
                       seconds: float = SECONDS) -> str:
        """Waits until the Node reports this condition of the GPU. Returns the reported reason."""
        self.cluster.wait_for(f"GPU {index} of {node} is {condition}", lambda: (
            self.gpus(node)[index].condition == condition), seconds)
        return self.gpus(node)[index].reason

    def agents(self) -> list[Json]:
        """The agents' pods."""
        found: list[Json] = self.api.json("GET", deploy.pods_of("agent"))["items"]
        return found

    def doctor_check(self, check: str) -> Json:
        """The result of one check of `tessera doctor`."""
        said = json.loads(self.stack.run_tessera("doctor", "-o", "json", check=False).stdout)
        found: Json = next(each for each in said["checks"] if each["check"] == check)
        return found

    def inspect(self) -> dict[str, Json]:
        """Node name -> the node in the controller's inspect API."""
        text = self.controller_get("/gpushare-scheduler/inspect")
        return {node["name"]: node for node in json.loads(text)["nodes"]}

    def controller_get(self, path: str) -> str:
        """The controller's response to a GET request."""
        return report.http_get(self.stack.port, path)

    def allocated(self) -> dict[tuple[str, int], int]:
        """(node, GPU index) -> units that the controller counts as allocated."""
        return {(name, dev["id"]): dev["usedGPU"]
                for name, node in self.inspect().items() for dev in node["devs"]}

    def events(self, name: str) -> list[str]:
        """The messages of a pod's events."""
        return report.events(self.api, name)

    def wait_event(self, pod: str, *words: str) -> str:
        """Waits for an event of the pod that has all the words, and returns it."""
        def found() -> str:
            return next((e for e in self.events(pod) if all(w in e for w in words)), "")
        try:
            message: str = self.cluster.wait_for(f"an event of {pod} with {words}", found, SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}; its events: {self.events(pod)}") from error
        return message

    # ---- GPUs

    def gpusim(self, node: str, *arguments: str) -> str:
        """Runs gpusimctl on a node's driver."""
        root = self.stack.nodes[node].driver_root(self.cluster.directory)
        return gpusimctl("--root", str(root), *arguments)

    # ---- controller

    def restart_controller(self) -> None:
        """Restarts the controller. The new process knows only the state in the API server."""
        self.cluster.kubectl("-n", deploy.NAMESPACE, "rollout", "restart",
                             "deployment/tessera-controller")
        deploy.wait_rolled_out(self.cluster, "deployment/tessera-controller")

    # ---- assertions

    def assert_shares(self, pod: Json, containers: Iterable[str] = ("main",)) -> None:
        """Each container sees exactly the GPUs that its allocation names, and no others."""
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
        """The container has not run: it was not created, or it was created and then refused."""
        for status in self.pod(name)["status"].get("containerStatuses", []):
            if status["name"] != container:
                continue
            self.assertFalse(status.get("started"), status)
            self.assertNotIn("running", status["state"])
            for state in (status["state"], status["lastState"]):
                # containerd reports this for a container that it created and could not start.
                ended = state.get("terminated", {"reason": "StartError", "startedAt": NEVER})
                self.assertEqual((ended["reason"], ended["startedAt"]), ("StartError", NEVER),
                                 status)

    def assert_refused(self, name: str, *words: str) -> str:
        """The agent refused the container `main`. Returns the pod's event, which says why."""
        message = self.wait_event(name, "Tessera: ", *words)
        self.assert_never_started(name)
        return message

    def assert_never_above(self) -> None:
        """So far no GPU ever had more memory allocated or used than it has."""
        self.assertEqual(self.watch.problems, [])
        self.cluster.wait_for("the GPUs were looked at", lambda: self.watch.samples > 0, SECONDS)


def _explained(test: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(test)
    def wrapper(case: StackCase) -> None:
        if case.not_empty:
            case.fail(f"not run, because the cluster is not empty since {case.not_empty}")
        try:
            test(case)
            case.assert_never_above()
        except unittest.SkipTest:
            raise
        except Exception as error:
            saved = case.cluster.save_logs()
            # The error comes last, because a long log is cut at its beginning.
            raise AssertionError(f"{report.state(case.cluster, case.api)}\n"
                                 f"logs: {saved or 'set TESSERA_E2E_LOGS to keep them'}\n"
                                 f"{type(error).__name__}: {error}") from error
    return wrapper

