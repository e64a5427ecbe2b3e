"""Tests of the harness on this machine: two nodes, pods, killed components, and a clean end.

Runs only with TESSERA_E2E=1 (about a minute; needs root, see `kube doctor`). No other cluster may
run on the machine, because the tests compare the machine before and after.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from typing import Any

from kube import cgroups, images, machine_state
from kube.cluster import Cluster
from kube.control import PACKAGE_PARENT
from kube.errors import CommandError, KubeError
from kube.node import NodeSpec
from kube.run_dir import BASE, Registry

ENABLED = os.environ.get("TESSERA_E2E") == "1"
KUBE = Path(__file__).resolve().parent / "kube"

SCHEDULER_CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: KUBECONFIG_PATH, qps: 1000, burst: 2000}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: default-scheduler}, {schedulerName: second}]
"""

HARNESS = """
import sys, time
from kube.cluster import Cluster
from kube.registry import ImageRegistry
cluster = Cluster(name=sys.argv[1], services=sys.argv[2] == "services").start()
ImageRegistry(cluster)
print(cluster.directory, flush=True)
time.sleep(1000)
"""


def pod(name: str, more: dict[str, Any] | None = None, **spec: object) -> str:
    """A busybox pod that prints its name and sleeps. more: fields of its container. spec: fields of
    its spec."""
    container = {"name": "main", "image": images.BUSYBOX, "imagePullPolicy": "IfNotPresent",
                 "command": ["sh", "-c", f"trap 'exit 0' TERM; echo hello from {name}; "
                             "while :; do sleep 1; done"]} | (more or {})
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                       "spec": {"terminationGracePeriodSeconds": 1, "containers": [container],
                                **spec}})


@unittest.skipUnless(ENABLED, "set TESSERA_E2E=1 (needs root, takes a minute)")
class Machine(unittest.TestCase):
    """A test that must leave the machine unchanged."""

    before: dict[str, str]

    @classmethod
    def setUpClass(cls) -> None:
        Registry().clean()
        if names := [record.name for record in Registry().live()]:
            raise KubeError(f"clusters {names} are up: run `kube down --all` before the test")
        cls.before = machine_state.snapshot()

    def assert_as_before(self, directory: Path) -> None:
        """Nothing of the run is left, and the machine is unchanged."""
        self.assertEqual(machine_state.processes_with(str(directory)), [])
        self.assertFalse(BASE.exists())
        self.assertEqual(machine_state.changes(self.before, machine_state.snapshot()), [])


