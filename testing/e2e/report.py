"""The state of the cluster to show when a test fails, and small requests that all tests use."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from typing import NamedTuple

from e2e import truth
from kube.api import Api, ApiError
from kube.errors import KubeError
from kube.handle import ClusterHandle
from stack.deploy import NAMESPACE

TAIL_LINES = 25
# Name, labels and value of each sample of a page of metrics.
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.M)


def http_get(port: int, path: str) -> str:
    """The body of the controller's response. Raises ApiError unless the status is 200."""
    status, body = http_call(port, "GET", path)
    if status != 200:
        raise ApiError(status, f"GET {path}: {status} {body}")
    return body


class Answer(NamedTuple):
    """A response of a controller. location: the target of a redirect."""

    status: int
    body: str
    location: str


def sample(text: str, name: str, label: str) -> float:
    """The value of the first sample of this metric that has the text in its labels."""
    return next(float(value) for metric, labels, value in SAMPLE.findall(text)
                if metric == name and label in labels)


def http_call(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, str]:
    """Status and body of the controller's response. Raises ApiError if there is none."""
    answer = http_answer(port, method, path, body)
    return answer.status, answer.body


def http_answer(port: int, method: str, path: str, body: bytes = b"", token: str = "",
                tls: ssl.SSLContext | None = None) -> Answer:
    """The controller's response to a request, with a bearer token and over TLS if these are given.
    Raises ApiError if there is no response."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    if tls is not None:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=tls)
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(),
                      response.headers.get("Location", ""))
    except (OSError, http.client.HTTPException) as error:
        raise ApiError(0, f"{method} {path}: no response from the controller: {error}") from error
    finally:
        connection.close()


def events(api: Api, pod: str) -> list[str]:
    """The messages of a pod's events, oldest first."""
    path = f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={pod}"
    return [event.get("message", "") for event in api.json("GET", path)["items"]]


def state(cluster: ClusterHandle, api: Api) -> str:
    """The pods with their events, and the last log lines of Tessera's programs."""
    try:
        parts = [_pod(api, pod)
                 for pod in api.json("GET", "/api/v1/namespaces/default/pods")["items"]]
        for pod in api.json("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]:
            name = pod["metadata"]["name"]
            log = cluster.kubectl("-n", NAMESPACE, "logs", name, f"--tail={TAIL_LINES}",
                                  check=False)
            parts.append(f"--- {name} on {pod['spec'].get('nodeName')}\n{log}")
    except KubeError as error:
        return f"(cannot read the state of the cluster: {error})"
    return "\n".join(parts)


def _pod(api: Api, pod: truth.Json) -> str:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    lines = [f"--- pod {name}: {status.get('phase')} {status.get('reason', '')} "
             f"on {pod['spec'].get('nodeName')} {status.get('message', '')}",
             f"    {truth.annotation(pod, truth.ALLOCATION)}"]
    if truth.is_running(pod):
        return "\n".join(lines)
    for container in (*status.get("initContainerStatuses", []),
                      *status.get("containerStatuses", [])):
        lines.append(f"    {container['name']}: {json.dumps(container['state'])}")
    return "\n".join([*lines, *(f"    event: {message}" for message in events(api, name))])
