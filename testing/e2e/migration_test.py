"""`tessera migrate gpushare` on a cluster that a stand-in of gpushare serves (stack/gpushare.py), with
pods that run: migration while it is killed, and rollback of a node. docs/install/migrate-gpushare.md
has these steps."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import unittest
from typing import Any

from e2e.case import GPUS, PODS
from e2e.chart_case import ChartClusterCase, pod_of
from kube.api import Api
from stack import builds, gpushare
from stack.chart import NAMESPACE, SCHEDULER
from stack.gpu_node import GpuNode

TOO_LARGE = "Insufficient GPU Memory in one device"
CONFLICT = 4  # exit status
INDEX = "ALIYUN_COM_GPU_MEM_IDX"
PLUGINS = ("gpushare-device-plugin", "agent")
# Pod -> node, GPU and GiB that gpushare gives it.
PLACED = {"large": ("node-a", 0, 10), "small": ("node-a", 1, 3), "other": ("node-b", 0, 5)}

Json = dict[str, Any]


class Watch:
    """Looks at the cluster all the time, for a node with both labels or both plugins. A pod whose
    containers have ended may be listed a moment longer."""

    def __init__(self, api: Api) -> None:
        self.problems: set[str] = set()
        self.looks = 0
        self._api = api
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for node in self._api.json("GET", "/api/v1/nodes")["items"]:
                if {"gpushare", "tessera.dev/agent"} <= node["metadata"]["labels"].keys():
                    self.problems.add(f"{node['metadata']['name']} has both labels")
            nodes: dict[str, set[str]] = {}
            for pod in self._api.json("GET", "/api/v1/pods")["items"]:
                labels = pod["metadata"].get("labels", {})
                component = labels.get("component", labels.get("app.kubernetes.io/component"))
                has_ended = pod["status"]["phase"] in ("Succeeded", "Failed")
                if component in PLUGINS and pod["spec"].get("nodeName") and not has_ended:
                    nodes.setdefault(pod["spec"]["nodeName"], set()).add(component)
            self.problems |= {f"{node} has both plugins" for node, found in nodes.items()
                              if len(found) > 1}
            self.looks += 1


class MigrationTest(ChartClusterCase):
    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode(name, GPUS / "two-15gib.yaml") for name in ("node-a", "node-b")]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.cluster.kubectl("label", "node", "--all", "tessera.dev/agent-", "gpushare=true")
        gpushare.install(cls.stack)

    # ---- tools

    def pod(self, name: str, units: int, node: str, **more: Any) -> Json:
        return pod_of(self.stack, name, {"aliyun.com/gpu-mem": str(units)}, script="sleep 10000",
                      nodeSelector={"kubernetes.io/hostname": node}, **more)

    def get(self, name: str) -> Json:
        found: Json = self.api.json("GET", f"{PODS}/{name}")
        return found

    def running(self, *names: str) -> list[Json]:
        """Waits until these pods run, and returns them."""
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod", *names, "--timeout=60s")
        return [self.get(name) for name in names]

    def node(self, name: str) -> Json:
        found: Json = self.api.json("GET", f"/api/v1/nodes/{name}")
        return found

    def command(self, *arguments: str) -> list[str]:
        return [str(builds.program("tessera")), "migrate", "gpushare", *arguments]

    def migrate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), env=self.environment(), text=True,
                              capture_output=True, timeout=300)

    def interrupted(self, line: str) -> None:
        """Starts the migration, and kills it when it has printed this line."""
        with subprocess.Popen(self.command("--apply"), env=self.environment(), text=True,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            printed = []
            for text in process.stdout:
                printed.append(text.strip())
                if printed[-1] == line:
                    break
            process.send_signal(signal.SIGKILL)
        self.assertIn(line, printed)

    def doctor(self) -> dict[str, str]:
        """Check -> its status, by `tessera doctor`."""
        done = subprocess.run([str(builds.program("tessera")), "doctor", "-o", "json"],
                              env=self.environment(), text=True, capture_output=True, timeout=300)
        return {each["check"]: each["status"] for each in json.loads(done.stdout)["checks"]}

    def assert_served_by(self, node: str, is_migrated: bool) -> None:
        found = self.node(node)
        labels, annotations = found["metadata"]["labels"], found["metadata"]["annotations"]
        self.assertEqual(labels.get("tessera.dev/agent"), "true" if is_migrated else None)
        self.assertEqual(labels.get("gpushare"), None if is_migrated else "true")
        self.assertEqual(annotations.get("tessera.dev/migrated-from"),
                         "gpushare" if is_migrated else None)
        self.assertEqual("tessera.dev/gpus" in annotations, is_migrated)
        self.assertNotIn("tessera.dev/cordoned-by", annotations)
        self.assertNotIn("unschedulable", found["spec"])

    def assert_never_restarted(self, before: list[Json]) -> None:
        for pod in before:
            after = self.get(pod["metadata"]["name"])
            for key in ("containerID", "restartCount", "ready"):
                self.assertEqual(after["status"]["containerStatuses"][0][key],
                                 pod["status"]["containerStatuses"][0][key])

    # ---- the migration

    def test_migration_and_rollback(self) -> None:
        watch = Watch(self.api)
        self.addCleanup(watch.stop)
        before = self.place_by_gpushare()
        self.install_beside_the_extender()
        before += self.place_by_tessera_on_a_node_of_gpushare()
        self.plan()
        self.put_a_node_back_whose_agent_fails()
        self.apply_with_interruptions()
        self.assert_never_restarted(before)
        before += self.count_the_memory()
        self.rollback_of_one_node()
        self.assert_never_restarted(before)
        self.assertEqual(watch.problems, set())
        self.assertGreater(watch.looks, 10)

    def place_by_gpushare(self) -> list[Json]:
        for name, (node, gpu, units) in PLACED.items():
            gpushare.place(self.cluster, self.pod(name, units, node), node, gpu, units)
        pods = self.running(*PLACED)
        for pod in pods:
            name = pod["metadata"]["name"]
            self.assertEqual(pod["metadata"]["annotations"]["ALIYUN_COM_GPU_MEM_ASSIGNED"], "true")
            self.assertIn(f"{INDEX}={PLACED[name][1]}\n",
                          self.cluster.kubectl("exec", name, "--", "env"))
        return pods

    def install_beside_the_extender(self) -> None:
        """The chart's controllers become ready while the extender has port 12345 of all addresses,
        and no agent starts. The migration does not begin before the extender is stopped."""
        self.stack.install()
        agents = self.cluster.kubectl("-n", NAMESPACE, "get", "pods", "-o", "name", "-l",
                                      "app.kubernetes.io/component=agent")
        self.assertEqual(agents, "")
        planned = self.migrate("--plan")
        self.assertEqual(planned.returncode, CONFLICT, planned.stderr)
        self.assertIn("blocked: gpushare's extender runs on node-a", planned.stdout)
        applied = self.migrate("--apply")
        self.assertEqual((applied.returncode, applied.stdout), (CONFLICT, ""))
        self.assertIn("scale deployment gpushare-schd-extender --replicas=0", applied.stderr)
        self.assert_served_by("node-a", False)
        gpushare.stop_extender(self.cluster)

    def place_by_tessera_on_a_node_of_gpushare(self) -> list[Json]:
        """Tessera's scheduler counts gpushare's pods, and gpushare's plugin starts its pods."""
        self.assertEqual(self.api.json("POST", PODS, self.pod("between", 11, "node-b"))
                         ["spec"]["schedulerName"], SCHEDULER)
        pod, = self.running("between")
        self.assertEqual(pod["metadata"]["annotations"][INDEX], "1")
        self.assertEqual(pod["metadata"]["annotations"]["ALIYUN_COM_GPU_MEM_ASSIGNED"], "true")
        self.assertIn(f"{INDEX}=1\n", self.cluster.kubectl("exec", "between", "--", "env"))
        return [pod]

    def plan(self) -> None:
        planned = self.migrate()
        self.assertEqual(planned.returncode, 0, planned.stdout + planned.stderr)
        for line in ("node-a: served by gpushare, 2 pods with 13 GiB of aliyun.com/gpu-mem",
                     "  pod default/large, GPU 0: 10 GiB", "  pod default/small, GPU 1: 3 GiB",
                     "  2. remove the label gpushare=true",
                     "  4. set the label tessera.dev/agent=true"):
            self.assertIn(line, planned.stdout.splitlines())
        self.assert_served_by("node-a", False)

    def put_a_node_back_whose_agent_fails(self) -> None:
        agents = "daemonset/tessera-agent"
        self.cluster.kubectl("-n", NAMESPACE, "set", "image", agents, "agent=localhost:1/missing:1")
        applied = self.migrate("--apply", "--node", "node-b", "--timeout", "20")
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "undo", agents)
        self.assertEqual(applied.returncode, CONFLICT, applied.stdout + applied.stderr)
        self.assertIn("node node-b: put back to gpushare, because it took more than 20 s until "
                      "Tessera's agent is ready", applied.stderr)
        self.assert_served_by("node-b", False)

    def apply_with_interruptions(self) -> None:
        self.interrupted("node-a: cordon, and annotate tessera.dev/migrated-from=gpushare")
        self.interrupted("node-a: remove the label gpushare=true")
        self.interrupted("node-a: set the label tessera.dev/agent=true")
        self.interrupted("node-b: remove the label gpushare=true")
        applied = self.migrate("--apply")
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        for node in ("node-a", "node-b"):
            self.assert_served_by(node, True)
        self.assertEqual(self.migrate("--apply").stdout, "node-a: migrated\nnode-b: migrated\n")
        self.assertEqual(self.doctor()["others"], "ok")

    def count_the_memory(self) -> list[Json]:
        """gpushare's pods have 10 GiB of GPU 0 and 3 GiB of GPU 1."""
        self.api.json("POST", PODS, self.pod("too-large", 13, "node-a"))
        self.wait_event("too-large", TOO_LARGE)
        self.api.json("POST", PODS, self.pod("fits", 11, "node-a"))
        pod, = self.running("fits")
        self.assertEqual(pod["metadata"]["annotations"][INDEX], "1")
        gpus = json.loads(self.node("node-a")["metadata"]["annotations"]["tessera.dev/gpus"])["gpus"]
        environment = self.cluster.kubectl("exec", "fits", "--", "env")
        self.assertIn(f"NVIDIA_VISIBLE_DEVICES={gpus[1]['uuid']}\n", environment)
        return [pod]

    def rollback_of_one_node(self) -> None:
        """A pod that gpushare would not count refuses it. Then the node is gpushare's again, with all
        pods counted, and a pod of Tessera's scheduler starts there."""
        native = pod_of(self.stack, "native", {"tessera.dev/gpu-memory": "1Gi"}, "sleep 10000",
                        nodeSelector={"kubernetes.io/hostname": "node-a"})
        self.api.json("POST", PODS, native)
        self.running("native")
        refused = self.migrate("--rollback", "--node", "node-a")
        self.assertEqual((refused.returncode, refused.stdout), (CONFLICT, ""))
        self.assertIn("pod default/native was placed by Tessera", refused.stderr)
        self.cluster.kubectl("delete", "pod", "native", "--now", "--wait=true")
        done = self.migrate("--rollback", "--node", "node-a")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_served_by("node-a", False)
        self.assert_served_by("node-b", True)
        # GPU 0 has 5 GiB left, and GPU 1 has 1 GiB.
        self.api.json("POST", PODS, self.pod("six", 6, "node-a"))
        # At first kube-scheduler may have seen the taint of the migration.
        self.wait_event("six", TOO_LARGE)
        self.api.json("POST", PODS, self.pod("back", 4, "node-a"))
        pod, = self.running("back")
        self.assertEqual(pod["metadata"]["annotations"][INDEX], "0")
        self.assertIn(f"{INDEX}=0\n", self.cluster.kubectl("exec", "back", "--", "env"))


if __name__ == "__main__":
    unittest.main()
