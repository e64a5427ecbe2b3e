"""The pod network of a run: a /16 of its own, and what of it the kernel still holds.

Nodes share the network namespace of the machine, a pod has a veth pair whose near end carries the
node's gateway address. The pair goes with the pod's namespace, a moment after its last process.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import subprocess
import time
from pathlib import Path

FIRST_SECOND_OCTET = 128
WAIT_SECONDS = 5.0


def pod_network(slot: int) -> ipaddress.IPv4Network:
    """All pods of run number `slot`."""
    return ipaddress.IPv4Network(f"10.{FIRST_SECOND_OCTET + slot}.0.0/16")


def node_network(slot: int, index: int) -> ipaddress.IPv4Network:
    """The pods of the node number `index` of a run."""
    base = int(pod_network(slot).network_address) + (index << 8)
    return ipaddress.IPv4Network((base, 24))


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
    """Whether the machine reaches nothing through the network of this slot."""
    network = pod_network(slot)
    return not any(network.overlaps(r) for r in routes(Path("/proc/net/route").read_text()))


def wait_gone(slot: int) -> None:
    """Returns when no interface has an address of the run; deletes those that stay."""
    deadline = time.monotonic() + WAIT_SECONDS
    while links := _links_in(pod_network(slot)):
        if time.monotonic() > deadline:
            for link in links:
                subprocess.run(["ip", "link", "delete", link], capture_output=True, check=False)
            return
        time.sleep(0.02)


def _links_in(network: ipaddress.IPv4Network) -> list[str]:
    shown = subprocess.run(["ip", "-json", "-4", "address"], capture_output=True, check=True)
    return [link["ifname"] for link in json.loads(shown.stdout)
            for address in link.get("addr_info", [])
            if ipaddress.IPv4Address(address["local"]) in network]
