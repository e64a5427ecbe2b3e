"""Settings of an administrator for the containers of a node: preload lists that may be merged with
the guard's, privileged containers, and turning on the guard on a node that already has pods."""

from __future__ import annotations

import time
from pathlib import Path

from e2e import pods, truth
from e2e.case import StackCase
from e2e.truth import Json
from stack import deploy

SHARE = pods.aliyun(2)
TAKES_TOO_MUCH = "gpuhog --once 3GiB 2>&1; true"
FOLDER = "/var/lib/tracing"  # on the node
LIBRARY = f"{FOLDER}/libtracing.so"
GUARD = "/usr/local/tessera/libtessera-guard.so"
PRIVILEGED: Json = {"securityContext": {"privileged": True}}
WATCHED = 20  # seconds: the agent checks for bypasses every four, and kills at the fourth check


class StartRulesTest(StackCase):
    """Runs on case.two_nodes; the agents have the guard."""

    guard = True
    values = (f"guard.preloadMergeFrom={{{FOLDER}}}",
              "agent.extraArgs={--privileged-containers=refuse}")

    def traced(self, name: str, folder: str) -> Json:
        """A pod with a share that mounts its own preload list from a folder of the node."""
        main = pods.container("main", SHARE, volumeMounts=[
            {"name": "list", "mountPath": "/etc/ld.so.preload", "readOnly": True},
            {"name": "tracing", "mountPath": FOLDER, "readOnly": True}])
        return pods.pod(name, main, node="node-a", volumes=[
            {"name": "list", "hostPath": {"path": f"{folder}/ld.so.preload"}},
            {"name": "tracing", "hostPath": {"path": FOLDER}}])

    def write(self, path: str, source: Path | str) -> None:
        """Writes a file on node-a: a copy of a file of this machine, or this text."""
        if isinstance(source, Path):
            self.cluster.nsenter("node-a", "cp", "-L", str(source), path)
        else:
            self.cluster.nsenter("node-a", "sh", "-c", f"mkdir -p $(dirname {path}); "
                                                       f"echo {source} > {path}")

    def test_a_list_of_the_node_is_merged_with_the_guards(self) -> None:
        """The program loads both libraries, the guard first, and its memory limit is enforced."""
        self.write(f"{FOLDER}/ld.so.preload", LIBRARY)
        # Any library without dependencies works.
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
    """Runs on case.two_nodes. The agents start without the guard. After it is turned on, they kill
    programs that bypass it."""

    def test_pods_that_run_without_it_go_on(self) -> None:
        """Pods that already run are not restarted, and are not reported as bypassing the guard.
        doctor says that their shares are not enforced. The shares of later pods are enforced."""
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
            self.assertEqual([e for e in self.events(name) if "bypasses the guard" in e], [])
        self.assertIn("allocated", self.exec("before", TAKES_TOO_MUCH), "it has no guard")
        self.cluster.wait_for("doctor names it", lambda: (
            "default/before" in self.doctor_check("shares")["found"]))

    def exec(self, name: str, command: str) -> str:
        """The output of a shell command in the container."""
        return self.cluster.kubectl("exec", name, "--", "sh", "-c", command)
