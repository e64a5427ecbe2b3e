"""GPU time from the chart's ledger: what the agents measure, against a stopwatch."""

from __future__ import annotations

import json
import time
import unittest
from typing import Any

from e2e.case import PODS
from e2e.chart_case import MEMORY, ChartCase
from e2e.killer import kill_process
from stack.chart import NAMESPACE

LEDGER = f"/api/v1/namespaces/{NAMESPACE}/pods/tessera-ledger-0"
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

    # ---- tests

    def test_a_pod_is_charged_for_the_time_of_a_stopwatch(self) -> None:
        """Also if the agents and the ledger are killed meanwhile, and kill -9 at any time."""
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

    def test_only_accounts_with_the_right_read_and_only_agents_write(self) -> None:
        path = "/ledger/usage?from=0&to=1"
        self.assertEqual(self.ask("billing", path)[0], 200)
        self.assertEqual(self.ask("default", path)[0], 403)
        status, text = self.ask("billing", "/ledger/records", '{"version":1,"records":[]}')
        self.assertEqual((status, text),
                         (403, "the token's owner may not post the nonResourceURL /ledger/records\n"))


if __name__ == "__main__":
    unittest.main()
