"""Compares the rights of our service accounts with the rights that they use, by the API server's
audit log."""

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
    """One verb on one resource. ns: the only namespace; name: the only object; empty for all."""

    verb: str
    group: str
    resource: str
    ns: str = ""
    name: str = ""

    def allows(self, use: "Right") -> bool:
        """Whether this right allows that use."""
        return ((self.verb, self.group, self.resource) == (use.verb, use.group, use.resource)
                and self.ns in ("", use.ns) and self.name in ("", use.name))


class Uses(NamedTuple):
    """What a user requested of the API server."""

    allowed: set[Right]
    refused: set[Right]


def of_rules(rules: Iterable[Json], ns: str = "") -> Iterator[Right]:
    """The rights of a role, which apply in one namespace, or in all if `ns` is empty."""
    for rule in rules:
        for group in rule.get("apiGroups", []):
            for resource in rule.get("resources", []):
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(verb, group, resource, ns, name)
        for path in rule.get("nonResourceURLs", []):
            for verb in rule["verbs"]:
                yield Right(verb, "", path)


def granted(api: Api, account: str, namespace: str) -> set[Right]:
    """The rights from all bindings of this service account."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    found: set[Right] = set()
    for path in ("rolebindings", "clusterrolebindings"):
        for binding in api.json("GET", f"{RBAC}/{path}")["items"]:
            if subject not in binding.get("subjects", []):
                continue
            ns = binding["metadata"].get("namespace", "")
            role = binding["roleRef"]
            where = f"namespaces/{ns}/roles" if role["kind"] == "Role" else "clusterroles"
            rules = api.json("GET", f"{RBAC}/{where}/{role['name']}")["rules"]
            found.update(of_rules(rules, ns))
    return found


def uses(audit_log: Path, user: str) -> Uses:
    """The uses of a user in the audit log."""
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
    """The problems of a service account. The cluster's audit log must have all of its requests."""
    _, _, namespace, account = user.split(":")
    rules = granted(cluster.api(), account, namespace)
    log = cluster.directory / "logs" / "audit.log"
    return problems(rules, uses(log, user)) if rules else [f"{user} has no rights"]


def problems(rules: set[Right], used: Uses) -> list[str]:
    """Unused rights, uses that no rule of ours allows, refused requests, and wildcards."""
    return sorted([
        *(f"has and never used: {right}" for right in rules
          if not any(right.allows(use) for use in used.allowed)),
        *(f"used without a rule of ours: {use}" for use in used.allowed
          if not any(right.allows(use) for right in rules)),
        *(f"was refused: {use}" for use in used.refused),
        *(f"is a wildcard: {right}" for right in rules if "*" in "".join(right))])
