"""Ports of different runs do not overlap."""

from __future__ import annotations

import socket
import unittest

from kube import ports
from kube.errors import KubeError


# Clusters that run at the same time have the lowest slots.
SLOT = ports.BLOCKS - 1


class PortsTest(unittest.TestCase):
    def test_no_port_twice_and_none_of_another_run(self) -> None:
        one, two = ports.PortBlock(SLOT), ports.PortBlock(SLOT - 1)
        taken = [one.take() for _ in range(20)] + [two.take() for _ in range(20)]
        self.assertEqual(len(set(taken)), 40)

    def test_skips_a_port_that_somebody_holds(self) -> None:
        block = ports.PortBlock(SLOT - 2)
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", block.first))
            self.assertGreater(block.take(), block.first)

    def test_says_when_the_block_is_used_up(self) -> None:
        block = ports.PortBlock(SLOT - 3)
        with self.assertRaisesRegex(KubeError, "no free port"):
            for _ in range(ports.BLOCK_SIZE + 1):
                block.take()

    def test_blocks_are_below_the_ephemeral_ports(self) -> None:
        self.assertLessEqual(ports.PortBlock(ports.BLOCKS - 1).last, 32767)


if __name__ == "__main__":
    unittest.main()
