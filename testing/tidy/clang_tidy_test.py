"""Goal: clang_tidy.py reads a source again exactly when something that clang-tidy reads has changed.
Method: a clang-tidy that notes its calls and finds the word FAULT, and a preprocessor that prints."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import clang_tidy

_TIDY = """#!/bin/sh
[ "$1" = --version ] && exec cat "{0}/version"
echo call >> "{0}/calls"
for word; do case $word in *.cpp) ! grep -H FAULT "$word" || exit 1 ;; esac; done
"""
_CLANG = """#!/bin/sh
for word; do case $word in *.cpp) cat "$word" "{0}/header.hpp" ;; esac; done
"""


class ClangTidyTest(unittest.TestCase):
    """A tree of one source, in two clones."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, script in (("TIDY", _TIDY), ("CLANG", _CLANG)):
            program = self.root / name
            program.write_text(script.format(self.root), encoding="utf-8")
            program.chmod(0o755)
            patch = mock.patch.object(clang_tidy, name, str(program))
            patch.start()
            self.addCleanup(patch.stop)
        (self.root / "header.hpp").write_text("int x;\n", encoding="utf-8")
        (self.root / "version").write_text("19.1\n", encoding="utf-8")
        for clone in ("one", "two"):
            (self.root / clone / "src").mkdir(parents=True)
            (self.root / clone / "src" / "a.cpp").write_text("int a;\n", encoding="utf-8")
            self.compile_with("-O2", clone)

    def compile_with(self, flag: str, clone: str = "one") -> None:
        source = self.root / clone / "src" / "a.cpp"
        command = f"/usr/bin/ccache /usr/bin/g++ {flag} -I{self.root / clone} -MF a.d -o a.o -c {source}"
        (self.root / clone / "compile_commands.json").write_text(json.dumps(
            [{"file": str(source), "directory": str(self.root), "command": command}]))

    def check(self, clone: str = "one", source: str = "src/a.cpp") -> tuple[str | None, int]:
        """What it says of the source, and how often clang-tidy ran for it."""
        (self.root / "calls").write_text("")
        with mock.patch.object(clang_tidy, "ROOT", self.root / clone):
            said = clang_tidy.Tidy(self.root / clone, self.root / "cache").check(source)
        return said, len((self.root / "calls").read_text().splitlines())

    def test_what_passed_is_not_read_again(self) -> None:
        self.assertEqual(self.check(), (None, 1))
        self.assertEqual(self.check(), (None, 0))
        self.assertEqual(self.check("two"), (None, 0))

    def test_each_change_is_read(self) -> None:
        self.check()
        for file, text in (("one/src/a.cpp", "int b;\n"), ("header.hpp", "int y;\n"),
                           ("version", "19.2\n"), ("one/.clang-tidy", "Checks: '*'\n"),
                           ("one/src/.clang-tidy", "Checks: '*'\n")):
            (self.root / file).write_text(text)
            self.assertEqual(self.check(), (None, 1))
            self.assertEqual(self.check(), (None, 0))
        self.compile_with("-O3")
        self.assertEqual(self.check(), (None, 1))

    def test_a_fault_is_found_each_time(self) -> None:
        (self.root / "one/src/a.cpp").write_text("// FAULT\n")
        for _ in range(2):
            said, calls = self.check()
            self.assertIn("FAULT", said or "")
            self.assertEqual(calls, 1)

    def test_a_source_outside_the_build_is_a_fault(self) -> None:
        self.assertEqual(self.check(source="src/b.cpp"),
                         ("src/b.cpp: no target of the build compiles it\n", 0))


if __name__ == "__main__":
    unittest.main()
