"""Services on a real cluster: pods reach the API server and each other, and webhooks are called.
containerd pulls images from a registry, and Helm installs a chart.

Runs only with TESSERA_E2E=1 (needs root, takes half a minute).
"""

from __future__ import annotations

import base64
import json
import os
import unittest
import urllib.request
from pathlib import Path
from typing import Any

from kube import binaries, images
from kube.cluster import Cluster
from kube.errors import CommandError
from kube.node import NodeSpec
from kube.pki import Identity, Pki
from kube.registry import ImageRegistry

ENABLED = os.environ.get("TESSERA_E2E") == "1"

SLEEP = "import time; time.sleep(100000)"

HTTP_SERVER = """
import http.server, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{socket.gethostname()} to {self.client_address[0]}".encode())
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
"""

# A mutating webhook that adds the label seen=yes.
WEBHOOK = """
import base64, http.server, json, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
        review["response"] = {"uid": review.pop("request")["uid"], "allowed": True,
                              "patchType": "JSONPatch",
                              "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""

WHO_AM_I = """
import json, os, ssl, urllib.request
place = "/var/run/secrets/kubernetes.io/serviceaccount"
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
request = urllib.request.Request(
    f"https://{host}:{port}/apis/authentication.k8s.io/v1/selfsubjectreviews", method="POST",
    data=b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
    headers={"Authorization": "Bearer " + open(f"{place}/token").read(),
             "Content-Type": "application/json"})
context = ssl.create_default_context(cafile=f"{place}/ca.crt")
with urllib.request.urlopen(request, context=context, timeout=5) as got:
    print(host, json.load(got)["status"]["userInfo"]["username"])
"""

GET = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=2).read().decode())
"""


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.2.3\n",
    "values.yaml": "image: none\n",
    "templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: {{ .Values.image }}
        command: [sh, -c, echo hello; sleep 100000]
"""}


def pod(name: str, code: str, node: str, more: dict[str, Any] | None = None,
        **spec: object) -> dict[str, Any]:
    """A pod that runs Python code. more: fields of its container. spec: fields of its spec."""
    container = {"name": "main", "image": images.PYTHON, "imagePullPolicy": "IfNotPresent",
                 "args": ["-c", code]} | (more or {})
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0,
                     "containers": [container], **spec}}


def service(name: str, port: int, target: int) -> dict[str, Any]:
    """A Service in front of the pod of the same name."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target}]}}


