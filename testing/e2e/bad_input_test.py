"""Invalid input: each gets a clear error, and nothing else is affected."""

from __future__ import annotations

import json
import socket

from e2e import pods, report, truth
from e2e.case import GPUS, KUBELET, PODS, SECONDS, StackCase
from e2e.truth import GIB
from kube.api import ApiError
from stack import deploy
from stack.gpu_node import GpuNode

EXTENDER = "/gpushare-scheduler"
MEM, GPU, SHARE, MEMORY, CORES, COUNT = (
    "aliyun.com/gpu-mem", "tessera.dev/gpu", "tessera.dev/gpu-share", "tessera.dev/gpu-memory",
    "tessera.dev/gpu-cores", "aliyun.com/gpu-count")

Limits = dict[str, object]

# name -> limits, and words of the event of the pod that stays Pending
WAITING: dict[str, tuple[Limits, tuple[str, ...]]] = {
    "two-dialects": ({MEM: 1, GPU: 1}, ("container main", "stands beside",
                                        "write the pod in one dialect, either")),
    "memory-alone": ({MEMORY: "3Gi"}, (f"container main: {MEMORY}: needs {SHARE}: 1 beside it",)),
    "cores-alone": ({SHARE: 1, CORES: 25}, (f"container main: {SHARE}: needs {MEMORY} beside it",)),
    "old-form": ({GPU: 1, MEMORY: "3Gi"}, (f"container main: {GPU}: counts whole GPUs",
                                           f"write {SHARE}: 1 instead")),
    "zero-memory": ({SHARE: 1, MEMORY: 0}, (f"container main: {MEMORY}: is zero; write the bytes",)),
    "cores-above": ({SHARE: 1, MEMORY: "1Gi", CORES: 101},
                    (f"container main: {CORES}: 101 is not a percentage", "write 1 to 100")),
    "too-many-gpus": ({SHARE: 65, MEMORY: "1Gi"}, (f"container main: {SHARE}: 65 GPUs; write 1 to",)),
    "not-divisible": ({MEM: 3, COUNT: 2}, (f"container main: {MEM}: 3 does not divide by 2 GPUs",
                                           "write a multiple of 2")),
    "count-alone": ({COUNT: 1}, (f"container main: {COUNT}: needs {MEM} beside it",)),
    "memory-huge": ({SHARE: 1, MEMORY: "2Pi"},
                    (f"container main: {MEMORY}: 2251799813685248 is more than any GPU has",)),
    "memory-above": ({SHARE: 1, MEMORY: "100Gi"}, ("asked 100Gi, the largest of 2 GPUs has 15Gi",)),
}

# Limits that the API server itself refuses. If it accepts one in the future, move it to WAITING.
REFUSED: dict[str, Limits] = {
    "malformed": {MEM: "three"}, "malformed-native": {SHARE: 1, MEMORY: "3 Gi"},
    "negative": {MEM: -1}, "negative-native": {SHARE: 1, MEMORY: "-3Gi"},
    "fraction": {MEM: "1500m"}, "fraction-native": {GPU: "500m"},
}


