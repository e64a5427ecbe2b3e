"""Runs clang-tidy on sources of the tree, and remembers what passed.

usage: clang_tidy.py BUILD [--all] [--jobs N] [FILE...]

BUILD has compile_commands.json and the generated headers. Without arguments, the sources that the
change touched (changed.py), at most 20 of them; with --all, every source; else the given ones.

A source that passed is remembered in $TESSERA_CACHE/tidy under a hash of all that clang-tidy reads:
the source and every header of it with comments and macros, its flags, the .clang-tidy files above
it, and the version. So a second run costs one preprocessing for each unchanged source.
Exit status: 0 all pass, 1 a fault, 77 the tree is no git repository (ctest: skipped).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import changed

ROOT = Path(__file__).resolve().parents[2]
# Commit 70dc20dc changed 1,859 files, so "the last 40 commits" may be the whole tree: hours.
MOST = 20
KEPT_SECONDS = 60 * 24 * 3600
TIDY, CLANG = "clang-tidy-19", "clang++-19"
# What names the compiler's output.
_DROPPED = {"-c", "-MD", "-MMD"}
_DROPPED_WITH_VALUE = {"-o", "-MF", "-MT", "-MQ"}


class Tidy:
    """Of one build. Any thread."""

    def __init__(self, build: Path, cache: Path) -> None:
        self._build, self._cache = build, cache
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self._commands = {c["file"]: c for c in reversed(commands)}
        self._version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout

    def check(self, source: str) -> str | None:
        """What clang-tidy says of a fault, None when it passes."""
        command = self._commands.get(str(ROOT / source))
        if command is None:
            return f"{source}: no target of the build compiles it\n"
        key = self._key(source, command)
        passed = self._cache / key[:2] / key
        if key and passed.exists():
            passed.touch()
            return None
        done = subprocess.run([TIDY, "-p", str(self._build), "--quiet", str(ROOT / source)],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return done.stdout
        if key:
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()
        return None

    def _key(self, source: str, command: dict[str, str]) -> str:
        """Empty where the preprocessor fails: clang-tidy then says why."""
        flags = _flags(command["command"])
        done = subprocess.run([CLANG, *flags, "-w", "-E", "-P", "-C", "-dD"], capture_output=True,
                              cwd=command["directory"])
        if done.returncode != 0:
            return ""
        parts = [self._version, " ".join(flags).encode(), done.stdout]
        for folder in (ROOT / source).parents:
            rules = folder / ".clang-tidy"
            parts.append(rules.read_bytes() if rules.exists() else b"")
            if folder == ROOT:
                break
        digest = hashlib.sha256()
        for part in parts:  # the same in every clone
            part = part.replace(str(ROOT).encode(), b".")
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()


def _flags(command: str) -> list[str]:
    words = shlex.split(command)
    while not words[0].startswith("-"):  # the compiler, and ccache before it
        del words[0]
    out: list[str] = []
    drop = False
    for word in words:
        if not drop and word not in _DROPPED and word not in _DROPPED_WITH_VALUE:
            out.append(word)
        drop = not drop and word in _DROPPED_WITH_VALUE
    return out


def _forget_old(cache: Path) -> None:
    before = time.time() - KEPT_SECONDS
    for path in cache.glob("*/*"):
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except FileNotFoundError:
            pass  # another run removed it


def _chosen(options: argparse.Namespace) -> list[str]:
    if options.files:
        return [str(file.resolve().relative_to(ROOT)) for file in options.files]
    if options.all:
        return changed.all_sources(ROOT)
    found = changed.changed_sources(ROOT)
    sources = found.sources[:MOST]
    print(f"clang-tidy: {len(sources)} of {len(found.sources)} sources changed since {found.since}"
          " (the newest); `./dev check tidy` checks all", flush=True)
    return sources


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="clang-tidy with a memory of what passed.")
    parser.add_argument("build", type=Path)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    parser.add_argument("--all", action="store_true", help="every source, not the changed ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_intermixed_args()
    if not options.files and not (ROOT / ".git").exists():
        print("clang-tidy: no git repository, so what changed is not known; `./dev check tidy`")
        return 77
    cache = Path(os.environ.get("TESSERA_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tessera") / "tidy"
    tidy = Tidy(options.build.resolve(), cache)
    sources = _chosen(options)
    faults = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for fault in pool.map(tidy.check, sources):
            if fault is not None:
                faults += 1
                print(fault, flush=True)
    _forget_old(cache)
    print(f"clang-tidy: {len(sources)} sources, {faults} with faults")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
