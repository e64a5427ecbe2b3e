"""What an administrator decides for the containers of a node: lists of libraries that may be merged
with the guard's, privileged containers, and the guard itself on a node that has pods."""

from __future__ import annotations

import time
from pathlib import Path

from e2e import pods, truth
from e2e.case import StackCase
from e2e.truth import Json
from stack import deploy
from stack.deploy import AgentRules

SHARE = pods.aliyun(2)
TAKES_TOO_MUCH = "gpuhog --once 3GiB 2>&1; true"
FOLDER = "/var/lib/tracing"  # of the node
LIBRARY = f"{FOLDER}/libtracing.so"
GUARD = "/usr/local/tessera/libtessera-guard.so"
PRIVILEGED = {"securityContext": {"privileged": True}}
WATCHED = 20  # seconds: evaders are looked for every four, and ended at the fourth look


class StartRulesTest(StackCase):
    """Runs on case.two_nodes; the agents have the guard."""

    guard = True
    rules = AgentRules((f"--preload-merge-from={FOLDER}", "--privileged-containers=refuse"),
                       (FOLDER,))

    def traced(self, name: str, folder: str) -> Json:
        """A pod with a share that brings a list of its own from a folder of the node."""
        main = pods.container("main", SHARE, volumeMounts=[
            {"name": "list", "mountPath": "/etc/ld.so.preload", "readOnly": True},
            {"name": "tracing", "mountPath": FOLDER, "readOnly": True}])
        return pods.pod(name, main, node="node-a", volumes=[
            {"name": "list", "hostPath": {"path": f"{folder}/ld.so.preload"}},
            {"name": "tracing", "hostPath": {"path": FOLDER}}])

    def write(self, path: str, source: Path | str) -> None:
        """A file of node-a: a copy of one of the machine, or this text."""
        if isinstance(source, Path):
            self.cluster.nsenter("node-a", "cp", "-L", str(source), path)
        else:
            self.cluster.nsenter("node-a", "sh", "-c", f"mkdir -p $(dirname {path}); "
                                                       f"echo {source} > {path}")

    def test_a_list_of_the_node_is_merged_with_the_guards(self) -> None:
        """Both libraries are in the program, the guard's first, and it is held to its share."""
        self.write(f"{FOLDER}/ld.so.preload", LIBRARY)
        # Any library that needs nothing else.
        self.write(LIBRARY, Path("/usr/lib/x86_64-linux-gnu/libm.so.6"))
        self.running(self.traced("traced", FOLDER))
        says = self.cluster.kubectl("exec", "traced", "--", "sh", "-c",
                                    "cat /etc/ld.so.preload /proc/1/maps")
        self.assertEqual(says.split()[:2], [GUARD, LIBRARY])
        self.assertRegex(says, rf"r-xp .* {LIBRARY}\n")
        self.assertIn("OUT_OF_MEMORY", self.cluster.kubectl(
            "exec", "traced", "--", "sh", "-c", TAKES_TOO_MUCH))

    def test_a_list_from_another_folder_is_refused(self) -> None:
        self.write(f"{FOLDER}-2/ld.so.preload", LIBRARY)
        self.create(self.traced("other-list", f"{FOLDER}-2"))
        self.assert_refused("other-list", "in place of /etc/ld.so.preload", "--preload-merge-from")

    def test_a_privileged_container_with_a_share_is_refused(self) -> None:
        self.create(pods.pod("privileged", pods.container("main", SHARE, **PRIVILEGED),
                             node="node-a"))
        self.assert_refused("privileged", "container main is privileged",
                            "--privileged-containers=refuse", "remove securityContext.privileged")
        self.running(pods.pod("without-gpu", pods.container(
            "main", script="echo memory: free; exec sleep 1000", **PRIVILEGED), node="node-a"))


class GuardTurnedOnTest(StackCase):
    """Runs on case.two_nodes; the agents begin without the guard, and end what goes past it after."""

    def test_pods_that_run_without_it_go_on(self) -> None:
        """They are neither restarted nor taken for programs that go past the guard, and doctor says
        that they are not held; those that start later are held."""
        before = self.running(pods.simple("before", SHARE, node="node-a", size="2GiB"),
                              pods.simple("whole", pods.native(gpus=1), node="node-b"))
        self.stack.guard = True
        self.stack.apply()
        deploy.wait_rolled_out(self.cluster, "daemonset/tessera-agent")
        after, = self.running(pods.simple("after", SHARE, node="node-a"))
        self.assertEqual(truth.uuids(after), truth.uuids(before[0]), "both on one GPU")
        self.assertIn("OUT_OF_MEMORY", self.exec("after", TAKES_TOO_MUCH))
        time.sleep(WATCHED)
        for pod in before:
            name = pod["metadata"]["name"]
            status, = self.pod(name)["status"]["containerStatuses"]
            self.assertEqual((status["containerID"], status["restartCount"]),
                             (pod["status"]["containerStatuses"][0]["containerID"], 0))
            self.assertEqual([e for e in self.events(name) if "past the guard" in e], [])
        self.assertIn("allocated", self.exec("before", TAKES_TOO_MUCH), "it has no guard")
        self.cluster.wait_for("doctor names it", lambda: (
            "default/before" in self.doctor_check("shares")["found"]))

    def exec(self, name: str, command: str) -> str:
        """What a shell in the container says."""
        return self.cluster.kubectl("exec", name, "--", "sh", "-c", command)
