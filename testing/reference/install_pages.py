"""Reads docs/install: whether each page says what was tested, and whether the chart has the values
that documents name.

A document names values of the chart in three ways:

- `--set NAME=VALUE`, `--set-string NAME=VALUE`, in text and in commands. A command that runs Helm
  for another chart does not name "tessera" and is not read.
- `NAME=VALUE`, or `GROUP.NAME` alone, between backquotes, where NAME begins with a value of the
  chart.
- a fenced block of YAML whose first line is the comment `# values.yaml`, or `# values-NAME.yaml`.
"""

from __future__ import annotations

import datetime
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reference.values import CHART

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "docs" / "install"
INDEX = INSTALL / "README.md"

Json = dict[str, Any]

_STATUS = re.compile(r"# [^\n]+\n\n\*\*(?P<status>Tested|Untested)\*\* "
                     r"\((?P<date>\d{4}-\d\d-\d\d)\): \S")
_ROW = re.compile(r"^\| \[[^]]*\]\((?P<page>[\w-]+\.md)\) \|.*\| (?P<status>\w+) \|$", re.MULTILINE)
_SET = re.compile(r"""--set(?P<kind>-string)?[ =](?P<text>'[^']*'|"[^"]*"|[^\s`'"]+)""")
_FENCE = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE)
_VALUES_FILE = re.compile(r"# values(-[\w-]+)?\.yaml\b")
_SPAN = re.compile(r"`(?P<name>[A-Za-z]+(?:\.[\w\\./-]+)*)(?:=(?P<value>[^`\s]*))?`")
_FILE = re.compile(r"\.(?:cpp|hpp|def|md|yaml|json|py)$")
_OF_GPUSHARE = "scheduler.framework.gpushare.allocation"  # an annotation
_PLACEHOLDER = "NAME"
# "required" is for all values together; a page names a few.
_RULES = {"$schema", "$comment", "required", "title", "description", "default", "type", "enum",
          "pattern", "not", "minimum", "maximum", "minLength", "minProperties", "minItems", "items",
          "properties", "additionalProperties", "patternProperties", "uniqueItems", "anyOf"}
_ANY = object()  # a value that a document names and does not write


def schema() -> Json:
    """The schema of the chart's values."""
    read: Json = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    return read


def documents() -> list[Path]:
    """The documents that users read. docs/research describes others' products."""
    return [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").rglob("*.md"))
                                  if "research" not in path.parts)]


def status_of(page: str) -> str:
    """Tested or Untested, from the first line of a page. Empty: the page does not say it."""
    found = _STATUS.match(page)
    if found is None:
        return ""
    try:
        datetime.date.fromisoformat(found["date"])
    except ValueError:
        return ""
    return found["status"]


def index_rows(index: str) -> dict[str, str]:
    """The pages that the index lists, with the status that it gives them."""
    return {row["page"]: row["status"] for row in _ROW.finditer(index)}


def value_faults(text: str, of: Json) -> list[str]:
    """What the chart would refuse of the values that a document names. One line each."""
    found: list[str] = []
    for name, value in _named(text, set(of["properties"])):
        found += faults(_nested(name, value), of)
    for block in _blocks(text):
        if _VALUES_FILE.match(block):
            found += faults(yaml.safe_load(block), of)
    return found


def yaml_faults(text: str) -> list[str]:
    """The blocks of YAML that cannot be read. One line each."""
    found = []
    for block in _blocks(text):
        try:
            list(yaml.safe_load_all(block))
        except yaml.YAMLError as error:
            found.append(" ".join(str(error).split()))
    return found


def count_of_values(text: str, of: Json) -> int:
    """How many values a document names; a block of YAML counts once."""
    files = [block for block in _blocks(text) if _VALUES_FILE.match(block)]
    return len(list(_named(text, set(of["properties"])))) + len(files)