class BadInputTest(StackCase):
    """Runs in MiB mode, on a node that supports it and on a node that does not."""

    memory_unit = "MiB"

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode("node-a", GPUS / "two-15gib.yaml", kubelet=KUBELET),
                GpuNode("node-big", GPUS / "eight-80gib.yaml", publishes=False)]

    # ---- the unit

    def test_mib_on_a_node_that_it_suits(self) -> None:
        status = self.api.json("GET", "/api/v1/nodes/node-a")["status"]
        self.assertEqual(status["capacity"][MEM], "30720")
        made, = self.running(pods.simple("fine", pods.aliyun(1500)))
        self.assert_shares(made)
        self.assertEqual(list(truth.gpu_bytes(made).values()), [1500 << 20])
        env = self.log("fine").env
        self.assertEqual((env["ALIYUN_COM_GPU_MEM_CONTAINER"], env["ALIYUN_COM_GPU_MEM_DEV"]),
                         ("1500", "15360"))

    def test_mib_on_a_node_that_it_does_not_suit(self) -> None:
        """655,360 devices are too many for a message to kubelet. The agent refuses to start and
        says the numbers, instead of publishing 0."""
        path = f"/api/v1/namespaces/{deploy.NAMESPACE}/pods"
        agent = next(p["metadata"]["name"] for p in self.api.json("GET", path)["items"]
                     if p["spec"]["nodeName"] == "node-big"
                     and p["metadata"]["labels"]["app.kubernetes.io/component"] == "agent")
        log = self.cluster.wait_for(
            "the agent has ended", lambda: self.cluster.kubectl(
                "-n", deploy.NAMESPACE, "logs", agent), SECONDS)
        failed = next(json.loads(line) for line in log.splitlines() if '"failed"' in line)
        for part in ("655360 devices", "kubelet takes", "set memory_unit to GiB", MEMORY):
            self.assertIn(part, failed["reason"])
        node = self.api.json("GET", "/api/v1/nodes/node-big")
        self.assertNotIn(MEM, node["status"]["capacity"])

    # ---- requests

    def test_requests_that_make_no_sense_wait_and_say_why(self) -> None:
        self.create(*(pods.simple(name, limits) for name, (limits, _) in WAITING.items()))
        for name, (_, words) in WAITING.items():
            self.wait_event(name, *words)
            pod = self.pod(name)
            self.assertEqual(pod["status"]["phase"], "Pending")
            self.assertFalse(pod["spec"].get("nodeName"))
        self.assertFalse(any(self.allocated().values()))

    def test_requests_that_the_api_server_refuses(self) -> None:
        for name, limits in REFUSED.items():
            with self.assertRaises(ApiError, msg=name) as caught:
                self.create(pods.simple(name, limits))
            self.assertIn(caught.exception.code, (400, 422), name)

    def test_zero_is_no_request(self) -> None:
        """A pod that requests 0 runs without a GPU: quotas and templates write "none" like this."""
        made = self.running(*(
            pods.pod(name, pods.container("main", limits, script="exec sleep 1000"))
            for name, limits in (("zero", {MEM: 0}), ("zero-native", {GPU: 0}))))
        for pod in made:
            self.assertEqual(truth.shares(pod), {})

    # ---- stored state

    def test_an_allocation_of_a_newer_release_blocks_its_node(self) -> None:
        """The controller cannot read what the pod has, so it places nothing on the node. A copy of
        another pod's allocation would not block the node (copies.py), but this one names no pod."""
        newer = json.dumps({"version": 99, "node": "node-a"})
        self.create(pods.simple("newer", pods.aliyun(1), nodeName="node-a",
                                annotations={truth.ALLOCATION: newer,
                                             truth.ALLOCATION_MAC: self.stack.sign(newer)}))
        self.wait_event("newer", "version 99 is newer than", "upgrade Tessera")
        self.create(pods.simple("waits", pods.native("1Gi")))
        self.wait_event("waits", "cannot read what pod default/newer",
                        "version 99 is newer than", "upgrade Tessera")
        self.delete("newer")
        self.assert_shares(self.wait_running("waits"))

    def test_the_agent_repairs_its_annotation(self) -> None:
        good = self.gpus("node-a")
        self.create(pods.simple("blocked", pods.native("1Gi"), schedulingGates=[{"name": "x/y"}]))

        def blocked() -> bool:
            if self._annotation_is_whole():  # in the first call, or if the agent has repaired it
                self.cluster.kubectl("annotate", "node", "node-a", "--overwrite",
                                     f"{truth.GPUS}={{broken")
            elif self._controller_sees_it_broken():  # else the pod may be placed on the old report
                self._open_gate("blocked")
            return any(truth.GPUS in event for event in self.events("blocked"))
        self.cluster.wait_for("an event names the annotation", blocked, SECONDS)
        self.cluster.wait_for("the annotation is whole again", self._annotation_is_whole, SECONDS)
        self.assertEqual(self.gpus("node-a"), good)
        self.assert_shares(self.wait_running("blocked"))

    def _open_gate(self, name: str) -> None:
        """Removes the pod's scheduling gates."""
        self.api.json("PATCH", f"{PODS}/{name}", {"spec": {"schedulingGates": []}},
                      "application/merge-patch+json")

    def _controller_sees_it_broken(self) -> bool:
        text = report.http_get(self.stack.port, "/metrics")
        return report.sample(text, "tessera_nodes", 'state="unreadable"') > 0

    def _annotation_is_whole(self) -> bool:
        try:
            return len(self.gpus("node-a")) == 2
        except json.JSONDecodeError:
            return False

    # ---- requests over HTTP

    def test_bodies_that_are_no_requests(self) -> None:
        deep = b'{"Pod":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        bodies = {"empty": b"", "no JSON": b"hello", "truncated": b'{"Pod":{"metadata":{"na',
                  "deep": deep, "other types": b'{"Pod":7,"NodeNames":{"a":[]}}', "null": b"null",
                  "zeros": bytes(1000), "not UTF-8": b'{"Pod":"\xff\xfe"}'}
        for name, body in bodies.items():
            for verb in ("filter", "prioritize", "bind"):
                status, text = report.http_call(self.stack.port, "POST", f"{EXTENDER}/{verb}", body)
                self.assertIn(status, (200, 400, 500), f"{verb} {name}: {text}")
                self.assertIn("rror", text, f"{verb} {name}")
                answer = json.loads(text)
                if isinstance(answer, dict):
                    self.assertTrue(answer.get("Error") or answer.get("error"), f"{verb} {name}")
        self.assert_alive()

    def test_huge_bodies(self) -> None:
        """100 MB of JSON is read, and is not a valid request. More than 100 MiB is refused."""
        garbage = b'{"Pod":[' + b"1," * (50_000_000 - 8) + b"1]}"
        status, text = report.http_call(self.stack.port, "POST", f"{EXTENDER}/filter", garbage)
        self.assertEqual(status, 200)
        self.assertTrue(json.loads(text)["Error"])
        status, _ = self._post_raw(101 << 20)
        self.assertEqual(status, 413)
        self.assert_alive()

    def _post_raw(self, size: int) -> tuple[int, str]:
        """Like http_call, but reads the response even if it comes before the whole body is sent."""
        head = (f"POST {EXTENDER}/filter HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n"
                "Connection: close\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.stack.port), timeout=20) as connection:
            connection.sendall(head.encode())
            try:
                connection.sendall(bytes(size))
            except OSError:  # refused while we were sending
                pass
            answer = connection.makefile("rb").readline().decode()
        return int(answer.split()[1]), answer

    def assert_alive(self) -> None:
        """The controller still serves, and has not restarted."""
        self.assertEqual(report.http_get(self.stack.port, "/healthz"), "ok\n")
        pod, = self.api.json("GET", deploy.pods_of("controller"))["items"]
        self.assertEqual(pod["status"]["containerStatuses"][0]["restartCount"], 0)
        made, = self.running(pods.simple("after", pods.native("1Gi")))
        self.assertEqual(truth.gpu_bytes(made), {truth.uuids(made)[0]: GIB})
