"""promtool, which checks rules, expressions and expositions. tools/setup installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path


def path() -> str:
    """The path of promtool. Raises FileNotFoundError with the fix if it does not exist."""
    cache = os.environ.get("TESSERA_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tessera")
    found = shutil.which("promtool", path=f"{cache}/promtool/usr/bin:{os.environ['PATH']}")
    if found is None:
        raise FileNotFoundError(f"no promtool in {cache} nor in PATH: run tools/setup build")
    return found


def run(*arguments: str, text: str | None = None, directory: Path | None = None) -> str:
    """The errors that promtool reports; empty if there are none."""
    done = subprocess.run([path(), *arguments], input=text, cwd=directory, text=True,
                          capture_output=True, timeout=60)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def faults_of(expressions: Iterable[str]) -> str:
    """The errors in these PromQL expressions; empty if there are none."""
    rules = [{"record": f"expression:{i}", "expr": e} for i, e in enumerate(expressions)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"groups": [{"name": "expressions", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        return run("check", "rules", file.name)
