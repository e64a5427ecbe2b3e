"""The comparison of rights finds each kind of difference."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from e2e.rights import Right, Uses, of_rules, problems, uses


class RightsTest(unittest.TestCase):
    def test_rules(self) -> None:
        rules = [{"apiGroups": [""], "resources": ["pods", "pods/binding"], "verbs": ["get"]},
                 {"apiGroups": ["x"], "resources": ["l"], "resourceNames": ["n"], "verbs": ["get"]},
                 {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
        self.assertEqual(set(of_rules(rules, "s")), {
            Right("get", "", "pods", "s"), Right("get", "", "pods/binding", "s"),
            Right("get", "x", "l", "s", "n"), Right("get", "", "/metrics")})

    def test_problems(self) -> None:
        pods, lease = Right("get", "", "pods"), Right("get", "x", "leases", "s", "n")
        used = {Right("get", "", "pods", "a", "b"), lease}
        self.assertEqual(problems({pods, lease}, Uses(used, set())), [])
        for rules, seen, words in (
                ({pods, lease, Right("list", "", "pods")}, Uses(used, set()), "never used"),
                ({pods}, Uses(used, set()), "without a rule"),
                ({pods, Right("get", "x", "leases", "s", "m")}, Uses(used, set()), "never used"),
                ({pods, lease}, Uses(used, {Right("delete", "", "pods", "a", "b")}), "refused"),
                ({Right("*", "", "pods")}, Uses(set(), set()), "wildcard"),
                ({Right("get", "*", "pods")}, Uses(set(), set()), "wildcard")):
            self.assertIn(words, "\n".join(problems(rules, seen)))

    def test_uses(self) -> None:
        def event(user: str, decision: str, **more: object) -> str:
            return json.dumps({"user": {"username": user}, "verb": "create", "requestURI": "/a?b",
                               "annotations": {"authorization.k8s.io/decision": decision}, **more})
        target = {"resource": "pods", "subresource": "binding", "namespace": "n", "name": "p"}
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "audit.log"
            log.write_text("\n".join((event("me", "allow", objectRef=target),
                                      event("me", "forbid", objectRef=target),
                                      event("me", "allow"), event("you", "allow"))) + "\n")
            found = uses(log, "me")
        binding = Right("create", "", "pods/binding", "n", "p")
        self.assertEqual(found, Uses({binding, Right("create", "", "/a")}, {binding}))
