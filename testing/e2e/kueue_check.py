"""Kueue beside Tessera, as docs/install/kueue.md says. `./dev check kueue` runs it.

Kueue is installed by its own Helm chart, with its webhooks. The objects are those of the page.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from collections.abc import Mapping
from typing import ClassVar

import yaml

from e2e import console_block
from e2e.case import PODS
from e2e.chart_case import ChartClusterCase, Json, pod_of
from e2e.truth import ALLOCATION
from stack import builds, kueue

PAGE = builds.ROOT / "docs" / "install" / "kueue.md"
TEAM = "team-a"
JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
TEAM_PODS = f"/api/v1/namespaces/{TEAM}/pods"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads"
LABEL = "tessera.dev/gpu-model"
GPU, SHARE = "tessera.dev/gpu", "tessera.dev/gpu-share"
MEMORY, CORES = "tessera.dev/gpu-memory", "tessera.dev/gpu-cores"
TOTAL_MEMORY, TOTAL_CORES = "tessera.dev/total-gpu-memory", "tessera.dev/total-gpu-cores"
GPUSHARE = "aliyun.com/gpu-mem"
QUOTA_GIB = 18
GIB = 1 << 30
UNTIL_FILE = "until [ -e /tmp/end ]; do sleep 0.2; done"
SECONDS = 60.0


class KueueTest(ChartClusterCase):
    """node-a has two GPUs of 15 GiB, which the flavor selects. node-b has two models, so it has no
    flavor. Each test begins without Jobs, and with the quota of the page, but 18 GiB of memory."""

    model: ClassVar[str]  # the label of node-a
    objects: ClassVar[list[Json]]  # of the page: ResourceFlavor, ClusterQueue, LocalQueue

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.addClassCleanup(cls.cluster.save_logs)
        cls.stack.install()
        cls.model = cls.cluster.wait_for("node-a shows its model", cls.shown_model, SECONDS)
        page = yaml.safe_load(console_block.yaml_block(PAGE, "Quota for memory of several shares"))
        kueue.install(cls.cluster, cls.stack.registry, {"apiVersion": page["apiVersion"],
                                                        "resources": page["resources"]})
        cls.cluster.kubectl("create", "namespace", TEAM)
        cls.objects = cls.page_objects()
        for thing in cls.objects:
            cls.apply(thing)

    @classmethod
    def shown_model(cls) -> str:
        """The model of node-a's GPUs; empty if the agent has not published it."""
        labels = cls.api.json("GET", "/api/v1/nodes/node-a")["metadata"]["labels"]
        return str(labels.get(LABEL, ""))

    @classmethod
    def page_objects(cls) -> list[Json]:
        """The objects of the page, for the model of node-a and a smaller quota of memory."""
        flavor, queue, local = yaml.safe_load_all(
            console_block.yaml_block(PAGE, "Flavors and queue"))
        flavor["spec"]["nodeLabels"] = {
            key: cls.model for key in flavor["spec"]["nodeLabels"]}
        for row in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]:
            if row["name"] == TOTAL_MEMORY:
                row["nominalQuota"] = f"{QUOTA_GIB}Gi"
        return [flavor, queue, local]

    @classmethod
    def apply(cls, thing: Json) -> None:
        cls.cluster.wait_for(f"the API server takes the {thing['kind']}", lambda: (
            cls.cluster.kubectl("apply", "-f", "-", input=json.dumps(thing))), SECONDS)

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "pods", "--all", "--now", "--wait=true")
        self.cluster.kubectl("-n", TEAM, "delete", "jobs", "--all", "--cascade=foreground",
                             "--wait=true")
        self.apply(self.objects[1])
        self.cluster.wait_for("no quota is in use", lambda: not any(self.reserved().values()),
                              SECONDS)

    # ---- tools

    def job(self, name: str, *limits: Json, script: str = "exec sleep 1000", **spec: object) -> Json:
        """The Job of the page with one container for each of `limits`. spec: more fields."""
        job: Json = yaml.safe_load(console_block.yaml_block(PAGE, "Job"))
        job["metadata"]["name"] = name
        job["spec"].update(spec)
        pod = job["spec"]["template"]["spec"]
        pod["terminationGracePeriodSeconds"] = 1
        main, = pod.pop("containers")
        main.update(image=self.stack.gpuhog, command=["sh", "-c", script])
        pod["containers"] = [{**copy.deepcopy(main), "name": f"main-{number}",
                              "resources": {"limits": each}}
                             for number, each in enumerate(limits)]
        return job

    def create(self, job: Json) -> str:
        """Creates the Job, and returns its name. Kueue suspends it."""
        created = self.api.json("POST", JOBS, job)
        self.assertTrue(created["spec"]["suspend"])
        return str(created["metadata"]["name"])

    def pods(self, job: str) -> list[Json]:
        found: list[Json] = self.api.json(
            "GET", f"{TEAM_PODS}?labelSelector=batch.kubernetes.io/job-name={job}")["items"]
        return found

    def running(self, job: str, number: int = 1) -> list[Json]:
        """Waits until this number of pods of the Job run, and returns them."""
        def all_run() -> list[Json]:
            pods = [pod for pod in self.pods(job) if pod["status"]["phase"] == "Running"]
            return pods if len(pods) == number else []
        found: list[Json] = self.cluster.wait_for(f"the pods of {job} run", all_run, SECONDS)
        return found

    def wait_message(self, job: str, pattern: str) -> None:
        """Waits until Kueue says why the Job gets no quota. The Job has no pods."""
        def said() -> bool:
            return any(condition(item, "QuotaReserved").get("status") == "False"
                       and re.search(pattern, condition(item, "QuotaReserved")["message"])
                       for item in self.api.json("GET", WORKLOADS)["items"]
                       if item["metadata"]["ownerReferences"][0]["name"] == job)
        self.cluster.wait_for(f"Kueue says of {job}: {pattern}", said, SECONDS)
        self.wait_suspended(job)

    def wait_suspended(self, job: str) -> None:
        """Waits until the Job is suspended and has no pods."""
        self.cluster.wait_for(f"{job} is suspended", lambda: (
            self.api.json("GET", f"{JOBS}/{job}")["spec"]["suspend"] and not self.pods(job)),
            SECONDS)

    def wait_refused(self, job: str, number: int) -> None:
        """Waits until kube-scheduler has refused this number of pods of the Job."""
        self.cluster.wait_for(f"pods of {job} wait", lambda: number == len([
            pod for pod in self.pods(job)
            if condition(pod, "PodScheduled").get("reason") == "Unschedulable"]), SECONDS)

    def fill_outside(self, number: int) -> None:
        """Places pods of 8 GiB in no queue on node-a: 7 GiB are left on each of their GPUs."""
        for each in range(1, number + 1):
            self.api.json("POST", PODS, pod_of(
                self.stack, f"outside-{each}", {MEMORY: "8Gi"}, "exec sleep 1000",
                nodeSelector={"kubernetes.io/hostname": "node-a"}))
        self.cluster.wait_for("the pods outside run", lambda: all(
            pod["status"]["phase"] == "Running" for pod in self.api.json("GET", PODS)["items"]),
            SECONDS)

    def reserved(self) -> dict[str, int]:
        """The amounts of the ClusterQueue that are in use, as the page reads them."""
        status = self.api.json("GET", f"{QUEUES}/{TEAM}").get("status", {})
        return {row["name"]: amount(row["total"])
                for flavor in status.get("flavorsReservation", []) for row in flavor["resources"]}

    def wait_reserved(self, wanted: Mapping[str, int]) -> None:
        """Waits until exactly these amounts are in use: resource -> amount."""
        self.cluster.wait_for(f"in use: {wanted}", lambda: wanted == {
            name: value for name, value in self.reserved().items() if value}, SECONDS)

    # ---- tests

    def test_memory_of_several_shares_counts(self) -> None:
        """The second Job would fit if gpu-memory counted once. It starts when the first ends."""
        first = self.create(self.job("first", {SHARE: 2, MEMORY: "6Gi", CORES: 25},
                                     script=UNTIL_FILE))
        pod, = self.running(first)
        self.assertEqual((pod["spec"]["nodeSelector"], pod["spec"]["nodeName"]),
                         ({LABEL: self.model}, "node-a"))
        self.assertIn(ALLOCATION, pod["metadata"]["annotations"])
        name = pod["metadata"]["name"]
        self.assertEqual(self.in_pod(name, "gpusmi").count(f"of {6 * GIB} bytes"), 2)
        self.wait_reserved({SHARE: 2, TOTAL_MEMORY: 12 * GIB, TOTAL_CORES: 50})
        second = self.create(self.job("second", {SHARE: 1, MEMORY: "8Gi", CORES: 25}))
        self.wait_message(second, f"insufficient unused quota for {TOTAL_MEMORY} ")
        self.in_pod(name, "touch /tmp/end")
        self.running(second)
        self.wait_reserved({SHARE: 1, TOTAL_MEMORY: 8 * GIB, TOTAL_CORES: 25})

    def test_what_a_template_counts(self) -> None:
        """The cases that the page describes."""
        memory = {SHARE: 1, MEMORY: "3Gi"}
        cases: list[tuple[str, list[Json], Json, dict[str, int]]] = [
            ("whole-gpu", [{GPU: 1}], {}, {GPU: 1}),
            ("no-share", [{MEMORY: "3Gi"}], {}, {TOTAL_MEMORY: 3 * GIB}),
            ("two-pods", [memory], {"parallelism": 2, "completions": 2},
             {SHARE: 2, TOTAL_MEMORY: 6 * GIB}),
            ("two-containers", [memory, memory], {},
             {SHARE: 2, TOTAL_MEMORY: 12 * GIB})]
        for name, limits, spec, wanted in cases:
            with self.subTest(name):
                self.create(self.job(name, *limits, **spec))
                self.running(name, int(spec.get("parallelism", 1)))
                self.wait_reserved(wanted)
                self.cluster.kubectl("-n", TEAM, "delete", "job", name, "--cascade=foreground")

    def test_a_resource_that_no_group_covers(self) -> None:
        name = self.create(self.job("cpu", {SHARE: 1, MEMORY: "3Gi", "cpu": "100m",
                                            "memory": "64Mi"}))
        self.wait_message(name, "resource (cpu|memory) unavailable in ClusterQueue")
        queue = copy.deepcopy(self.objects[1])
        group, = queue["spec"]["resourceGroups"]
        group["coveredResources"] += ["cpu", "memory"]
        group["flavors"][0]["resources"] += [{"name": "cpu", "nominalQuota": "4"},
                                             {"name": "memory", "nominalQuota": "8Gi"}]
        self.apply(queue)
        self.running(name)

    def test_an_admitted_pod_waits_for_one_gpu(self) -> None:
        """14 GiB are free in sum, and 7 on each GPU. The pods outside the queue count in no quota."""
        self.fill_outside(2)
        name = self.create(self.job("large", {SHARE: 1, MEMORY: "10Gi"}))
        self.wait_reserved({SHARE: 1, TOTAL_MEMORY: 10 * GIB})
        self.wait_refused(name, 1)
        self.cluster.kubectl("delete", "pod", "outside-1", "--now")
        self.running(name)

    def test_a_gang_in_a_queue(self) -> None:
        """Kueue admits the Job as a whole. Only one of its pods fits, so Tessera places neither."""
        self.fill_outside(1)
        job = self.job("gang", {SHARE: 1, MEMORY: "8Gi"}, parallelism=2, completions=2)
        job["spec"]["template"]["metadata"] = {"annotations": {
            "tessera.dev/gang": "gang", "tessera.dev/gang-size": "2"}}
        name = self.create(job)
        self.wait_refused(name, 2)
        self.assertFalse([pod for pod in self.pods(name) if "nodeName" in pod["spec"]])
        self.cluster.kubectl("delete", "pod", "outside-1", "--now")
        self.running(name, 2)
        self.wait_reserved({SHARE: 2, TOTAL_MEMORY: 16 * GIB})

    def test_a_priority_of_kueue(self) -> None:
        """Kueue suspends the Job of the lower priority, and Tessera has its memory for the other.
        Both pods have the same PriorityClass, so Tessera preempts neither."""
        self.apply({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
                    "metadata": {"name": "high"}, "value": 100})
        queue = copy.deepcopy(self.objects[1])
        queue["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
        self.apply(queue)
        low = self.create(self.job("low", {SHARE: 2, MEMORY: "8Gi"}))
        self.running(low)
        job = self.job("high", {SHARE: 1, MEMORY: "14Gi"})
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        self.running(self.create(job))
        self.wait_suspended(low)
        self.wait_reserved({SHARE: 1, TOTAL_MEMORY: 14 * GIB})

    def test_a_resize_does_not_change_the_quota(self) -> None:
        pod, = self.running(self.create(self.job("resized", {SHARE: 1, MEMORY: "3Gi"})))
        name = pod["metadata"]["name"]
        subprocess.run([str(builds.program("tessera")), "resize", name, "-n", TEAM,
                        "--memory", "6Gi"], check=True, timeout=300,
                       env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)})
        self.cluster.wait_for("the limit is larger", lambda: (
            f"of {6 * GIB} bytes" in self.in_pod(name, "gpusmi")), SECONDS)
        other = self.create(self.job("other", {SHARE: 1, MEMORY: "3Gi"}))
        self.running(other)  # so Kueue has counted again
        self.wait_reserved({SHARE: 2, TOTAL_MEMORY: 6 * GIB})

    def test_a_resource_of_gpushare(self) -> None:
        queue = copy.deepcopy(self.objects[1])
        group, = queue["spec"]["resourceGroups"]
        group["coveredResources"].append(GPUSHARE)
        group["flavors"][0]["resources"].append({"name": GPUSHARE, "nominalQuota": 8})
        self.apply(queue)
        first = self.create(self.job("first", {GPUSHARE: 6}))
        self.running(first)
        self.wait_reserved({GPUSHARE: 6})
        second = self.create(self.job("second", {GPUSHARE: 3}))
        self.wait_message(second, f"insufficient unused quota for {GPUSHARE} ")

    def in_pod(self, name: str, command: str) -> str:
        return self.cluster.kubectl("-n", TEAM, "exec", name, "--", "sh", "-c", command)


def condition(thing: Json, kind: str) -> Json:
    """The condition of this type in the status; empty if there is none."""
    return next((one for one in thing.get("status", {}).get("conditions", [])
                 if one["type"] == kind), {})


def amount(text: str) -> int:
    """The number of a quantity of Kueue's status, such as 12Gi."""
    number, unit = re.fullmatch(r"(\d+)(|Ki|Mi|Gi)", text).groups()  # type: ignore[union-attr]
    return int(number) << {"": 0, "Ki": 10, "Mi": 20, "Gi": 30}[unit]
