"""What a person sees of a cluster: `tessera doctor`, healthy and broken, and the metrics."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path

from e2e import pods, report, truth
from e2e.case import SECONDS, StackCase
from monitoring import promtool
from stack import builds, deploy

SECRETS = f"/api/v1/namespaces/{deploy.NAMESPACE}/secrets"
AGENTS = f"/apis/apps/v1/namespaces/{deploy.NAMESPACE}/daemonsets/tessera-agent"
KEY = "tessera-allocation-key"
POLICY = "tessera-immutable-allocations"


class SeeingTest(StackCase):
    """Runs on case.two_nodes."""

    # ---- doctor

    def test_a_healthy_cluster(self) -> None:
        self.running(pods.simple("one", pods.native("1Gi")))
        text = self.stack.tessera("doctor")  # raises an error if a check fails
        lines = text.splitlines()
        self.assertEqual(len(lines), 16, text)
        for line in lines:
            self.assertRegex(line, r"^ok       \w+ +\S.*$", text)
            self.assertNotIn("->", line)
        self.assertIn("1 GPU pods came through Tessera", text)
        self.assertIn("1 allocations, all signed with the key", text)
        self.assertIn("2 GPU nodes, an agent on each", text)
        self.assertIn("4 GPUs, all healthy", text)

    def test_an_agent_that_is_gone(self) -> None:
        self.cluster.kubectl("label", "node", "node-b", "tessera.dev/agent-")
        self.addCleanup(self.wait_agents)
        self.addCleanup(self.cluster.kubectl, "label", "node", "node-b", "tessera.dev/agent=true")
        self.assert_found("agents", "failed", "node-b", "kubectl label node")

    def test_an_agent_that_does_not_come_up(self) -> None:
        selector = "/spec/template/spec/containers/0/args/-"
        self.cluster.kubectl(
            "-n", deploy.NAMESPACE, "patch", "daemonset", "tessera-agent", "--type=json", "-p",
            json.dumps([{"op": "add", "path": selector, "value": "--identity=unknown"}]))
        self.addCleanup(self.wait_agents)
        self.addCleanup(self.cluster.kubectl, "-n", deploy.NAMESPACE, "rollout", "undo",
                        "daemonset/tessera-agent")
        self.assert_found("agents", "failed", "no agent is ready", "logs")

    def test_key_and_policy_are_gone(self) -> None:
        self.addCleanup(self.stack.apply)
        self.api.json("DELETE", f"{SECRETS}/{KEY}")
        self.cluster.kubectl("delete", "validatingadmissionpolicy", POLICY)
        self.assert_found("key", "failed", f"no Secret {KEY}", "openssl rand -hex 32")
        self.assert_found("admission", "failed", f"{POLICY} is missing", "admissionPolicies")

    def test_a_pod_that_came_past_us(self) -> None:
        """A pod with spec.nodeName, as if a scheduler without our configuration had bound it."""
        self.create(pods.simple("past", pods.aliyun(1), nodeName="node-a"))
        self.assert_found("routing", "failed",
                          "default/past (schedulerName default-scheduler) is on node-a without",
                          "the ConfigMap tessera-scheduler")
        self.running(pods.simple("through", pods.native("1Gi"), node="node-b"))
        self.assert_found("routing", "failed", "default/past", "spec.nodeName")

    def test_a_sick_gpu_is_a_warning(self) -> None:
        self.gpusim("node-b", "xid", "1", "79")
        self.addCleanup(self.cluster.wait_for, "it is good again", lambda: all(
            gpu.healthy for gpu in self.gpus("node-b")), SECONDS)
        self.addCleanup(self.gpusim, "node-b", "recover", "1")
        self.cluster.wait_for("it is out", lambda: not self.gpus("node-b")[1].healthy, SECONDS)
        self.running(pods.simple("one", pods.native("1Gi")))
        self.stack.tessera("doctor")  # a warning is no failure
        self.assert_found("gpus", "warning", "node-b GPU 1", "reset")

    def test_who_may_read_nothing(self) -> None:
        self.cluster.kubectl("create", "serviceaccount", "reader")
        self.addCleanup(self.cluster.kubectl, "delete", "serviceaccount", "reader")
        path = self.cluster.directory / "reader-kubeconfig"
        path.write_text(Path(self.cluster.kubeconfig).read_text())
        token = self.cluster.kubectl("create", "token", "reader").strip()
        for words in (["set-credentials", "reader", f"--token={token}"],
                      ["set-context", "--current", "--user=reader"]):
            self.cluster.kubectl("config", *words, f"--kubeconfig={path}")
        found = self.doctor("--kubeconfig", str(path))
        self.assertEqual({f["status"] for name, f in found.items() if name != "api_server"},
                         {"skipped"}, found)
        self.assertEqual(found["api_server"]["status"], "ok")
        self.assertIn("get secrets in tessera-system", found["key"]["found"])

    # ---- metrics

    def test_metrics_of_controller_and_agent(self) -> None:
        made, = self.running(pods.simple("one", pods.native("2Gi"), size="1GiB"))
        self.log("one")
        uuid = truth.uuids(made)[0]
        self.create(pods.simple("too-large", pods.native("30Gi")))
        self.wait_event("too-large", "Insufficient GPU Memory")
        text = report.http_get(self.stack.port, "/metrics")
        self.assertEqual(promtool.run("check", "metrics", text=text), "")
        self.assertEqual(report.sample(text, "tessera_gpu_allocated_bytes", uuid), 2 * truth.GIB)
        self.assertEqual(report.sample(text, "tessera_gpu_reserved_bytes", uuid), 0)
        self.assertEqual(report.sample(text, "tessera_pending_pods", 'reason="too_large"'), 1)
        self.assertEqual(report.sample(text, "tessera_nodes", 'state="open"'), 2)
        self.assertLess(report.sample(text, "tessera_watch_age_seconds", "pods"), 90)
        self.assertGreater(report.sample(text, "process_resident_memory_bytes", ""), 1 << 20)
        self.delete("too-large")
        self.wait_gone("too-large")
        self.cluster.wait_for("it waits no more", lambda: report.sample(
            report.http_get(self.stack.port, "/metrics"), "tessera_pending_pods",
            'reason="too_large"') == 0, SECONDS)

    def test_agents_say_what_is_used(self) -> None:
        for node in ("node-a", "node-b"):
            name = f"on-{node}"
            made, = self.running(pods.simple(name, pods.native("2Gi"), size="1GiB", node=node))
            self.log(name)
            self.assert_used(node, truth.uuids(made)[0])
            self.assertEqual(promtool.run("check", "metrics", text=self.agent_metrics(node)), "")

    # ---- steps

    def doctor(self, *arguments: str) -> dict[str, dict[str, str]]:
        """Check -> the result of tessera doctor."""
        done = subprocess.run(
            [str(builds.program("tessera")), "doctor", "-o", "json",
             *(arguments or ("--kubeconfig", str(self.cluster.kubeconfig)))],
            text=True, capture_output=True, timeout=300)
        said = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if said["status"] == "failed" else 0)
        return {finding["check"]: finding for finding in said["checks"]}

    def assert_found(self, check: str, status: str, found: str, fix: str) -> None:
        """Waits until doctor has this result for the check."""
        seen: dict[str, str] = {}

        def said() -> bool:
            seen.update(self.doctor()[check])
            return seen["status"] == status and found in seen["found"] and fix in seen["fix"]
        try:
            self.cluster.wait_for(f"doctor finds {check} {status}", said, SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}; it says {seen}") from error

    def wait_agents(self) -> None:
        """Waits until an agent is ready on each node."""
        deploy.wait_rolled_out(self.cluster, "daemonset/tessera-agent")
        self.cluster.wait_for("doctor finds all agents ok", lambda: (
            self.doctor()["agents"]["status"] == "ok"), SECONDS)
        deploy.wait(self.cluster, 2)

    def assert_used(self, node: str, uuid: str) -> None:
        """The node's agent shows that 1 GiB of the GPU is used, and has only its own node."""
        def used() -> bool:
            found = self.samples_of_agent(node, "tessera_agent_gpu_used_bytes")
            self.assertEqual({of for of, _, _ in found}, {node})
            return (node, uuid, truth.GIB) in found
        self.cluster.wait_for("the container's memory is shown as used", used, SECONDS)

    def agent_metrics(self, node: str) -> str:
        """The metrics of the agent of a node."""
        container, = self.api.json("GET", AGENTS)["spec"]["template"]["spec"]["containers"]
        port = next(p["containerPort"] for p in container["ports"] if p["name"] == "metrics")
        host = next(a["address"] for a in
                    self.api.json("GET", f"/api/v1/nodes/{node}")["status"]["addresses"]
                    if a["type"] == "InternalIP")

        def answer() -> str:
            try:
                with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=5) as got:
                    text: str = got.read().decode()
                    return text
            except OSError:
                return ""
        text: str = self.cluster.wait_for("an agent serves its metrics", answer, SECONDS)
        return text

    def samples_of_agent(self, node: str, name: str) -> list[tuple[str, str, float]]:
        """Node, UUID and value of each sample of this metric of a node's agent."""
        found = []
        for metric, labels, value in report.SAMPLE.findall(self.agent_metrics(node)):
            if metric == name:
                values = dict(re.findall(r'(\w+)="([^"]*)"', labels))
                found.append((values["node"], values["uuid"], float(value)))
        return found
