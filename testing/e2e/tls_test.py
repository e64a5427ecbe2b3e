"""Two controllers over TLS, as with extender.tls.enabled: kube-scheduler needs a certificate, readers need a
token, and all other requests are refused."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

from e2e import pods, report, rights
from e2e.case import GPUS, KUBELET, SECONDS
from e2e.pod_groups import PodGroups
from e2e.preemption import make_classes
from e2e.replicas import FIRST, LEASE, SECOND, SYSTEM_PODS, Replicas
from kube.errors import KubeError
from stack import builds, deploy
from stack.gpu_node import GpuNode

VERBS = ("filter", "prioritize", "preempt", "bind")
INSPECT = "/gpushare-scheduler/inspect"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
NAME = "tessera-controller.tessera-system.svc"
UNCHECKED = "the token cannot be checked now; try again"
TAKEN_OVER_SECONDS = 60.0  # until kubelet has updated the Secret and the controller has read it


class TlsTest(Replicas, PodGroups):
    """Runs on case.two_nodes."""

    tls = True
    audit = True
    tokens: ClassVar[dict[str, str]]  # by the service account

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        """Nodes whose kubelets update a changed Secret within seconds."""
        kubelet = KUBELET | {"syncFrequency": "1s"}
        return [GpuNode("node-a", GPUS / "two-15gib.yaml", kubelet=kubelet),
                GpuNode("node-b", GPUS / "15-and-24gib.yaml", kubelet=kubelet)]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.tokens = {name: cls.token(name) for name in ("reader", "stranger")}
        cls.cluster.kubectl("create", "clusterrolebinding", "reader",
                            "--clusterrole=tessera-reader", "--serviceaccount=default:reader")

    # ---- tests

    def test_a_bind_is_sent_on_to_the_leader(self) -> None:
        """kube-scheduler calls the first controller, and the second leads: every bind goes through
        both."""
        made, = self.running(pods.simple("sent-on", pods.native("1Gi")))
        self.assert_shares(made)
        waiting, = self.create(pods.simple("late", pods.native("1Gi"), schedulerName="no-scheduler"))
        answer = self.bind_at(self.stack.port, waiting)
        self.assertEqual(answer.status, 307)
        self.assertRegex(answer.location,
                         rf"^https://.*:{self.second_port}/gpushare-scheduler/bind$")

    def test_the_leader_alone_evicts(self) -> None:
        """The first controller finds no node for the pod, and redirects kube-scheduler to the
        leader."""
        make_classes(self.api)
        self.running(*(pods.simple(f"low-{i}", pods.native(), node="node-a",
                                   priorityClassName="low") for i in range(2)))
        made, = self.running(pods.simple("high", pods.native("1Gi"), node="node-a",
                                         priorityClassName="high"))
        self.assert_shares(made)
        left = [pod for pod in self.pods() if "deletionTimestamp" not in pod["metadata"]]
        self.assertEqual(len(left), 2, "one of two pods is evicted")
        self.assertIn("pod_preempted", self.controller_log(SECOND))
        self.assertNotIn("pod_preempted", self.controller_log(FIRST))

    def test_strangers(self) -> None:
        for port in (self.stack.port, self.second_port):
            for verb in VERBS:
                path = f"/gpushare-scheduler/{verb}"
                for token in ("", *self.tokens.values()):
                    answer = self.ask_as_stranger(port, "POST", path, b"{}", token)
                    self.assertEqual(answer.status, 403, f"{verb}: {answer}")
                    self.assertIn("client certificate", answer.body)
                known = self.ask(port, "POST", path, b"{}")
                self.assertIn(known.status, (200, 307, 400, 503), f"{verb}: {known}")
            for path in ("/metrics", INSPECT, f"{INSPECT}/node-a"):
                for token, status in (("", 401), ("made-up", 401),
                                      (self.tokens["stranger"], 403), (self.tokens["reader"], 200)):
                    answer = self.ask_as_stranger(port, "GET", path, b"", token)
                    self.assertEqual(answer.status, status, f"{path}: {answer}")
                self.assertEqual(self.ask(port, "GET", path).status, 401,
                                 "a certificate is no token")
            for path in ("/version", "/healthz", "/readyz"):
                answer = self.ask_as_stranger(port, "GET", path)
                self.assertEqual(answer.status, 200, f"{path}: {answer}")

    def test_who_speaks_otherwise(self) -> None:
        """Plain HTTP, an older TLS version, or a foreign certificate: the controller sends no
        response."""
        foreign = self.cluster.directory / "foreign"
        deploy.make_certificates(foreign)
        forged = self.context(None)
        forged.load_cert_chain(foreign / "scheduler" / "tls.crt", foreign / "scheduler" / "tls.key")
        older = self.context(self.stack.certificates / "scheduler")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            older.minimum_version = ssl.TLSVersion.TLSv1
            older.set_ciphers("ALL:@SECLEVEL=0")
            older.maximum_version = ssl.TLSVersion.TLSv1_2
            self.assertEqual(report.http_answer(self.stack.port, "GET", "/healthz",
                                                tls=older).status, 200)
            older.maximum_version = ssl.TLSVersion.TLSv1_1
        server = self.context(self.stack.certificates / "controller")  # no client's certificate
        for context in (None, forged, older, server):
            with self.assertRaises(KubeError):
                report.http_answer(self.stack.port, "GET", "/healthz", tls=context)

    def test_slow_strangers_keep_nobody_waiting(self) -> None:
        """More connections than the controller accepts, each silent or with a partial handshake."""
        with contextlib.ExitStack() as slow:
            for number in range(600):
                peer = slow.enter_context(
                    socket.create_connection(("127.0.0.1", self.stack.port), timeout=20))
                with contextlib.suppress(OSError):
                    peer.sendall(b"\x16\x03\x01\x02\x00\x01"[:number % 7])
            made, = self.running(pods.simple("in-between", pods.native("1Gi")))
        self.assert_shares(made)

    def test_a_certificate_is_renewed_while_pods_arrive(self) -> None:
        old = self.serials()
        with self.pods_arriving() as arriving:
            controller = self.stack.certificates / "controller"
            shutil.rmtree(controller)
            deploy.make_certificates(self.stack.certificates)
            good = (controller / "tls.key").read_bytes()
            # First a broken certificate, which changes nothing.
            (controller / "tls.key").write_bytes(
                (self.stack.certificates / "scheduler" / "tls.key").read_bytes())
            deploy.put_certificates(self.cluster, self.stack.certificates)
            self.cluster.wait_for("both controllers log a certificate_error", lambda: all(
                "certificate_error" in self.controller_log(name) for name in (FIRST, SECOND)),
                TAKEN_OVER_SECONDS)
            self.assertEqual(self.serials(), old)
            (controller / "tls.key").write_bytes(good)
            deploy.put_certificates(self.cluster, self.stack.certificates)
            self.cluster.wait_for(
                "both controllers use the new certificate",
                lambda: not set(self.serials()) & set(old),
                TAKEN_OVER_SECONDS)
            self.wait_bound_since(arriving, time.monotonic(), "renewed")
        for name in (FIRST, SECOND):
            status, = self.controller(name)["status"]["containerStatuses"]
            self.assertEqual(status["restartCount"], 0)

    def test_our_containers_are_confined(self) -> None:
        """Our processes have no capabilities by the kernel's status files, and the manifests set
        read-only root file systems."""
        for name in ("tessera-control", "tessera-agent"):
            pids = self.cluster.nsenter("node-a", "pgrep", "-x", name).split()
            self.assertTrue(pids, name)
            for pid in pids:
                lines = self.cluster.nsenter("node-a", "cat", f"/proc/{pid}/status").splitlines()
                status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                for sort in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(status[sort], 16), 0, f"{name}: {sort}")
                self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), name)
                is_root = status["Uid"].split()[1] == "0"
                self.assertEqual(is_root, name == "tessera-agent", f"{name}: {status['Uid']}")
        for pod in self.api.json("GET", SYSTEM_PODS)["items"]:
            for container in pod["spec"]["containers"]:
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])

    def test_zz_rights_are_those_that_are_used(self) -> None:
        """Must be the last test: it uses the requests of all tests, and makes rare ones itself."""
        self.running(pods.simple("any", pods.native("1Gi")))
        other, = self.create(pods.simple("other", pods.native("1Gi"), schedulerName="no-scheduler"))
        other["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
        answer = self.bind_at(self.second_port, other)  # the controller reads the pod for its uid
        self.assertIn("another has its name", answer.body)
        for _ in range(2):  # the second refusal is counted in the event of the first
            self.stack.tessera("resize", "any", "-n", "default", "--memory", "2Gi", check=False)
        self.end_a_training_job()
        self.make_the_lease_again()
        for user in (deploy.CONTROLLER_USER, deploy.AGENT_USER):
            self.assertEqual(rights.of_account(self.cluster, user), [], user)

    # ---- steps

    def end_a_training_job(self) -> None:
        """The controller suspends the other Job when the chief has ended."""
        self.stack.tessera("submit", "tf", "--name=ends", f"--image={builds.GPUHOG}", "--chief", "--",
                           """case "$TF_CONFIG" in *'"type":"worker"'*) sleep 1000;; esac""")
        self.cluster.wait_for("the workers are suspended", lambda: self.api.json(
            "GET", "/apis/batch/v1/namespaces/default/jobs/ends-worker")["spec"].get("suspend"),
            SECONDS)
        self.stack.tessera("delete", "ends")

    def make_the_lease_again(self) -> None:
        """Deletes the Lease while no controller runs, so that the next controller creates it. (A
        running leader would create it with its next renewal: the API server creates a Lease on
        PUT.)"""
        for name in (FIRST, SECOND):
            self.scale(name, 0)
        self.cluster.wait_for("no controller runs", lambda: not [
            item for item in self.api.json("GET", SYSTEM_PODS)["items"]
            if item["metadata"]["name"].startswith(FIRST)], SECONDS)
        self.api.json("DELETE", LEASE)
        for name in (FIRST, SECOND):
            self.scale(name, 1)
            deploy.wait_rolled_out(self.cluster, f"deployment/{name}")
        self.cluster.wait_for("a controller leads", self.leader, 2 * SECONDS)

    @classmethod
    def token(cls, account: str) -> str:
        """Creates a service account, and returns a token of it."""
        cls.api.json("POST", ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount",
                                        "metadata": {"name": account}})
        made = cls.api.json("POST", f"{ACCOUNTS}/{account}/token", {"spec": {}})
        return str(made["status"]["token"])

    def context(self, own: Path | None) -> ssl.SSLContext:
        """The TLS context of a client that trusts our controllers. own: the folder with its
        certificate and key; None for none."""
        made = _AnyAddress(ssl.PROTOCOL_TLS_CLIENT)
        made.load_verify_locations(self.stack.certificates / "ca.crt")
        if own is not None:
            made.load_cert_chain(own / "tls.crt", own / "tls.key")
        return made

    def ask(self, port: int, method: str, path: str, body: bytes = b"") -> report.Answer:
        """Sends a request with kube-scheduler's certificate."""
        tls = self.context(self.stack.certificates / "scheduler")
        return report.http_answer(port, method, path, body, "", tls)

    def ask_as_stranger(self, port: int, method: str, path: str, body: bytes = b"",
                        token: str = "") -> report.Answer:
        """The response of a controller to a client without a certificate. Like any client, it tries
        again if the API server has not checked the token in time, as on a machine that is busy."""
        def checked() -> report.Answer | None:
            answer = report.http_answer(port, method, path, body, token, self.context(None))
            return None if answer.status == 503 and UNCHECKED in answer.body else answer
        found: report.Answer = self.cluster.wait_for("the token is checked", checked, SECONDS)
        return found

    def controller_get(self, path: str) -> str:
        """The controller's response to a GET request with a reader's token."""
        answer = self.ask_as_stranger(self.stack.port, "GET", path, token=self.tokens["reader"])
        if answer.status != 200:
            raise KubeError(f"GET {path}: {answer}")
        return answer.body

    def serials(self) -> list[str]:
        """The certificates that the two controllers present on new connections."""
        found = []
        for port in (self.stack.port, self.second_port):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
                with self.context(None).wrap_socket(plain) as tls:
                    found.append(json.dumps(tls.getpeercert(), sort_keys=True))
        return found

    def controller_log(self, deployment: str) -> str:
        """The log of that controller."""
        name = self.controller(deployment)["metadata"]["name"]
        return self.api.text("GET", f"/api/v1/namespaces/{deploy.NAMESPACE}/pods/{name}/log")


class _AnyAddress(ssl.SSLContext):
    """Like kube-scheduler's serverName: checks one fixed server name, at any address."""

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        options["server_hostname"] = NAME
        return super().wrap_socket(*arguments, **options)
