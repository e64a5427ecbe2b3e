"""The values of the Helm chart: their names, defaults and comments, read from values.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from stack.render import CHART



@dataclass(frozen=True)
class Value:
    """One value. meaning: its comment in values.yaml, and for a group that of the group."""

    name: str
    default: str
    meaning: str


def values() -> list[Value]:
    """All values, in the order of values.yaml. A group has no row unless it has a comment."""
    text = (CHART / "values.yaml").read_text()
    defaults = yaml.safe_load(text)
    found = []
    for name, meaning in _commented(text):
        default = _at(defaults, name)
        shown = "" if isinstance(default, dict) and default and not _is_open(name) \
            else json.dumps(default)
        if shown or meaning:
            found.append(Value(name, shown, meaning))
    return found


def schema_names() -> set[str]:
    """The names of all values that values.schema.json allows, without `global`, which is Helm's."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    return set(_properties(schema, "")) - {"global"}


def names() -> set[str]:
    """The names of all values in values.yaml, groups included."""
    return {name for name, _ in _commented((CHART / "values.yaml").read_text())}


def _properties(schema: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, below in schema.get("properties", {}).items():
        yield prefix + name
        yield from _properties(below, f"{prefix}{name}.")


def _is_open(name: str) -> bool:
    """Whether a mapping is a value of its own, with any keys."""
    return name not in {known.rpartition(".")[0] for known in schema_names()}


def _commented(text: str) -> Iterator[tuple[str, str]]:
    """The name and the comment of each value that the schema knows, in order."""
    known = schema_names()
    comments: list[str] = []
    parents: list[tuple[int, str]] = []
    for line in text.splitlines():
        if match := re.match(r"\s*# ?(.*)", line):
            comments.append(match[1])
            continue
        if match := re.match(r"( *)([\w./-]+):", line):
            while parents and parents[-1][0] >= len(match[1]):
                parents.pop()
            name = ".".join([*(parent for _, parent in parents), match[2]])
            if name in known:
                parents.append((len(match[1]), match[2]))
                yield name, " ".join(comments)
        comments = []


def _at(defaults: Any, name: str) -> Any:
    for part in name.split("."):
        defaults = defaults[part]
    return defaults