def faults(value: Any, rule: Json, name: str = "") -> Iterator[str]:
    """Why this value does not fit this part of the schema. Knows the words that the chart's schema
    uses, and refuses a schema with others."""
    if unknown := set(rule) - _RULES:
        raise ValueError(f"install_pages.py does not know {', '.join(sorted(unknown))} of a schema")
    if value is _ANY:
        return
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    if "type" in rule and (not isinstance(value, kinds[rule["type"]])
                           or rule["type"] == "integer" and isinstance(value, bool)):
        yield f"{name}: {value!r} is no {rule['type']}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{name}: {value!r} is none of {', '.join(rule['enum'])}"
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        yield f"{name}: {value!r} does not match {rule['pattern']}"
    if "not" in rule and value == rule["not"]["const"]:
        yield f"{name}: {value!r} is not allowed"
    if isinstance(value, (str, dict, list)) and len(value) < max(
            rule.get(least, 0) for least in ("minLength", "minProperties", "minItems")):
        yield f"{name}: {value!r} is too short"
    least, most = rule.get("minimum", value), rule.get("maximum", value)
    if isinstance(value, int) and not least <= value <= most:
        yield f"{name}: {value} is too small or too large"
    for part in value if isinstance(value, list) else ():
        yield from faults(part, rule.get("items", {}), f"{name}[]")
    if rule.get("uniqueItems") and len({str(part) for part in value}) < len(value):
        yield f"{name}: {value!r} has an entry twice"
    if "anyOf" in rule and all(list(faults(value, each)) for each in rule["anyOf"]):
        yield f"{name}: {value!r} fits no alternative"
    for key, part in value.items() if isinstance(value, dict) else ():
        below = rule.get("properties", {}).get(key, _of_pattern(key, rule))
        if below is False:
            yield f"the chart has no value {name}{'.' if name else ''}{key}"
        elif isinstance(below, dict):
            yield from faults(part, below, f"{name}{'.' if name else ''}{key}")


def _of_pattern(key: str, rule: Json) -> Any:
    """The rule for a key that the schema does not name."""
    for pattern, below in rule.get("patternProperties", {}).items():
        if re.search(pattern, key):
            return below
    return rule.get("additionalProperties", {})


def _blocks(text: str) -> Iterator[str]:
    """The fenced blocks of YAML, without the indentation of a list."""
    return (textwrap.dedent(block["text"]) for block in _FENCE.finditer(text)
            if block["language"] == "yaml")


def _named(text: str, groups: set[str]) -> Iterator[tuple[str, Any]]:
    """The values in commands and between backquotes."""
    one_line = re.sub(r"\\\n *", "", text)  # a command that goes on in the next line
    for line in one_line.split("\n"):
        if re.search(r"\bhelm (?:install|upgrade|template)", line) and "tessera" not in line:
            continue
        for found in _SET.finditer(line):
            for assignment in re.split(r"(?<!\\),", found["text"].strip("'\"")):
                name, _, value = assignment.partition("=")
                if name != _PLACEHOLDER:
                    yield name, value if found["kind"] else _typed(value)
    for found in _SPAN.finditer(_FENCE.sub("", text)):
        name, value = found["name"], found["value"]
        group, dot, _ = name.partition(".")
        if group not in groups or not dot and value is None:
            continue
        if name != _OF_GPUSHARE and not _FILE.search(name):
            yield name, _ANY if value is None else _typed(value)


def _typed(text: str) -> Any:
    """What Helm takes a value of --set for."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"0|-?[1-9]\d*", text):
        return int(text)
    if text.startswith("{") and text.endswith("}"):
        return [_typed(part) for part in text[1:-1].split(",")]
    return text.replace("\\,", ",")


def _nested(name: str, value: Any) -> Json:
    """{"a": {"b": value}} for the name a.b; a dot behind a backslash belongs to a key."""
    parts = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", name)]
    for part in reversed(parts):
        listed = re.fullmatch(r"(.+)\[\d+\]", part)
        value = {listed[1]: [value]} if listed else {part: value}
    nested: Json = value
    return nested
