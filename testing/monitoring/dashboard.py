"""Finds faults in a Grafana dashboard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from monitoring import promtool

Json = dict[str, Any]

PANELS = {"timeseries", "stat", "table", "bargauge", "gauge", "heatmap"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Grafana's variables, and values to replace them.
VARIABLES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}
_NAME = re.compile(r"\b(?:tessera|process)_[a-z0-9_]+\b")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
WIDTH = 24


def names_in(expression: str) -> set[str]:
    """The metrics in an expression."""
    return set(_NAME.findall(_STRING.sub('""', expression)))


def panels(dashboard: Json) -> Iterator[Json]:
    """The panels that show data, inside and outside of rows."""
    for panel in dashboard.get("panels", []):
        if panel.get("type") == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


def expressions(dashboard: Json) -> list[str]:
    """The expressions of all panels and variables, with Grafana's variables replaced."""
    found = [target["expr"] for panel in panels(dashboard) for target in panel.get("targets", [])]
    for variable in _variables(dashboard):
        query = variable.get("query", "")
        text = query.get("query", "") if isinstance(query, dict) else query
        match = re.fullmatch(r"label_values\((.+),\s*\w+\)", text)
        if match:
            found.append(match[1])
    return [_filled(e) for e in found]


def faults(dashboard: Json, known: set[str]) -> Iterator[str]:
    """Every fault, as a sentence. known: the existing metrics."""
    for key in ("title", "uid", "schemaVersion", "panels", "templating", "time"):
        if not dashboard.get(key):
            yield f"{key}: missing"
    if dashboard.get("id") is not None:
        yield "id: belongs to one Grafana; it must be null"
    everything = dashboard.get("panels", []) + [
        inner for row in dashboard.get("panels", []) for inner in row.get("panels", [])]
    for number, count in Counter(panel.get("id") for panel in everything).items():
        if number is None or count > 1:
            yield f"panel id {number} stands {count} times"
    yield from _overlaps(dashboard)
    variables = {str(v.get("name")): v for v in _variables(dashboard)}
    if variables.get("datasource", {}).get("type") != "datasource":
        yield "templating: no variable datasource, so it works only in one Grafana"
    for panel in panels(dashboard):
        yield from _faults_of(panel, set(variables), known)
    wrong = promtool.faults_of(expressions(dashboard))
    if wrong:
        yield wrong


def _variables(dashboard: Json) -> list[Json]:
    return list(dashboard.get("templating", {}).get("list", []))


def _filled(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return _VARIABLE.sub("x", expression)


def _faults_of(panel: Json, variables: set[str], known: set[str]) -> Iterator[str]:
    title = panel.get("title") or f"panel {panel.get('id')}"
    if not panel.get("title") or panel.get("type") not in PANELS:
        yield f"{title}: a panel has a title, and its type is one of {sorted(PANELS)}"
    if panel.get("datasource") != DATASOURCE:
        yield f"{title}: its datasource is not the variable"
    if not panel.get("targets"):
        yield f"{title}: it has no targets"
    references = Counter(target.get("refId") for target in panel.get("targets", []))
    if None in references or any(n > 1 for n in references.values()):
        yield f"{title}: two targets have one refId"
    for target in panel.get("targets", []):
        expression = target.get("expr", "")
        for name in sorted(names_in(expression) - known):
            yield f"{title}: there is no metric {name}"
        for name in _VARIABLE.findall(expression):
            if name not in variables and f"${name}" not in VARIABLES:
                yield f"{title}: there is no variable {name}"


def _overlaps(dashboard: Json) -> Iterator[str]:
    taken: dict[tuple[int, int], Any] = {}
    for panel in dashboard.get("panels", []):
        at = panel.get("gridPos", {})
        if set(at) != {"x", "y", "w", "h"} or at["x"] + at["w"] > WIDTH:
            yield f"panel {panel.get('id')}: its gridPos is not within {WIDTH} columns"
            continue
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        for other in {taken[cell] for cell in cells & set(taken)}:
            yield f"panels {other} and {panel.get('id')} overlap"
        taken |= dict.fromkeys(cells, panel.get("id"))
