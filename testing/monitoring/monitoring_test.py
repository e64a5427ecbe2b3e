"""Tests of deploy/monitoring, of the chart's rules and dashboard, and of docs/reference/metrics.md:
Prometheus accepts the rules, and they fire when they should; Grafana can load the dashboard; and
every metric that these use exists."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from monitoring import dashboard, promtool, tables
from monitoring.tables import ROOT

DEPLOY = ROOT / "deploy" / "monitoring"
RULES = ROOT / "deploy/chart/tessera/files/rules.yaml"
DASHBOARD = RULES.with_name("dashboard.json")
RULE_CASES = Path(__file__).parent / "rules_test.yaml"


def rules() -> list[dict[str, Any]]:
    """All alert rules."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"]
            for rule in group["rules"]]


class RulesTest(unittest.TestCase):
    """deploy/chart/tessera/files/rules.yaml."""

    def test_prometheus_takes_them(self) -> None:
        self.assertEqual(promtool.run("check", "rules", str(RULES)), "")

    def test_they_fire_when_they_should(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for file in (RULES, RULE_CASES):
                shutil.copy(file, name)
            self.assertEqual(promtool.run("test", "rules", RULE_CASES.name, directory=Path(name)),
                             "")

    def test_each_is_shown_firing_and_silent(self) -> None:
        cases = [case for test in yaml.safe_load(RULE_CASES.read_text())["tests"]
                 for case in test["alert_rule_test"]]
        names = {rule["alert"] for rule in rules()}
        self.assertEqual({case["alertname"] for case in cases if case.get("exp_alerts")}, names)
        self.assertEqual({case["alertname"] for case in cases if not case.get("exp_alerts")}, names)

    def test_each_says_what_to_do(self) -> None:
        headings = {re.sub(r"[^a-z0-9 -]", "", line.strip("# \n").lower()).replace(" ", "-")
                    for line in (ROOT / "docs/operations.md").read_text().splitlines()
                    if line.startswith("#")}
        for rule in rules():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                page, heading = rule["annotations"]["runbook"].split("#")
                self.assertEqual(page, "docs/operations.md")
                self.assertEqual(heading, rule["alert"].lower())
                self.assertIn(heading, headings)
                self.assertEqual(dashboard.names_in(rule["expr"]) - tables.series(), set())

    def test_each_reason_is_in_one_rule(self) -> None:
        named = [reason for rule in rules() if "pending_pod" in rule["expr"]
                 for reasons in re.findall(r'reason=~"([^"]+)"', rule["expr"])
                 for reason in reasons.split("|")]
        self.assertEqual(sorted(named), sorted(name for name, _ in tables.reasons()))

    def test_a_wrong_rule_is_found(self) -> None:
        self.assertIn("parse error", promtool.faults_of(["sum(tessera_leading"]))
        self.assertEqual(dashboard.names_in('sum(tessera_leadin{a="tessera_x"})') - tables.series(),
                         {"tessera_leadin"})


class ScrapeTest(unittest.TestCase):
    """The example of a scrape configuration. chart_test.py compares it with the chart."""

    def test_prometheus_accepts_it(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            shutil.copy(RULES, name)
            config = yaml.safe_load((DEPLOY / "scrape.yaml").read_text())
            for job in config["scrape_configs"]:
                # Debian's promtool is built without Kubernetes.
                job.pop("kubernetes_sd_configs", None)
            (Path(name) / "scrape.yaml").write_text(json.dumps(config))
            self.assertEqual(promtool.run("check", "config", "--syntax-only",
                                          str(Path(name) / "scrape.yaml")), "")


class DashboardTest(unittest.TestCase):
    """deploy/chart/tessera/files/dashboard.json."""

    def setUp(self) -> None:
        self.dashboard = json.loads(DASHBOARD.read_text())

    def faults(self, changed: dict[str, Any]) -> str:
        """All faults, one per line."""
        return "\n".join(dashboard.faults(changed, tables.series()))

    def test_it_is_sound(self) -> None:
        self.assertEqual(self.faults(self.dashboard), "")

    def test_it_shows_every_gauge_of_the_gpus(self) -> None:
        asked = {name for e in dashboard.expressions(self.dashboard)
                 for name in dashboard.names_in(e)}
        for name in ("capacity", "allocated", "reserved"):
            self.assertIn(f"tessera_gpu_{name}_bytes", asked)
        self.assertIn("tessera_agent_gpu_used_bytes", asked)
        self.assertIn("tessera_gpu_unhealthy_info", asked)

    def test_faults_are_found(self) -> None:
        def changed(change: Any) -> str:
            broken = copy.deepcopy(self.dashboard)
            change(broken, broken["panels"])
            return self.faults(broken)
        cases = {
            "stands 2 times": lambda d, p: p[2].update(id=p[1]["id"]),
            "overlap": lambda d, p: p[2].update(gridPos=p[1]["gridPos"]),
            "no variable datasource": lambda d, p: d["templating"].update(list=[]),
            "not the variable": lambda d, p: p[1].update(datasource={"uid": "abc"}),
            "there is no metric tessera_nothing":
                lambda d, p: p[1]["targets"][0].update(expr="tessera_nothing"),
            "there is no variable nowhere":
                lambda d, p: p[1]["targets"][0].update(expr='tessera_leading{node="$nowhere"}'),
            "parse error": lambda d, p: p[1]["targets"][0].update(expr="max(tessera_leading"),
            "one refId": lambda d, p: p[1].update(targets=p[1]["targets"] * 2),
        }
        for words, change in cases.items():
            with self.subTest(words):
                self.assertIn(words, changed(change))


class MetricsTest(unittest.TestCase):
    """The tables, the page made from them, and the metrics that a program really serves."""

    def test_names_follow_the_conventions(self) -> None:
        for table in tables.TABLES.values():
            for metric in tables.rows(table):
                with self.subTest(metric.name):
                    self.assertEqual(metric.name.endswith("_total"), metric.kind == "counter")
                    self.assertNotRegex(metric.name, "_(ms|mib|gib|percent|milliseconds)(_|$)")

    def test_what_the_controller_shows(self) -> None:
        """A controller without an API server: promtool accepts the names, types and help texts of
        its metrics."""
        text = self.exposition()
        shown = set(re.findall(r"^# TYPE (\S+) ", text, re.M))
        self.assertEqual(promtool.run("check", "metrics", text=text), "")
        gauges = {m.name for table in ("The controller", "All of them")
                  for m in tables.rows(tables.TABLES[table]) if m.kind == "gauge"}
        empty = {m for m in gauges if m.startswith(("tessera_budget_", "tessera_gpu_", "tessera_tls_"))
                 and m != "tessera_gpu_overcommitted"}
        self.assertEqual(gauges - empty - shown, set())

    def exposition(self) -> str:
        """The response of a controller to /metrics."""
        build = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            port, nowhere = one.getsockname()[1], other.getsockname()[1]
        with tempfile.TemporaryDirectory() as name:
            kubeconfig = Path(name) / "kubeconfig"
            kubeconfig.write_text(json.dumps({
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                "users": [{"name": "x", "user": {"token": "t"}}],
                "clusters": [{"name": "x", "cluster": {
                    "server": f"http://127.0.0.1:{nowhere}"}}]}))
            program = subprocess.Popen(
                [str(build / "bin" / "tessera-controller"), f"--kubeconfig={kubeconfig}",
                 f"--port={port}", "--health-port=0", "--open-reads"], stderr=subprocess.DEVNULL)
            try:
                for _ in range(100):
                    try:
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                                    timeout=5) as answer:
                            text: str = answer.read().decode()
                            return text
                    except OSError:
                        time.sleep(0.1)
                self.fail("tessera-controller does not answer")
            finally:
                program.terminate()
                program.wait(timeout=10)


if __name__ == "__main__":
    unittest.main()