@unittest.skipUnless(ENABLED, "set TESSERA_E2E=1 (needs root, takes half a minute)")
class ServicesTest(unittest.TestCase):
    """One cluster with two nodes for all tests. Each test has its own pods."""

    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = Cluster([NodeSpec("node-a"), NodeSpec("node-b")],
                              images=[images.python_archive()], services=True)
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.apply(pod("client", SLEEP, "node-a"),
                  pod("host-client", SLEEP, "node-a", hostNetwork=True))
        cls.wait_pods("client", "host-client")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cluster.save_logs()

    @classmethod
    def apply(cls, *objects: dict[str, Any]) -> None:
        """Creates or updates objects."""
        cls.cluster.kubectl("apply", "-f", "-", input=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": objects}))

    @classmethod
    def wait_pods(cls, *names: str) -> None:
        """Waits until the pods are Ready."""
        cls.cluster.kubectl("wait", "--for=condition=Ready", "--timeout=200s",
                            *(f"pod/{name}" for name in names))

    def python(self, where: str, code: str, *arguments: str) -> str:
        """What Python code prints in a pod."""
        return self.cluster.kubectl("exec", where, "--", "python3", "-c", code, *arguments).strip()

    def cluster_ip(self, name: str) -> str:
        """The address of a Service."""
        return self.cluster.kubectl("get", "service", name, "-o", "jsonpath={.spec.clusterIP}")

    def test_pods_reach_the_api_server_at_its_service(self) -> None:
        address = self.cluster_ip("kubernetes")
        for where in ("client", "host-client"):
            self.assertEqual(self.python(where, WHO_AM_I),
                             f"{address} system:serviceaccount:default:default")

    def test_pods_and_this_machine_reach_a_pod_at_its_service(self) -> None:
        self.apply(pod("server", HTTP_SERVER, "node-b"), service("server", 80, 8080))
        self.wait_pods("server")
        url = f"http://{self.cluster_ip('server')}/"
        source = self.cluster.kubectl("get", "pod", "client", "-o", "jsonpath={.status.podIP}")
        answer = self.cluster.wait_for("a response of the Service",
                                       lambda: self.python("client", GET, url))
        self.assertEqual(answer, f"server to {source}")  # no SNAT between pods
        self.assertIn("server to", self.python("host-client", GET, url))
        with urllib.request.urlopen(url, timeout=5) as got:
            self.assertIn(b"server to", got.read())

    def test_kube_proxy_restarts(self) -> None:
        self.cluster.kill("kube-proxy")
        self.apply(pod("late", HTTP_SERVER, "node-a"), service("late", 80, 8080))
        self.wait_pods("late")
        url = f"http://{self.cluster_ip('late')}/"
        with self.assertRaises(CommandError):
            self.python("client", GET, url)
        self.cluster.start_component("kube-proxy")
        self.cluster.wait_for("a response of the Service",
                              lambda: "late to" in self.python("client", GET, url))

    def test_api_server_calls_a_webhook_at_its_service(self) -> None:
        pki = Pki(self.cluster.directory / "pki")
        pki.issue(Identity("webhook", "webhook", names=("DNS:webhook.default.svc",)))
        self.cluster.kubectl("create", "secret", "tls", "webhook",
                             f"--cert={pki.certificate('webhook')}", f"--key={pki.key('webhook')}")
        self.apply(
            service("webhook", 443, 8443),
            pod("webhook", WEBHOOK, "node-b",
                volumes=[{"name": "tls", "secret": {"secretName": "webhook"}}],
                more={"volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}))
        self.wait_pods("webhook")
        self.apply(self._webhook_configuration(pki.ca))
        self.cluster.kubectl("create", "namespace", "watched")
        self.cluster.kubectl("label", "namespace", "watched", "webhook=yes")

        def labelled() -> bool:
            self.cluster.kubectl("-n", "watched", "delete", "configmap", "c", "--ignore-not-found")
            self.cluster.kubectl("-n", "watched", "create", "configmap", "c")
            return "yes" == self.cluster.kubectl("-n", "watched", "get", "configmap", "c", "-o",
                                                 "jsonpath={.metadata.labels.seen}")
        self.cluster.wait_for("a ConfigMap with the label of the webhook", labelled)
        # failurePolicy: Fail. So the API server calls the webhook each time.
        self.cluster.kubectl("delete", "pod", "webhook", "--now")
        with self.assertRaisesRegex(CommandError, "failed calling webhook"):
            self.cluster.kubectl("-n", "watched", "create", "configmap", "d")

    def test_images_are_pulled_from_a_registry(self) -> None:
        registry = ImageRegistry(self.cluster)
        image = registry.push(images.busybox_archive(), "tessera/agent:0.1.0")
        for name, tag in (("pulled", image), ("not-pulled", f"{image}.1")):
            self.apply(pod(name, "", "node-a", more={
                "image": tag, "args": ["sh", "-c", "echo runs; sleep 100000"],
                "imagePullPolicy": None}))
        self.wait_pods("pulled")
        self.assertEqual(self.cluster.kubectl("logs", "pulled"), "runs\n")
        where = 'jsonpath={.status.containerStatuses[0].imageID} {.spec..imagePullPolicy}'
        shown = self.cluster.kubectl("get", "pod", "pulled", "-o", where)
        self.assertRegex(shown, f"^{registry.address}/tessera/agent@sha256:[0-9a-f]+ IfNotPresent$")
        events = self.cluster.kubectl("events", "--for=pod/pulled")
        self.assertIn(f'Successfully pulled image "{image}"', events)
        self.cluster.wait_for("an event of the missing image", lambda: f"{image}.1: not found" in
                              self.cluster.kubectl("events", "--for=pod/not-pulled"))

    def test_helm_installs_and_removes_a_chart(self) -> None:
        charts = self.cluster.directory / "charts"
        (charts / "small" / "templates").mkdir(parents=True)
        for name, text in CHART.items():
            (charts / "small" / name).write_text(text)
        helm = self.cluster.helm
        helm("package", str(charts / "small"), "--destination", str(charts))
        archive = str(charts / "small-1.2.3.tgz")
        helm("install", "greeter", archive, "--set", f"image={images.PYTHON}", "--wait",
             "--timeout", "100s")
        listed = json.loads(helm("list", "-o", "json"))
        self.assertEqual([(r["name"], r["chart"], r["status"]) for r in listed],
                         [("greeter", "small-1.2.3", "deployed")])
        self.assertEqual(self.cluster.kubectl("logs", "deployment/greeter"), "hello\n")
        with self.assertRaisesRegex(CommandError, "still in use"):
            helm("install", "greeter", archive)
        helm("uninstall", "greeter", "--wait")
        self.assertEqual(json.loads(helm("list", "-o", "json")), [])
        self.assertEqual(self.cluster.kubectl("get", "deployment", "-o", "name"), "")
        self.assertEqual(helm("version", "--template", "{{.Version}}"),
                         binaries.pinned_version(binaries.HELM[0]))

    @staticmethod
    def _webhook_configuration(ca: Path) -> dict[str, Any]:
        return {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "webhook"}, "webhooks": [{
                "name": "webhook.example.com", "sideEffects": "None", "timeoutSeconds": 5,
                "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"webhook": "yes"}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                           "operations": ["CREATE"]}],
                "clientConfig": {
                    "service": {"namespace": "default", "name": "webhook", "path": "/"},
                    "caBundle": base64.b64encode(ca.read_bytes()).decode()}}]}


if __name__ == "__main__":
    unittest.main()
