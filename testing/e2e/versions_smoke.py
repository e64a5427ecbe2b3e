"""Tessera from its Helm chart on other versions of Kubernetes: `python3 -m e2e.versions_smoke
[VERSION...]`, which `./dev check kubernetes` runs. Without a version it runs all of them except the
one that all other tests use. It is the evidence for docs/install/compatibility.md."""

from __future__ import annotations

import os
import sys
import time
import unittest
from typing import NamedTuple

from bench.nominations_test import NominationsTest
from e2e import agent_identity, truth
from e2e.case import PODS, SECONDS
from e2e.chart_case import MEMORY, OTHER_TAINT, STARTUP_TAINT, ChartCase, Json
from e2e.run import SKIPPED, Timed
from kube import versions
from kube.api import ApiError
from kube.errors import KubeError
from stack.chart import NAMESPACE, SCHEDULER

SHOW = "gpuhog 512MiB"  # prints its GPUs, allocates this amount, and keeps it
AGENTS = "daemonset/tessera-agent"


class Smoke(ChartCase):
    """A subclass sets the version. unittest runs the tests by name, and the last one uninstalls."""

    kubelet_of_node_b = {"registerWithTaints": [STARTUP_TAINT, OTHER_TAINT]}

    def started(self, name: str, limits: Json | None = None) -> Json:
        """Creates a pod that shows its GPUs, and waits until it runs."""
        self.create(self.pod(name, limits or MEMORY, script=f"exec {SHOW}"))
        pod, = self.running(name)
        return pod

    def devices(self, name: str) -> list[str]:
        """The UUIDs of the GPUs that the pod's program finds by the CUDA driver."""
        def printed() -> list[str]:
            return truth.parse_log(self.api.text("GET", f"{PODS}/{name}/log")).uuids
        found: list[str] = self.cluster.wait_for(f"{name} prints its GPUs", printed, SECONDS)
        return found

    def assert_has_its_gpus(self, pod: Json) -> None:
        """The pod sees exactly the GPUs of its allocation."""
        given = truth.uuids(pod)
        self.assertTrue(given, pod["metadata"])
        self.assertEqual(sorted(self.devices(pod["metadata"]["name"])), sorted(given))

    def assert_enforced(self, name: str) -> None:
        """The pod gets the 1 GiB that it requested, of which SHOW uses one half, and no more."""
        self.assertIn("allocated", self.in_pod(name, "gpuhog --once 512MiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod(name, "gpuhog --once 513MiB"))

    # ---- tests

    def test_a_share_is_placed_and_enforced(self) -> None:
        """A pod that names only gpu-memory; the webhook adds the rest."""
        created = self.create(self.pod("share", MEMORY, script=f"exec {SHOW}"))
        self.assertEqual(created["spec"]["schedulerName"], SCHEDULER)
        pod, = self.running("share")
        self.assertEqual(truth.annotation(pod, truth.ENFORCED_BY), "guard")
        self.assert_has_its_gpus(pod)
        self.assert_enforced("share")

    def test_a_whole_gpu(self) -> None:
        self.assert_has_its_gpus(self.started("whole", {"tessera.dev/gpu": "1"}))

    def test_an_agent_changes_only_its_own_node(self) -> None:
        token = agent_identity.token_of(self.cluster, "node-a")
        for node, status in (("node-a", 200), ("node-b", 403)):
            for part in ("", "/status"):
                self.assertEqual(agent_identity.patch_node(self.cluster, token, node, part), status)
        # helm uninstall removes only what an agent writes.
        self.cluster.kubectl("annotate", "node", "node-a", "tessera.dev/x-")

    def test_an_agent_has_removed_the_startup_taint_of_its_node(self) -> None:
        self.assertEqual(self.taints_of_node_b(), [OTHER_TAINT])

    def test_doctor_and_inspect(self) -> None:
        pod = self.started("share")
        found = self.tessera("doctor")
        self.assertEqual([line for line in found.splitlines() if not line.startswith("ok ")], [])
        shown = self.tessera("inspect", "--details")
        self.assertIn("share", shown)
        self.assertIn(pod["spec"]["nodeName"], shown)

    def test_forged_allocations(self) -> None:
        """An allocation that a new pod brings along is removed. That of a placed pod cannot be
        changed."""
        first = self.started("first")
        forged = self.pod("forged", MEMORY)
        forged["metadata"]["annotations"] = dict(first["metadata"]["annotations"])
        self.assertEqual(self.create(forged)["metadata"].get("annotations", {}), {})
        pod, = self.running("forged")
        self.assertEqual(len(truth.uuids(pod)), 1)
        with self.assertRaisesRegex(ApiError, "only Tessera writes it"):
            self.api.json("PATCH", f"{PODS}/forged", {"metadata": {"annotations": {
                truth.ALLOCATION: truth.annotation(first, truth.ALLOCATION)}}},
                agent_identity.MERGE)

    def test_pods_survive_a_restart_of_the_agents(self) -> None:
        before = self.started("stays")
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "restart", AGENTS)
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "status", AGENTS, "--timeout=300s",
                             timeout=400.0)
        self.assert_has_its_gpus(self.started("new"))
        after, = self.running("stays")
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        self.assertEqual(after["status"]["containerStatuses"][0]["restartCount"], 0)
        self.assert_enforced("stays")

    def test_pod_group(self) -> None:
        """The first pod of a PodGroup waits for the second."""
        groups = versions.of(self.kubernetes).pod_groups
        if groups is None:
            self.skipTest(f"Kubernetes {self.kubernetes} has no PodGroup")
        self.api.json("POST", groups.path, {
            "metadata": {"name": "pair"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
        self.addCleanup(self.api.json, "DELETE", f"{groups.path}/pair")
        member = {"script": f"exec {SHOW}", "schedulingGroup": {"podGroupName": "pair"}}
        self.create(self.pod("pair-0", MEMORY, **member))
        self.wait_event("pair-0", "gang pair waits for its pods", "1 of 2")
        self.create(self.pod("pair-1", MEMORY, **member))
        for pod in self.running("pair-0", "pair-1"):
            self.assert_has_its_gpus(pod)

    def test_too_large_a_share_waits(self) -> None:
        self.create(self.pod("large", {"tessera.dev/gpu-memory": "100Gi"}))
        self.wait_event("large", "Insufficient GPU Memory in one device: asked 100Gi")
        self.assertFalse(self.api.json("GET", f"{PODS}/large")["spec"].get("nodeName"))

    def test_the_programs_have_the_version(self) -> None:
        """Otherwise the other tests show nothing about it."""
        release = versions.of(self.kubernetes).release
        self.assertEqual(self.api.json("GET", "/version")["gitVersion"], release)
        self.assertEqual({node["status"]["nodeInfo"]["kubeletVersion"]
                          for node in self.api.json("GET", "/api/v1/nodes")["items"]}, {release})
        said = self.cluster.kubectl("-n", NAMESPACE, "exec", "deployment/tessera-controller", "-c",
                                    "kube-scheduler", "--", "kube-scheduler", "--version")
        self.assertEqual(said.split(), ["Kubernetes", release])

    def test_uninstall(self) -> None:
        """A pod keeps running. This is the last test."""
        self.started("stays")
        self.uninstall()
        self.running("stays")


class Outcome(NamedTuple):
    """A row of the table: seconds of the build and of the smoke test, and what came of it."""

    version: str
    build: float
    smoke: float
    result: str


def run(version: versions.KubernetesVersion) -> Outcome:
    """Builds a version, and runs the tests on it."""
    began = time.monotonic()
    try:
        version.ensure(services=True)
    except KubeError as error:
        return Outcome(version.release, time.monotonic() - began, 0, f"not built: {error}")
    built = time.monotonic()
    groups = version.pod_groups
    case = type("Smoke", (Smoke,), {
        "kubernetes": version.minor, "extra_arguments": {
            "kube-apiserver": groups.arguments()["kube-apiserver"]} if groups else {}})
    ahead = type("Nominations", (NominationsTest,), {"kubernetes": version.minor})
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, (case, ahead)))
    done = unittest.TextTestRunner(verbosity=2, resultclass=Timed).run(suite)
    bad = len(done.errors) + len(done.failures)
    result = f"{bad} FAILED" if bad else f"{done.testsRun - len(done.skipped)} tests passed"
    return Outcome(version.release, built - began, time.monotonic() - built, result)


def main(names: list[str]) -> int:
    """Runs the smoke test on these versions, and returns the exit status."""
    if os.geteuid() != 0:
        print("skipped: Kubernetes nodes on this machine need root; run: "
              "sudo -E ./dev check kubernetes")
        return SKIPPED
    try:
        chosen = [versions.of(name) for name in names or versions.OTHERS]
    except KubeError as error:
        print(f"kubernetes: {error}", file=sys.stderr)
        return 2
    outcomes = []
    for version in chosen:
        print(f"Kubernetes {version.release}", file=sys.stderr, flush=True)
        outcomes.append(run(version))
    print(f"{'Kubernetes':<12}{'built in':>10}{'smoke in':>10}  result")
    for each in outcomes:
        print(f"{each.version:<12}{each.build:>8.0f} s{each.smoke:>8.0f} s  {each.result}")
    return 0 if all(each.result.endswith("passed") for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
