"""Relative links of documents: the file exists, and so does the heading that an anchor names.

usage: links.py [ROOT]    prints one line per fault, exit status 1 if there is one.

Reads every *.md file under ROOT. Anchors follow GitHub's rules for headings. What is in a code
fence or a code span is not a link. Links to other sites are not opened.

Also reads the paths below deploy/ that documents, sources and scripts name: administrators follow
them.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_FENCED = re.compile(r"^ *(```+|~~~+)[^\n]*\n.*?(?:^ *\1[`~]* *$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
# [text](target), [name]: target, and the attributes of HTML.
_LINK = re.compile(r"""\]\(\s*<?(?P<inline>[^)\s>]+)|^ {0,3}\[[^\]\n]+\]:\s+<?(?P<named>[^\s>]+)"""
                   r"""|<(?:a|img)\b[^>]*\b(?:href|src)="(?P<html>[^"]+)\"""", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_HEADING = re.compile(r"^ {0,3}#{1,6} +(?P<text>.*?)(?: +#+)? *$", re.MULTILINE)
_NAMED_ANCHOR = re.compile(r'<\w+\b[^>]*\b(?:id|name)="([^"]+)"')
# Sources with paths that are made up, or that no longer exist.
_PATHS_IN = (".cpp", ".hpp", ".def", ".md", ".py", ".yaml", ".txt", "")
_OTHER_PATHS = ("CHANGELOG.md", "docs/research/", "testing/tidy/", "testing/fixtures/")
_DEPLOYED = re.compile(r"(?<![\w./-])deploy/[\w./-]*\w")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


def faults(root: Path) -> Iterator[str]:
    """Every fault under root, as PATH:LINE: SENTENCE."""
    for page in _pages(root):
        text = _without_code(page.read_text(encoding="utf-8"))
        for link in _LINK.finditer(text):
            target = link["inline"] or link["named"] or link["html"]
            if fault := _fault(root, page, target):
                line = text.count("\n", 0, link.start()) + 1
                yield f"{page.relative_to(root)}:{line}: {target}: {fault}"


def missing_paths(root: Path) -> Iterator[str]:
    """Every path below deploy/ that a text under root names and that does not exist."""
    for file in _files(root):
        name = str(file.relative_to(root))
        if file.suffix not in _PATHS_IN or name.startswith(_OTHER_PATHS):
            continue
        text = file.read_text(encoding="utf-8", errors="ignore")
        for match in _DEPLOYED.finditer(text):
            if not (root / match.group()).exists():
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: {match.group()}: no such file."


@functools.cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them, and those of its HTML."""
    text = _blank(_COMMENT, _blank(_FENCED, page.read_text(encoding="utf-8")))
    found = set(_NAMED_ANCHOR.findall(text))
    for heading in _HEADING.finditer(text):
        name = anchor(heading["text"])
        count = 0
        while (numbered := f"{name}-{count}" if count else name) in found:
            count += 1
        found.add(numbered)
    return found


def anchor(heading: str) -> str:
    """The anchor of a heading: its visible letters, digits, hyphens and underscores, in lower case,
    with a hyphen for each space."""
    visible = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return _NOT_IN_ANCHOR.sub("", visible.lower()).replace(" ", "-")


def _fault(root: Path, page: Path, target: str) -> str:
    if _ELSEWHERE.match(target):
        return ""
    name, _, wanted = target.partition("#")
    base = root if name.startswith("/") else page.parent
    file = Path(os.path.normpath(base / name.lstrip("/"))) if name else page
    if not file.is_relative_to(root):
        return "outside the repository."
    if not file.exists():
        return "no such file."
    if wanted and file.suffix == ".md" and wanted not in anchors(file):
        return f"{file.relative_to(root)} has no such heading."
    return ""


def _pages(root: Path) -> Iterator[Path]:
    yield from (file for file in _files(root) if file.suffix == ".md")


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each[0] not in "._" and (
            each != "build" or Path(folder) != root))
        yield from (Path(folder) / name for name in sorted(names))


def _without_code(text: str) -> str:
    for pattern in (_FENCED, _COMMENT, _CODE):
        text = _blank(pattern, text)
    return text


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces for every match, on the same lines."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    found = [*faults(root), *missing_paths(root)]
    print("\n".join(found) if found else "links: no faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