class ClusterTest(Machine):
    """One cluster for all tests. Each test has its own pods."""

    cluster: Cluster
    driver: "tempfile.TemporaryDirectory[str]"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.driver = tempfile.TemporaryDirectory()
        cls.cluster = Cluster(
            [NodeSpec("node-a", binds=((cls.driver.name, "/run/nvidia/driver"),),
                      files={"/run/cdi/x.json": "{}", "/var/lib/extra/f": b"x"},
                      labels={"tessera.dev/test": "a"}),
             NodeSpec("node-b", nri=False)],
            images=[images.busybox_archive()], scheduler_config=SCHEDULER_CONFIG, audit=True)
        port = cls.cluster.free_port()
        began = time.monotonic()
        cls.cluster.start()
        print(f"up in {time.monotonic() - began:.1f} s", file=sys.stderr)
        assert port != cls.cluster.free_port()

    @classmethod
    def tearDownClass(cls) -> None:
        directory = cls.cluster.directory
        cls.cluster.save_logs()
        began = time.monotonic()
        cls.cluster.stop()
        print(f"down in {time.monotonic() - began:.1f} s", file=sys.stderr)
        cls.driver.cleanup()
        cls().assert_as_before(directory)

    def run_pod(self, name: str, **spec: Any) -> None:
        """Creates a pod and waits until it is Ready."""
        self.cluster.kubectl("apply", "-f", "-", input=pod(name, **spec))
        self.cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=200s")

    def test_pod_on_each_node_with_logs_and_exec(self) -> None:
        for node in ("node-a", "node-b"):
            name = f"on-{node}"
            self.run_pod(name, nodeName=node)
            self.assertEqual(self.cluster.kubectl("logs", name), f"hello from {name}\n")
            self.assertEqual(self.cluster.kubectl("exec", name, "--", "id", "-u"), "0\n")
        addresses = self.cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.podIP}")
        self.assertIn("10.", addresses)

    def test_each_node_has_an_address_and_all_its_ports(self) -> None:
        addresses = self.cluster.kubectl(
            "get", "nodes", "-o",
            'jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}').split()
        self.assertEqual(len(set(addresses)), 2, addresses)
        port = self.cluster.free_port()
        with socket.create_server((addresses[0], port)), socket.create_server((addresses[1], port)):
            self.run_pod("in-hosts-network", nodeName="node-a", hostNetwork=True)
        address = self.cluster.kubectl("get", "pod", "in-hosts-network", "-o",
                                       "jsonpath={.status.podIP}")
        self.assertEqual(address, addresses[0])

    def test_scheduler_has_the_given_configuration(self) -> None:
        self.run_pod("second-profile", schedulerName="second",
                     nodeSelector={"tessera.dev/test": "a"})
        where = self.cluster.kubectl("get", "pod", "second-profile", "-o",
                                     "jsonpath={.spec.nodeName}")
        self.assertEqual(where, "node-a")

    def test_service_account_token_is_real(self) -> None:
        self.run_pod("with-token")
        place = "/var/run/secrets/kubernetes.io/serviceaccount"
        ca, token = (self.cluster.kubectl("exec", "with-token", "--", "cat", f"{place}/{file}")
                     for file in ("ca.crt", "token"))
        request = urllib.request.Request(
            f"https://{self.cluster.api_host}:{self.cluster.api_port}"
            "/apis/authentication.k8s.io/v1/selfsubjectreviews", method="POST",
            data=b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=ssl.create_default_context(cadata=ca)) as got:
            user = json.load(got)["status"]["userInfo"]["username"]
        self.assertEqual(user, "system:serviceaccount:default:default")

    def test_paths_in_a_node_are_private_and_standard(self) -> None:
        shown = self.cluster.nsenter("node-a", "sh", "-c", "hostname; cat /run/cdi/x.json "
                                     "/var/lib/extra/f; ls /var/lib/kubelet/device-plugins "
                                     "/var/lib/kubelet/pod-resources /run/nri /var/run/cdi")
        for part in ("node-a\n{}x", "kubelet.sock", "nri.sock", "x.json"):
            self.assertIn(part, shown)
        with self.assertRaises(CommandError):
            self.cluster.nsenter("node-b", "ls", "/run/nri/nri.sock")
        self.cluster.write_file("node-b", "/etc/cdi/y.json", "y")
        self.assertEqual(self.cluster.nsenter("node-b", "cat", "/etc/cdi/y.json"), "y")
        with self.assertRaises(KubeError):
            self.cluster.write_file("node-b", "/usr/y", "y")

    def test_driver_root_reaches_pods_with_later_mounts(self) -> None:
        Path(self.driver.name, "library").write_text("driver")
        self.run_pod("driver", nodeName="node-a", volumes=[
            {"name": "d", "hostPath": {"path": "/run/nvidia/driver"}}], more={
            "volumeMounts": [{"name": "d", "mountPath": "/driver",
                              "mountPropagation": "HostToContainer"}]})
        self.cluster.nsenter("node-a", "sh", "-c", "mkdir /run/nvidia/driver/sub && "
                             "mount -t tmpfs none /run/nvidia/driver/sub && "
                             "touch /run/nvidia/driver/sub/late")
        seen = self.cluster.kubectl("exec", "driver", "--", "ls", "/driver", "/driver/sub")
        self.assertIn("library", seen)
        self.assertIn("late", seen)
        self.cluster.kubectl("exec", "driver", "--", "sh", "-c", "echo back > /driver/written")
        self.assertEqual(Path(self.driver.name, "written").read_text(), "back\n")

    def test_parts_restart_under_running_pods(self) -> None:
        self.run_pod("before", nodeName="node-b")
        uid = self._container("before")
        for name, node in (("kubelet", "node-b"), ("containerd", "node-b"),
                           ("kube-scheduler", None), ("kube-apiserver", None)):
            with self.subTest(name=name):
                self.assertEqual(self.cluster.kill(name, node), -signal.SIGKILL)
                self.assertNotIn(name, self.cluster.running(node))
                self.cluster.start_component(name, node)
                self.cluster.wait_ready()
                self.run_pod(f"after-{name}", nodeSelector={"kubernetes.io/hostname": "node-b"})
        self.assertEqual(self._container("before"), uid)
        self.assertTrue(self.cluster.logs("kubelet", "node-b"))
        self.assertIn('"auditID"', (self.cluster.directory / "logs" / "audit.log").read_text())

    def test_program_of_the_caller(self) -> None:
        self.cluster.start_program("agent", ["/bin/sh", "-c", "ls /run/nri; exec sleep 1000"],
                                   node="node-a")
        self.cluster.wait_for("output", lambda: "nri.sock" in self.cluster.logs("agent", "node-a"))
        self.cluster.kill("agent", "node-a")

    def _container(self, name: str) -> str:
        return self.cluster.kubectl(
            "get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].containerID} "
            "{.status.containerStatuses[0].restartCount}")


