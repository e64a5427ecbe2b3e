"""Each program is killed while 30 pods start: no GPU share is lost, mixed up or allocated twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from e2e import jobs, pods, truth
from e2e.killer import kill_process
from e2e.truth import GIB, Json
from stack import deploy

COUNT = 30
RESTART_SECONDS = 120.0
# 57 GiB in shares of at most 3 GiB: they fit on the GPUs of 15, 15, 15 and 24 GiB in any order.
SHAPES: tuple[tuple[str, int, tuple[Json, ...]], ...] = (
    ("one", 8, (pods.container("main", pods.aliyun(1)),)),
    ("two", 7, (pods.container("main", pods.native("2Gi")),)),
    ("three", 6, (pods.container("main", pods.aliyun(3)),)),
    ("half", 4, (pods.container("main", pods.native("512Mi"), size="256MiB"),)),
    ("pair", 5, (pods.container("main", pods.aliyun(2)), pods.container("side", pods.aliyun(1)))),
)


class RestartsTest(jobs.Jobs):
    """Every pod belongs to a ReplicaSet, which replaces refused pods: kubelet refuses permanently
    (UnexpectedAdmissionError) a pod that is bound while a device plugin is away."""

    def test_kubelet(self) -> None:
        """Restarts kubelet early, because it spends 6 s on each half-created container."""
        self.start_and_break(lambda: self.on_nodes(
            lambda node: self.cluster.restart("kubelet", node)), self.some_are_placed)

    def test_agent(self) -> None:
        self.start_and_break(lambda: self.on_nodes(
            lambda node: self.kill_in(node, "tessera-agent")))

    def test_controller_and_then_scheduler(self) -> None:
        node = self.node_of_controller()

        def break_both() -> None:
            self.kill_in(node, "tessera-control")
            self.cluster.wait_for("half of the pods are placed",
                                  lambda: len(self.placed()) >= COUNT // 2, RESTART_SECONDS)
            self.cluster.restart("kube-scheduler")
        self.start_and_break(break_both, self.some_are_placed)

    def test_containerd(self) -> None:
        self.start_and_break(lambda: self.on_nodes(
            lambda node: self.cluster.restart("containerd", node)))

    # ---- steps

    def some_run(self) -> bool:
        """At least three pods run, so kubelet and the runtime are busy."""
        return len(self.good()) >= 3

    def some_are_placed(self) -> bool:
        """At least six pods are placed, so the scheduler is busy."""
        return len(self.placed()) >= 6

    def start_and_break(self, break_it: Callable[[], object],
                        when: Callable[[], bool] | None = None) -> None:
        """Creates the pods, and calls `break_it` when some of them run (or `when` returns true).
        All pods must run after that."""
        self.create(*(pods.replicas(name, count, *containers)
                      for name, count, containers in SHAPES))
        self.cluster.wait_for("the first pods are there", when or self.some_run)
        self.assertLess(len(self.good()), COUNT, "too late to break anything")
        break_it()
        self.cluster.wait_for(f"all {COUNT} pods run", lambda: len(self.good()) == COUNT,
                              RESTART_SECONDS)
        self.check(self.good())

    def check(self, made: list[Json]) -> None:
        """Each container sees its GPUs, the sums are right, and the controller counts the same."""
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(self.check_pod, pod) for pod in made]:
                done.result()
        gpus = {gpu.uuid: gpu for gpu in self.gpus()}
        allocated = truth.allocated(self.pods())
        for uuid, amount in allocated.items():
            self.assertLessEqual(amount, gpus[uuid].memory)
        self.assertEqual(sum(allocated.values()), 57 * GIB)
        units = {(c.node, c.index): -(-allocated.get(c.uuid, 0) // GIB) for c in gpus.values()}
        self.assertEqual(self.allocated(), units)
        self.assert_never_above()

    def check_pod(self, pod: Json) -> None:
        """Each container sees the GPUs that the annotation names."""
        self.assert_shares(pod, [c["name"] for c in pod["spec"]["containers"]])

    # ---- state of the cluster

    def good(self) -> list[Json]:
        """The pods whose containers all run."""
        return [pod for pod in self.pods()
                if truth.is_running(pod) and "deletionTimestamp" not in pod["metadata"]]

    def placed(self) -> list[Json]:
        """The pods that have their allocation."""
        return [pod for pod in self.pods() if truth.shares(pod)]

    def node_of_controller(self) -> str:
        """The node of the controller's pod."""
        items = self.api.json("GET", deploy.pods_of("controller"))["items"]
        return str(items[0]["spec"]["nodeName"])

    def on_nodes(self, do: Callable[[str], object]) -> None:
        """Calls `do` for all nodes in parallel."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(do, self.stack.nodes))

    def kill_in(self, node: str, comm: str) -> None:
        """Kills a program that runs on the node with SIGKILL."""
        self.assertTrue(kill_process(self.cluster, node, comm), f"no {comm} on {node}")
