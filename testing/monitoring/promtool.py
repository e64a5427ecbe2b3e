"""Prometheus' own judge of rules, expressions and expositions; tools/setup puts it into the cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path


def path() -> str:
    """Where it is; FileNotFoundError with the fix when it is nowhere."""
    cache = os.environ.get("TESSERA_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tessera")
    found = shutil.which("promtool", path=f"{cache}/promtool/usr/bin:{os.environ['PATH']}")
    if found is None:
        raise FileNotFoundError(f"no promtool in {cache} nor in PATH: run tools/setup build")
    return found


def run(*arguments: str, text: str | None = None, directory: Path | None = None) -> str:
    """What it says against this; empty when it is content."""
    done = subprocess.run([path(), *arguments], input=text, cwd=directory, text=True,
                          capture_output=True, timeout=60)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def faults_of(expressions: Iterable[str]) -> str:
    """What is wrong with these expressions of PromQL; empty when nothing is."""
    rules = [{"record": f"expression:{i}", "expr": e} for i, e in enumerate(expressions)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"groups": [{"name": "expressions", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        return run("check", "rules", file.name)