class PowerTest(Machine):
    """Abrupt ends of a node or a run."""

    def test_two_at_once_power_cut_and_images_later(self) -> None:
        with Cluster([NodeSpec("node-a")]) as one, Cluster([NodeSpec("node-a")]) as two:
            self.assertNotEqual(one.api_port, two.api_port)
            directories = (one.directory, two.directory)
            two.import_image(images.busybox_archive())
            for cluster in (one, two):
                cluster.kubectl("apply", "-f", "-", input=pod("p"))
            two.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=200s")
            one.wait_for("a pod without its image", lambda: "Image" in one.kubectl(
                "get", "pod", "p", "-o",
                "jsonpath={.status.containerStatuses[0].state.waiting.reason}"))
            two.power_off("node-a")
            two.power_on("node-a")
            two.wait_for("restarted pod", lambda: two.kubectl(
                "get", "pod", "p", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"
            ) == "1")
        for directory in directories:
            self.assert_as_before(directory)

    def test_two_at_once_with_services(self) -> None:
        node = [NodeSpec("node-a")]
        with Cluster(node, services=True) as one, Cluster(node, services=True) as two:
            directories = (one.directory, two.directory)
            for cluster in (one, two):
                endpoint = cluster.kubectl("get", "endpointslice", "kubernetes", "-o",
                                           "jsonpath={.endpoints[*].addresses[*]}:{.ports[*].port}")
                self.assertEqual(endpoint, f"{cluster.api_host}:{cluster.api_port}")
                rules = cluster.in_network("iptables-save", "-t", "nat")
                self.assertIn(f"--to-destination {endpoint}", rules)
            self.assertNotEqual(one.api_host, two.api_host)
            now = machine_state.snapshot()
            self.assertEqual(now["iptables"], self.before["iptables"])
            self.assertEqual(len(set(now["links"].split()) - set(self.before["links"].split())), 2)
        for directory in directories:
            self.assert_as_before(directory)

    def test_kill_9_of_the_harness(self) -> None:
        self._kill_9("plain")

    def test_kill_9_of_the_harness_with_services(self) -> None:
        self._kill_9("services")

    def _kill_9(self, kind: str) -> None:
        harness = subprocess.Popen(
            [sys.executable, "-B", "-c", HARNESS, "doomed", kind], stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)})
        assert harness.stdout is not None
        with harness.stdout:
            directory = Path(harness.stdout.readline().strip())
        self.assertTrue(machine_state.processes_with(str(directory)))
        harness.kill()
        harness.wait()
        groups = cgroups.Cgroups.of_machine()
        deadline = time.monotonic() + 30.0  # the processes must end by themselves
        while ((groups.processes(cgroups.PREFIX + "doomed")
                or machine_state.processes_with(str(directory))) and time.monotonic() < deadline):
            time.sleep(0.02)
        self.assertEqual(groups.processes(cgroups.PREFIX + "doomed"), set())
        self.assertEqual(machine_state.processes_with(str(directory)), [])
        Registry().remove(Registry().claim())  # the next start removes the rest
        self.assert_as_before(directory)

    def test_a_start_that_fails_leaves_nothing(self) -> None:
        cluster = Cluster(extra_arguments={"kube-apiserver": ["--no-such-flag"]}, name="broken")
        with tempfile.TemporaryDirectory() as logs:
            os.environ["TESSERA_E2E_LOGS"], old = logs, os.environ.get("TESSERA_E2E_LOGS")
            try:
                with self.assertRaisesRegex(KubeError, "unknown flag: --no-such-flag"):
                    cluster.start()
            finally:
                os.environ["TESSERA_E2E_LOGS"] = old or ""
            self.assertTrue(Path(logs, "broken", "logs", "kube-apiserver.log").exists())
        self.assert_as_before(BASE / "broken")

    def test_command_line(self) -> None:
        def kube(*arguments: str) -> str:
            return subprocess.run([KUBE, *arguments], check=True, capture_output=True,
                                  text=True).stdout
        self.assertIn("up after", kube("up", "--name", "cli", "--node", "n1:no-nri"))
        try:
            self.assertIn("cli", kube("list"))
            self.assertIn("n1", kube("kubectl", "--name", "cli", "--", "get", "nodes"))
            self.assertEqual(kube("nsenter", "--name", "cli", "n1", "--", "hostname"), "n1\n")
        finally:
            kube("down", "--name", "cli")
        failed = subprocess.run([KUBE, "down", "--name", "cli"], capture_output=True, text=True)
        self.assertEqual((failed.returncode, failed.stderr.count("\n")), (1, 1))
        self.assert_as_before(BASE / "cli")


if __name__ == "__main__":
    unittest.main()
