"""Sharing: on which GPU each pod is placed, and what its containers see."""

from __future__ import annotations

from e2e import pods, truth
from e2e.case import StackCase
from e2e.truth import GIB


class Sharing(StackCase):
    """Runs on case.two_nodes."""

    def test_three_pods_share_one_gpu(self) -> None:
        names = [f"three-{i}" for i in range(3)]
        made = self.running(*(pods.simple(n, pods.aliyun(3), node="node-a") for n in names))
        given = {truth.uuids(pod)[0] for pod in made}
        self.assertEqual(len(given), 1, "all three on one GPU")
        for pod in made:
            self.assert_shares(pod)
            self.assertEqual(truth.gpu_bytes(pod), {given.copy().pop(): 3 * GIB})
            self.assertEqual(truth.annotation(pod, truth.ENFORCED_BY), "none")
        self.assertEqual(sum(self.allocated().values()), 9)

    def test_environment_of_gpushare(self) -> None:
        """gpushare used the minor number as the index. The minor numbers on node-a are 3 and 1."""
        self.assertEqual([gpu.minor for gpu in self.gpus("node-a")], [3, 1])
        made = self.running(*(pods.simple(f"env-{i}", pods.aliyun(9), node="node-a")
                              for i in range(2)))
        self.assertEqual({self.gpu_of(truth.uuids(pod)[0]).index for pod in made}, {0, 1})
        for pod in made:
            gpu = self.gpu_of(truth.uuids(pod)[0])
            env = self.log(pod["metadata"]["name"]).env
            self.assertEqual({k: v for k, v in env.items() if k.startswith("ALIYUN")}, {
                "ALIYUN_COM_GPU_MEM_IDX": str(gpu.index), "ALIYUN_COM_GPU_MEM_POD": "9",
                "ALIYUN_COM_GPU_MEM_CONTAINER": "9", "ALIYUN_COM_GPU_MEM_DEV": "15"})
            self.assertEqual(truth.annotation(pod, "ALIYUN_COM_GPU_MEM_IDX"), str(gpu.index))
            self.assertEqual(truth.annotation(pod, "ALIYUN_COM_GPU_MEM_POD"), "9")
            self.assertEqual(truth.annotation(pod, "ALIYUN_COM_GPU_MEM_ASSIGNED"), "true")

    def test_two_containers_each_their_own_gpu(self) -> None:
        """docs/research/gpushare.md D-1: gpushare gives both containers the GPU of the first."""
        made, = self.running(pods.pod("two", pods.container("x", pods.aliyun(10)),
                                      pods.container("y", pods.aliyun(12)), node="node-a"))
        self.assert_shares(made, ("x", "y"))
        self.assertNotEqual(truth.uuids(made, "x"), truth.uuids(made, "y"))
        for name, units in (("x", "10"), ("y", "12")):
            env = self.log("two", name).env
            self.assertEqual(env["ALIYUN_COM_GPU_MEM_CONTAINER"], units)
            self.assertEqual(env["ALIYUN_COM_GPU_MEM_IDX"],
                             str(self.gpu_of(env["NVIDIA_VISIBLE_DEVICES"]).index))

    def test_containers_without_a_share_see_no_gpu(self) -> None:
        made, = self.running(pods.pod(
            "beside", pods.container("main", pods.aliyun(2)),
            pods.container("plain", script="ls /usr/lib/x86_64-linux-gnu; echo memory: free; "
                                           "exec sleep 1000")))
        self.assert_shares(made)
        seen = self.log("beside", "plain")
        self.assertEqual((seen.env, seen.uuids), ({}, []))
        self.assertNotIn("libcuda", seen.text)

    def test_init_containers_and_a_sidecar(self) -> None:
        inits = [pods.init_container("first", pods.aliyun(8), size="7GiB"),
                 pods.sidecar("side", pods.aliyun(2)),
                 pods.init_container("second", pods.aliyun(5), size="5GiB")]
        made, = self.running(pods.pod("inits", pods.container("main", pods.aliyun(4)), init=inits,
                                      node="node-a"))
        self.assert_shares(made, ("first", "side", "second", "main"))
        kinds = {c["name"]: status["state"] for c in inits
                 for status in made["status"]["initContainerStatuses"]
                 if status["name"] == c["name"]}
        self.assertIn("running", kinds["side"])
        self.assertIn("terminated", kinds["first"])
        self.assertEqual(sum(truth.allocated([made]).values()) // GIB, sum(self.allocated().values()))

    def test_an_init_container_gives_its_share_back_to_its_own_pod(self) -> None:
        """8 GiB at the start and then 12 GiB are a peak of 12 GiB, so two such pods fit on two GPUs
        of 15 GiB."""
        made = self.running(*(
            pods.pod(f"peak-{i}", pods.container("main", pods.aliyun(12)), node="node-a",
                     init=[pods.init_container("before", pods.aliyun(8), size="8GiB")])
            for i in range(2)))
        gpus = set()
        for pod in made:
            self.assert_shares(pod, ("before", "main"))
            gpus |= set(truth.uuids(pod))
        self.assertEqual(len(gpus), 2)

    def test_gpus_of_different_size(self) -> None:
        nodes = {n["metadata"]["name"]: n["status"]
                 for n in self.api.json("GET", "/api/v1/nodes")["items"]}
        for amounts in (nodes["node-b"]["capacity"], nodes["node-b"]["allocatable"]):
            self.assertEqual(amounts["aliyun.com/gpu-mem"], "39")
            self.assertEqual(amounts["aliyun.com/gpu-count"], "2")
        made, = self.running(pods.simple("large", pods.aliyun(20), size="18GiB"))
        gpu = self.gpu_of(truth.uuids(made)[0])
        self.assertEqual((gpu.node, gpu.memory), ("node-b", 24 * GIB))
        self.assert_shares(made)
        self.assertEqual(self.log("large").env["ALIYUN_COM_GPU_MEM_DEV"], "24")

    def test_a_pod_names_its_policy(self) -> None:
        """By default a pod goes to the GPU of the first (binpack). The policy spread chooses the
        other GPU. An unknown policy is refused."""
        policy = "tessera.dev/placement-policy"
        first, packed = (self.running(pods.simple(name, pods.aliyun(2), node="node-a"))[0]
                         for name in ("first", "packed"))
        self.assertEqual(truth.uuids(packed), truth.uuids(first))
        for name in ("spread", "expected-fill", "fgd"):
            chosen = pods.simple(f"by-{name}", pods.aliyun(2), node="node-a")
            chosen["metadata"]["annotations"] = {policy: name}
            made, = self.running(chosen)
            self.assert_shares(made)
            if name == "spread":
                self.assertNotEqual(truth.uuids(made), truth.uuids(first))
        wrong = pods.simple("by-magic", pods.aliyun(2), node="node-a")
        wrong["metadata"]["annotations"] = {policy: "magic"}
        self.create(wrong)
        self.wait_event("by-magic", 'no placement policy "magic"; there is binpack, spread')

    def test_whole_gpu(self) -> None:
        """A pod with a whole GPU gets a GPU that no pod uses, and no other pod gets this GPU."""
        shared, = self.running(pods.simple("shared", pods.native("1Gi"), node="node-b"))
        whole, = self.running(pods.simple("whole", pods.native(), node="node-b"))
        self.assert_shares(whole)
        self.assertNotEqual(truth.uuids(whole), truth.uuids(shared))
        self.assertEqual(truth.annotation(whole, truth.ENFORCED_BY), "exclusive")
        self.assertEqual(truth.annotation(shared, truth.ENFORCED_BY), "none")
        later, = self.running(pods.simple("later", pods.aliyun(1), node="node-b"))
        self.assertEqual(truth.uuids(later), truth.uuids(shared))
        self.create(pods.simple("second-whole", pods.native(), node="node-b"))
        self.wait_event("second-whole", "asked a whole GPU")

    def test_two_gpus_for_one_container(self) -> None:
        made, = self.running(pods.simple("dual", pods.native("2Gi", gpus=2), node="node-a"))
        self.assert_shares(made)
        self.assertEqual(len(set(self.log("dual").uuids)), 2)
        made, = self.running(pods.simple("aliyun-dual", pods.aliyun(6, count=2), node="node-a"))
        self.assert_shares(made)
        self.assertEqual(sorted(truth.gpu_bytes(made).values()), [3 * GIB, 3 * GIB])

    def test_number_of_gpus_as_a_label(self) -> None:
        """Alibaba Cloud's spelling. kubelet counts the limit of that name, so a second pod with the
        limit waits. Pods with the label share the GPUs as long as these have enough memory."""
        both = [pods.simple(f"label-{i}", pods.aliyun(6), node="node-a") for i in range(2)]
        for pod in both:
            pod["metadata"]["labels"] = {"aliyun.com/gpu-count": "2"}
        limit = pods.simple("limit", pods.aliyun(6, count=2), node="node-a")
        for made in self.running(*both, limit):
            self.assert_shares(made)
            self.assertEqual(sorted(truth.gpu_bytes(made).values()), [3 * GIB, 3 * GIB])
        self.create(pods.simple("second", pods.aliyun(6, count=2), node="node-a"))
        self.wait_event("second", "Insufficient aliyun.com/gpu-count")
        self.delete("limit")
        self.assert_shares(self.wait_running("second"))

    def test_dialects_share_a_gpu(self) -> None:
        made = self.running(pods.simple("old", pods.aliyun(3), node="node-a"),
                            pods.simple("new", pods.native("1536Mi", cores=25), node="node-a"))
        self.assertEqual(truth.uuids(made[0]), truth.uuids(made[1]))
        for pod in made:
            self.assert_shares(pod)
        gpu = self.gpu_of(truth.uuids(made[0])[0])
        self.assertEqual(self.allocated()[("node-a", gpu.index)], 5, "4.5 GiB in whole units")

    def test_a_full_gpu_says_its_numbers(self) -> None:
        self.running(*(pods.simple(f"full-{i}", pods.aliyun(13), node="node-a") for i in range(2)))
        self.create(pods.simple("waits", pods.native("3Gi"), node="node-a"))
        self.wait_event("waits", "asked 3Gi", "largest free share on a GPU is 2Gi")
        self.delete("full-0")
        self.assert_shares(self.wait_running("waits"))
