"""Waves of pods of all sizes and spellings, while components of the cluster are killed.

Every container gets the GPU of its annotation, no GPU is ever overcommitted, and nothing remains in
use. TESSERA_PODS (100) is the number of pods, and TESSERA_SEED (1) the random seed.
`./dev check thousand` runs 1,000 pods. Prints a table.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from bench import row
from e2e import pods, truth
from e2e.case import GPUS, KUBELET, REPLICA_SETS, SECONDS, StackCase
from e2e.killer import Killer
from e2e.truth import GIB, Json
from e2e.watch import driver_use
from kube.errors import KubeError
from stack.gpu_node import GpuNode

COUNT = int(os.environ.get("TESSERA_PODS", "100"))
SEED = int(os.environ.get("TESSERA_SEED", "1"))
WAVE = min(75, (COUNT + 1) // 2)  # two waves at least
WAVE_SECONDS = 400.0
API_AWAY_SECONDS = 20.0
SIZES = (1, 2, 3, 4, 5, 6, 7, 8)  # GiB of a container; two waves of two-container pods fit 16 GPUs
# Three spellings of the same request.
SPELLINGS: tuple[Callable[[int], Json], ...] = (
    pods.aliyun, lambda gib: pods.native(f"{gib}Gi"), lambda gib: pods.native(gib * GIB))
# Shortens kubelet's back-off: it must restart a program that is killed often within seconds.
RESTARTED_SOON: Json = {"featureGates": {"KubeletCrashLoopBackOffMax": True},
                  "crashLoopBackOff": {"maxContainerRestartPeriod": "3s"}}


class ThousandTest(StackCase):
    """Two nodes with eight GPUs of 80 GiB each."""

    # Pods are nominated ahead of their turn, which the chart does only on large clusters.
    values = ("controller.nominate=true",
              "controller.extraArgs={--open-reads,--nominate-from=0,--nominate-skip=0}")
    killer: ClassVar[Killer]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        kubelet = KUBELET | RESTARTED_SOON
        return [GpuNode(name, GPUS / "eight-80gib.yaml", kubelet=kubelet)
                for name in ("node-a", "node-b")]

    def test_waves_of_pods_while_parts_are_killed(self) -> None:
        self.random = random.Random(SEED)
        type(self).killer = Killer(self.cluster, list(self.stack.nodes), SEED)
        self.started = self.agreed = self.replaced = 0
        self.wrong: list[str] = []
        self.nominated = 0  # the most that one process of the controller had made
        began = time.monotonic()
        self.killer.start()
        try:
            self.make_waves()
        except KubeError as error:
            raise KubeError(f"{error}; killed until then: {dict(self.killer.kills)}") from error
        finally:
            self.killer.stop()
        self.delete_all(WAVE_SECONDS)
        self.cluster.wait_for("no GPU is used", lambda: not any(
            used for used, _ in driver_use(self.stack).values()), SECONDS)
        self.print_table(time.monotonic() - began)
        self.assertEqual(self.killer.problems, [])
        self.assertEqual(self.wrong, [])
        if COUNT >= 1000:  # fewer pods may be bound before one is nominated
            self.assertGreater(self.nominated, 0)

    # ---- steps

    def make_waves(self) -> None:
        """Creates each wave while the previous one ends. The API server is down in the second."""
        sizes = [min(WAVE, COUNT - made) for made in range(0, COUNT, WAVE)]
        for number, size in enumerate(sizes):
            self.killer.go_on()
            self.create(*self.wave(number, size))
            self.end(number - 1)
            if number == 1:
                self.killer.take_api_away(API_AWAY_SECONDS)
            self.check(number, size)
            self.replaced += len(self.cluster.wait_for(  # the API server may be down
                "the API server lists the wave", lambda: self.of_wave(number), SECONDS)) - size
            print(f"wave {number}: {size} pods run, {self.agreed} of {self.started} containers "
                  f"agree so far", file=sys.stderr)
        # On a fast machine the waves may end before every component was killed.
        self.cluster.wait_for("every component was killed", lambda: not self.killer.spared(),
                              WAVE_SECONDS)
        self.check(len(sizes) - 1, sizes[-1])

    def wave(self, number: int, size: int) -> Iterator[Json]:
        """ReplicaSets with `size` pods in total. They replace pods that kubelet refuses
        permanently, because these were bound while a device plugin was away."""
        left = size
        while left:
            count = min(left, self.random.randint(1, 6))
            spelling = self.random.choice(SPELLINGS)  # one for all containers of a pod
            containers = [pods.container(name, spelling(self.random.choice(SIZES)))
                          for name in ("main", "side")]
            yield pods.replicas(f"wave-{number}-{left}", count,
                                *containers[:self.random.randint(1, 2)])
            left -= count

    def end(self, number: int) -> None:
        """Deletes all pods of a wave, and does not wait until they are gone."""
        for item in self.api.json("GET", REPLICA_SETS)["items"]:
            if item["metadata"]["name"].startswith(f"wave-{number}-"):
                self.api.json("DELETE", f"{REPLICA_SETS}/{item['metadata']['name']}"
                              "?propagationPolicy=Background")

    def check(self, number: int, size: int) -> None:
        """Waits until all pods of a wave run and every container has printed the GPUs that it sees.
        Records disagreements with the annotations. Then the controller must count the same. A
        killed kubelet ends some pods after they were checked, so their replacements are checked
        too."""
        looked_at: set[str] = set()

        def all_seen() -> bool:
            good = self.good(number)
            fresh = [pod for pod in good if pod["metadata"]["uid"] not in looked_at]
            with ThreadPoolExecutor(4) as pool:
                for pod, wrong in zip(fresh, pool.map(self.disagreements, fresh)):
                    if wrong is None:
                        continue
                    looked_at.add(pod["metadata"]["uid"])
                    self.started += len(pod["spec"]["containers"])
                    self.agreed += len(pod["spec"]["containers"]) - len(wrong)
                    self.wrong += wrong
            return len(good) == size and not fresh
        self.cluster.wait_for(f"all {size} pods of wave {number} run and see their GPUs",
                              all_seen, WAVE_SECONDS)
        self.cluster.wait_for("the controller counts what the annotations say", lambda: (
            self.allocated() == self.annotated()), SECONDS)

    def disagreements(self, pod: Json) -> list[str] | None:
        """A line for each container that sees another GPU than its annotation names. None if the
        logs cannot be read, because kubelet is down or has ended the pod."""
        wrong = []
        for container in pod["spec"]["containers"]:
            try:
                self.assert_shares(pod, [container["name"]])
            except AssertionError as error:
                wrong.append(str(error))
            except KubeError:
                return None
        return wrong

    def print_table(self, seconds: float) -> None:
        """Prints what was done, and which recoveries were logged."""
        kills = ", ".join(f"{part} {count}" for part, count in sorted(self.killer.kills.items()))
        repairs = ", ".join(f"{event} {count}"
                            for event, count in sorted(self.killer.repairs.items()))
        for name, value in (
                ("pods", f"{COUNT} in waves of {WAVE}, seed {SEED}, {seconds:.0f} s"),
                ("containers started", self.started), ("containers agreed", self.agreed),
                ("replaced pods", f"{self.replaced}, which kubelet had refused or ended"),
                ("nominated ahead", f"{self.nominated} pods by one process of the controller"),
                ("overcommits", f"{len(self.watch.problems)} in {self.watch.samples} samples"),
                ("kills", kills), ("logged recoveries", repairs)):
            print(f"{name:>22} | {value}", file=sys.stderr)

    # ---- state of the cluster

    def good(self, number: int) -> list[Json]:
        """The pods of a wave whose containers all run."""
        return [pod for pod in self.of_wave(number)
                if truth.is_running(pod) and "deletionTimestamp" not in pod["metadata"]]

    def of_wave(self, number: int) -> list[Json]:
        """All pods of a wave, including those that kubelet refused."""
        found = [pod for pod in self.pods()
                 if pod["metadata"]["name"].startswith(f"wave-{number}-")]
        with contextlib.suppress(KubeError):  # the controller may be down
            made = row.nominations(self.controller_get("/metrics")).get("made", 0)
            self.nominated = max(self.nominated, made)
        return found

    def annotated(self) -> dict[tuple[str, int], int]:
        """(node, GPU index) -> GiB by the annotations of all live pods."""
        allocated = truth.allocated(self.pods())
        return {(c.node, c.index): -(-allocated.get(c.uuid, 0) // GIB) for c in self.gpus()}
