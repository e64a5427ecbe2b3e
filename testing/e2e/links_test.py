"""GPU topology, from the links that NVML reports to the GPUs that pods get."""

from __future__ import annotations

import json

from e2e import case, pods, truth
from e2e.gpu_rules import ruled
from e2e.case import StackCase
from stack.gpu_node import GpuNode


class LinksTest(StackCase):
    """One node with four GPUs in two pairs, 0 with 2 and 1 with 3."""

    @classmethod
    def gpu_nodes(cls) -> list[GpuNode]:
        return [GpuNode("node-a", case.GPUS / "four-in-pairs.yaml", kubelet=case.KUBELET)]

    def indices(self, pod: truth.Json) -> set[int]:
        """The indices of the pod's GPUs."""
        return {self.gpu_of(uuid).index for uuid in truth.uuids(pod)}

    def test_published(self) -> None:
        node = self.api.json("GET", "/api/v1/nodes/node-a")
        reported = json.loads(node["metadata"]["annotations"][truth.GPUS])["gpus"]
        self.assertEqual([(gpu["numa"], gpu["pcie"], gpu["nvlink"]) for gpu in reported],
                         [(0, [2], [2]), (1, [3], [3]), (0, [0], [0]), (1, [1], [1])])

    def test_near_each_other(self) -> None:
        two, = self.running(pods.simple("two", pods.native(gpus=2)))
        self.assertEqual(self.indices(two), {0, 2})
        self.assert_shares(two)
        single, = self.running(pods.simple("single", pods.native()))
        self.assertEqual(self.indices(single), {1})
        self.create(ruled("pair", pods.native("40Gi", gpus=2), topology="nvlink"))
        self.wait_event("pair", "on each of 2 GPUs", "1 of this node's 4 GPUs")
        self.delete("two")
        self.assertEqual(self.indices(self.wait_running("pair")), {0, 2})

    def test_insist(self) -> None:
        apart = self.running(pods.simple("one", pods.native("30Gi")),
                             ruled("other", pods.native("30Gi"), models="A40",
                                   uuids=self.gpus()[1].uuid))
        self.assertEqual([self.indices(pod) for pod in apart], [{0}, {1}])
        self.create(ruled("late", pods.native("20Gi", gpus=2), topology="nvlink"))
        self.wait_event("late", "No GPUs with the requested link: asked 2 GPUs linked by NVLink, 1 of "
                                "them have enough free")
        anywhere, = self.running(pods.simple("anywhere", pods.native("20Gi", gpus=2)))
        self.assertEqual(self.indices(anywhere), {2, 3})
        self.create(ruled("wide", pods.native("1Gi", gpus=3), topology="numa"))
        self.wait_event("wide", "asked 3 GPUs linked by their NUMA node, at most 2 of this node's "
                                "4 GPUs are")
        self.create(ruled("wrong", pods.native("1Gi", gpus=2), topology="infiniband"))
        self.wait_event("wrong", 'annotation tessera.dev/gpu-topology: "infiniband" is no kind of '
                                 'link; write nvlink, pcie or numa')
        text = self.stack.tessera("explain", "late")
        self.assertIn("Not on node-a: No GPUs with the requested link", text)
