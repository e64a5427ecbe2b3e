"""The network of a run: its own /16, and the removal of its addresses from the machine.

Nodes share the network namespace of the run, but each has its own address on the loopback
interface. The node's pods with hostNetwork have this address, so all of its ports are theirs. Each
other pod has a veth pair, whose end outside the pod has the node's gateway address. The kernel
removes the pair with the pod's namespace, a moment after the pod's last process ends.

Without Services, the network namespace of the run is that of the machine. With Services, it is a
new one, and a veth pair (`Link`) connects it with the machine. The kernel removes the namespace,
its iptables rules and the pair after the run's last process ends.

    10.x.0.0 - 10.x.239.255    pods, one /24 per node
    10.x.240.0/21              ClusterIPs of Services
    10.x.254.0/30              the link: .1 is the machine, .2 is the run
    10.x.255.0/24              nodes
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kube.errors import KubeError

FIRST_SECOND_OCTET = 128
# third octets; those of pod networks are lower
SERVICES_OCTET = 240
LINK_OCTET = 254
NODES_OCTET = 255
LOOPBACK = "lo"
WAIT_SECONDS = 30.0


def pod_network(slot: int) -> ipaddress.IPv4Network:
    """The network of all pods of the run with this slot."""
    return ipaddress.IPv4Network(f"10.{FIRST_SECOND_OCTET + slot}.0.0/16")


def node_network(slot: int, index: int) -> ipaddress.IPv4Network:
    """The network of the pods of node number `index` of a run."""
    if index >= SERVICES_OCTET:
        raise KubeError(f"a run has {SERVICES_OCTET} nodes at most")
    return ipaddress.IPv4Network((_part(slot, index), 24))


def node_address(slot: int, index: int) -> str:
    """The address of node number `index` of a run. kubelet refuses an address 127.x."""
    return str(ipaddress.IPv4Address(_part(slot, NODES_OCTET) + 1 + index))


def service_network(slot: int) -> ipaddress.IPv4Network:
    """The network of the ClusterIPs of a run with Services."""
    return ipaddress.IPv4Network((_part(slot, SERVICES_OCTET), 21))


@dataclass(frozen=True)
class Link:
    """The veth pair between the machine and the network namespace of the run with this slot."""

    slot: int
    PREFIX: ClassVar[str] = "tessera-kube"

    @property
    def interface(self) -> str:
        """The name of the machine's end."""
        return f"{self.PREFIX}{self.slot}"

    @property
    def machine(self) -> str:
        """The address of the machine's end."""
        return str(ipaddress.IPv4Address(_part(self.slot, LINK_OCTET) + 1))

    @property
    def run(self) -> str:
        """The address of the run's end, at which the machine reaches the control plane."""
        return str(ipaddress.IPv4Address(_part(self.slot, LINK_OCTET) + 2))

    def create(self, pid: int, addresses: Sequence[str]) -> None:
        """Connects the network namespace of process `pid`, and gives it these addresses. The
        machine can then reach the pods, the nodes and the ClusterIPs of the run."""
        _ip("link", "add", self.interface, "type", "veth", "peer", "name", "eth0", "netns",
            str(pid))
        _batch([], f"address add {self.machine}/30 dev {self.interface}",
               f"link set {self.interface} up",
               f"route add {pod_network(self.slot)} via {self.run}")
        inside = ["nsenter", "--target", str(pid), "--net"]
        _batch(inside, f"link set {LOOPBACK} up", f"address add {self.run}/30 dev eth0",
               "link set eth0 up",
               # A program in the namespace that connects to a ClusterIP needs some route to it,
               # because kube-proxy's rules apply after the choice of a route.
               f"route add default via {self.machine}",
               *(f"address add {address}/32 dev {LOOPBACK}" for address in addresses))
        _run([*inside, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])

    def delete(self) -> None:
        """Removes the pair if it exists."""
        if Path("/sys/class/net", self.interface).exists():
            # The kernel may remove it at the same moment.
            subprocess.run(["ip", "link", "delete", self.interface], capture_output=True,
                           check=False)


def accepts(address: str, port: int) -> bool:
    """Whether a program accepts TCP connections there now. The wait is short: a connection to a
    ClusterIP that began before kube-proxy's rules existed never uses them."""
    try:
        socket.create_connection((address, port), timeout=0.3).close()
    except OSError:
        return False
    return True


def give_address(address: str) -> None:
    """Adds the address to this machine; `wait_gone` removes it."""
    _ip("address", "replace", f"{address}/32", "dev", LOOPBACK)


def routes(text: str) -> list[ipaddress.IPv4Network]:
    """The destinations in the text of /proc/net/route, without the default route."""
    found = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        address, mask = (struct.pack("=I", int(fields[i], 16)) for i in (1, 7))
        if mask != b"\0\0\0\0":
            found.append(ipaddress.IPv4Network((address, socket.inet_ntoa(mask))))
    return found


def is_free(slot: int) -> bool:
    """Whether no route of the machine overlaps with the network of this slot."""
    network = pod_network(slot)
    return not any(network.overlaps(r) for r in routes(Path("/proc/net/route").read_text()))


def wait_gone(slot: int) -> None:
    """Removes the link and the nodes' addresses, and returns when no interface has an address of
    the run. After WAIT_SECONDS it deletes the remaining interfaces."""
    Link(slot).delete()
    for link, address in _addresses_in(pod_network(slot)):
        if link == LOOPBACK:
            _ip("address", "delete", f"{address}/32", "dev", LOOPBACK)
    deadline = time.monotonic() + WAIT_SECONDS
    while found := _addresses_in(pod_network(slot)):
        if time.monotonic() > deadline:
            for link in {link for link, _ in found} - {LOOPBACK}:
                subprocess.run(["ip", "link", "delete", link], capture_output=True, check=False)
            return
        time.sleep(0.02)


def _addresses_in(network: ipaddress.IPv4Network) -> list[tuple[str, str]]:
    """(interface, address) of each address in this network."""
    return [(link["ifname"], address["local"]) for link in json.loads(_ip("-json", "-4", "address"))
            for address in link.get("addr_info", [])
            if ipaddress.IPv4Address(address["local"]) in network]


def _part(slot: int, octet: int) -> int:
    return int(pod_network(slot).network_address) + (octet << 8)


def _ip(*arguments: str) -> str:
    return _run(["ip", *arguments])


def _batch(prefix: list[str], *lines: str) -> None:
    _run([*prefix, "ip", "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
