"""The completion of commands, options and values, in the real shells. (programs_test.cpp compares
what is offered with each command's help.)"""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from e2e.terminal import Terminal
from workstation.machine import BIN, soon

# What starts the shell without a user's files, and what loads the completion.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(tessera completion bash)"),
    "zsh": (["zsh", "-f", "-i"],
            "autoload -Uz compinit; compinit -D; source <(tessera completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "tessera completion fish | source")}
# A line, and what the tab key makes of it.
LINES = {"whoa": "whoami",
         "serve tens": "serve tensorflow",
         "serve update cus": "serve update custom",
         "submit pytorch --gpum": "submit pytorch --gpumemory",
         "top node -o w": "top node -o wide"}
# In place of tessera, which makes the scripts: writes the words with which the shell called it.
STUB = """#!/bin/sh
[ "$1" = completion ] && exec '{program}' "$@"
echo "$*" > '{seen}.new' && mv '{seen}.new' '{seen}'
"""


class CompletionTest(unittest.TestCase):
    def completed(self, shell: str, lines: list[str]) -> list[str]:
        """The words of each line, after the tab key."""
        with tempfile.TemporaryDirectory() as folder:
            seen, stub = Path(folder) / "seen", Path(folder) / "tessera"
            stub.write_text(STUB.format(program=BIN / "tessera", seen=seen), encoding="utf-8")
            stub.chmod(0o755)
            command, load = SHELLS[shell]
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                           "HOME": folder, "TERM": "dumb"}
            out = []
            with Terminal(command, environment) as terminal:
                terminal.send(f"{load}; echo rea''dy\n")
                terminal.until("ready")
                for line in lines:
                    terminal.send(f"tessera {line}\t\n")
                    soon(seen.exists, f"{shell} runs the line")
                    out.append(seen.read_text(encoding="utf-8").strip())
                    seen.unlink()
            return out

    def test_the_tab_key(self) -> None:
        for shell in SHELLS:
            with self.subTest(shell):
                self.assertEqual(self.completed(shell, list(LINES)), list(LINES.values()))
