"""What our service accounts may do is what they do: the API server's audit log beside the rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from e2e.truth import Json
from kube.api import Api
from kube.handle import ClusterHandle

RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Right(NamedTuple):
    """One verb on one kind of thing. space, name: where and which alone; empty for all."""

    verb: str
    group: str
    resource: str
    space: str = ""
    name: str = ""

    def allows(self, use: "Right") -> bool:
        """Whether it is what that use needed."""
        return ((self.verb, self.group, self.resource) == (use.verb, use.group, use.resource)
                and self.space in ("", use.space) and self.name in ("", use.name))


class Uses(NamedTuple):
    """What somebody asked of the API server."""

    allowed: set[Right]
    refused: set[Right]


def of_rules(rules: Iterable[Json], space: str = "") -> Iterator[Right]:
    """Those of a role, which counts in one namespace or everywhere."""
    for rule in rules:
        for group in rule.get("apiGroups", []):
            for resource in rule.get("resources", []):
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(verb, group, resource, space, name)
        for path in rule.get("nonResourceURLs", []):
            for verb in rule["verbs"]:
                yield Right(verb, "", path)


def granted(api: Api, account: str, namespace: str) -> set[Right]:
    """By all bindings that name this service account."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    found: set[Right] = set()
    for path in ("rolebindings", "clusterrolebindings"):
        for binding in api.json("GET", f"{RBAC}/{path}")["items"]:
            if subject not in binding.get("subjects", []):
                continue
            space = binding["metadata"].get("namespace", "")
            role = binding["roleRef"]
            where = f"namespaces/{space}/roles" if role["kind"] == "Role" else "clusterroles"
            rules = api.json("GET", f"{RBAC}/{where}/{role['name']}")["rules"]
            found.update(of_rules(rules, space))
    return found


def uses(audit_log: Path, user: str) -> Uses:
    """Of everything that stands in the log."""
    found = Uses(set(), set())
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        if event["user"]["username"] != user:
            continue
        target = event.get("objectRef", {"resource": event["requestURI"].partition("?")[0]})
        resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
        right = Right(event["verb"], target.get("apiGroup", ""), resource,
                      target.get("namespace", ""), target.get("name", ""))
        decision = event.get("annotations", {}).get("authorization.k8s.io/decision")
        (found.refused if decision == "forbid" else found.allowed).add(right)
    return found


def of_account(cluster: ClusterHandle, user: str) -> list[str]:
    """The problems of a service account, on a cluster whose audit log has all that it asked."""
    _, _, namespace, account = user.split(":")
    rules = granted(cluster.api(), account, namespace)
    log = cluster.directory / "logs" / "audit.log"
    return problems(rules, uses(log, user)) if rules else [f"{user} may do nothing"]


def problems(rules: set[Right], used: Uses) -> list[str]:
    """Rights that nobody used, uses that no rule allows, and rules that name no thing."""
    return sorted([
        *(f"has and never used: {right}" for right in rules
          if not any(right.allows(use) for use in used.allowed)),
        *(f"used without a rule of ours: {use}" for use in used.allowed
          if not any(right.allows(use) for right in rules)),
        *(f"was refused: {use}" for use in used.refused),
        *(f"is a wildcard: {right}" for right in rules if "*" in "".join(right))])
