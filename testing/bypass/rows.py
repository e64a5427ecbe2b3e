"""The attacks and their verdicts: from guard/attacks/attacks.def, and as SECURITY.md shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stack import builds

CAUGHT, REPORTED, DOCUMENTED, FAILED = "caught", "reported", "documented", "FAILED"
DEFINITIONS = builds.ROOT / "guard" / "attacks" / "attacks.def"
LIMITS = builds.ROOT / "docs" / "limits.md"
SECURITY = builds.ROOT / "SECURITY.md"
PROGRAM, POD = "program", "pod"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"

_MACRO = re.compile(
    r'^(?:POD_)?ATTACK\((\w+),\s*(\w+),\s*((?:"[^"]*"\s*)+)(?:,\s*((?:"[^"]*"\s*)+))?\)$', re.M)
_ROW = re.compile(r"^\| `([\w-]+)` \| (.*?) \| (\w+) \| (.*?) \|$", re.M)


@dataclass(frozen=True)
class Attack:
    """verdict: the expected verdict. limit: if that is `documented`, words of docs/limits.md."""

    name: str
    verdict: str
    text: str
    kind: str
    limit: str = ""

    @property
    def pod_name(self) -> str:
        """The name of the pod that runs the attack."""
        return self.name.replace("_", "-")

    @property
    def where(self) -> str:
        """The last column of the table."""
        limit = f', [limits](docs/limits.md): "{self.limit}"' if self.limit else ""
        return self.kind + limit


@dataclass(frozen=True)
class Outcome:
    """What was observed. detail: for people, not compared."""

    verdict: str
    detail: str = ""


def programs() -> list[Attack]:
    """The attacks of attacks.def, in its order."""
    def text(literals: str) -> str:
        return "".join(re.findall(r'"([^"]*)"', literals))
    return [Attack(name, verdict, text(what), PROGRAM, text(limit or ""))
            for name, verdict, what, limit in _MACRO.findall(DEFINITIONS.read_text())]


def is_documented(attack: Attack) -> bool:
    """Whether docs/limits.md has the attack's words, ignoring line breaks."""
    page = " ".join(LIMITS.read_text().split())
    return bool(attack.limit) and attack.limit in page


def table(attacks: Iterable[Attack]) -> str:
    """The table in the form of SECURITY.md."""
    lines = [f"| `{each.name}` | {each.text} | {each.verdict} | {each.where} |"
             for each in attacks]
    return "\n".join(["| attack | what it does | result | where |", "|---|---|---|---|", *lines])


def published(page: str) -> dict[str, tuple[str, str, str]]:
    """Name -> text, verdict and place of each row in SECURITY.md."""
    part = page.partition(BEGIN)[2].partition(END)[0]
    return {name: (text, verdict, where) for name, text, verdict, where in _ROW.findall(part)}


def with_table(page: str, attacks: Iterable[Attack]) -> str:
    """The page with this table in place of its current table."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"SECURITY.md has no {BEGIN} or no {END}")
    return f"{before}{begin}\n\n{table(attacks)}\n\n{end}{after}"
