"""GPU time from the chart's ledger: what the agents measure, against a stopwatch."""

from __future__ import annotations

import json
import time
import unittest
from typing import Any

from e2e.case import PODS
from e2e.chart_case import MEMORY, ChartCase
from e2e.killer import kill_process
from kube.api import ApiError
from stack.chart import NAMESPACE

LEDGER = f"/api/v1/namespaces/{NAMESPACE}/pods/tessera-ledger-0"
BUDGETS = "/apis/tessera.dev/v1alpha1/namespaces/default/gpubudgets"
CA = f"/api/v1/namespaces/{NAMESPACE}/configmaps/tessera-ledger-ca"
HOST = f"tessera-ledger.{NAMESPACE}.svc"
VOLUME = "/var/lib/ledger-volume"
SECONDS = 120  # of a pod
Json = dict[str, Any]


class LedgerTest(ChartCase):
    """The chart has the ledger, with SQLite on a local volume of node-a."""

    with_dns = True

    @classmethod
    def install_chart(cls) -> None:
        cls.cluster.nsenter("node-a", "mkdir", "-p", VOLUME)
        cls.api.json("POST", "/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "ledger"}, "spec": {
                "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                "local": {"path": VOLUME}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In",
                                           "values": ["node-a"]}]}]}}}})
        cls.stack.install("ledger.enabled=true")
        cls.cluster.kubectl("create", "serviceaccount", "billing")
        cls.cluster.kubectl("create", "clusterrolebinding", "billing",
                            "--clusterrole=tessera-ledger-reader", "--serviceaccount=default:billing")

    # ---- tools

    def ask(self, account: str, path: str, body: str = "") -> tuple[int, str]:
        """The answer of the ledger to a request with the account's token, by GET, or POST of a body."""
        authority = self.cluster.directory / "ledger-ca.crt"
        authority.write_text(self.api.json("GET", CA)["data"]["ca.crt"])
        token = self.cluster.kubectl("create", "token", account).strip()
        address = self.api.json("GET", LEDGER)["status"]["podIP"]
        answer = self.cluster.in_network(
            "curl", "--silent", "--show-error", "--cacert", str(authority),
            "--connect-to", f"{HOST}:443:{address}:12350",
            "--header", f"Authorization: Bearer {token}", "--write-out", "\n%{http_code}",
            *(["--data-raw", body] if body else []), f"https://{HOST}{path}")
        text, _, status = answer.rpartition("\n")
        return int(status), text

    def usage(self) -> list[Json]:
        """What the namespace default used so far, by shape."""
        status, text = self.ask("billing", "/ledger/usage?from=0&to=4000000000&namespace=default")
        self.assertEqual(status, 200, text)
        return [sums for each in json.loads(text)["namespaces"] for sums in each["usage"]]

    def seconds(self) -> int:
        return sum(each["seconds"] for each in self.usage())

    def wait_ready(self) -> None:
        self.cluster.kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", "--timeout=120s",
                             "pod/tessera-ledger-0")

    def wait_phase(self, name: str, fits: str) -> float:
        """Waits until the pod is in that phase, or until it is bound. Returns the time."""
        def is_there() -> bool:
            pod = self.api.json("GET", f"{PODS}/{name}")
            return fits in (pod["status"]["phase"], "bound" if pod["spec"].get("nodeName") else "")
        self.cluster.wait_for(f"{name} is {fits}", is_there, SECONDS + 60)
        return time.monotonic()

    def budget(self, name: str = "gpus") -> Json:
        found: Json = self.api.json("GET", f"{BUDGETS}/{name}")
        return found

    def condition(self, kind: str) -> str:
        """STATUS REASON of the condition of the budget."""
        for each in self.budget().get("status", {}).get("conditions", []):
            if each["type"] == kind:
                return f"{each['status']} {each['reason']}"
        return ""

    def wait_condition(self, kind: str, wanted: str) -> None:
        self.cluster.wait_for(f"the budget's condition {kind} is {wanted}",
                              lambda: self.condition(kind) == wanted, 120)

    def change_budget(self, part: str = "", **change: Any) -> None:
        self.api.json("PATCH", f"{BUDGETS}/gpus{part}", change,
                      content_type="application/merge-patch+json")

    def assert_new_pods_are_denied(self) -> None:
        with self.assertRaisesRegex(ApiError, "GpuBudget gpus of the namespace default is spent: "
                                              "[0-9]+s of 20s of GPU time are used until"):
            self.create(self.pod("denied", MEMORY))

    # ---- tests

    def test_a_pod_is_charged_for_the_time_of_a_stopwatch(self) -> None:
        """Also if the agents and the ledger are killed meanwhile. Its use spends a budget, which then
        denies new pods."""
        self.api.json("POST", BUDGETS, {
            "apiVersion": "tessera.dev/v1alpha1", "kind": "GpuBudget", "metadata": {"name": "gpus"},
            "spec": {"gpuTime": "20s", "period": "monthly", "timeZone": "Europe/Berlin",
                     "whenSpent": "deny-new"}})
        self.wait_condition("Spent", "False Measured")
        before = self.seconds()
        self.create(self.pod("timed", {**MEMORY, "tessera.dev/gpu-cores": "25"},
                             script=f"sleep {SECONDS}", restartPolicy="Never"))
        begin = self.wait_phase("timed", "bound")
        self.running("timed")
        self.cluster.wait_for("the ledger has the first minute", lambda: self.seconds() > before, 120)
        for node in ("node-a", "node-b"):
            self.assertTrue(kill_process(self.cluster, node, "tessera-agent"))
        self.assertTrue(kill_process(self.cluster, "node-a", "tessera-ledger"))
        took = self.wait_phase("timed", "Succeeded") - begin
        self.wait_ready()

        def has_all() -> bool:
            return self.seconds() - before >= 0.97 * took
        self.cluster.wait_for("the ledger has the last minute", has_all, 180)
        time.sleep(10)  # records that would count twice arrive within the sender's period of 5 s
        charged = self.seconds() - before
        print(f"{charged} s are charged, the stopwatch shows {took:.1f} s")
        # The ledger counts whole seconds.
        self.assertLessEqual(abs(charged - took), 0.02 * took + 1)
        shape, = self.usage()
        self.assertEqual((shape["memoryBytes"], shape["computePercent"], shape["whole"]),
                         (1 << 30, 25, False))
        self.check_the_spent_budget()

    def check_the_spent_budget(self) -> None:
        """A quarter of a GPU for two minutes is more than 20 s."""
        self.wait_condition("Spent", "True Measured")
        events = self.cluster.kubectl("get", "events", "--field-selector",
                                      "involvedObject.kind=GpuBudget", "-o", "name").split()
        self.assertEqual(len(events), 3, "80, 95 and 100 %")
        print(self.cluster.kubectl("get", "gpubudgets"))
        self.assert_new_pods_are_denied()
        self.create(self.pod("plain", script="sleep 1000"))
        self.running("plain")
        # A tenant that edits the status gains nothing.
        self.change_budget("/status", status={"used": "0s", "usedPercent": 0, "conditions": []})
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "restart", "deployment/tessera-controller")
        self.cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/tessera-controller",
                             "--timeout=120s")
        self.wait_condition("Spent", "True Measured")
        self.cluster.wait_for("both new controllers know that the budget is spent",
                              self.is_denied_repeatedly, 90)
        self.assert_new_pods_are_denied()
        with self.assertRaisesRegex(ApiError, "spec.gpuTime"):
            self.change_budget(spec={"gpuTime": "3x"})
        self.change_budget(spec={"gpuTime": "1h"})
        self.wait_condition("Spent", "False Measured")
        self.cluster.wait_for("the pod is created", lambda: self.create(self.pod("new", MEMORY)), 60)

    def is_denied_repeatedly(self) -> bool:
        """Whichever controller answers."""
        for _ in range(10):
            try:
                self.create(self.pod("denied", MEMORY))
            except ApiError:
                continue
            self.cluster.kubectl("delete", "pod", "denied", "--now")
            return False
        return True

    def test_only_accounts_with_the_right_read_and_only_agents_write(self) -> None:
        path = "/ledger/usage?from=0&to=1"
        self.assertEqual(self.ask("billing", path)[0], 200)
        self.assertEqual(self.ask("default", path)[0], 403)
        status, text = self.ask("billing", "/ledger/records", '{"version":1,"records":[]}')
        self.assertEqual((status, text),
                         (403, "the token's owner may not post the nonResourceURL /ledger/records\n"))


if __name__ == "__main__":
    unittest.main()
