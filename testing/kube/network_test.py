"""Pod networks, and the parser of routes."""

from __future__ import annotations

import ipaddress
import unittest

from kube import network, ports


class NetworkTest(unittest.TestCase):
    def test_networks_of_runs_and_nodes(self) -> None:
        self.assertEqual(str(network.pod_network(2)), "10.130.0.0/16")
        self.assertEqual(str(network.node_network(2, 3)), "10.130.3.0/24")
        self.assertEqual(network.node_address(2, 3), "10.130.255.4")
        self.assertTrue(network.pod_network(ports.BLOCKS - 1).is_private)

    def test_reads_routes(self) -> None:
        text = ("Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"
                "tun0 0000820A 00000000 0001 0 0 0 0000FFFF 0 0 0\n")
        self.assertEqual(network.routes(text), [ipaddress.IPv4Network("10.130.0.0/16")])


if __name__ == "__main__":
    unittest.main()
