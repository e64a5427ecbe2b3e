"""What the Helm chart renders: nothing optional by default, with each switch exactly its objects, and a
message with the fix for values that cannot work together. Helm renders it without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from collections import Counter
from collections.abc import Iterable
from typing import Any

import yaml

from kube import binaries, versions
from monitoring.monitoring_test import DASHBOARD, RULES
from reference.values import CHART

Json = dict[str, Any]

NAMESPACE = "tessera-system"
REGISTRY = "image.registry=registry.example"
DIGEST = "sha256:" + "0123456789abcdef" * 4
ACCOUNT = "monitoring.serviceAccount.namespace=monitoring,monitoring.serviceAccount.name=prometheus"
# Kinds of which there is none by default.
OPTIONAL = {"ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy",
            "SecurityContextConstraints"}
# The fields that the schema of this kind requires (openshift/api, security/v1).
REQUIRED_OF_OPENSHIFT = {
    "allowHostDirVolumePlugin", "allowHostIPC", "allowHostNetwork", "allowHostPID", "allowHostPorts",
    "allowPrivilegedContainer", "allowedCapabilities", "defaultAddCapabilities", "priority",
    "readOnlyRootFilesystem", "requiredDropCapabilities", "volumes"}


def objects(*values: str) -> list[Json]:
    """The objects of the chart with these values, each NAME=VALUE. Raises ValueError if refused."""
    program = binaries.directory(binaries.HELM) / "helm"
    done = subprocess.run(
        [str(program), "template", "tessera", str(CHART), "--namespace", NAMESPACE,
         "--kube-version", versions.of(versions.DEFAULT).release,
         *(f"--set={value}" for value in (REGISTRY, *values))],
        text=True, capture_output=True, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def names(found: Iterable[Json]) -> Counter[str]:
    """KIND/NAME of each object."""
    return Counter(f"{one['kind']}/{one['metadata']['name']}" for one in found)


def one(found: Iterable[Json], kind: str, name: str) -> Json:
    """The object of this kind and name."""
    only, = (each for each in found
             if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return only


def container(found: Iterable[Json]) -> Json:
    """The agent's container."""
    only, = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]["spec"]["containers"]
    return dict(only)


