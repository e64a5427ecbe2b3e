"""What the Helm chart renders: nothing optional by default, with each switch exactly its objects, and a
message with the fix for values that cannot work together. Helm renders it without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterable

import yaml

from kube import binaries
from kube.errors import KubeError
from monitoring.monitoring_test import DASHBOARD, DEPLOY, RULES
from stack import builds
from stack.render import NAMESPACE, Json, render, scheduler_config

REGISTRY = "image.registry=registry.example"
DIGEST = "sha256:" + "0123456789abcdef" * 4
ACCOUNT = "monitoring.serviceAccount.namespace=monitoring,monitoring.serviceAccount.name=prometheus"
# Kinds of which there is none by default.
OPTIONAL = {"ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy",
            "SecurityContextConstraints"}
LEDGER_IN_POSTGRESQL = [
    "ClusterRole/tessera-budget-viewer", "ClusterRole/tessera-ledger", "ClusterRole/tessera-ledger-reader",
    "ClusterRole/tessera-ledger-writer", "ClusterRoleBinding/tessera-ledger",
    "ClusterRoleBinding/tessera-ledger-writer", "ConfigMap/tessera-ledger-ca",
    "CustomResourceDefinition/gpubudgets.tessera.dev",
    "PriorityClass/gpu-default-priority", "PriorityClass/gpu-lower-priority", "Role/tessera-ledger",
    "RoleBinding/tessera-ledger", "Secret/tessera-ledger-ca", "Service/tessera-ledger",
    "ServiceAccount/tessera-ledger", "StatefulSet/tessera-ledger"]
LEDGER = sorted([*LEDGER_IN_POSTGRESQL, "PersistentVolumeClaim/tessera-ledger"])
# The fields that the schema of this kind requires (openshift/api, security/v1).
REQUIRED_OF_OPENSHIFT = {
    "allowHostDirVolumePlugin", "allowHostIPC", "allowHostNetwork", "allowHostPID", "allowHostPorts",
    "allowPrivilegedContainer", "allowedCapabilities", "defaultAddCapabilities", "priority",
    "readOnlyRootFilesystem", "requiredDropCapabilities", "volumes"}


def objects(*values: str) -> list[Json]:
    """The objects of the chart with these values, each NAME=VALUE. Raises KubeError if refused."""
    return render(*(f"--set={value}" for value in (REGISTRY, *values)))


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
                ("ledger.enabled=true", LEDGER),
                ("ledger.enabled=true,ledger.postgresql.secretName=pg", LEDGER_IN_POSTGRESQL),
                ("ledger.enabled=true,networkPolicy.enabled=true",
                 sorted([*LEDGER, *(f"NetworkPolicy/tessera-{name}"
                                    for name in ("agent", "controller", "ledger"))])),
                ("ledger.enabled=true,monitoring.serviceMonitor.enabled=true",
                 sorted([*LEDGER, "ServiceMonitor/tessera-controller",
                         "ServiceMonitor/tessera-ledger"])),
                ("openshift.enabled=true", ["SecurityContextConstraints/tessera-agent"]),
                ("agent.driver.privileged=true", []),
                ("guard.preloadMergeFrom={/opt/apm}", []),
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
                ("extender.tls.enabled=true", "set mode=extender"),
                ("extender=null", "missing property 'extender'"),
                ("guard.cgroupFolder=/sys/fs/cgroup,guard.enabled=false",
                 "guard.cgroupFolder: only the guard limits a container's compute"),
                ("guard.cgroupFolder=cgroup", "/guard/cgroupFolder"),
                ("ledger.retentionDays=39", "/ledger/retentionDays"),
                ("ledger.storage.size=many", "/ledger/storage/size"),
                ("ledger.nodeFolder=usage", "/ledger/nodeFolder"),
                ("ledger.postgresql=null", "missing property 'postgresql'"),
                ("ledger=null", "missing property 'ledger'"),
                ("dialects=null", "missing property 'dialects'"),
                ("dialects={hami}", "/dialects/0"),
                ("guard.preloadMergeFrom={opt}", "/guard/preloadMergeFrom/0"),
                ("guard.preloadMergeFrom={/opt,/opt}", "/guard/preloadMergeFrom"),
                ("guard.preloadMergeFrom={/usr}", "/usr would cover /usr/lib/tessera"),
                ("guard.preloadMergeFrom={/var/lib/kubelet}", "would cover /var/lib/kubelet"),
                ("agent.startupTaint=node-role.kubernetes.io/control-plane", "belongs to Kubernetes"),
                ("webhook.port=12346", "webhook.port: 12346 is another port"),
                ("webhook.port=443", "/webhook/port"),
                ("image.registry=https://registry.example", "/image/registry"),
                ("controller.policy=nonsense", "/controller/policy"),
                ("webhook.excludedNamespaces={Bad NS}", "/webhook/excludedNamespaces/0"),
                ("webhook.timeoutSeconds=31", "/webhook/timeoutSeconds"),
                ("image.digests.agent=0.2.0", "/image/digests/agent"),
                ("agent.nodeConfigs.a.slotsPerGpu=0", "/agent/nodeConfigs/a/slotsPerGpu"),
                ("agent.nodeConfigs.a.slots=8",
                 "/agent/nodeConfigs/a': additional properties 'slots' not allowed"),
                ("agent.nodeConfigs.a/b.slotsPerGpu=8",
                 "/agent/nodeConfigs': additional properties 'a/b' not allowed"),
                ("agent.nodeConfigs.a.excludedGpus={1,1}", "/agent/nodeConfigs/a/excludedGpus"),
                ("agent.nodeConfigs.a.excludedGpus={-1}", "/agent/nodeConfigs/a/excludedGpus/0"),
                ("monitoring=null", "missing property 'monitoring'")):
            with self.subTest(values), self.assertRaises(KubeError) as refused:
                objects(values)
            self.assertIn(message, str(refused.exception))

    def test_configurations_for_single_nodes_have_the_keys_of_the_agent(self) -> None:
        arguments = container(objects("agent.nodeConfigs.a.slotsPerGpu=8",
                                      "agent.nodeConfigs.a.excludedGpus={0,GPU-1}"))["args"]
        given, = (word for word in arguments if word.startswith("--node-configs="))
        self.assertEqual(json.loads(given.partition("=")[2]),
                         {"a": {"excluded_gpus": [0, "GPU-1"], "slots_per_gpu": 8}})
        self.assertNotIn("--node-configs", str(container(self.default)["args"]))

    def test_dialects_are_the_same_for_all_programs(self) -> None:
        """With gpu-manager's dialect, kube-scheduler and the webhook send its pods to Tessera. Without
        it they do not: gpu-manager may serve other nodes of the cluster."""
        dialects = "dialects={native,gpushare,gpu-manager}"
        for values, flag, ours in (((), "--dialects=native,gpushare", False),
                                   ((dialects,), "--dialects=native,gpushare,gpu-manager", True)):
            with self.subTest(flag):
                found = objects(*values)
                controller = one(found, "Deployment", "tessera-controller")["spec"]["template"]
                self.assertIn(flag, container(found)["args"])
                self.assertIn(flag, next(each["args"] for each in controller["spec"]["containers"]
                                         if each["name"] == "controller"))
                managed = [each["name"] for each in
                           scheduler_config(*values)["extenders"][0]["managedResources"]
                           if not each["ignoredByScheduler"]]
                self.assertEqual([name for name in managed if name.startswith("tencent.com/")],
                                 ["tencent.com/vcuda-core", "tencent.com/vcuda-memory"] * ours)
                for webhook in one(found, "MutatingWebhookConfiguration", "tessera-pods")["webhooks"]:
                    condition, = webhook["matchConditions"]
                    self.assertEqual("startsWith('tencent.com/vcuda-')" in condition["expression"], ours)

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

    def test_the_example_for_prometheus_finds_what_it_scrapes(self) -> None:
        jobs = yaml.safe_load((DEPLOY / "scrape.yaml").read_text(encoding="utf-8"))["scrape_configs"]
        found = objects("agent.listen=true")
        for job, (kind, name) in zip(jobs, (("Deployment", "tessera-controller"),
                                            ("DaemonSet", "tessera-agent")), strict=True):
            pod = one(found, kind, name)["spec"]["template"]
            component, port = (rule["regex"] for rule in job["relabel_configs"]
                               if rule.get("action") == "keep")
            self.assertEqual(pod["metadata"]["labels"]["app.kubernetes.io/component"], component)
            ports = [each["name"] for c in pod["spec"]["containers"] for each in c["ports"]]
            self.assertEqual(ports.count(port), 1, ports)
        self.assertEqual(jobs[0]["tls_config"]["server_name"], f"tessera-controller.{NAMESPACE}.svc")

    def test_one_scheduler_configuration_for_all_modes(self) -> None:
        """The ways to the extender differ, and where the cluster's kube-scheduler has its own."""
        own = scheduler_config()
        plain = scheduler_config("mode=extender", "extender.kubeconfig=/a/b")
        tls = scheduler_config("mode=extender", "extender.tls.enabled=true",
                               "extender.tls.folder=/pki/")
        self.assertEqual(plain["clientConnection"].pop("kubeconfig"), "/a/b")
        self.assertEqual(tls["clientConnection"].pop("kubeconfig"), "/etc/kubernetes/scheduler.conf")
        self.assertEqual([profile["schedulerName"] for profile in own.pop("profiles")],
                         ["tessera-scheduler"])
        election = own.pop("leaderElection")
        self.assertEqual((election["leaseDuration"], election["renewDeadline"],
                          election["retryPeriod"]), ("10s", "7s", "2s"))
        self.assertEqual(plain.pop("leaderElection"), {"leaderElect": True})
        self.assertEqual(tls.pop("leaderElection"), {"leaderElect": True})
        extender = tls["extenders"][0]
        self.assertEqual(extender.pop("tlsConfig"), {
            "serverName": f"tessera-controller.{NAMESPACE}.svc", "caFile": "/pki/ca.crt",
            "certFile": "/pki/tls.crt", "keyFile": "/pki/tls.key"})
        extender["urlPrefix"] = plain["extenders"][0]["urlPrefix"]
        extender["enableHTTPS"] = False
        self.assertEqual((own, plain), (plain, tls))

    def test_several_controllers_over_tls(self) -> None:
        found = objects("mode=extender", "extender.tls.enabled=true", "controller.replicas=3",
                        "extender.tls.secretName=mine")
        deployment = one(found, "Deployment", "tessera-controller")["spec"]
        pod = deployment["template"]["spec"]
        only, = pod["containers"]
        self.assertEqual(deployment["replicas"], 3)
        self.assertIn("PodDisruptionBudget/tessera-controller", names(found))
        self.assertIn("requiredDuringSchedulingIgnoredDuringExecution",
                      pod["affinity"]["podAntiAffinity"])
        self.assertIn("--listen=$(POD_IP)", only["args"])
        folder, = (m["mountPath"] for m in only["volumeMounts"] if m["name"] == "tls")
        for option in ("tls-certificate-file", "tls-key-file", "client-ca-file"):
            self.assertTrue(any(a.startswith(f"--{option}={folder}/") for a in only["args"]), option)
        secret, = (v["secret"]["secretName"] for v in pod["volumes"] if v["name"] == "tls")
        self.assertEqual(secret, "mine")
        self.assertNotIn("host", only["readinessProbe"]["httpGet"])
        ports = one(found, "Service", "tessera-controller")["spec"]["ports"]
        port, = (each for each in ports if each["name"] == "extender")
        url = scheduler_config("mode=extender", "extender.tls.enabled=true")["extenders"][0]["urlPrefix"]
        self.assertIn(f":{port['port']}/", url)
        self.assertIn(port["targetPort"], [each["name"] for each in only["ports"]])
        one_controller = objects("mode=extender")
        self.assertEqual(one(one_controller, "Deployment", "tessera-controller")["spec"]["replicas"], 1)
        self.assertNotIn("PodDisruptionBudget/tessera-controller", names(one_controller))

    def test_agents_reach_the_nodes_that_wait_for_them(self) -> None:
        """Also where an administrator names the tolerations, and not where the guard cannot run."""
        key = "startup-taint.cluster-autoscaler.kubernetes.io/tessera"
        for values, tolerated, processors in (
                ("agent.tolerations=null", "tessera.dev/agent-not-ready", ["amd64"]),
                (f"agent.startupTaint={key}", key, ["amd64"]),
                ("guard.enabled=false", "tessera.dev/agent-not-ready", ["amd64", "arm64"])):
            with self.subTest(values):
                found = objects(values, "agent.acceptGpushareLabel=true")
                pod = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]["spec"]
                self.assertIn({"key": tolerated, "operator": "Exists"}, pod["tolerations"])
                terms = pod["affinity"]["nodeAffinity"][
                    "requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
                self.assertEqual(len(terms), 2)
                for term in terms:
                    only, = (each["values"] for each in term["matchExpressions"]
                             if each["key"] == "kubernetes.io/arch")
                    self.assertEqual(only, processors)
        agent = one(objects("agent.startupTaint=", "agent.tolerations=null"), "DaemonSet", "tessera-agent")
        self.assertFalse(agent["spec"]["template"]["spec"]["tolerations"])

    def test_certificates_are_for_the_name_that_kube_scheduler_checks(self) -> None:
        name = f"tessera-controller.{NAMESPACE}.svc"
        folder = builds.ROOT / "deploy" / "extender-tls"
        with tempfile.TemporaryDirectory() as made:
            for namespace in (NAMESPACE, "other"):
                target = f"{made}/{namespace}"
                subprocess.run([str(folder / "certificates"), target, "30", namespace], check=True)
                shown = subprocess.run(
                    ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in",
                     f"{target}/controller/tls.crt"], check=True, capture_output=True, text=True)
                self.assertIn(f"DNS:tessera-controller.{namespace}.svc\n", shown.stdout)
        dns = [issued["spec"]["dnsNames"]
               for issued in yaml.safe_load_all((folder / "cert-manager.yaml").read_text())
               if issued["metadata"]["name"] == "tessera-controller-tls"]
        self.assertEqual(dns, [[name]])

    def test_every_object_has_the_recommended_labels(self) -> None:
        """Selectors, and the tools that find Tessera's pods, use these labels and no others."""
        for each in objects("mode=extender", "extender.tls.enabled=true", "ledger.enabled=true",
                            "networkPolicy.enabled=true") + self.default:
            labels = each["metadata"]["labels"]
            self.assertEqual(labels["app.kubernetes.io/name"], "tessera", each)
            self.assertIn(labels["app.kubernetes.io/component"],
                          ("agent", "controller", "ledger", "clean-nodes", "test"), each)

    def test_a_secret_in_place_of_the_token_of_prometheus(self) -> None:
        found = objects("monitoring.serviceMonitor.enabled=true",
                        "monitoring.serviceMonitor.tokenSecret=scraper")
        endpoint, = one(found, "ServiceMonitor", "tessera-controller")["spec"]["endpoints"]
        self.assertEqual(endpoint["authorization"], {"credentials": {"name": "scraper", "key": "token"}})
        self.assertNotIn("bearerTokenFile", endpoint)

    def test_network_policies_leave_probes_and_the_webhook_open(self) -> None:
        found = objects("networkPolicy.enabled=true", "agent.listen=true", ACCOUNT,
                        "ledger.enabled=true",
                        "networkPolicy.metricsClients[0].ipBlock.cidr=192.0.2.1/32")
        for kind, name in (("StatefulSet", "tessera-ledger"), ("Deployment", "tessera-controller"),
                           ("DaemonSet", "tessera-agent")):
            policy = one(found, "NetworkPolicy", name)["spec"]
            pod = one(found, kind, name)["spec"]["template"]
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(),
                                 pod["metadata"]["labels"].items())
            probed = {each[probe]["httpGet"]["port"] for each in pod["spec"]["containers"]
                      for probe in ("readinessProbe", "livenessProbe")}
            for_all = {port["port"] for rule in policy["ingress"] if "from" not in rule
                       for port in rule["ports"]}
            self.assertLessEqual(probed, for_all)
            self.assertEqual("service" in for_all, name != "tessera-agent")
        rule, = (rule for rule in policy["ingress"] if "from" in rule)
        self.assertEqual(rule, {"ports": [{"port": "metrics"}], "from": [
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
            {"ipBlock": {"cidr": "192.0.2.1/32"}}]})

    def test_openshift_allows_the_agents_what_they_use(self) -> None:
        for values, privileged, capabilities in (
                ("guard.enabled=true", False, []), ("guard.bypassAction=kill", False, ["KILL"]),
                ("guard.cgroupFolder=/sys/fs/cgroup", False, ["SYS_ADMIN"]),
                ("ledger.enabled=true", False, []), ("agent.driver.privileged=true", True, [])):
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
        found = objects("openshift.enabled=true", "ledger.enabled=true")
        for role in ("tessera-controller", "tessera-ledger", "tessera-clean-nodes", "tessera-test"):
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

    def test_the_ledger_keeps_its_records(self) -> None:
        """In a volume that outlives the pod, or else in PostgreSQL, and never in the container."""
        found = objects("ledger.enabled=true", "ledger.storage.size=50Gi",
                        "ledger.storage.storageClassName=fast", "ledger.retentionDays=0",
                        "ledger.podLabels.team=gpu", "ledger.nodeSelector.disk=ssd")
        claim = one(found, "PersistentVolumeClaim", "tessera-ledger")
        self.assertEqual(claim["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})
        self.assertEqual(claim["spec"], {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                                         "resources": {"requests": {"storage": "50Gi"}}})
        pod = one(found, "StatefulSet", "tessera-ledger")["spec"]["template"]
        volume, = pod["spec"]["volumes"]
        self.assertEqual(volume["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])
        self.assertEqual(pod["metadata"]["labels"]["team"], "gpu")
        self.assertEqual(pod["spec"]["nodeSelector"], {"disk": "ssd"})
        self.assertEqual(pod["spec"]["securityContext"]["fsGroup"], 65532)
        only, = pod["spec"]["containers"]
        mount, = only["volumeMounts"]
        self.assertEqual(mount["name"], volume["name"])
        self.assertIn(f"--database={mount['mountPath']}/ledger.db", only["args"])
        self.assertIn("--retention-days=0", only["args"])
        self.assertTrue(only["securityContext"]["readOnlyRootFilesystem"])
        port, = one(found, "Service", "tessera-ledger")["spec"]["ports"]
        self.assertIn(port["targetPort"], [each["name"] for each in only["ports"]])
        spec = one(objects("ledger.enabled=true", "ledger.postgresql.secretName=pg"), "StatefulSet",
                   "tessera-ledger")["spec"]
        volume, = spec["template"]["spec"]["volumes"]
        self.assertEqual(volume["secret"]["secretName"], "pg")
        only, = spec["template"]["spec"]["containers"]
        mount, = only["volumeMounts"]
        self.assertIn(f"--database-url-file={mount['mountPath']}/url", only["args"])

    def test_who_may_use_the_ledger(self) -> None:
        found = objects("ledger.enabled=true")
        writer, = one(found, "ClusterRole", "tessera-ledger-writer")["rules"]
        self.assertEqual(writer, {"nonResourceURLs": ["/ledger/records"], "verbs": ["post"]})
        subject, = one(found, "ClusterRoleBinding", "tessera-ledger-writer")["subjects"]
        self.assertEqual(subject["name"], "tessera-agent")
        self.assertEqual(one(found, "ClusterRole", "tessera-ledger-reader")["rules"],
                         [{"nonResourceURLs": ["/ledger/usage"], "verbs": ["get"]}])

    def test_the_agents_measure_for_the_ledger(self) -> None:
        """Also without the guard they may follow the pods of their nodes. They never get the
        authority's key."""
        found = objects("ledger.enabled=true", "guard.enabled=false", "agent.identity=nri",
                        "ledger.nodeFolder=/data/usage")
        agent = container(found)
        flags = dict(argument.split("=", 1) for argument in agent["args"])
        folders = [mount["mountPath"] for mount in agent["volumeMounts"]]
        for flag in ("--ledger-ca-file", "--ledger-token-file"):
            self.assertIn(flags[flag].rpartition("/")[0], folders)
        self.assertEqual(flags["--ledger-url"], f"https://tessera-ledger.{NAMESPACE}.svc")
        self.assertEqual(flags["--usage-folder"], "/data/usage")
        volumes = one(found, "DaemonSet", "tessera-agent")["spec"]["template"]["spec"]["volumes"]
        self.assertIn({"name": "usage", "hostPath": {"path": "/data/usage",
                                                     "type": "DirectoryOrCreate"}}, volumes)
        self.assertEqual([volume["secret"]["secretName"] for volume in volumes if "secret" in volume],
                         ["tessera-allocation-key"])
        token, = (source["serviceAccountToken"] for volume in volumes if "projected" in volume
                  for source in volume["projected"]["sources"])
        self.assertEqual(token["audience"], "tessera-ledger")
        rules = one(found, "ClusterRole", "tessera-agent")["rules"]
        self.assertIn({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}, rules)
        self.assertNotIn("--ledger-url", " ".join(container(self.default)["args"]))

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
        for webhook in configuration["webhooks"]:
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

    def test_a_webhook_that_fails_stops_pods_with_gpus_and_nothing_else(self) -> None:
        """The webhooks for objects that make pods only report earlier what is wrong with these."""
        configuration = one(self.default, "MutatingWebhookConfiguration", "tessera-pods")
        webhooks = {each["name"].split(".")[0]: each for each in configuration["webhooks"]}
        self.assertEqual({name: each["failurePolicy"] for name, each in webhooks.items()},
                         {"pods": "Fail", "workloads": "Ignore", "jobs": "Ignore", "cronjobs": "Ignore"})
        for name, spec in (("pods", "object.spec"), ("workloads", "object.spec.template.spec"),
                           ("cronjobs", "object.spec.jobTemplate.spec.template.spec")):
            condition, = webhooks[name]["matchConditions"]
            self.assertTrue(condition["expression"].startswith(f"({spec}.containers + "), condition)
        kinds = [kind for name in ("workloads", "jobs", "cronjobs")
                 for rule in webhooks[name]["rules"] for kind in rule["resources"]]
        self.assertEqual(kinds, ["deployments", "statefulsets", "daemonsets", "replicasets", "jobs",
                                 "cronjobs"])

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
