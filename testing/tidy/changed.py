"""Chooses the C++ sources that a change touched, the newest first.

Looks at the commits since the merge base with origin/main. Where that is HEAD, where there is no
origin/main, or where those commits touched no source, it looks at the last 40 commits, and then at
all commits. Files that are not committed yet come before every commit. A header counts as one
source that includes it: its own .cpp, else the first by name.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

COMMITS = 40
# guard/hardware is a separate build; `./dev check tidy` reads it too.
_SOURCE = re.compile(r"(src|guard|gpusim|simulator)/(?!hardware/).*(?<!_test)(?<!_fuzz)\.cpp")
_HEADER = re.compile(r"(src|guard|gpusim|simulator)/(?!hardware/).*(?<!_test)\.(hpp|def)")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Chosen:
    """Sources relative to the root, the newest change first, and where they come from."""
    sources: list[str]
    since: str  # "the merge base with origin/main", ...


def all_sources(root: Path) -> list[str]:
    """Every source that clang-tidy reads with the build's compile commands."""
    names = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp")
    return sorted(name for name in names if _SOURCE.fullmatch(name) and (root / name).is_file())


def changed_sources(root: Path) -> Chosen:
    """Never empty, unless the tree has no sources."""
    known = all_sources(root)
    own = _not_committed(root)
    for commits, since in _ranges(root):
        sources = _sources_of([*own, *_changed_in(root, commits)], known, root)
        if sources:
            return Chosen(sources, since)
    return Chosen([], "the first commit")


def _ranges(root: Path) -> Iterator[tuple[list[str], str]]:
    base = _git(root, "merge-base", "HEAD", "origin/main", may_fail=True)
    if base and base != _git(root, "rev-parse", "HEAD"):
        yield [f"{base[0]}..HEAD"], "the merge base with origin/main"
    yield [f"--max-count={COMMITS}", "HEAD"], f"the last {COMMITS} commits"
    yield ["HEAD"], "the first commit"


def _changed_in(root: Path, commits: list[str]) -> list[str]:
    """A merge counts as one commit with all that it brought."""
    return _git(root, "log", "--first-parent", "--diff-merges=first-parent", "--format=",
                "--name-only", "--diff-filter=d", *commits)


def _not_committed(root: Path) -> list[str]:
    return [*_git(root, "diff", "--name-only", "--diff-filter=d", "HEAD"),
            *_git(root, "ls-files", "--others", "--exclude-standard")]


def _sources_of(names: Iterable[str], known: list[str], root: Path) -> list[str]:
    """The names may repeat; the first counts."""
    by_include: dict[str, str] = {}
    chosen: dict[str, None] = {}
    for name in names:
        if name in known:
            chosen[name] = None
        elif _HEADER.fullmatch(name) and (root / name).is_file():
            own = str(PurePosixPath(name).with_suffix(".cpp"))
            by_include = by_include or _first_includer(known, root)
            source = own if own in known else by_include.get(name.removeprefix("src/"))
            if source is not None:
                chosen[source] = None
    return list(chosen)


def _first_includer(known: list[str], root: Path) -> dict[str, str]:
    """By the header's name in an include."""
    includer: dict[str, str] = {}
    for source in known:
        for header in _INCLUDE.findall((root / source).read_text(encoding="utf-8")):
            includer.setdefault(header, source)
    return includer


def _git(root: Path, *arguments: str, may_fail: bool = False) -> list[str]:
    """The lines that git prints, without empty ones."""
    done = subprocess.run(["git", "-C", root, "-c", "core.quotePath=off", *arguments], text=True,
                          capture_output=True)
    if done.returncode != 0:
        if may_fail:
            return []
        raise SystemExit(f"git {arguments[0]}: {done.stderr.strip()}")
    return [line for line in done.stdout.splitlines() if line]
