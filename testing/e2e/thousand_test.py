"""Waves of pods of all sizes and spellings, while the parts are killed: every container gets the
card of its annotation, no card is ever over, nothing stays behind.

TESSERA_PODS (150) and TESSERA_SEED (1) say how many pods, and which of all orders;
`./dev check thousand` runs 1,000. Prints a table.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from e2e import pods, truth
from e2e.case import CARDS, KUBELET, REPLICA_SETS, SECONDS, StackCase
from e2e.killer import Killer
from e2e.truth import GIB, Json
from e2e.watch import driver_use
from kube.errors import KubeError
from stack.gpu_node import GpuNode

COUNT = int(os.environ.get("TESSERA_PODS", "150"))
SEED = int(os.environ.get("TESSERA_SEED", "1"))
WAVE = 75
WAVE_SECONDS = 400.0
API_AWAY_SECONDS = 20.0
SIZES = (1, 2, 3, 4, 5, 6, 7, 8)  # GiB of a container; two waves of pods of two fit 16 cards
# One meaning in three spellings.
SPELLINGS = (lambda gib: pods.aliyun(gib),
             lambda gib: pods.native(f"{gib}Gi"),
             lambda gib: pods.native(gib * GIB))
# A program that is killed often must not wait for minutes until kubelet starts it again.
RESTARTED_SOON = {"featureGates": {"KubeletCrashLoopBackOffMax": True},
                  "crashLoopBackOff": {"maxContainerRestartPeriod": "3s"}}


class ThousandTest(StackCase):
    """Two nodes with eight cards of 80 GiB each."""

    killer: ClassVar[Killer]

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        kubelet = {**KUBELET, **RESTARTED_SOON}
        return [GpuNode(name, CARDS / "eight-80gib.yaml", kubelet=kubelet)
                for name in ("node-a", "node-b")]

    def test_waves_of_pods_while_parts_are_killed(self) -> None:
        self.random = random.Random(SEED)
        self.killer = Killer(self.cluster, list(self.stack.nodes), SEED)
        self.started = self.agreed = self.replaced = 0
        self.wrong: list[str] = []
        began = time.monotonic()
        self.killer.start()
        try:
            self.make_waves()
        except KubeError as error:
            raise KubeError(f"{error}; killed until then: {dict(self.killer.kills)}") from error
        finally:
            self.killer.stop()
        self.delete_all(WAVE_SECONDS)
        self.cluster.wait_for("no card is used", lambda: not any(
            used for used, _ in driver_use(self.stack).values()), SECONDS)
        self.print_table(time.monotonic() - began)
        self.assertEqual(self.killer.problems, [])
        self.assertEqual(self.wrong, [])

    # ---- steps

    def make_waves(self) -> None:
        """A wave is made while the one before it ends. The API server is away in the second."""
        sizes = [min(WAVE, COUNT - made) for made in range(0, COUNT, WAVE)]
        for number, size in enumerate(sizes):
            self.killer.go_on()
            self.create(*self.wave(number, size))
            self.end(number - 1)
            if number == 1:
                self.killer.take_api_away(API_AWAY_SECONDS)
            self.check(number, size)
            self.replaced += len(self.cluster.wait_for(  # the API server may just be away
                "the API server says who is in it", lambda: self.of_wave(number), SECONDS)) - size
            print(f"wave {number}: {size} pods run, {self.agreed} of {self.started} containers "
                  f"agree so far", file=sys.stderr)
        # A quick machine is through before every part had its turn.
        self.cluster.wait_for("every part was killed", lambda: not self.killer.spared(), WAVE_SECONDS)
        self.check(len(sizes) - 1, sizes[-1])

    def wave(self, number: int, size: int) -> Iterator[Json]:
        """ReplicaSets of `size` pods together: kubelet refuses for good what is bound to it while
        a device plugin is away, and who wants such a pod again has an owner for it."""
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
        """Takes all pods of a wave away, and does not wait for it."""
        for item in self.api.json("GET", REPLICA_SETS)["items"]:
            if item["metadata"]["name"].startswith(f"wave-{number}-"):
                self.api.json("DELETE", f"{REPLICA_SETS}/{item['metadata']['name']}"
                              "?propagationPolicy=Background")

    def check(self, number: int, size: int) -> None:
        """Waits until all pods of a wave run, and every container of theirs saw what the annotation
        says; then the controller must say the same. A pod may end after it was looked at, since
        kubelet ends some when it is killed: the one that comes in its place is looked at too."""
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
        self.cluster.wait_for(f"all {size} pods of wave {number} run and see their cards",
                              all_seen, WAVE_SECONDS)
        self.cluster.wait_for("the controller counts what the annotations say", lambda: (
            self.held() == self.annotated()), SECONDS)

    def disagreements(self, pod: Json) -> list[str] | None:
        """A line for each container that sees another card than its annotation names; None where
        they cannot be asked: kubelet is away, or has ended the pod."""
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
        """What was done, and what it took to mend it."""
        kills = ", ".join(f"{part} {count}" for part, count in sorted(self.killer.kills.items()))
        repairs = ", ".join(f"{event} {count}"
                            for event, count in sorted(self.killer.repairs.items()))
        for name, value in (
                ("pods", f"{COUNT} in waves of {WAVE}, seed {SEED}, {seconds:.0f} s"),
                ("containers started", self.started), ("containers agreed", self.agreed),
                ("pods made anew", f"{self.replaced}, which kubelet had refused or ended"),
                ("over-commits", f"{len(self.watch.problems)} in {self.watch.samples} samples"),
                ("kills", kills), ("logged while mending", repairs)):
            print(f"{name:>22} | {value}", file=sys.stderr)

    # ---- what is so

    def good(self, number: int) -> list[Json]:
        """The pods of a wave whose containers all run."""
        return [pod for pod in self.of_wave(number)
                if truth.is_running(pod) and "deletionTimestamp" not in pod["metadata"]]

    def of_wave(self, number: int) -> list[Json]:
        """All pods of a wave, those that kubelet refused too."""
        return [pod for pod in self.pods()
                if pod["metadata"]["name"].startswith(f"wave-{number}-")]

    def annotated(self) -> dict[tuple[str, int], int]:
        """(node, card index) -> GiB that the annotations of all live pods say."""
        held = truth.held(self.pods())
        return {(c.node, c.index): -(-held.get(c.uuid, 0) // GIB) for c in self.cards()}
