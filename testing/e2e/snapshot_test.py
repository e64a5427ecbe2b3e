"""tessera snapshot on a real Kubernetes, and tessera-sim with the snapshot."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from e2e import case, pods, truth
from e2e.case import StackCase
from e2e.truth import Json
from stack.gpu_node import GpuNode


class SnapshotTest(StackCase):
    """One node with two GPUs of 15 GiB."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return case.two_nodes(nri=True)[:1]

    def snapshot(self, *arguments: str) -> tuple[Path, Json]:
        """Takes a snapshot. Returns the file and its contents."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "snapshot.json"
        self.stack.tessera("snapshot", str(path), *arguments)
        return path, json.loads(path.read_text())

    def simulate(self, *arguments: str) -> str:
        """The output of tessera-sim."""
        printed: str = self.stack.tessera(*arguments, program="tessera-sim")
        return printed

    def test_what_runs_and_what_waits(self) -> None:
        apart = {"tessera.dev/gpu-anti-affinity": "parts"}
        first, = self.running(pods.simple("first", pods.native("6Gi"), labels=apart))
        second, = self.running(pods.simple("second", pods.native("12Gi")))
        self.create(pods.simple("whole", pods.native()))
        self.wait_event("whole", "asked a whole GPU")
        self.create(pods.simple("beside", pods.native("5Gi"), labels=apart))
        self.wait_event("beside", "GPU")
        path, dump = self.snapshot()
        node = dump["nodes"][[n["name"] for n in dump["nodes"]].index("node-a")]
        self.assertEqual(len(node["gpus"]), 2)
        self.assertGreater(node["host"]["cpuMilli"], 0)
        by_name = {pod["name"]: pod for pod in dump["pods"]}
        self.assertEqual(set(by_name), {"first", "second", "whole", "beside"})
        self.assertNotIn("node", by_name["whole"])
        self.assertEqual(by_name["first"]["node"], "node-a")
        share = by_name["first"]["allocated"][0]["shares"][0]
        self.assertEqual(share["memory"], 6 << 30)
        self.assertEqual(share["gpu"], truth.shares(first)["main"][0]["index"])
        self.assertEqual(by_name["beside"]["rules"], {"antiAffinity": "parts"})
        self.assertEqual({gpu["uuid"] for gpu in node["gpus"]},
                         {*truth.uuids(first), *truth.uuids(second)})
        report = json.loads(self.simulate("replay", "--snapshot", str(path), "--policy",
                                          "binpack,fgd", "-o", "json"))
        self.assertEqual(report["asIs"]["placed"], 2)
        self.assertEqual(report["asIs"]["withoutRoom"], 2)
        for run in report["policies"]:
            self.assertCountEqual(run["waiting"],
                                  [{"pod": "default/whole"}, {"pod": "default/beside"}])
        self.assertIn("ASKED", self.simulate("bound", "--snapshot", str(path)))
        path, dump = self.snapshot("--anonymous")
        self.assertNotIn("first", path.read_text())
        self.assertNotIn("node-a", path.read_text())
        self.assertNotIn(truth.uuids(first)[0], path.read_text())
        self.assertEqual(len(dump["pods"]), 4)
