"""Requests with the token that kubelet gives an agent, as an attacker on its node can send them."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from kube.handle import ClusterHandle
from stack import deploy

TOKEN = f"/api/v1/namespaces/{deploy.NAMESPACE}/serviceaccounts/tessera-agent/token"
Json = dict[str, Any]

MERGE = "application/merge-patch+json"


def token_of(cluster: ClusterHandle, node: str) -> str:
    """The token of this node's agent."""
    api = cluster.api()
    agent = next(pod for pod in api.json("GET", deploy.pods_of("agent"))["items"]
                 if pod["spec"]["nodeName"] == node)["metadata"]
    made = api.json("POST", TOKEN, {"spec": {"boundObjectRef": {
        "apiVersion": "v1", "kind": "Pod", "name": agent["name"], "uid": agent["uid"]}}})
    return str(made["status"]["token"])


def patch_node(cluster: ClusterHandle, token: str, node: str, part: str = "",
               change: Json | None = None) -> int:
    """Changes a Node with that token; without `change`, as an agent does. Returns the HTTP status of
    the response."""
    change = change or {"metadata": {"annotations": {"tessera.dev/x": "y"}}}
    connection = http.client.HTTPSConnection(
        cluster.api_host, cluster.api_port, timeout=10,
        context=ssl.create_default_context(cafile=str(cluster.ca)))
    try:
        connection.request("PATCH", f"/api/v1/nodes/{node}{part}", json.dumps(change),
                           {"Content-Type": MERGE, "Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    finally:
        connection.close()
