"""The user interfaces: the command line, gpushare's kubectl plugin, the controller's HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from e2e import pods, report, truth
from e2e.case import StackCase
from e2e.truth import GIB
from kube.errors import CommandError
from stack import builds


class Front(StackCase):
    """Runs on case.two_nodes."""

    def test_all_tables_agree_with_the_annotations(self) -> None:
        made = self.running(pods.simple("a", pods.aliyun(3), node="node-a"),
                            pods.simple("b", pods.native("4Gi", cores=25), node="node-b"),
                            pods.pod("c", pods.container("x", pods.aliyun(10)),
                                     pods.container("y", pods.aliyun(12)), node="node-a"))
        allocated = truth.allocated(made)
        shown = json.loads(self.stack.tessera("inspect", "-o", "json"))
        self.assertEqual({gpu["uuid"]: gpu["allocatedBytes"] for node in shown["nodes"]
                          for gpu in node["gpus"] if gpu["allocatedBytes"]}, allocated)
        gpus = {gpu.uuid: gpu for gpu in self.gpus()}
        units = {(gpus[uuid].node, gpus[uuid].index): amount // GIB
                 for uuid, amount in allocated.items()}
        self.assertEqual({key: n for key, n in self.allocated().items() if n}, units)
        self._check_plugin(units)
        self._check_text(allocated)

    def _check_plugin(self, units: dict[tuple[str, int], int]) -> None:
        text = self.stack.stock_kubectl("inspect", "gpushare")
        for node, sizes in (("node-a", (15, 15)), ("node-b", (15, 24))):
            used = [units.get((node, i), 0) for i in (0, 1)]
            row = next(line for line in text.splitlines() if line.startswith(node)).split()
            self.assertEqual(row[2:], [f"{used[0]}/{sizes[0]}", f"{used[1]}/{sizes[1]}",
                                       f"{sum(used)}/{sum(sizes)}"])
        self.assertIn("29/69 (42%)", text)
        self.assertIn("GPU Memory(GiB)", text)
        details = self.stack.stock_kubectl("inspect", "gpushare", "-d", "node-a")
        self.assertNotIn("node-b", details)
        self.assertRegex(details, r"(?m)^a +default +3 +0|^a +default +0 +3")
        self.assertIn("Allocated :  25 (83%)", details)

    def _check_text(self, allocated: dict[str, int]) -> None:
        wide = self.stack.tessera("inspect", "-o", "wide")
        for uuid, amount in allocated.items():
            row = next(line for line in wide.splitlines() if uuid in line)
            self.assertRegex(row, rf"\b{amount // GIB}Gi\b")
        yaml = self.stack.tessera("inspect", "-o", "yaml")
        for uuid, amount in allocated.items():
            self.assertRegex(yaml, rf'uuid: "{uuid}"\n.*\n.*\n +allocatedBytes: {amount}\b')
        top = [line.split() for line in self.stack.tessera("top").splitlines()[1:]]
        full = [int(re.sub(r"\D", "", row[-4])) for row in top]
        self.assertEqual(full, sorted(full, reverse=True), "fullest first")
        self.assertEqual(len(top), 4)

    def test_pods_without_a_gpu_stand_under_pending(self) -> None:
        self.create(pods.simple("bypass", pods.aliyun(2), nodeName="node-a"))
        self.wait_event("bypass", "was not placed by Tessera")
        text = self.stack.stock_kubectl("inspect", "gpushare")
        self.assertIn("PENDING(Allocated)", text)

    def test_errors_name_the_fix(self) -> None:
        home, config = self._a_home(), str(self.cluster.kubeconfig)
        unreadable = Path(home, "broken")
        unreadable.write_text("clusters: [")
        away = Path(home, "away")
        away.write_text(re.sub(r"(https://127.0.0.1):\d+", rf"\1:{self.cluster.free_port()}",
                               Path(config).read_text()))
        cases = {
            "no kubeconfig": (["inspect"],
                              ("no kubeconfig", "set KUBECONFIG or give --kubeconfig")),
            "no such file": (["inspect", "--kubeconfig", f"{home}/none"],
                             (f"{home}/none", "cannot be read")),
            "broken file": (["inspect", "--kubeconfig", str(unreadable)], (str(unreadable),)),
            "wrong context": (["top", "--kubeconfig", config, "--context", "nowhere"],
                              ('no context called "nowhere"', "there is:")),
            "no permission": (["inspect", "--kubeconfig", self._without_rights(home)],
                              ("forbidden", "you need the rights to list nodes and pods")),
            "server away": (["inspect", "--kubeconfig", str(away)],
                            ("does not answer", "is the cluster up", "--context")),
            "no such node": (["inspect", "node-z", "--kubeconfig", config],
                             ('nodes "node-z" not found',)),
            "no such format": (["inspect", "-o", "xml", "--kubeconfig", config], ("json",)),
            "no such command": (["inspekt"], ('no command "inspekt"', "inspect, top")),
        }
        for name, (words, expected) in cases.items():
            done = subprocess.run([str(builds.program("tessera")), *words], text=True,
                                  capture_output=True, timeout=30, env={"HOME": home})
            self.assertNotEqual(done.returncode, 0, name)
            self.assertEqual(done.stdout, "", name)
            for part in expected:
                self.assertIn(part, done.stderr, name)
        with self.assertRaises(CommandError) as caught:
            self.stack.stock_kubectl("inspect", "gpushare", "node-z")
        self.assertIn('Failed due to nodes "node-z" not found', caught.exception.stdout)

    def _a_home(self) -> str:
        home = self.cluster.directory / "no-rights"
        home.mkdir(exist_ok=True)
        return str(home)

    def _without_rights(self, home: str) -> str:
        """The kubeconfig of a ServiceAccount without any rights."""
        self.cluster.kubectl("create", "serviceaccount", "no-rights")
        self.addCleanup(self.cluster.kubectl, "delete", "serviceaccount", "no-rights")
        token = self.cluster.kubectl("create", "token", "no-rights").strip()
        admin = Path(self.cluster.kubeconfig).read_text()
        path = os.path.join(home, "kubeconfig")
        Path(path).write_text(admin)
        for words in (["set-credentials", "no-rights", f"--token={token}"],
                      ["set-context", "--current", "--user=no-rights"]):
            self.cluster.kubectl("config", *words, f"--kubeconfig={path}")
        return path

    def test_a_plugin_of_the_kubeconfig_logs_in(self) -> None:
        """The kubeconfig is as `aws eks update-kubeconfig` writes it: a program prints the token."""
        home = self._a_home()
        self.cluster.kubectl("create", "serviceaccount", "by-plugin")
        self.addCleanup(self.cluster.kubectl, "delete", "serviceaccount", "by-plugin")
        self.cluster.kubectl("create", "clusterrolebinding", "by-plugin",
                             "--clusterrole=cluster-admin", "--serviceaccount=default:by-plugin")
        self.addCleanup(self.cluster.kubectl, "delete", "clusterrolebinding", "by-plugin")
        token = self.cluster.kubectl("create", "token", "by-plugin").strip()
        status = {"token": token, "expirationTimestamp": "2999-01-01T00:00:00Z"}
        # In a folder of its own: kubectl shortens a path in the kubeconfig's folder to "aws", which
        # it then looks for in PATH.
        plugin = Path(home, "bin", "aws")
        plugin.parent.mkdir(exist_ok=True)
        plugin.write_text("#!/bin/sh\n"
                          '[ "$*" = "eks get-token" ] && [ "$AWS_PROFILE" = team-a ] || exit 3\n'
                          f"echo run >> {home}/runs\n"
                          "echo '" + json.dumps({
                              "apiVersion": "client.authentication.k8s.io/v1beta1",
                              "kind": "ExecCredential", "spec": {}, "status": status}) + "'\n")
        plugin.chmod(0o700)
        path = Path(home, "with-plugin")
        path.write_text(Path(self.cluster.kubeconfig).read_text())
        for words in (["set-credentials", "eks", f"--exec-command={plugin}", "--exec-arg=eks",
                       "--exec-arg=get-token", "--exec-env=AWS_PROFILE=team-a",
                       "--exec-api-version=client.authentication.k8s.io/v1beta1"],
                      ["set-context", "--current", "--user=eks"]):
            self.cluster.kubectl("config", *words, f"--kubeconfig={path}")
        words = [str(builds.program("tessera")), "inspect", "-o", "json", "--kubeconfig"]
        shown = [subprocess.run([*words, str(config)], text=True, timeout=30, capture_output=True,
                                env={"HOME": home, "PATH": os.environ["PATH"]})
                 for config in (path, self.cluster.kubeconfig)]
        self.assertEqual([done.stderr for done in shown], ["", ""])
        self.assertEqual(shown[0].stdout, shown[1].stdout)
        self.assertEqual(Path(home, "runs").read_text(), "run\n", "one run for all its requests")
        plugin.unlink()
        gone = subprocess.run([*words, str(path)], text=True, capture_output=True, timeout=30,
                              env={"HOME": home})
        self.assertNotEqual(gone.returncode, 0)
        self.assertIn(f"exec: {plugin}: No such file or directory", gone.stderr)

    def test_controller_answers_over_http(self) -> None:
        port = self.stack.port
        self.assertEqual(report.http_get(port, "/healthz"), "ok\n")
        self.assertEqual(report.http_get(port, "/readyz"), "ok\n")
        self.assertEqual(report.http_get(port, "/version"), "0.1.0")
        metrics = report.http_get(port, "/metrics")
        gpu = self.gpus("node-a")[0]
        self.assertIn(f'tessera_gpu_capacity_bytes{{gpu="0",node="node-a",uuid="{gpu.uuid}"}} '
                      f"{gpu.memory}", metrics)
        self.assertIn("tessera_snapshot_synced 1", metrics)
        nodes = self.inspect()
        self.assertEqual({name: node["totalGPU"] for name, node in nodes.items()},
                         {"node-a": 30, "node-b": 39})
        one = json.loads(report.http_get(port, "/gpushare-scheduler/inspect/node-b"))
        self.assertEqual(one["nodes"], [nodes["node-b"]])
        status, body = report.http_call(port, "GET", "/gpushare-scheduler/inspect/node-z")
        self.assertEqual(status, 404)
        self.assertIn("not found", json.loads(body)["error"])
        self.assertEqual(report.http_call(port, "GET", "/gpushare-scheduler/bind")[0], 405)
        self.assertEqual(report.http_call(port, "GET", "/nothing")[0], 404)
