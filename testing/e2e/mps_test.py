"""Pods that share a GPU by NVIDIA MPS, and pods whose memory the driver limits, with the chart as it
is shipped: the agent, tessera-mps, and the control daemons of the simulated driver."""

from __future__ import annotations

import json
from typing import Any

from e2e import driver_limits, truth
from e2e.case import GPUS, PODS
from e2e.chart_case import Json
from e2e.examples import NEEDS_MPS, example_of
from kube.api import ApiError
from stack.chart import NAMESPACE
from stack.gpu_node import DRIVER_ROOT, GpuNode, gpusimctl

NODE = "node-a"
FOLDER = "/run/tessera/mps"
ISOLATION = "tessera.dev/isolation"
MODE_SECONDS = 60  # for a GPU to change its mode, with kubelet's pause after a refused start
TOLERATED = 2  # fatal errors of a pod
WORK = "gpuspin 2000 & exec gpuhog 1GiB"


class MpsTest(driver_limits.DriverLimits):
    """The tests share a cluster with one node of two GPUs. Each ends when no GPU is in MPS mode."""

    NODE = NODE

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode(NODE, GPUS / "two-15gib.yaml")]

    @classmethod
    def install_chart(cls) -> None:
        cls.switch_limits("dmem")
        cls.stack.install("mps.enabled=true", f"mps.evictAfter={TOLERATED}", "agent.listen=true",
                          *driver_limits.VALUES)
        for component in ("agent", "mps"):
            cls.let_change_the_driver(component)
        # kubelet rejects pods that are bound before the agent is registered.
        cls.cluster.wait_for("an agent is ready", cls.has_ready_agent, MODE_SECONDS)
        cls.cluster.wait_for("the node offers MPS", cls.offers_mps, MODE_SECONDS)
        cls.cluster.wait_for("the driver limits memory", cls.limits_memory, MODE_SECONDS)

    @classmethod
    def let_change_the_driver(cls, component: str) -> None:
        """The simulated driver keeps its state in its folder, and the agent and MPS servers change it.
        A real one has device files for that, which the runtime gives to the container."""
        name = f"tessera-{component}"
        daemon_set = cls.api.json("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/{name}")
        container = daemon_set["spec"]["template"]["spec"]["containers"][0]
        mounts = [mount["name"] for mount in container["volumeMounts"]]
        path = f"/spec/template/spec/containers/0/volumeMounts/{mounts.index('driver')}/readOnly"
        cls.cluster.kubectl("-n", NAMESPACE, "patch", "daemonset", name, "--type=json",
                            f"--patch={json.dumps([{'op': 'remove', 'path': path}])}")
        cls.cluster.kubectl("-n", NAMESPACE, "delete", "pod", "--wait=true",
                            f"--selector=app.kubernetes.io/component={component}")

    @classmethod
    def has_ready_agent(cls) -> bool:
        pods = cls.api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector="
                                   "app.kubernetes.io/component=agent")["items"]
        return [condition["status"] for pod in pods for condition in pod["status"].get("conditions", [])
                if condition["type"] == "Ready"] == ["True"]

    @classmethod
    def offers_mps(cls) -> bool:
        node = cls.api.json("GET", f"/api/v1/nodes/{NODE}")
        published = json.loads(node["metadata"]["annotations"].get(truth.GPUS, '{"gpus": []}'))
        return bool(published["gpus"]) and all(gpu.get("mps") for gpu in published["gpus"])

    def tearDown(self) -> None:
        super().tearDown()
        self.cluster.wait_for("no GPU is in MPS mode", lambda: not self.folders("state.json"),
                              MODE_SECONDS)
        self.assertEqual(self.folders("wanted.json") + self.folders("pipes"), [])

    # ---- tools

    def node(self, *command: str) -> str:
        return self.cluster.nsenter(NODE, *command)

    def folders(self, name: str) -> list[str]:
        """The GPUs of which the folder of the daemons has this file."""
        return self.node("sh", "-c", f"ls -d {FOLDER}/GPU-*/{name} 2>/dev/null || true").split()

    def control(self, gpu: str, command: str) -> str:
        """What the control daemon of a GPU answers to an administrator of the node."""
        return self.node(
            "sh", "-c", f"echo {command} | CUDA_MPS_PIPE_DIRECTORY={FOLDER}/{gpu}/pipes "
                        f"{DRIVER_ROOT}/usr/bin/nvidia-cuda-mps-control")

    def mps_pod(self, name: str, cores: int = 25, memory: str = "3Gi", script: str = WORK,
                isolation: str = "mps", **more: Any) -> Json:
        limits = {"tessera.dev/gpu-memory": memory, "tessera.dev/gpu-cores": cores}
        pod = self.pod(name, limits, script=script, **more)
        pod["metadata"]["annotations"] = {ISOLATION: isolation} if isolation else {}
        return pod

    def says(self, name: str, command: str) -> str:
        """The output of a shell command in the container, including errors."""
        return self.cluster.kubectl("exec", name, "--", "sh", "-c", f"{{ {command}; }} 2>&1; true")

    # ---- tests

    def test_four_pods_of_a_quarter_side_by_side(self) -> None:
        """They are clients of one server, each with its part of the multiprocessors, and see their
        shares of the memory as the whole GPU. A pod without MPS gets the other GPU."""
        # How many programs compute in each, beside the one that verifies.
        others = {"serve-0": 0, "quarter-1": 1, "quarter-2": 7, "quarter-3": 2}
        names = list(others)
        for name, count in others.items():
            self.create(self.mps_pod(name, script="gpuspin 2000 & " * count + "exec sleep 1000"))
        pods = self.running(*names)
        gpu, = {uuid for pod in pods for uuid in truth.uuids(pod)}
        for pod in pods:
            self.assertEqual(truth.annotation(pod, truth.ENFORCED_BY), "memory=guard,compute=mps")
        server, = self.control(gpu, "get_server_list").split()
        self.cluster.wait_for("all programs are clients", lambda: len(
            self.control(gpu, f"get_client_list {server}").split()) == 10, MODE_SECONDS)
        self.assertEqual(self.control(gpu, "get_default_active_thread_percentage").strip(), "25.0")
        for name in names:
            self.assertIn(f"total {3 * truth.GIB} bytes", self.says(name, "gpuhog --once 0"))
            self.assertIn("OUT_OF_MEMORY", self.says(name, "gpuhog --once 3074MiB"))
        status = self.tessera_says("mps", "status")
        self.assertRegex(status, rf"{NODE} +{gpu} +ready +\d+ +25 +4Gi +10\n")
        for name, count in others.items():
            self.assertRegex(status, rf"default/{name} main +25 +3Gi +{count}\n")
            self.assertEqual(self.verified(name), {check: True for check in (
                "multiprocessors", "memory shown", "memory limit", "memory filled")})
        sweep = json.loads(self.tessera_says("mps", "verify", "serve-0", "--sweep", "-o", "json"))
        most = [step["multiprocessors"] for step in sweep["steps"]]
        self.assertEqual(most, sorted(most))
        self.assertEqual((most[0], most[-1]), (2, 10))  # of 40
        self.not_what_was_granted("serve-0")
        self.assertIn("Cmd:get_server_list", self.tessera_says("mps", "logs", gpu[:12]))
        self.refused(2, "not the UUID of a GPU", "mps", "logs", "../etc")
        for command in NEEDS_MPS:
            self.tessera_says(*example_of(command).split()[1:])
        self.assertEqual(self.finding("mps")["status"], "ok")
        self.create(self.mps_pod("other", cores=10, memory="1Gi", isolation=""))
        other, = self.running("other")
        self.assertNotEqual(truth.uuids(other), [gpu])
        self.assertEqual(truth.annotation(other, truth.ENFORCED_BY), driver_limits.BY_DRIVER)

    def verified(self, name: str) -> dict[str, bool]:
        """What `tessera mps verify` says of a pod's container: check -> whether it is as granted."""
        said = json.loads(self.tessera("mps", "verify", name, "--fill", "-o", "json"))
        return {check["check"]: check["ok"] for check in said["checks"]}

    def not_what_was_granted(self, name: str) -> None:
        """A container whose programs get more than it was granted fails the check. The agent's record
        of the grant is changed, because the guard lets no program have more."""
        uid = self.api.json("GET", f"{PODS}/{name}")["metadata"]["uid"]
        record = f"{FOLDER}/grants/{uid}/main.json"
        before = self.node("cat", record)
        self.node("sed", "-i", 's/"threadsPercent":25/"threadsPercent":10/', record)
        done = self.run_tessera("mps", "verify", name)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"multiprocessors +10 % of 40 +10 +FAILED\n")
        self.node("sh", "-c", f"echo '{before.strip()}' > {record}")
        self.assertEqual(self.run_tessera("mps", "verify", name).returncode, 0)

    def test_a_gpu_changes_its_mode_when_it_is_empty(self) -> None:
        """A pod of the other kind waits for it, and starts within seconds of the last one's end."""
        self.create(self.mps_pod("first"))
        self.create(self.mps_pod("second", memory="14Gi"))
        self.running("first", "second")
        self.create(self.mps_pod("waits", cores=10, memory="2Gi", isolation=""))
        self.wait_event("waits", "pods with MPS use 2 of this node's 2 GPUs")
        self.cluster.kubectl("delete", "pod", "first", "--now", "--wait=true")
        self.cluster.wait_for("the pod runs", lambda: truth.is_running(
            self.api.json("GET", f"{PODS}/waits")), MODE_SECONDS)
        self.assertIn("allocated", self.says("waits", "gpuhog --once 512MiB"))

    def test_what_a_tenant_may_not_set(self) -> None:
        """Variables of MPS, and a volume in place of the daemon's pipe. A volume at /dev/shm is the
        pod's own affair."""
        def with_main(name: str, volume: str = "", **fields: object) -> Json:
            pod = self.mps_pod(name)
            if volume:
                pod["spec"]["volumes"] = [{"name": "big", "emptyDir": {"medium": "Memory"}}]
                fields["volumeMounts"] = [{"name": "big", "mountPath": volume}]
            pod["spec"]["containers"][0].update(fields)
            return pod

        self.create(with_main("variable", env=[
            {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "100"}]))
        self.create(with_main("volume", "/usr/local/tessera/mps"))
        self.wait_event("variable", "container main sets CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                        "remove it")
        self.wait_event("volume", "volume big is mounted at /usr/local/tessera/mps",
                        "mount it somewhere else")
        self.create(with_main("shm", "/dev/shm"))
        self.running("shm")

    def test_one_user_for_each_gpu(self) -> None:
        """MPS would let programs of a second user wait, so the second pod says so instead."""
        user: dict[str, Any] = {"securityContext": {"runAsUser": 1000}}
        self.create(self.mps_pod("root"))
        self.running("root")
        self.create(self.mps_pod("user", **user))
        self.wait_event("user", "runs as user 1000, and another container on its GPU as user 0",
                        "runAsUser")
        self.create(self.mps_pod("large", memory="14Gi", **user))
        self.running("large")

    def test_programs_that_avoid_mps(self) -> None:
        """A program that does not find the daemon gets no GPU, also while no other program computes,
        and one that voids MPS's memory limit has the guard's."""
        self.create(self.mps_pod("idle", script="exec sleep 1000"))
        idle, = self.running("idle")
        without = "gpuhog --once 512MiB"
        for change in ("-u CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_PIPE_DIRECTORY=/nonexistent"):
            said = self.says("idle", f"env {change} {without}")
            self.assertIn("CUDA_ERROR", said)
            self.assertNotIn("allocated", said)
        self.assertIn("allocated", self.says("idle", without))
        voided = "env CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=9=1G gpuhog --once"
        self.assertIn("allocated", self.says("idle", f"{voided} 2GiB"))
        self.assertIn("OUT_OF_MEMORY", self.says("idle", f"{voided} 4GiB"))
        more = "env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100"
        self.assertIn("allocated", self.says("idle", f"{more} {without}"))
        gpu, = truth.uuids(idle)
        self.assertEqual(self.control(gpu, "get_default_active_thread_percentage").strip(), "25.0")
        # A larger pod raises what the daemon gives. The guard then refuses what is not the container's.
        self.create(self.mps_pod("half", cores=50, script="exec sleep 1000"))
        half, = self.running("half")
        self.assertEqual(truth.uuids(half), [gpu])
        for change in ("-u CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100"):
            said = self.says("idle", f"env {change} {without}")
            self.assertIn("CUDA_ERROR_NOT_PERMITTED", said)
            self.assertIn("this program gets no GPU", said)
        self.wait_event("idle", "got no GPU", "than the container's 25 percent")
        self.assertIn("allocated", self.says("idle", without))
        self.assertIn("allocated", self.says("half", without))

    def spinning(self, *names: str) -> str:
        """Pods whose only program ends with the first error of the GPU; returns their GPU."""
        for name in names:
            self.create(self.mps_pod(name, script="exec gpuspin 2000"))
        gpu, = {uuid for pod in self.running(*names) for uuid in truth.uuids(pod)}
        self.wait_clients(gpu, len(names))
        return gpu

    def wait_clients(self, gpu: str, count: int) -> None:
        """Waits until the daemon has that number of clients, and tessera-mps knows them: it could
        not name the pod of one that it does not know yet."""
        self.cluster.wait_for(f"{count} clients", lambda: self.clients(gpu) == count
                              == sum(map(len, self.known_clients(gpu).values())), MODE_SECONDS)

    def known_clients(self, gpu: str) -> dict[int, list[Json]]:
        """The clients of each server that tessera-mps knows."""
        return {server["pid"]: server["clients"] for server in self.state(gpu)["servers"]}

    def clients(self, gpu: str) -> int:
        """How many programs are connected to the daemon of a GPU."""
        return sum(len(self.control(gpu, f"get_client_list {server}").split())
                   for server in self.control(gpu, "get_server_list").split())

    def restarts(self, name: str) -> int:
        status, = self.api.json("GET", f"{PODS}/{name}")["status"]["containerStatuses"]
        return int(status["restartCount"])

    def state(self, gpu: str) -> Json:
        """What tessera-mps says of a GPU."""
        state: Json = json.loads(self.node("cat", f"{FOLDER}/{gpu}/state.json"))
        return state

    def reasons(self, name: str) -> str:
        """The events of a pod about its GPU."""
        found = self.cluster.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}",
                                     f"--field-selector=involvedObject.name={name}")
        return " ".join(reason for reason in found.split()
                        if reason in ("GpuFatalError", "GpuLost", "MpsNotServing"))

    def test_a_fatal_error_of_one_program(self) -> None:
        """All programs with MPS on the GPU get it, and their pods learn whose it was. They start
        again within seconds. A pod of the other GPU notices nothing."""
        gpu = self.spinning("one", "two")
        self.create(self.mps_pod("aside", script="exec gpuspin 2000", isolation=""))
        aside, = self.running("aside")
        self.fault_of_a_kernel("one")
        self.cluster.wait_for("both pods have an event", lambda: sorted(
            (self.reasons("one"), self.reasons("two"))) == ["GpuFatalError", "GpuLost"],
            MODE_SECONDS)
        culprit = "one" if self.reasons("one") == "GpuFatalError" else "two"
        victim = "two" if culprit == "one" else "one"
        self.wait_event(culprit, f"had a fatal error on {gpu}", "for the 1. time")
        self.wait_event(victim, f"a program of pod {culprit} had a fatal error")
        self.wait_clients(gpu, 2)
        self.assertEqual((self.restarts("aside"), self.reasons("aside")), (0, ""))
        self.assertNotEqual(truth.uuids(aside), [gpu])

    def fault_of_a_kernel(self, name: str) -> None:
        """The next kernel on the GPU of the pod ends in a fatal error."""
        index = truth.shares(self.api.json("GET", f"{PODS}/{name}"))["main"][0]["index"]
        root = self.stack.nodes[0].driver_root(self.cluster.directory)
        gpusimctl("--root", str(root), "fault", str(index), "kernel", "illegal-address")

    def test_a_pod_with_too_many_fatal_errors(self) -> None:
        """It is evicted, and the other pod on the GPU stays."""
        gpu = self.spinning("faulty")
        self.create(self.mps_pod("quiet", script="exec sleep 1000"))
        quiet, = self.running("quiet")
        self.assertEqual(truth.uuids(quiet), [gpu])
        servers: set[int] = set()

        def client_of_new_server() -> int | None:
            # A program that starts again before the old server has ended gets the old error.
            known = self.known_clients(gpu)
            (server, clients), *more = known.items() or [(0, [])]
            return server if len(clients) == 1 and not more and server not in servers else None

        for number in range(1, TOLERATED + 1):
            servers.add(self.cluster.wait_for("a client of a new server", client_of_new_server,
                                              MODE_SECONDS))
            self.fault_of_a_kernel("faulty")
            self.wait_event("faulty", f"for the {number}. time")
        self.wait_event("faulty", "as often as the administrator tolerates", gpu)
        self.cluster.wait_for("the pod is gone", lambda: not self.api.ok(f"{PODS}/faulty"),
                              MODE_SECONDS)
        self.assertTrue(truth.is_running(self.api.json("GET", f"{PODS}/quiet")))

    def test_killed_programs_of_mps(self) -> None:
        """The supervisor and the agent can be killed at any time, and no program notices. With a
        server or its daemon, the programs lose the GPU; their pods learn it, and they start again.
        Nothing is left (tearDown)."""
        gpu = self.spinning("one", "two")
        supervisor = self.node("sh", "-c", "pgrep -x tessera-mps | tail -n 1").strip()
        self.node("kill", "-9", supervisor)
        self.node("kill", "-9", self.node("pgrep", "-x", "tessera-agent").strip())
        before = self.state(gpu)
        self.cluster.wait_for("another supervisor looks", lambda: (
            self.state(gpu)["checkedUnixNs"] > before["checkedUnixNs"]), MODE_SECONDS)
        self.cluster.wait_for("the agent is back", self.offers_mps, MODE_SECONDS)
        self.assertEqual(self.state(gpu)["pid"], before["pid"])
        self.assertEqual([self.restarts(name) for name in ("one", "two")], [0, 0])
        for number, victim in enumerate((self.control(gpu, "get_server_list").strip(),
                                         str(before["pid"])), start=1):
            with self.subTest("server" if number == 1 else "daemon"):
                self.node("kill", "-9", victim)
                for name in ("one", "two"):
                    self.wait_event(name, "its server ended" if number == 1 else
                                    "its control daemon ended")
                self.wait_clients(gpu, 2)

    def test_the_pod_of_tessera_mps_is_deleted(self) -> None:
        """It ends the daemons, and the GPU admits all programs until the next one serves it again. The
        pods learn it."""
        gpu = self.spinning("one", "two")
        before = self.state(gpu)["pid"]
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", "--wait=true",
                             "--selector=app.kubernetes.io/component=mps")
        for name in ("one", "two"):
            self.wait_event(name, f"The programs of this pod lost {gpu}")
        self.wait_clients(gpu, 2)
        self.assertNotEqual(self.state(gpu)["pid"], before)

    def test_a_pod_that_mps_cannot_serve(self) -> None:
        """It is refused when it is created, with what to write; so is a Job that would create it."""
        pod = self.mps_pod("unknown", isolation="mig")
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "unknown"}, "spec": {
            "template": {"metadata": {"annotations": pod["metadata"]["annotations"]},
                         "spec": {**pod["spec"], "restartPolicy": "Never"}}}}
        for path, made in ((PODS, pod), ("/apis/batch/v1/namespaces/default/jobs", job)):
            with self.assertRaises(ApiError) as caught:
                self.api.json("POST", path, made)
            self.assertIn("annotation tessera.dev/isolation", str(caught.exception))
            self.assertIn("write guard, mps or driver", str(caught.exception))
