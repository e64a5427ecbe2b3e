"""The rights of the Helm chart, read from its templates: a line per rule, with its purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stack.render import CHART

TEMPLATES = CHART / "templates"
# The templates that come first on the page, without "-rbac.yaml".
ORDER = ("controller", "custom-metrics", "agent", "ledger", "reader", "public", "clean-nodes", "test")
# What the conditions of the templates mean, in terms of values.
CONDITIONS = {
    "or .Values.controller.preempt (and .Values.mps.enabled (gt (int .Values.mps.evictAfter) 0))":
        "`controller.preempt`, or `mps.enabled` with `mps.evictAfter`",
    ".Values.controller.trainingJobs": "`controller.trainingJobs`",
    ".Values.controller.customMetrics": "`controller.customMetrics`",
    ".Values.webhook.enabled": "`webhook.enabled`",
    ".Values.uninstall.cleanNodes": "`uninstall.cleanNodes`",
    ".Values.guard.enabled": "`guard.enabled`",
    ".Values.agent.listen": "`agent.listen`",
    ".Values.ledger.enabled": "`ledger.enabled`",
    "or .Values.guard.enabled .Values.ledger.enabled": "`guard.enabled` or `ledger.enabled`",
    ".Values.openshift.enabled": "`openshift.enabled`",
    "$account.name": "`monitoring.serviceAccount`",
    "$isScheduler": "`mode: scheduler`",
    "$listsPods": "`agent.identity` other than `nri`",
}


@dataclass
class Rule:
    """One rule of a role. only_with: the values that it depends on; empty: it is always there."""

    role: str
    only_with: str
    purpose: str
    fields: dict[str, str] = field(default_factory=dict)


def rules() -> list[Rule]:
    """All rules; the templates are in the order ORDER. Raises ValueError for a rule without a purpose, and
    for a condition that CONDITIONS does not explain, and for a role in any other template."""
    for path in TEMPLATES.iterdir():
        if not path.name.endswith("-rbac.yaml") and re.search(r"^kind: (Cluster)?Role$",
                                                              path.read_text(), re.MULTILINE):
            raise ValueError(f"{path.name}: move its role to a template with the name *-rbac.yaml")
    return [rule for path in sorted(TEMPLATES.glob("*-rbac.yaml"), key=_place)
            for rule in _rules_of(path)]


def _place(path: Path) -> tuple[int, str]:
    name = path.name.removesuffix("-rbac.yaml")
    return ORDER.index(name) if name in ORDER else len(ORDER), name


def _rules_of(path: Path) -> Iterator[Rule]:
    role = kind = ""
    conditions: list[str] = []
    comments: list[str] = []
    rule: Rule | None = None
    in_rules = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if match := re.fullmatch(r"\{\{- if (.*) \}\}", text):
            conditions.append(match[1])
        elif text == "{{- end }}":
            conditions.pop()
        elif text.startswith("#"):
            comments.append(text.removeprefix("#").strip())
            continue
        elif text == "---":
            role, in_rules = "", False
        elif match := re.fullmatch("kind: (.*)", line):
            kind = match[1]
        elif kind in ("Role", "ClusterRole") and not role and (match := re.fullmatch("  name: (.*)", line)):
            role = f"{kind} `{match[1]}`"
        elif text == "rules:":
            in_rules = True
        elif in_rules and (match := re.fullmatch(r"(- )?(\w+): \[(.*)\]", text)):
            if match[1]:
                if rule is not None:
                    yield rule
                if not comments:
                    raise ValueError(f"{path.name}:{number}: a comment before a rule must say what it is for")
                rule = Rule(role, ", ".join(_meaning(path, number, c) for c in conditions),
                            " ".join(comments))
            assert rule is not None
            rule.fields[match[2]] = match[3].replace('""', "core")
        comments = []
    if rule is not None:
        yield rule


def _meaning(path: Path, number: int, condition: str) -> str:
    if condition not in CONDITIONS:
        raise ValueError(f"{path.name}:{number}: reference/rbac.py does not explain {condition}")
    return CONDITIONS[condition]
