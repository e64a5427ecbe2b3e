"""Autoscaling of serving jobs on a real cluster: the custom metrics API behind the API server's
aggregation layer, and kube-controller-manager's HorizontalPodAutoscaler controller."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

from e2e import rights
from e2e.case import PODS
from e2e.serving_case import ServingCase
from kube.api import ApiError
from kube.errors import CommandError
from stack import deploy
from stack.chart import NAMESPACE

Json = dict[str, Any]
SECONDS = 150  # for what takes some rounds of 5 to 15 s
METRICS = "/apis/custom.metrics.k8s.io/v1beta2"
VALUES = f"{METRICS}/namespaces/default/pods"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
OURS = f"{API_SERVICES}/v1beta2.custom.metrics.k8s.io"
OLDER = "v1beta1.custom.metrics.k8s.io"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
COMPUTE, MEMORY = "tessera_gpu_compute_use", "tessera_gpu_memory_use"
REQUESTS = "tessera_serving_requests_per_second"
# A server whose GPU share has work while the file exists.
SERVER = ("trap 'exit 0' TERM; httpd -p 8080; while :; do if [ -e /tmp/busy ]; then "
          "timeout 1 gpuspin 1000; else sleep 1; fi; done")


class AutoscalingTest(ServingCase):
    audit_users = (deploy.CONTROLLER_USER,)
    adapter: ClassVar[Json] = {
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": OLDER},
        "spec": {"group": "custom.metrics.k8s.io", "version": "v1beta1",
                 "groupPriorityMinimum": 100, "versionPriority": 100,
                 "insecureSkipTLSVerify": True,
                 "service": {"name": "prometheus-adapter", "namespace": "monitoring"}}}

    @classmethod
    def install_chart(cls) -> None:
        cls.stack.install("controller.customMetrics=true", "agent.listen=true")

    # ---- tools

    def command(self, name: str, *more: str) -> list[str]:
        """Makes a serving job with a share of 1 GiB and 30 % of a GPU."""
        return ["serve", "custom", f"--name={name}", f"--image={self.stack.gpuhog}",
                "--restful-port=8080", "--gpumemory=1", "--gpucore=30", *more, "--", SERVER]

    def serve(self, name: str, *more: str) -> None:
        self.tessera_says(*self.command(name, *more))

    def pods_of(self, name: str) -> list[Json]:
        """The pods of a job that run and are not being deleted."""
        query = f"?labelSelector=tessera.dev%2Fserving-name%3D{name}"
        items = self.api.json("GET", PODS + query)["items"]
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    def wait_pods(self, name: str, count: int) -> list[str]:
        """Waits until the job has this number of pods, which are all ready. Returns their names."""
        def found() -> list[str]:
            pods = self.pods_of(name)
            ready = [pod["metadata"]["name"] for pod in pods
                     if all(each["ready"] for each in pod["status"].get("containerStatuses", [{}])
                            if each) and pod["status"]["phase"] == "Running"]
            return sorted(ready) if len(pods) == len(ready) == count else []
        names: list[str] = self.cluster.wait_for(f"{name} has {count} ready pods", found, SECONDS)
        return names

    def busy(self, pod: str, is_busy: bool = True) -> None:
        command = ("touch",) if is_busy else ("rm", "-f")
        self.cluster.kubectl("exec", pod, "--", *command, "/tmp/busy")

    def values(self, metric: str, query: str = "") -> dict[str, float]:
        """The values of pods, by name; empty as long as there are none."""
        try:
            found = self.api.json("GET", f"{VALUES}/*/{metric}{query}")
        except ApiError as error:
            if error.code == 503:
                return {}
            raise
        self.assertEqual(found["kind"], "MetricValueList")
        return {item["describedObject"]["name"]: quantity(item["value"]) for item in found["items"]}

    # ---- tests

    def test_the_metrics_api(self) -> None:
        """Discovery, values of the pods that a selector selects, and errors, as kubectl and the
        controller of HorizontalPodAutoscalers ask for them."""
        self.serve("one")
        self.serve("two")
        [one], [two] = self.wait_pods("one", 1), self.wait_pods("two", 1)
        self.cluster.wait_for("the API is available", self.is_available, SECONDS)
        resources = json.loads(self.cluster.kubectl("get", "--raw", METRICS))["resources"]
        self.assertEqual([each["name"] for each in resources],
                         [f"pods/{metric}" for metric in (COMPUTE, MEMORY, REQUESTS)])
        self.busy(one)
        self.cluster.wait_for("both pods are measured", lambda: (
            found := self.values(COMPUTE)) and found.get(one, 0) > 100 and found.get(two) == 0,
            SECONDS)
        # Pods without a GPU share have no value.
        self.assertEqual(set(self.values(COMPUTE)), {one, two})
        selected = self.values(COMPUTE,
                               "?labelSelector=tessera.dev%2Fserving-name+in+%28two%2Cx%29")
        self.assertEqual(set(selected), {two})
        single = self.api.json("GET", f"{VALUES}/{one}/{MEMORY}")["items"]
        self.assertEqual([item["describedObject"]["name"] for item in single], [one])
        for path, code, text in ((f"{VALUES}/*/other", 404, "there is no such metric"),
                                 (f"{VALUES}/none/{COMPUTE}", 404, "not found"),
                                 (f"{VALUES}/*/{COMPUTE}?labelSelector=%3D%3D", 400, "expected"),
                                 (f"{VALUES}/*/{COMPUTE}?metricLabelSelector=a%3Db", 400,
                                  "no labels")):
            with self.assertRaises(ApiError) as refused:
                self.api.text("GET", path)
            self.assertEqual(refused.exception.code, code, path)
            self.assertIn(text, str(refused.exception))
            self.assertIn('"kind":"Status"', str(refused.exception).replace(" ", ""))

    def test_only_the_api_server_reaches_it(self) -> None:
        """Without a certificate, and with one of the same authority for another client, the
        controllers refuse. The certificate of the API server opens no route of kube-scheduler."""
        service = f"/api/v1/namespaces/{NAMESPACE}/services/tessera-controller"
        address = self.api.json("GET", service)["spec"]["clusterIP"]
        pki = self.cluster.ca.parent

        def status(path: str, method: str, *identity: str) -> str:
            keys = [word for name in identity for flag, end in (("--cert", "crt"), ("--key", "key"))
                    for word in (flag, str(pki / f"{name}.{end}"))]
            return self.cluster.in_network(
                "curl", "-sk", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", *keys, "-X",
                method, *(["-d", "{}"] if method == "POST" else []), f"https://{address}{path}")
        self.cluster.wait_for("the controllers know the API server's certificate", lambda: (
            status(METRICS, "GET", "front-proxy-client") == "200"), SECONDS)
        for _ in range(4):  # each connection may reach another replica
            self.assertEqual(status(METRICS, "GET", "front-proxy-client"), "200")
            self.assertEqual(status(METRICS, "GET"), "403")
            self.assertEqual(status(METRICS, "GET", "admin"), "403")
            for identity in ((), ("admin",), ("front-proxy-client",)):
                self.assertEqual(status("/gpushare-scheduler/bind", "POST", *identity), "403")

    def test_a_user_reads_what_a_role_allows(self) -> None:
        """One metric of one namespace, and not the others."""
        self.cluster.wait_for("the API is available", self.is_available, SECONDS)
        role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
        rule = {"apiGroups": ["custom.metrics.k8s.io"], "resources": [f"pods/{COMPUTE}"],
                "verbs": ["get"]}
        jane = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
        objects: dict[str, Json] = {"roles": {"rules": [rule]},
                                    "rolebindings": {"roleRef": role, "subjects": [jane]}}
        for kind, fields in objects.items():
            path = f"{RBAC}/namespaces/default/{kind}"
            self.api.json("POST", path, {"metadata": {"name": "reader"}, **fields})
            self.addCleanup(self.api.json, "DELETE", f"{path}/reader")

        def read(path: str) -> str:
            return self.cluster.kubectl("--as=jane", "get", "--raw", path)
        self.cluster.wait_for("the metric", lambda: "MetricValueList" in read(
            f"{VALUES}/*/{COMPUTE}"), SECONDS)
        for path in (f"{VALUES}/*/{MEMORY}",
                     f"{METRICS}/namespaces/kube-system/pods/*/{COMPUTE}"):
            with self.assertRaisesRegex(CommandError, "orbidden"):
                read(path)

    def test_rights_are_those_that_are_used(self) -> None:
        """Of the role for this API: each right is used, and nothing is refused."""
        self.cluster.wait_for("the API is registered", lambda: self.api.ok(OURS), SECONDS)
        # A certificate that the API server does not trust is replaced.
        self.cluster.kubectl("patch", "apiservice", "v1beta2.custom.metrics.k8s.io", "--type=merge",
                             "-p", json.dumps({"spec": {"caBundle": "AAAA"}}))
        self.cluster.wait_for("the certificates are corrected", lambda: self.api.json(
            "GET", OURS)["spec"]["caBundle"] != "AAAA", SECONDS)
        granted: set[rights.Right] = set()
        for path, ns in ((f"{RBAC}/clusterroles", ""),
                         (f"{RBAC}/namespaces/kube-system/roles", "kube-system")):
            rules = self.api.json("GET", f"{path}/tessera-custom-metrics")["rules"]
            granted.update(rights.of_rules(rules, ns))
        self.assertEqual(len(granted), 6)

        def unused() -> list[rights.Right]:
            used = rights.uses(self.cluster.directory / "logs" / "audit.log",
                               deploy.CONTROLLER_USER)
            self.assertEqual(used.refused, set())
            return [right for right in granted
                    if not any(right.allows(use) for use in used.allowed)]
        self.cluster.wait_for("each right was used", lambda: not unused(), SECONDS)

    def test_the_registration_of_another_adapter_stays(self) -> None:
        """Ours is removed and made again only after the other is gone."""
        self.cluster.wait_for("the API is registered", lambda: self.api.ok(OURS), SECONDS)
        self.api.json("POST", API_SERVICES, self.adapter)
        self.addCleanup(self.cluster.kubectl, "delete", "apiservice", OLDER, "--ignore-not-found")
        spec = self.api.json("GET", f"{API_SERVICES}/{OLDER}")["spec"]
        self.api.json("DELETE", OURS)
        self.cluster.wait_for("the leader says that another adapter has it", lambda: (
            "belongs to monitoring/prometheus-adapter" in self.controller_logs()), SECONDS)
        self.assertFalse(self.api.ok(OURS))
        self.assertEqual(self.api.json("GET", f"{API_SERVICES}/{OLDER}")["spec"], spec)
        found = self.finding("custom_metrics")
        self.assertEqual(found["status"], "warning")
        self.assertIn(f"{OLDER} belongs to monitoring/prometheus-adapter", found["found"])
        self.api.json("DELETE", f"{API_SERVICES}/{OLDER}")
        self.cluster.wait_for("the API is registered again", lambda: self.api.ok(OURS), SECONDS)
        self.cluster.wait_for("the API is available", self.is_available, SECONDS)
        self.assertEqual(self.finding("custom_metrics")["status"], "ok")

    def controller_logs(self) -> str:
        return self.cluster.kubectl("-n", NAMESPACE, "logs", "--tail=-1", "-c", "controller",
                                    "-l", "app.kubernetes.io/component=controller")

    def is_available(self) -> bool:
        """Whether the API server reaches our API."""
        conditions = self.api.json("GET", OURS).get("status", {}).get("conditions", [])
        return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)

    def test_a_job_follows_its_use(self) -> None:
        """A job whose GPU share is busy grows to its maximum, and shrinks when idle. An update of
        something else leaves the number of pods alone, and one switches the autoscaling off."""
        said = self.tessera_says(*self.command("web", "--max-replicas=3", "--target-gpu-use=60",
                                               "--scale-down-delay=10"))
        self.assertIn("horizontalpodautoscaler.autoscaling/web-custom-serving created\n", said)
        [first] = self.wait_pods("web", 1)
        self.busy(first)
        pods = self.wait_pods("web", 3)
        self.assertIn(first, pods)
        job = json.loads(self.tessera_says("serve", "get", "web", "-o", "json"))
        self.assertEqual({key: job["autoscaling"][key] for key in ("minInstances", "maxInstances")},
                         {"minInstances": 1, "maxInstances": 3})
        # New pods are not measured at once.
        shown = re.compile(rf"Autoscaling: +1 to 3 pods; {COMPUTE} [\d.]+/60\n"
                           r"Not scaled: +the desired replica count is more than the maximum")
        self.cluster.wait_for("the load is shown", lambda: shown.search(
            self.tessera_says("serve", "get", "web")), SECONDS)
        self.assertRegex(self.tessera_says("serve", "list").splitlines()[1], r" 1-3$")
        # An update of the pods leaves their number to the autoscaler.
        said = self.tessera_says("serve", "update", "custom", "--name=web", "--max-surge=1")
        self.assertNotIn("horizontalpodautoscaler", said)
        self.assertEqual(self.replicas("web"), 3)
        self.busy(first, False)
        [last] = self.wait_pods("web", 1)
        self.assertIn(last, pods)
        # Off: the number of pods stays, and the use changes nothing.
        said = self.tessera_says("serve", "update", "custom", "--name=web", "--max-replicas=0")
        self.assertIn("horizontalpodautoscaler.autoscaling/web-custom-serving deleted\n", said)
        job = json.loads(self.tessera_says("serve", "get", "web", "-o", "json"))
        self.assertNotIn("autoscaling", job)
        said = self.tessera_says("serve", "update", "custom", "--name=web", "--max-replicas=2",
                                 "--min-replicas=2", "--target-gpu-use=60")
        self.assertIn("horizontalpodautoscaler.autoscaling/web-custom-serving created\n", said)
        self.wait_pods("web", 2)
        self.tessera_says("serve", "delete", "web")
        self.cluster.wait_for("the autoscaler is gone", lambda: not self.api.json(
            "GET", SCALERS)["items"], SECONDS)

    def test_a_job_follows_its_requests(self) -> None:
        """A model that gets requests grows; the controllers count them in the server's metrics."""
        self.tessera_says("serve", "tensorflow", "--name=half", "--model-name=half",
                          "--model-path=/models/half", "--data=models:/models",
                          f"--image={self.image}", "--gpumemory=1", "--max-replicas=2",
                          "--target-request-rate=1", "--scale-down-delay=10")
        [first] = self.wait_pods("half", 1)
        job = json.loads(self.tessera_says("serve", "get", "half", "-o", "json"))
        url = f"http://{job['ip']}:8501/v1/models/half:predict"
        script = f"while sleep 0.2; do curl -s -m 5 -d '{{\"instances\":[4]}}' {url}; done; true"
        with self.in_background(script):
            self.cluster.wait_for("requests are counted", lambda: (
                self.values(REQUESTS).get(first, 0) > 1), SECONDS)
            self.wait_pods("half", 2)
        self.wait_pods("half", 1)

    @contextlib.contextmanager
    def in_background(self, script: str) -> Iterator[None]:
        """Runs a script in the network of the cluster until the block ends."""
        stop = self.cluster.directory / "stop"
        bounded = script.replace("while ", f"while [ ! -e {stop} ] && ", 1)
        thread = threading.Thread(target=self.cluster.in_network, args=("sh", "-c", bounded))
        thread.start()
        try:
            yield
        finally:
            stop.touch()
            thread.join()

    def test_mistakes(self) -> None:
        for text, *flags in (("--target-gpu-use: needs --max-replicas", "--target-gpu-use=60"),
                             ("--max-replicas: needs --target-gpu-use or", "--max-replicas=3"),
                             ("--replicas: 4 is more than", "--replicas=4", "--max-replicas=3",
                              "--target-gpu-use=60")):
            self.refused(2, text, *self.command("web", *flags))
        self.refused(2, "--target-gpu-use: needs --gpucore", *self.command(
            "web", "--max-replicas=3", "--target-gpu-use=60", "--gpucore=0"))
        self.assertEqual(self.api.json("GET", DEPLOYMENTS)["items"], [])

    def replicas(self, name: str) -> int:
        found: int = self.api.json(
            "GET", f"{DEPLOYMENTS}/{name}-custom-serving")["spec"]["replicas"]
        return found

    def test_zz_it_ends_with_the_value(self) -> None:
        """The last test: without the value, the registration and the rights are gone."""
        self.stack.upgrade("controller.customMetrics=false", "agent.listen=true")
        self.cluster.wait_for("the registration is gone", lambda: not self.api.ok(OURS), SECONDS)
        self.assertFalse(self.api.ok(f"{RBAC}/clusterroles/tessera-custom-metrics"))
        with self.assertRaises(CommandError):
            self.cluster.kubectl("get", "--raw", METRICS)


def quantity(text: str) -> float:
    """Of the API server: "61500m" or "7"."""
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)
