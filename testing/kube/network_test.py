"""Pod networks, and the parser of routes."""

from __future__ import annotations

import ipaddress
import unittest

from kube import network, ports
from kube.errors import KubeError


class NetworkTest(unittest.TestCase):
    def test_networks_of_runs_and_nodes(self) -> None:
        self.assertEqual(str(network.pod_network(2)), "10.130.0.0/16")
        self.assertEqual(str(network.node_network(2, 3)), "10.130.3.0/24")
        self.assertEqual(network.node_address(2, 3), "10.130.255.4")
        self.assertTrue(network.pod_network(ports.BLOCKS - 1).is_private)

    def test_networks_of_a_run_with_services_do_not_overlap(self) -> None:
        link = network.Link(99)
        addresses = [ipaddress.IPv4Address(text) for text in (
            link.machine, link.run, network.node_address(99, 0))]
        services = network.service_network(99)
        last = network.node_network(99, network.SERVICES_OCTET - 1)
        for part in (*addresses, services[0], services[-1], last[0]):
            self.assertIn(part, network.pod_network(99))
        self.assertFalse(any(address in services or address in last for address in addresses))
        self.assertFalse(services.overlaps(last))
        self.assertLess(len(link.interface), 16)  # IFNAMSIZ
        with self.assertRaises(KubeError):
            network.node_network(99, network.SERVICES_OCTET)

    def test_reads_routes(self) -> None:
        text = ("Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
                "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"
                "tun0 0000820A 00000000 0001 0 0 0 0000FFFF 0 0 0\n")
        self.assertEqual(network.routes(text), [ipaddress.IPv4Network("10.130.0.0/16")])


if __name__ == "__main__":
    unittest.main()
