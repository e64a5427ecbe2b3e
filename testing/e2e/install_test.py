"""The Helm chart as it is shipped: install, use, failover, upgrade, rollback, uninstall and install
again, on a real cluster with Services and a registry."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import ClassVar

import yaml

from demo.transcript import stable
from e2e import agent_identity, console_block
from e2e.case import GPUS, PODS
from e2e.chart_case import MEMORY, OTHER_TAINT, STARTUP_TAINT, ChartCase, Json, pod_of
from kube import binaries
from kube.api import ApiError
from kube.errors import CommandError
from stack import builds, render
from stack.chart import NAMESPACE, PREVIOUS, SCHEDULER, ChartStack
from stack.gpu_node import GpuNode

README = builds.ROOT / "README.md"
# `./dev check failover` sets larger numbers.
ARRIVING = int(os.environ.get("TESSERA_PODS", "16"))
KILLS = int(os.environ.get("TESSERA_KILLS", "2"))
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"


class InstallTest(ChartCase):
    """The tests share a cluster on which the chart is installed. Each leaves it installed."""

    kubelet_of_node_b = {"registerWithTaints": [STARTUP_TAINT, OTHER_TAINT]}
    transcript: ClassVar[tuple[str, str]]  # of the README, and what its commands printed

    @classmethod
    def install_chart(cls) -> None:
        """Runs the commands of the README's section, and keeps what they print. Helm also gets
        the places of this cluster's driver and kube-scheduler."""
        cls.cluster.kubectl("label", "node", "--all", "tessera.dev/agent-")
        place = cls.cluster.directory / "readme"
        place.mkdir()
        shutil.copy(cls.stack.package, place)
        example = console_block.yaml_block(README, "Example")
        (place / "train.yaml").write_text(example.replace(
            "registry.example/train", f"{cls.stack.gpuhog}\n      command: [gpuhog, 512MiB]"))
        folders = (binaries.directory(), binaries.ensure(table=binaries.HELM),
                   builds.program("tessera").parent, "/usr/bin", "/bin")
        environment = {"KUBECONFIG": str(cls.cluster.kubeconfig), "HOME": str(place),
                       "PATH": ":".join(map(str, folders))}
        expected, printed = "", ""
        for step in console_block.steps(README, "Install"):
            command = step.command.replace("REGISTRY", cls.stack.registry.address)
            if command.startswith("helm "):
                command = " ".join([command, *cls.stack.arguments()])
            expected += f"$ {step.command}\n{step.printed}"
            printed += f"$ {step.command}\n{console_block.run(command, environment, place)}"
        cls.transcript = expected, printed

    # ---- tools

    def leader(self, lease: str, since: datetime) -> str:
        """The pod that has renewed a Lease since that time; empty if none has."""
        spec = self.api.json("GET", f"{LEASES}/{lease}").get("spec") or {}
        renewed = spec.get("renewTime")
        if renewed is None or datetime.fromisoformat(renewed) < since:
            return ""  # a program that was killed still holds it
        return str(spec.get("holderIdentity", "")).partition("_")[0]

    def wait_led(self, since: datetime) -> str:
        """Waits until the kube-scheduler and the controller of one pod have led since that time;
        returns the pod."""
        def same() -> str:
            leaders = {self.leader(lease, since) for lease in (SCHEDULER, "tessera-controller")}
            return leaders.pop() if len(leaders) == 1 else ""
        found: str = self.cluster.wait_for("the kube-scheduler and controller of one pod lead",
                                           same, 60)
        return found

    def kill(self, pod: str) -> None:
        """Kills both programs of a controller's pod at the same time. Kubelet starts them again. For
        the next time it would wait for minutes, so the pod is then replaced instead."""
        found = self.api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}")
        node, uid = found["spec"]["nodeName"], found["metadata"]["uid"]
        script = (f'kill -9 $(grep -l "pod{uid}" /proc/[0-9]*/cgroup | cut -d/ -f3 |'
                  ' while read p; do grep -q -e tessera-controller -e kube-scheduler'
                  ' /proc/$p/cmdline && echo $p; done)')
        self.cluster.nsenter(node, "sh", "-c", script)
        if any(status["restartCount"] > 0 for status in found["status"]["containerStatuses"]):
            self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", pod, "--force",
                                 "--grace-period=0", "--wait=false")

    # ---- tests

    def test_the_readme_shows_what_its_commands_print(self) -> None:
        expected, printed = self.transcript
        self.assertEqual(stable(printed), stable(expected), f"the commands printed:\n{printed}")

    def test_a_pod_that_asks_for_memory_alone_gets_an_enforced_share(self) -> None:
        created = self.create(self.pod("share", MEMORY, script="sleep 1000"))
        self.assertEqual(created["spec"]["schedulerName"], SCHEDULER)
        self.assertEqual(created["spec"]["containers"][0]["resources"]["limits"],
                         {**MEMORY, "tessera.dev/gpu-share": "1"})
        pod, = self.running("share")
        self.assertEqual(pod["metadata"]["annotations"]["tessera.dev/enforced-by"], "guard")
        self.assertIn("allocated", self.in_pod("share", "gpuhog --once 1024MiB"))
        self.assertIn("OUT_OF_MEMORY", self.in_pod("share", "gpuhog --once 1025MiB"))

    def test_doctor_finds_no_fault(self) -> None:
        self.create(self.pod("share", MEMORY))
        self.running("share")
        found = self.tessera("doctor")
        self.assertEqual([line for line in found.splitlines() if not line.startswith("ok ")], [])

    def test_helm_test_runs_doctor_in_the_cluster(self) -> None:
        """Its account has the rights that doctor needs, and the Pod is gone afterwards."""
        self.create(self.pod("share", MEMORY))
        self.running("share")
        printed = self.stack.helm("test", "tessera", "--logs", "--timeout=180s")
        self.assertRegex(printed, r"TEST SUITE: +tessera-test\n.*\n.*\nPhase: +Succeeded\n")
        found = [line for line in printed.splitlines() if line.startswith(("ok ", "skipped ", "warning "))]
        self.assertGreater(len(found), 10, printed)
        # It may not read the Secrets of the namespace, nor ask the agents.
        self.assertEqual([line.split()[1] for line in found if not line.startswith("ok ")],
                         ["key", "certificates"], printed)
        self.assertNotIn("tessera-test", self.cluster.kubectl("-n", NAMESPACE, "get", "pods"))

    def test_optional_values(self) -> None:
        """Images by digest, a privileged agent, another port and NetworkPolicies. A reader of the
        metrics does what the chart's ServiceMonitor says. No NetworkPolicy is enforced here."""
        self.cluster.kubectl("create", "namespace", "monitoring")
        self.cluster.kubectl("-n", "monitoring", "create", "serviceaccount", "prometheus")
        digests = {name: self.stack.digests[f"tessera-{name}"] for name in ("controller", "agent")}
        self.stack.upgrade(*(f"image.digests.{name}={digest}" for name, digest in digests.items()),
                           "agent.driver.privileged=true", "agent.listen=true", "webhook.port=10250",
                           "webhook.annotations.note=x", "webhook.excludedNamespaces={monitoring}",
                           "networkPolicy.enabled=true", "monitoring.grafanaDashboard.enabled=true",
                           "monitoring.serviceAccount.namespace=monitoring",
                           "monitoring.serviceAccount.name=prometheus")
        pods = self.api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
        images = {pod["spec"]["containers"][0]["image"] for pod in pods}
        self.assertEqual(images, {f"{self.stack.registry.address}/tessera-{name}@{digest}"
                                  for name, digest in digests.items()})
        self.create(self.pod("share", MEMORY))
        self.running("share")
        address = next(pod["status"]["podIP"] for pod in pods
                       if pod["spec"]["serviceAccountName"] == "tessera-controller")
        secret = self.api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/tessera-webhook-ca")
        authority = self.cluster.directory / "webhook-ca.crt"
        authority.write_bytes(base64.b64decode(secret["data"]["ca.crt"]))
        name = f"tessera-controller.{NAMESPACE}.svc"
        for account, status in (("prometheus", "200"), ("default", "403")):
            token = self.cluster.kubectl("-n", "monitoring", "create", "token", account).strip()
            answer = self.cluster.in_network(
                "curl", "--silent", "--show-error", "--cacert", str(authority),
                "--resolve", f"{name}:10250:{address}", "--header", f"Authorization: Bearer {token}",
                "--write-out", "\n%{http_code}", f"https://{name}:10250/metrics")
            self.assertEqual(answer.rsplit("\n", 1)[1], status, account)
            self.assertEqual("tessera_leading" in answer, account == "prometheus")
        self.stack.upgrade()

    def test_a_copied_pod_is_placed_as_a_new_one(self) -> None:
        self.create(self.pod("first", MEMORY))
        first, = self.running("first")
        copy = self.pod("second", MEMORY)
        copy["metadata"]["annotations"] = dict(first["metadata"]["annotations"])
        created = self.create(copy)
        self.assertEqual(created["metadata"].get("annotations", {}), {})
        self.running("second")

    def test_a_share_in_a_namespace_with_the_restricted_pod_security_standard(self) -> None:
        """The guard and the devices come without anything that the standard forbids in the pod."""
        self.cluster.kubectl("create", "namespace", "restricted")
        self.addCleanup(self.cluster.kubectl, "delete", "namespace", "restricted", "--wait=false")
        self.cluster.kubectl("label", "namespace", "restricted",
                             "pod-security.kubernetes.io/enforce=restricted")
        pod = self.pod("share", MEMORY, script="sleep 1000", securityContext={
            "runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}})
        path = "/api/v1/namespaces/restricted/pods"
        with self.assertRaisesRegex(ApiError, "violates PodSecurity"):
            self.api.json("POST", path, pod)
        pod["spec"]["containers"][0]["securityContext"] = {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        self.api.json("POST", path, pod)
        self.cluster.kubectl("-n", "restricted", "wait", "--for=condition=Ready", "pod/share",
                             "--timeout=60s")
        for amount, answer in (("1024MiB", "allocated"), ("1025MiB", "OUT_OF_MEMORY")):
            self.assertIn(answer, self.cluster.kubectl(
                "-n", "restricted", "exec", "share", "--", "sh", "-c",
                f"gpuhog --once {amount} 2>&1 || true"))

    def test_a_scheduler_that_the_user_chose_stays(self) -> None:
        created = self.create(self.pod("other", MEMORY, schedulerName="another-scheduler"))
        self.assertEqual(created["spec"]["schedulerName"], "another-scheduler")

    def test_a_pod_that_no_webhook_completed_says_what_is_wrong(self) -> None:
        """The webhook leaves kube-system alone, so the cluster's own scheduler places the pod."""
        self.addCleanup(self.cluster.kubectl, "-n", "kube-system", "delete", "pod", "forgets", "--now")
        pods_of_system = "/api/v1/namespaces/kube-system/pods"
        created = self.api.json("POST", pods_of_system, self.pod(
            "forgets", {**MEMORY, "tessera.dev/gpu-share": "1"}))
        self.assertEqual(created["spec"]["schedulerName"], "default-scheduler")

        def is_explained() -> bool:
            events = self.cluster.kubectl("-n", "kube-system", "get", "events", "-o",
                                          "jsonpath={.items[*].message}")
            return "spec.schedulerName does not name Tessera's kube-scheduler" in events
        self.cluster.wait_for("an event of the pod names the scheduler", is_explained, 40)

    def test_a_pod_without_a_device_keeps_no_node_closed(self) -> None:
        """A pod that no webhook completed and that names no number of shares: another scheduler binds
        it, and it starts without a GPU. Other pods are still placed on its node."""
        script = "ls /usr/lib/*/libcuda.so.1 2>&1; echo done; sleep 1000"
        for node in ("node-a", "node-b"):
            name = f"without-{node}"
            self.addCleanup(self.cluster.kubectl, "-n", "kube-system", "delete", "pod", name, "--now")
            self.api.json("POST", "/api/v1/namespaces/kube-system/pods", self.pod(
                name, MEMORY, script=script, nodeSelector={"kubernetes.io/hostname": node}))
            self.cluster.kubectl("-n", "kube-system", "wait", "--for=condition=Ready", f"pod/{name}",
                                 "--timeout=120s")
            said = self.cluster.wait_for("it looked for the driver", lambda: (
                "done" in (text := self.cluster.kubectl("-n", "kube-system", "logs", name))
                and text), 40)
            self.assertIn("No such file", said)
        self.create(self.pod("share", MEMORY))
        self.running("share")
        self.assertIn("without-node-a", self.tessera("doctor"))

    def test_without_controllers_only_pods_with_gpus_are_refused(self) -> None:
        self.cluster.kubectl("-n", NAMESPACE, "scale", "deployment/tessera-controller", "--replicas=0")
        self.cluster.kubectl("-n", NAMESPACE, "wait", "--for=delete", "pod", "--timeout=120s",
                             "-l", "app.kubernetes.io/component=controller")
        try:
            with self.assertRaisesRegex(ApiError, "pods.tessera.dev"):
                self.create(self.pod("share", MEMORY))
            self.create(self.pod("plain", script="sleep 1000"))
            self.running("plain")
        finally:
            self.cluster.kubectl("-n", NAMESPACE, "scale", "deployment/tessera-controller",
                                 "--replicas=2")
            self.cluster.kubectl("-n", NAMESPACE, "rollout", "status", "--timeout=300s",
                                 "deployment/tessera-controller")
        self.create(self.pod("share", MEMORY))
        self.running("share")

    def test_failover_of_the_leading_pod(self) -> None:
        """Both programs of the leading pod are killed again and again while pods arrive and end:
        every pod runs to its end, and no GPU is ever over capacity."""
        names = [f"pod-{number}" for number in range(ARRIVING)]
        slowest = timedelta()
        killed = datetime.now(timezone.utc) - timedelta(minutes=1)
        for number, name in enumerate(names):
            if number % (ARRIVING // KILLS) == 0:
                leader = self.wait_led(killed)
                if number > 0:
                    slowest = max(slowest, datetime.now(timezone.utc) - killed)
                self.kill(leader)
                killed = datetime.now(timezone.utc)
            pod = self.pod(name, MEMORY, script="gpuhog --once 512MiB && sleep 20",
                           restartPolicy="Never")
            # While no replica answers, the webhook fails closed, and its client tries again.
            self.cluster.wait_for("the pod is created", lambda: self.create(pod), 60)
            self.assert_no_gpu_is_over_capacity()
            time.sleep(0.5)

        def left() -> list[str]:
            self.assert_no_gpu_is_over_capacity()
            return [pod["metadata"]["name"] for pod in self.api.json("GET", PODS)["items"]
                    if pod["metadata"]["name"] in names and pod["status"]["phase"] != "Succeeded"]
        self.cluster.wait_for(f"{ARRIVING} pods have ended", lambda: not left(), 120 + ARRIVING)
        self.wait_led(killed)
        print(f"{ARRIVING} pods and {KILLS} kills; the next kill was {slowest.seconds} s later at most")

    def test_the_agent_removes_the_startup_taint_of_its_node(self) -> None:
        """node-b registered with it, and with another taint. Later the taint is set again, and the
        agent of a restart removes it. With its token, an attacker changes no other taint."""
        self.assertEqual(self.taints_of_node_b(), [OTHER_TAINT])
        self.cluster.kubectl("taint", "node", "node-b", f"{STARTUP_TAINT['key']}:NoSchedule")
        self.assertEqual(self.taints_of_node_b(), [STARTUP_TAINT, OTHER_TAINT])
        self.create(self.pod("waits", MEMORY, nodeSelector={"kubernetes.io/hostname": "node-b"}))

        def is_refused() -> bool:
            pod = self.api.json("GET", f"{PODS}/waits")
            return "untolerated taint" in str(pod["status"].get("conditions"))
        self.cluster.wait_for("the taint keeps the pod away", is_refused, 30)

        token = agent_identity.token_of(self.cluster, "node-b")
        more = {"key": "example.com/more", "effect": "NoExecute"}
        attacks: list[Json] = [
            {"taints": []}, {"taints": None}, {"taints": [STARTUP_TAINT]},
            {"taints": [OTHER_TAINT, STARTUP_TAINT]}, {"taints": [OTHER_TAINT, more]},
            {"taints": [STARTUP_TAINT, OTHER_TAINT, more]},
            {"taints": [{**STARTUP_TAINT, "effect": "NoExecute"}, OTHER_TAINT]},
            {"taints": [{**OTHER_TAINT, "effect": "NoExecute"}]},
            {"taints": [OTHER_TAINT], "unschedulable": True}]
        for spec in attacks:
            status = agent_identity.patch_node(self.cluster, token, "node-b", "", {"spec": spec})
            self.assertEqual(status, 403, spec)
        self.assertEqual(self.taints_of_node_b(), [STARTUP_TAINT, OTHER_TAINT])
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", "--field-selector",
                             "spec.nodeName=node-b", "-l", "app.kubernetes.io/component=agent")
        self.running("waits")
        self.assertEqual(self.taints_of_node_b(), [OTHER_TAINT])

    def test_upgrade_and_rollback(self) -> None:
        """From the previous chart, with other values, and back: running pods stay as they are, and
        pods are placed afterwards."""
        self.uninstall()
        self.stack.install(chart=PREVIOUS)
        self.create(self.pod("stays", MEMORY))
        before, = self.running("stays")
        new_chart = ("upgrade", "tessera", str(self.stack.package), "--wait", "--timeout=600s",
                     "--set=controller.policy=spread,agent.slotsPerGpu=32")
        with self.assertRaisesRegex(CommandError, "missing propert.*'uninstall'"):
            self.stack.helm(*new_chart, "--reuse-values")  # without the defaults of the new chart
        self.stack.helm(*new_chart, "--reset-then-reuse-values")
        self.create(self.pod("after-upgrade", MEMORY))
        self.running("after-upgrade")
        self.stack.helm("rollback", "tessera", "--wait", "--timeout=600s")
        self.create(self.pod("after-rollback", MEMORY))
        after = self.running("stays", "after-upgrade", "after-rollback")[0]
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        self.assertEqual([status["restartCount"] for status in after["status"]["containerStatuses"]],
                         [0])
        self.stack.upgrade()

    def test_uninstall_leaves_the_key_and_a_new_installation_accepts_running_pods(self) -> None:
        self.create(self.pod("stays", MEMORY))
        before, = self.running("stays")
        self.uninstall()
        self.running("stays")
        self.stack.install()
        self.create(self.pod("new", MEMORY))
        after, _ = self.running("stays", "new")
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        self.assertEqual(after["status"]["containerStatuses"][0]["restartCount"], 0)
        # The pod's memory is still counted: the GPU that it is on has no room for 15 GiB more.
        gpu = json.loads(before["metadata"]["annotations"]["tessera.dev/allocation"])
        uuid = gpu["containers"][0]["gpus"][0]["uuid"]
        too_large = self.pod("too-large", {"tessera.dev/gpu-memory": "24Gi"})
        too_large["metadata"]["annotations"] = {"tessera.dev/gpu-uuids": uuid}
        self.create(too_large)

        def is_refused() -> bool:
            return "too-large" in self.cluster.kubectl(
                "get", "events", "--field-selector", "reason=FailedScheduling")
        self.cluster.wait_for("the pod that does not fit waits", is_refused, 30)

    def test_wrong_values_are_refused_with_the_fix(self) -> None:
        for value, message in (("mode=both", "'scheduler', 'extender'"),
                               ("agent.slotsPerGpu=many", "/agent/slotsPerGpu"),
                               ("nonsense=1", "additional properties 'nonsense' not allowed"),
                               ("image.registry=", "image.registry: missing; set it to")):
            with self.assertRaises(CommandError) as refused:
                self.stack.upgrade(value)
            self.assertIn(message, str(refused.exception))


class ExtenderModeTest(unittest.TestCase):
    """mode: extender, with the shipped configuration for the cluster's own kube-scheduler. The
    control-plane node has the label as k3s gives it."""

    def test_a_share_runs_and_the_dialect_of_gpushare_too(self) -> None:
        with ChartStack([GpuNode("node-a", GPUS / "two-15gib.yaml")]) as stack:
            cluster = stack.cluster
            cluster.kubectl("label", "node", "node-a", "node-role.kubernetes.io/control-plane=true")
            stack.install("mode=extender")
            written = cluster.kubectl("-n", NAMESPACE, "get", "configmap", "tessera-scheduler",
                                      "-o", r"jsonpath={.data.config\.yaml}")
            config = render.for_program(yaml.safe_load(written), 12345)
            cluster.use_scheduler_config(json.dumps(config))
            api = stack.cluster.api()
            for name, limits in (("native", MEMORY), ("gpushare", {"aliyun.com/gpu-mem": "3"})):
                created = api.json("POST", PODS, pod_of(stack, name, limits))
                self.assertEqual(created["spec"]["schedulerName"], "default-scheduler")
            cluster.kubectl("wait", "--for=condition=Ready", "pod", "native", "gpushare",
                                  "--timeout=120s")