class ChartTest(unittest.TestCase):
    """Without Helm in the cache the tests are skipped, except in the e2e run, which builds it."""

    default: list[Json]

    @classmethod
    def setUpClass(cls) -> None:
        if os.environ.get("TESSERA_E2E"):
            binaries.ensure(table=binaries.HELM)
        elif not binaries.built(binaries.HELM):
            raise unittest.SkipTest("Helm is not built: run tools/setup")
        cls.default = objects()

    def added(self, *values: str) -> list[str]:
        """The objects that these values add. They must remove none."""
        before, after = names(self.default), names(objects(*values))
        self.assertEqual(before - after, Counter(), values)
        return sorted((after - before).elements())

    def test_the_default_has_nothing_optional(self) -> None:
        self.assertEqual({each["kind"] for each in self.default} & OPTIONAL, set())
        found = names(self.default)
        self.assertEqual([name for name, count in found.items() if count > 1], [])
        self.assertNotIn("ConfigMap/tessera-dashboard", found)
        self.assertNotIn("ClusterRoleBinding/tessera-reader", found)
        self.assertNotIn("privileged", container(self.default)["securityContext"])
        agent = one(self.default, "DaemonSet", "tessera-agent")["spec"]["template"]
        self.assertNotIn("securityContext", agent["spec"])

    def test_each_switch_adds_exactly_its_objects(self) -> None:
        for values, expected in (
                ("monitoring.serviceMonitor.enabled=true", ["ServiceMonitor/tessera-controller"]),
                ("monitoring.prometheusRule.enabled=true", ["PrometheusRule/tessera"]),
                ("monitoring.grafanaDashboard.enabled=true", ["ConfigMap/tessera-dashboard"]),
                ("agent.listen=true", ["Role/tessera-viewer"]),
                ("agent.listen=true,monitoring.podMonitor.enabled=true",
                 ["PodMonitor/tessera-agent", "Role/tessera-viewer"]),
                (ACCOUNT, ["ClusterRoleBinding/tessera-reader"]),
                ("networkPolicy.enabled=true",
                 ["NetworkPolicy/tessera-agent", "NetworkPolicy/tessera-controller"]),
                ("openshift.enabled=true", ["SecurityContextConstraints/tessera-agent"]),
                ("agent.driver.privileged=true", []),
                (f"image.digests.agent={DIGEST}", []),
                ("webhook.annotations.a=b,webhook.excludedNamespaces={one,two}", [])):
            with self.subTest(values):
                self.assertEqual(self.added(values), expected)
        in_extender_mode = names(objects("mode=extender", "networkPolicy.enabled=true"))
        self.assertEqual([name for name in in_extender_mode if name.startswith("NetworkPolicy/")],
                         ["NetworkPolicy/tessera-agent"])

    def test_what_cannot_work_is_refused_with_the_fix(self) -> None:
        for values, message in (
                ("monitoring.podMonitor.enabled=true",
                 "monitoring.podMonitor.enabled: the agents serve no metrics; set agent.listen=true"),
                ("monitoring.serviceAccount.name=prometheus",
                 "monitoring.serviceAccount: set both name and namespace"),
                ("monitoring.serviceAccount.namespace=monitoring",
                 "monitoring.serviceAccount: set both name and namespace"),
                ("networkPolicy.enabled=true,agent.listen=true",
                 "set monitoring.serviceAccount or networkPolicy.metricsClients"),
                ("openshift.enabled=true,mode=extender", "openshift.enabled: "),
                ("webhook.port=12346", "webhook.port: 12346 is another port"),
                ("webhook.port=443", "/webhook/port"),
                ("webhook.timeoutSeconds=31", "/webhook/timeoutSeconds"),
                ("image.digests.agent=0.2.0", "/image/digests/agent"),
                ("monitoring=null", "missing property 'monitoring'")):
            with self.subTest(values), self.assertRaises(ValueError) as refused:
                objects(values)
            self.assertIn(message, str(refused.exception))

    def test_monitoring_objects_find_what_they_scrape(self) -> None:
        found = objects("agent.listen=true", *(f"monitoring.{name}.enabled=true" for name in (
            "serviceMonitor", "podMonitor", "prometheusRule", "grafanaDashboard")),
            "monitoring.labels.release=prometheus", ACCOUNT)
        service = one(found, "Service", "tessera-controller")
        monitor = one(found, "ServiceMonitor", "tessera-controller")
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(),
                             service["metadata"]["labels"].items())
        endpoint, = monitor["spec"]["endpoints"]
        port, = service["spec"]["ports"]
        self.assertEqual(endpoint["port"], port["name"])
        self.assertEqual(endpoint["tlsConfig"]["serverName"], f"tessera-controller.{NAMESPACE}.svc")
        authority = endpoint["tlsConfig"]["ca"]["secret"]["name"]
        self.assertIn(f"Secret/{authority}", names(found))
        self.assertIn("bearerTokenFile", endpoint)
        pods = one(found, "PodMonitor", "tessera-agent")["spec"]
        agent = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]
        self.assertLessEqual(pods["selector"]["matchLabels"].items(),
                             agent["metadata"]["labels"].items())
        endpoint, = pods["podMetricsEndpoints"]
        self.assertIn(endpoint["port"], [port["name"] for port in container(found)["ports"]])
        self.assertTrue(endpoint["honorLabels"])  # a metric has the label "container"
        self.assertEqual(one(found, "PrometheusRule", "tessera")["spec"],
                         yaml.safe_load(RULES.read_text(encoding="utf-8")))
        dashboard = one(found, "ConfigMap", "tessera-dashboard")
        self.assertIn("grafana_dashboard", dashboard["metadata"]["labels"])
        self.assertEqual(json.loads(dashboard["data"]["tessera.json"]),
                         json.loads(DASHBOARD.read_text(encoding="utf-8")))
        labelled = [name for name, each in zip(names(found), found)
                    if each["metadata"]["labels"].get("release") == "prometheus"]
        self.assertEqual(len(labelled), 4, labelled)
        binding = one(found, "ClusterRoleBinding", "tessera-reader")
        self.assertEqual(binding["roleRef"]["name"], "tessera-reader")
        self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "prometheus",
                                                "namespace": "monitoring"}])

    def test_a_secret_in_place_of_the_token_of_prometheus(self) -> None:
        found = objects("monitoring.serviceMonitor.enabled=true",
                        "monitoring.serviceMonitor.tokenSecret=scraper")
        endpoint, = one(found, "ServiceMonitor", "tessera-controller")["spec"]["endpoints"]
        self.assertEqual(endpoint["authorization"], {"credentials": {"name": "scraper", "key": "token"}})
        self.assertNotIn("bearerTokenFile", endpoint)

    def test_network_policies_leave_probes_and_the_webhook_open(self) -> None:
        found = objects("networkPolicy.enabled=true", "agent.listen=true", ACCOUNT,
                        "networkPolicy.metricsClients[0].ipBlock.cidr=192.0.2.1/32")
        for kind, name in (("Deployment", "tessera-controller"), ("DaemonSet", "tessera-agent")):
            policy = one(found, "NetworkPolicy", name)["spec"]
            pod = one(found, kind, name)["spec"]["template"]
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(),
                                 pod["metadata"]["labels"].items())
            probed = {each[probe]["httpGet"]["port"] for each in pod["spec"]["containers"]
                      for probe in ("readinessProbe", "livenessProbe")}
            for_all = {port["port"] for rule in policy["ingress"] if "from" not in rule
                       for port in rule["ports"]}
            self.assertLessEqual(probed, for_all)
            self.assertEqual("service" in for_all, name == "tessera-controller")
        rule, = (rule for rule in policy["ingress"] if "from" in rule)
        self.assertEqual(rule, {"ports": [{"port": "metrics"}], "from": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
            {"ipBlock": {"cidr": "192.0.2.1/32"}}]})

    def test_openshift_allows_the_agents_what_they_use(self) -> None:
        for values, privileged, capabilities in (
                ("guard.enabled=true", False, []), ("guard.bypassAction=kill", False, ["KILL"]),
                ("agent.driver.privileged=true", True, [])):
            with self.subTest(values):
                found = objects("openshift.enabled=true", values)
                allowed = one(found, "SecurityContextConstraints", "tessera-agent")
                agent = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]["spec"]
                used = container(found)["securityContext"]
                self.assertEqual(REQUIRED_OF_OPENSHIFT - set(allowed), set())
                self.assertEqual(agent["securityContext"]["seLinuxOptions"], {"type": "spc_t"})
                self.assertEqual(allowed["allowHostPID"], agent.get("hostPID", False))
                self.assertIs(allowed["allowPrivilegedContainer"], privileged)
                self.assertIs(used.get("privileged", False), privileged)
                self.assertEqual(allowed["allowedCapabilities"], capabilities)
                self.assertEqual(used.get("capabilities", {}).get("add", []), capabilities)
                kinds = {kind for volume in agent["volumes"] for kind in volume if kind != "name"}
                self.assertLessEqual(kinds, set(allowed["volumes"]))
        for role in ("tessera-controller", "tessera-clean-nodes", "tessera-test"):
            rules = one(found, "Role", role)["rules"]
            self.assertEqual([rule["resourceNames"] for rule in rules if rule["verbs"] == ["use"]],
                             [["nonroot-v2"]], role)

    def test_a_digest_counts_instead_of_the_tag(self) -> None:
        found = objects("image.tag=1.2.3", f"image.digests.controller={DIGEST}")
        images = {each["image"] for name in ("Deployment/tessera-controller", "Job/tessera-clean-nodes")
                  for each in one(found, *name.split("/"))["spec"]["template"]["spec"]["containers"]}
        images |= {each["image"] for each in one(found, "Pod", "tessera-test")["spec"]["containers"]}
        self.assertEqual({image for image in images if "kube-scheduler" not in image},
                         {f"registry.example/tessera-controller@{DIGEST}"})
        self.assertEqual(container(found)["image"], "registry.example/tessera-agent:1.2.3")

    def test_devices_of_the_agent(self) -> None:
        """A driver root, a RuntimeClass and the node's /dev can be combined."""
        for root, runtime, privileged in (("/", "nvidia", False), ("/run/nvidia/driver", "nvidia", False),
                                          ("/run/nvidia/driver", "", False),
                                          ("/home/kubernetes/bin/nvidia", "", True)):
            with self.subTest((root, runtime, privileged)):
                found = objects(f"agent.driver.root={root}",
                                f"agent.driver.runtimeClassName={runtime}",
                                f"agent.driver.privileged={str(privileged).lower()}")
                pod = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]["spec"]
                self.assertEqual(pod.get("runtimeClassName", ""), runtime)
                mounts = {mount["mountPath"] for mount in container(found)["volumeMounts"]}
                self.assertEqual(root in mounts, root != "/")
                self.assertEqual("/dev" in mounts, privileged)
                self.assertEqual(len(mounts), len(pod["volumes"]))
                security = container(found)["securityContext"]
                self.assertEqual(security.get("privileged", False), privileged)
                # Kubernetes refuses a privileged container that may not gain privileges.
                self.assertEqual("allowPrivilegeEscalation" in security, not privileged)

    def test_webhook_and_pods(self) -> None:
        found = objects("webhook.annotations.admissions\\.enforcer/disabled=yes",
                        "webhook.timeoutSeconds=3", "webhook.excludedNamespaces={build,kube-system}",
                        "webhook.port=10250", "controller.podLabels.team=gpu",
                        "controller.podAnnotations.note=x", "agent.podLabels.team=gpu",
                        "agent.podAnnotations.note=x",
                        "controller.topologySpreadConstraints[0].maxSkew=1")
        configuration = one(found, "MutatingWebhookConfiguration", "tessera-pods")
        self.assertEqual(configuration["metadata"]["annotations"], {"admissions.enforcer/disabled": "yes"})
        webhook, = configuration["webhooks"]
        self.assertEqual(webhook["timeoutSeconds"], 3)
        expression, = webhook["namespaceSelector"]["matchExpressions"]
        self.assertEqual(expression["values"], ["kube-system", NAMESPACE, "build"])
        controller = one(found, "Deployment", "tessera-controller")["spec"]["template"]
        agent = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]
        for pod in (controller, agent):
            self.assertEqual(pod["metadata"]["labels"]["team"], "gpu")
            self.assertEqual(pod["metadata"]["annotations"]["note"], "x")
        self.assertEqual(controller["spec"]["topologySpreadConstraints"], [{"maxSkew": 1}])
        first = controller["spec"]["containers"][0]
        self.assertIn("--service-port=10250", first["args"])
        self.assertIn({"name": "service", "containerPort": 10250}, first["ports"])

    def test_the_test_hook_runs_doctor_without_more_than_reading(self) -> None:
        pod = one(self.default, "Pod", "tessera-test")
        self.assertEqual(pod["metadata"]["annotations"]["helm.sh/hook"], "test")
        only, = pod["spec"]["containers"]
        self.assertEqual(only["command"][:2], ["/usr/bin/tessera", "doctor"])
        self.assertEqual(pod["spec"]["serviceAccountName"], "tessera-test")
        verbs = {verb for kind in ("ClusterRole", "Role")
                 for rule in one(self.default, kind, "tessera-test")["rules"]
                 for verb in rule["verbs"]}
        self.assertEqual(verbs, {"get", "list"})


if __name__ == "__main__":
    unittest.main()
