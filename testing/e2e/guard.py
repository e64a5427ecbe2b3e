"""Containers whose memory and compute limits the guard enforces, with real kubelet and runtime."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import threading
import time
from collections.abc import Iterator

from e2e import pods, truth
from e2e.case import StackCase
from e2e.killer import kill_process
from e2e.truth import GIB, Json
from e2e.watch import driver_use
from stack.deploy import NAMESPACE



class Guarded(StackCase):
    """Runs on case.two_nodes; the agents have the guard."""

    guard = True

    def in_pod(self, name: str, command: str) -> str:
        """The output of a shell command in the container, including errors."""
        return self.cluster.kubectl("exec", name, "--", "sh", "-c", f"{{ {command}; }} 2>&1; true")

    def test_a_share_is_what_a_container_sees_and_gets(self) -> None:
        self.running(pods.simple("held", pods.aliyun(4), node="node-a", size="3GiB"))
        seen = self.in_pod("held", "gpuhog --once 512MiB")
        self.assertIn(f"total {4 * GIB} bytes", seen)
        self.assertIn(f"free {GIB // 2} of {4 * GIB} bytes", seen, "the first program uses 3 GiB")
        self.assertIn("OUT_OF_MEMORY", self.in_pod("held", "gpuhog --once 1025MiB"))
        self.assertIn("allocated", self.in_pod("held", "gpuhog --once 1024MiB"))
        message = self.wait_event("held", "Container main was refused memory", "is 4Gi.")
        self.assertIn(truth.uuids(self.pod("held"))[0], message)

    def test_nvml_tells_a_container_of_its_share_alone(self) -> None:
        seen, neighbour = self.running(
            pods.simple("seen", pods.aliyun(4), node="node-a", size="3GiB"),
            pods.simple("neighbour", pods.aliyun(6), node="node-a", size="5GiB"))
        self.assertEqual(truth.uuids(seen), truth.uuids(neighbour), "both on one GPU")
        said = self.in_pod("seen", "gpusmi")
        self.assertIn(f"used {3 * GIB} of {4 * GIB} bytes\n", said)
        self.assertEqual([line for line in said.splitlines() if "process" in line],
                         [f"GPU 0: process 1 uses {3 * GIB} bytes"])
        self.in_pod("seen", "gpuhog 1GiB > /dev/null & sleep 1; kill -9 $!")
        self.assertIn(f"used {3 * GIB} of", self.in_pod("seen", "gpusmi"),
                      "a killed process uses nothing")

    def test_top_shows_what_containers_and_processes_use(self) -> None:
        self.running(*(pods.simple(f"on-{node}", pods.aliyun(4), node=node, size="3GiB")
                       for node in ("node-a", "node-b")))
        done = self.stack.run_tessera("top", "-o", "json")
        self.assertEqual(done.stderr, "", "each node's agent answers")
        # The accounts of other tests' pods remain until kubelet has removed the pods.
        shares = [share for share in json.loads(done.stdout)["shares"]
                  if share["name"].startswith("on-")]
        self.assertEqual(sorted((share["node"], share["name"]) for share in shares),
                         [("node-a", "on-node-a"), ("node-b", "on-node-b")])
        for share in shares:
            self.assertEqual(share["container"], "main")
            self.assertEqual((share["usedBytes"], share["limitBytes"]), (3 * GIB, 4 * GIB))
            self.assertEqual([process["usedBytes"] for process in share["processes"]], [3 * GIB])
        self.assertRegex(self.stack.run_tessera("top", "node-b").stdout,
                         r"node-b +\d +default/on-node-b +main +3Gi +4Gi +75 ")

    def test_an_agent_whose_port_is_taken(self) -> None:
        """The agent runs without its port, and its log and doctor say so. It listens as soon as the
        port is free."""
        def said() -> Json:
            checks = json.loads(self.stack.tessera("doctor", "-o", "json"))["checks"]
            found: Json = next(check for check in checks if check["check"] == "agents")
            return found

        agent = next(pod for pod in self.agents()
                     if pod["spec"]["nodeName"] == "node-b")
        port = agent["spec"]["containers"][0]["ports"][0]["containerPort"]
        # An agent may not be ready yet, because another test restarted it.
        self.cluster.wait_for("both answer", lambda: "2 answered" in said()["found"])
        self.assertTrue(kill_process(self.cluster, "node-b", "tessera-agent"))
        with taken(agent["status"]["podIP"], port):
            self.cluster.wait_for("doctor warns of node-b", lambda: (
                (found := said())["status"] == "warning" and "node-b: " in found["found"]))
            self.assertIn("on node-b is unknown", self.stack.run_tessera("top").stderr)
        self.cluster.wait_for("it answers", lambda: "2 answered" in said()["found"])
        log = self.cluster.kubectl("-n", NAMESPACE, "logs", agent["metadata"]["name"])
        self.assertEqual([log.count(f'"{event}"') for event in ("metrics_off", "metrics_on")],
                         [1, 1], log)

    def test_what_a_tenant_does_to_lose_it(self) -> None:
        self.running(pods.simple("bypassing", pods.aliyun(4), node="node-a", size="0"))
        for command in ("env -i /usr/bin/gpuhog --once 5GiB", "LD_PRELOAD= gpuhog --once 5GiB",
                        "sh -c 'exec gpuhog --once 5GiB'", "(gpuhog --once 5GiB) & wait"):
            self.assertIn("OUT_OF_MEMORY", self.in_pod("bypassing", command), command)
        for path in ("/etc/ld.so.preload", "/usr/local/tessera/limits",
                     "/usr/local/tessera/libtessera-guard.so"):
            self.assertIn("ead-only", self.in_pod("bypassing", f"echo x > {path}"), path)
            self.assertIn("busy", self.in_pod("bypassing", f"rm {path}").lower(), path)

    def test_who_goes_past_the_guard_is_seen_and_ended(self) -> None:
        """The program bypasses the guard with a loader that reads another preload list. Nothing in
        a container can prevent this."""
        self.running(pods.simple("sly", pods.aliyun(4), node="node-a", size="0"),
                     pods.simple("honest", pods.aliyun(4), node="node-a", size="4GiB"))
        said = self.in_pod("sly", "sed 's#/etc/ld.so.preload#/etc/ld.so.perload#' "
                           "/lib64/ld-linux-x86-64.so.2 > /tmp/ld; chmod +x /tmp/ld; "
                           "/tmp/ld /usr/bin/gpuhog 5GiB > /tmp/out 2>&1 & sleep 1; cat /tmp/out")
        self.assertIn("allocated", said)
        message = self.wait_event("sly", "a program bypasses the guard, and is killed")
        self.assertIn("uses 5Gi", message)
        gpu, = truth.uuids(self.pod("honest"))
        self.cluster.wait_for("only the honest pod uses the GPU", lambda: (
            driver_use(self.stack)[gpu][0] == 4 * GIB))
        self.assertEqual([e for e in self.events("honest") if "bypasses the guard" in e], [])

    def test_a_neighbour_keeps_every_byte(self) -> None:
        greedy, kept = self.running(
            pods.simple("greedy", pods.aliyun(6), node="node-a", size="6GiB"),
            pods.simple("kept", pods.aliyun(6), node="node-a", size="0"))
        self.assertEqual(truth.uuids(greedy), truth.uuids(kept), "both on one GPU")
        self.assertIn("OUT_OF_MEMORY", self.in_pod("greedy", "gpuhog --once 2MiB"))
        self.assertIn("allocated", self.in_pod("kept", "gpuhog --once 6GiB"))

    def percents_of_gpu(self, uuid: str, seconds: float = 3.0) -> list[float]:
        """The percentage of GPU time of each process on a GPU of node-a, lowest first, measured for
        some seconds."""
        index = next(gpu.index for gpu in self.gpus() if gpu.uuid == uuid)

        def worked() -> dict[str, int]:
            shown = self.gpusim("node-a", "show")
            return {pid: int(ns) for pid, ns in re.findall(
                rf"^process (\d+): GPU {index}, .* worked (\d+) ns$", shown, re.M)}

        before, start = worked(), time.monotonic()
        time.sleep(seconds)
        after, spent = worked(), time.monotonic() - start
        return sorted(100e-9 * (after[pid] - before[pid]) / spent for pid in after if pid in before)

    def assert_time_shares(self, uuid: str, *expected: float) -> None:
        """Waits up to a minute for these percentages of GPU time, the smallest first.

        The smallest has a tolerance of 10 points, because other work runs on the machine. A program
        that gets no core in time leaves the GPU idle, and a GPU with time slices loses time at
        switches. So the largest must have half of its share only. Without the guard both would have
        the same: the test of the guard's shares is guard_shares_test.
        """
        seen: list[list[float]] = []

        def is_so() -> bool:
            seen.append(self.percents_of_gpu(uuid))
            if len(seen[-1]) != len(expected):
                return False
            return abs(seen[-1][0] - expected[0]) < 10 and seen[-1][-1] >= expected[-1] / 2

        try:
            self.cluster.wait_for(f"shares of {expected} percent", is_so, 60)
        except Exception as error:
            raise AssertionError(f"{error}; the shares were {seen}") from error

    def test_a_gpus_time_is_shared_as_was_asked_for(self) -> None:
        slow, fast = self.running(
            pods.pod("slow", pods.container("main", pods.native("4Gi", cores=30),
                                            script="exec gpuspin 1000"), node="node-a"),
            pods.pod("fast", pods.container("main", pods.native("4Gi", cores=70),
                                            script="exec gpuspin 300"), node="node-a"))
        gpu, = truth.uuids(slow)
        self.assertEqual([gpu], truth.uuids(fast), "both on one GPU")
        self.assert_time_shares(gpu, 30, 70)
        self.assertTrue(kill_process(self.cluster, "node-a", "tessera-agent"))
        self.assert_time_shares(gpu, 30, 70)
        self.delete("fast", grace=0)
        self.wait_gone("fast")
        self.cluster.wait_for("the other has all of the GPU's time",
                              lambda: (self.percents_of_gpu(gpu, 1) or [0])[0] > 90, 60)

    def test_who_is_greedy_gets_what_is_left_by_his_weight(self) -> None:
        """A container without cores gets 10 parts in 50 of the 60 percent that no container is
        guaranteed."""
        greedy, kept = self.running(
            pods.pod("greedy", pods.container("main", pods.native("4Gi"),
                                              script="exec gpuspin 2000"), node="node-a"),
            pods.pod("kept", pods.container("main", pods.native("4Gi", cores=40),
                                            script="exec gpuspin 500"), node="node-a"))
        gpu, = truth.uuids(greedy)
        self.assertEqual([gpu], truth.uuids(kept), "both on one GPU")
        self.assert_time_shares(gpu, 12, 88)

    def test_what_the_dead_held_comes_back(self) -> None:
        self.running(pods.simple("mortal", pods.aliyun(4), node="node-a", size="0"))
        self.in_pod("mortal", "gpuhog 4GiB > /dev/null & sleep 1; kill -9 $!")
        self.assertIn("allocated", self.in_pod("mortal", "gpuhog --once 4GiB"))

    def test_an_agent_that_dies_is_not_noticed(self) -> None:
        self.running(pods.simple("steady", pods.aliyun(4), node="node-a", size="3GiB"))
        self.assertTrue(kill_process(self.cluster, "node-a", "tessera-agent"))
        self.assertIn("allocated", self.in_pod("steady", "gpuhog --once 1GiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("steady", "gpuhog --once 1025MiB"))
        self.cluster.wait_for("the agent is back", lambda: self.cluster.nsenter(
            "node-a", "pgrep", "-x", "tessera-agent", check=False))
        self.in_pod("steady", "gpuhog 1GiB > /dev/null & sleep 1; kill -9 $!")
        self.assertIn("allocated", self.in_pod("steady", "gpuhog --once 1GiB"))

    def test_whole_gpus_and_pods_without_a_share_have_no_guard(self) -> None:
        self.running(pods.simple("whole", {"tessera.dev/gpu": "1"}, node="node-a", size="15GiB"),
                     pods.pod("plain", pods.container("main", script="exec sleep 1000")))
        for name in ("whole", "plain"):
            self.assertIn("No such file", self.in_pod(name, "ls /etc/ld.so.preload"))

    def test_nothing_stays_of_a_pod_that_is_gone(self) -> None:
        made, = self.running(pods.simple("gone", pods.aliyun(4), node="node-a"))
        region = f"/var/lib/tessera/guard/pods/{made['metadata']['uid']}"
        self.cluster.nsenter("node-a", "ls", f"{region}/main/accounts")
        self.delete("gone", grace=0)
        self.wait_gone("gone")
        self.running(pods.simple("next", pods.aliyun(4), node="node-a"))  # kubelet forgets then
        self.cluster.wait_for(
            "the region is gone",
            lambda: "gone" in self.cluster.nsenter(
                "node-a", "sh", "-c", f"test -e {region} || echo gone"), 30)


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers every request with an error, and logs nothing."""

    def log_message(self, format: str, *words: object) -> None:
        pass


@contextlib.contextmanager
def taken(host: str, port: int) -> Iterator[None]:
    """Takes the port as soon as it is free. Every request to it gets an error."""
    end = time.monotonic() + 20
    server = None
    while server is None:
        try:
            server = http.server.HTTPServer((host, port), Stranger)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.002)
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
