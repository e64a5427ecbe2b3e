"""Gangs by Kubernetes' own PodGroups, which kube-scheduler also places as a whole."""

from __future__ import annotations

from e2e import pods
from e2e.case import StackCase

PATH = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"


class PodGroups(StackCase):
    """Runs on case.two_nodes, with the PodGroup API enabled."""

    pod_groups = True

    def group(self, name: str, count: int) -> None:
        policy = {"gang": {"minCount": count}} if count else {"basic": {}}
        self.api.json("POST", PATH, {"metadata": {"name": name},
                                     "spec": {"schedulingPolicy": policy}})
        self.addCleanup(self.api.json, "DELETE", f"{PATH}/{name}")

    def member_of(self, group: str, number: int, gib: int = 6) -> None:
        self.create(pods.simple(f"{group}-{number}", pods.aliyun(gib),
                                schedulingGroup={"podGroupName": group}))

    def test_pods_of_a_pod_group(self) -> None:
        """Six pods of 12 GiB do not fit on four GPUs, so none is placed. Three pods fit, and are
        placed together."""
        self.group("wide", 6)
        for number in range(6):
            self.member_of("wide", number, gib=12)
        self.wait_event("wide-0", "gang wide is placed as a whole", "of its 6 pods")
        self.group("fits", 3)
        for number in range(2):
            self.member_of("fits", number, gib=12)
        self.assertEqual(self.bound_of("fits"), [])
        self.assertIn("It waits for 1 more.", self.stack.tessera("explain", "fits-0"))
        self.member_of("fits", 2, gib=12)
        for number in range(3):
            self.assert_shares(self.wait_running(f"fits-{number}"))
        self.assertEqual(self.bound_of("wide"), [])

    def test_pods_of_a_basic_group_come_one_by_one(self) -> None:
        self.group("basic", 0)
        self.member_of("basic", 0)
        self.assert_shares(self.wait_running("basic-0"))
