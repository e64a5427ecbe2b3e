"""The network of a run: its own /16, and the removal of its addresses from the machine.

Nodes share the network namespace of the machine, but each has its own address on the loopback
interface. The node's pods with hostNetwork have this address, so all of its ports are theirs. Each
other pod has a veth pair, whose end on the machine has the node's gateway address. The kernel
removes the pair with the pod's namespace, a moment after the pod's last process ends.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import subprocess
import time
from pathlib import Path

from kube.errors import KubeError

FIRST_SECOND_OCTET = 128
NODES_OCTET = 255  # third octet of the nodes' own addresses; those of pod networks are lower
LOOPBACK = "lo"
WAIT_SECONDS = 30.0


def pod_network(slot: int) -> ipaddress.IPv4Network:
    """The network of all pods of the run with this slot."""
    return ipaddress.IPv4Network(f"10.{FIRST_SECOND_OCTET + slot}.0.0/16")


def node_network(slot: int, index: int) -> ipaddress.IPv4Network:
    """The network of the pods of node number `index` of a run."""
    base = int(pod_network(slot).network_address) + (index << 8)
    return ipaddress.IPv4Network((base, 24))


def node_address(slot: int, index: int) -> str:
    """The address of node number `index` of a run. kubelet refuses an address 127.x."""
    return str(pod_network(slot).network_address + (NODES_OCTET << 8) + 1 + index)


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
    """Removes the nodes' addresses, and returns when no interface has an address of the run. After
    WAIT_SECONDS it deletes the remaining interfaces."""
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


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
