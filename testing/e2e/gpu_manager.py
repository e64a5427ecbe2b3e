"""The dialect of Tencent's gpu-manager: pods and the quota of kubernetes-gpusharing, unchanged. kubelet
counts both resources, and asks the agent about each container twice."""

from __future__ import annotations

import json

from e2e import pods, truth
from e2e.case import NAMESPACE, SECONDS, StackCase
from e2e.truth import Json
from kube.api import ApiError

UNIT = 256 << 20
CORE, MEMORY = "tencent.com/vcuda-core", "tencent.com/vcuda-memory"
EXAMPLE = pods.vcuda(50, 15)
QUOTA: Json = {
    "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "default-gpu-quota"},
    "spec": {"hard": {f"requests.{CORE}": "80", f"limits.{CORE}": "80",
                      f"requests.{MEMORY}": "15", f"limits.{MEMORY}": "15"}}}

# name -> limits, and words of the event of the pod that stays Pending
WAITING = {
    "core-alone": (pods.vcuda(50), (
        f"container main: {CORE}: 50 is a share of a GPU and needs {MEMORY}",)),
    "memory-alone": (pods.vcuda(memory=15), (f"container main: {MEMORY}: 15 needs {CORE} beside it",)),
    "between": (pods.vcuda(150, 4), (f"container main: {CORE}: 150 is neither", "write 100 or 200")),
    "both-dialects": ({**EXAMPLE, **pods.aliyun(2)}, ("write the pod in one dialect",)),
    "too-large": (pods.vcuda(50, 64), ("asked 16Gi and 50 percent", "the largest of 2 GPUs has 15Gi")),
}


class GpuManager(StackCase):
    """Runs on case.two_nodes; the agents have the guard."""

    values = ("dialects={native,gpushare,gpu-manager}",)

    def share(self, name: str) -> Json:
        """The only share of a pod with the container `main`."""
        only, = truth.shares(self.pod(name))["main"]
        return only

    def in_force(self, name: str) -> Json:
        """What the agents enforce for the pod."""
        def found() -> Json | None:
            said = json.loads(self.stack.run_tessera("top", "-o", "json").stdout)
            return next((share for share in said["shares"] if share["name"] == name), None)
        share: Json = self.cluster.wait_for(f"top shows {name}", found, SECONDS)
        return share

    def test_the_nodes_show_the_sums_of_gpu_manager(self) -> None:
        for node in ("node-a", "node-b"):
            gpus = self.gpus(node)
            expected = (str(100 * len(gpus)), str(sum(gpu.memory // UNIT for gpu in gpus)))

            def shown(name: str = node, sums: tuple[str, str] = expected) -> bool:
                status = self.api.json("GET", f"/api/v1/nodes/{name}")["status"]
                return all((status[amounts].get(CORE), status[amounts].get(MEMORY)) == sums
                           for amounts in ("capacity", "allocatable"))
            self.cluster.wait_for(f"{node} shows {expected}", shown, SECONDS)

    def test_the_example_of_kubernetes_gpusharing(self) -> None:
        made, = self.running(pods.simple("gpu-pod", EXAMPLE, node="node-a"))
        self.assert_shares(made)
        share = self.share("gpu-pod")
        self.assertEqual((share["memory"], share["cores"], share["cores_limit"]), (15 * UNIT, 50, 50))
        gpu = self.gpu_of(share["uuid"])
        for key, value in (("predicate-gpu-idx-0", str(gpu.index)), ("predicate-node", "node-a"),
                           ("gpu-assigned", "true")):
            self.assertEqual(truth.annotation(made, f"tencent.com/{key}"), value)
        self.assertEqual(truth.annotation(made, truth.ENFORCED_BY), "guard")
        enforced = self.in_force("gpu-pod")
        self.assertEqual((enforced["limitBytes"], enforced["coresPercent"],
                          enforced["coresLimitPercent"]), (15 * UNIT, 50, 50))
        # The container's first program uses 1 GiB of the 3,840 MiB.
        for size, said in (("2816MiB", "allocated"), ("2817MiB", "OUT_OF_MEMORY")):
            self.assertIn(said, self.cluster.kubectl(
                "exec", "gpu-pod", "--", "sh", "-c", f"gpuhog --once {size} 2>&1; true"))

    def test_the_annotation_raises_the_compute_limit(self) -> None:
        self.running(pods.simple("elastic", EXAMPLE, annotations={
            "tencent.com/vcuda-core-limit": "80"}))
        enforced = self.in_force("elastic")
        self.assertEqual((enforced["coresPercent"], enforced["coresLimitPercent"]), (50, 80))
        self.create(pods.simple("below", EXAMPLE, annotations={"tencent.com/vcuda-core-limit": "30"}))
        self.wait_event("below", "annotation tencent.com/vcuda-core-limit: 30 is below the 50")

    def test_whole_gpus_and_shares_of_all_dialects(self) -> None:
        """kube-scheduler counts percent for each node: one whole GPU leaves no room for two."""
        whole, = self.running(pods.simple("whole", pods.vcuda(100, 15), node="node-a"))
        self.assert_shares(whole)
        self.assertTrue(self.share("whole")["whole"])
        self.assertEqual(truth.annotation(whole, truth.ENFORCED_BY), "exclusive")
        shares = self.running(pods.simple("half", EXAMPLE, node="node-a"),
                              pods.simple("native", pods.native("2Gi", cores=25), node="node-a"),
                              pods.simple("gpushare", pods.aliyun(2), node="node-a"))
        for pod in shares:
            self.assert_shares(pod)
        self.assertEqual(len({truth.uuids(pod)[0] for pod in shares} | set(truth.uuids(whole))), 2)
        self.create(pods.simple("two", pods.vcuda(200), node="node-a"))
        self.wait_event("two", f"Insufficient {CORE}")

    def test_init_containers(self) -> None:
        """kubelet gives the devices of an init container to the app container again."""
        made, = self.running(pods.pod(
            "inits", pods.container("main", pods.vcuda(30, 8)), node="node-a",
            init=[pods.init_container("first", pods.vcuda(60, 12), size="2GiB"),
                  pods.sidecar("side", pods.vcuda(10, 4))]))
        self.assert_shares(made, ("first", "side", "main"))
        self.assertEqual(sum(truth.gpu_bytes(made).values()), 12 * UNIT)

    def test_requests_that_make_no_sense_wait_and_say_why(self) -> None:
        self.create(*(pods.simple(name, limits, node="node-a")
                      for name, (limits, _) in WAITING.items()))
        for name, (_, words) in WAITING.items():
            self.wait_event(name, *words)
            self.assertFalse(self.pod(name)["spec"].get("nodeName"))

    def test_the_quota_of_kubernetes_gpusharing(self) -> None:
        """The second pod would be above 80 percent and above 15 units. Kubernetes ignores the lines
        that begin with limits."""
        path = f"{NAMESPACE}/resourcequotas"
        self.api.json("POST", path, QUOTA)
        self.addCleanup(self.api.json, "DELETE", f"{path}/default-gpu-quota")
        self.cluster.wait_for("the quota counts", lambda: (
            f"requests.{CORE}" in self.api.json("GET", f"{path}/default-gpu-quota").get(
                "status", {}).get("used", {})), SECONDS)
        made, = self.running(pods.simple("within", EXAMPLE))
        self.assert_shares(made)
        with self.assertRaises(ApiError) as caught:
            self.create(pods.simple("above", EXAMPLE))
        self.assertEqual(caught.exception.code, 403)
        self.assertIn("exceeded quota", str(caught.exception))
