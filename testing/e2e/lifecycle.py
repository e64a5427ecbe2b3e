"""The end of pods: their memory is freed once, and only when the pod is gone."""

from __future__ import annotations

import contextlib

from e2e import pods, truth
from e2e.case import SECONDS, StackCase
from kube.api import ApiError

# Ignores SIGTERM: the pod keeps its GPU for the whole grace period.
STUBBORN = "trap '' TERM; gpuhog 1GiB & while :; do sleep 1; done"
# kube-scheduler's longest back-off is 10 s. It retries an unschedulable pod only after minutes.
STRANDED_SECONDS = 25.0
FULL = pods.native("15Gi")  # only Tessera counts this resource, so only Tessera makes a pod wait


class Lifecycle(StackCase):
    """Runs on case.two_nodes."""

    def test_deletion_gives_memory_back(self) -> None:
        first, second = self.running(*(pods.simple(name, FULL, node="node-a")
                                       for name in ("first", "second")))
        self.create(pods.simple("third", FULL, node="node-a"))
        self.wait_event("third", "largest free share on a GPU is 0")
        self.delete("first")
        third = self.wait_running("third")
        self.assertEqual(truth.uuids(third), truth.uuids(first))
        self.assertNotEqual(truth.uuids(third), truth.uuids(second))
        self.assert_shares(third)

    def test_waiting_pods_start_when_there_is_room(self) -> None:
        """kube-scheduler tries the waiting pod when the holder is deleted, and again when it is
        gone. The controller's own watch may be later, so a refusal at that time must not last."""
        holder = self.running(pods.simple("holder-0", FULL, node="node-a"),
                              pods.simple("other", FULL, node="node-a"))[0]
        for i in range(1, 6):
            self.create(pods.simple(f"holder-{i}", FULL, node="node-a"))
            self.wait_event(f"holder-{i}", "largest free share on a GPU is 0")
            self.delete(f"holder-{i - 1}")
            heir = self.wait_running(f"holder-{i}", STRANDED_SECONDS)
            self.assertEqual(truth.uuids(heir), truth.uuids(holder))

    def test_a_finished_pod_gives_memory_back(self) -> None:
        self.create(pods.pod("job", pods.container("main", pods.aliyun(15),
                                                   script="exec gpuhog --once 14GiB"),
                             node="node-a", restartPolicy="Never"))
        self.cluster.wait_for("job has finished",
                              lambda: self.pod("job")["status"]["phase"] == "Succeeded", SECONDS)
        self.cluster.wait_for("its memory is free", lambda: not any(self.allocated().values()), SECONDS)

    def test_a_terminating_pod_holds_its_gpu(self) -> None:
        stubborn = pods.pod("stubborn", pods.container("main", FULL, script=STUBBORN),
                            node="node-a", terminationGracePeriodSeconds=5)
        other = pods.simple("other", FULL, node="node-a")
        self.running(stubborn, other)
        self.delete("stubborn")
        self.create(pods.simple("heir", FULL, node="node-a"))
        self.wait_event("heir", "largest free share on a GPU is 0")
        pod = self.pod("stubborn")
        self.assertIn("deletionTimestamp", pod["metadata"])
        self.assertEqual(sum(truth.allocated([pod]).values()), 15 * truth.GIB)
        self.assertFalse(self.pod("heir")["spec"].get("nodeName"))
        heir = self.wait_running("heir")
        self.assert_shares(heir)
        self.assertEqual(truth.uuids(heir), truth.uuids(pod))

    def test_namesakes_in_a_burst_leave_nothing(self) -> None:
        """A pod is force-deleted and created again with the same name 20 times, in any state."""
        uids = []
        for _ in range(20):
            with contextlib.suppress(ApiError):
                self.delete("namesake", grace=0)
            uids.append(self.cluster.wait_for("the name is free", self._make_namesake, SECONDS))
        self.assertEqual(len(set(uids)), 20)
        last = self.wait_running("namesake")
        self.assertEqual(last["metadata"]["uid"], uids[-1])
        self.assert_shares(last)
        self.cluster.wait_for("only the last pod has memory",
                              lambda: sum(self.allocated().values()) == 2, SECONDS)

    def _make_namesake(self) -> str:
        """Creates the pod and returns its uid; empty while the name is in use. The uid comes from
        the response, because Kubernetes' pod garbage collector deletes by name, and may delete the
        new pod instead of the old one."""
        try:
            [made] = self.create(pods.simple("namesake", pods.aliyun(2), node="node-a"))
        except ApiError as error:
            if error.code != 409:
                raise
            return ""
        uid: str = made["metadata"]["uid"]
        return uid
