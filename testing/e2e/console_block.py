"""Console blocks of documents: commands after "$ ", each with what it printed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """command: in one line, as a shell reads it."""

    command: str
    printed: str


def steps(document: Path, heading: str) -> list[Step]:
    """The steps of the console block below the heading. Raises ValueError if there is none."""
    return list(_steps_of(_block(document, heading, "console").replace("\\\n", " ")))


def yaml_block(document: Path, heading: str) -> str:
    """The first YAML block below the heading. Raises ValueError if there is none."""
    return _block(document, heading, "yaml")


def _block(document: Path, heading: str, language: str) -> str:
    section = document.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    if block is None:
        raise ValueError(f"{document.name}: no ```{language} block below the heading {heading}")
    return block[1]


def _steps_of(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield Step(re.sub(r"\s+", " ", command), printed)


def run(command: str, environment: Mapping[str, str], directory: Path) -> str:
    """Runs the command in `directory`. Returns its stdout and stderr."""
    return subprocess.run(["bash", "-c", command], env=dict(environment), cwd=directory,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=900).stdout
