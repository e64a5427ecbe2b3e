"""Python finds a name that does not exist when the line runs, which may be in the last test of an
hour: pyflakes finds it at once, and what is imported and not used. An attribute of a class that
nothing reads is a setting without effect, which no tool of Debian finds."""

from __future__ import annotations

import ast
import subprocess
import unittest
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Methods and functions that Python's own library calls by their names.
CALLED_BY_PYTHON = {"load_tests", "log_message", "setUp", "tearDown", "setUpClass", "tearDownClass"}


def tree() -> list[Path]:
    """Every Python file."""
    files = [file for top in ("testing", "guard", "deploy", "docs")
             for file in sorted((ROOT / top).rglob("*.py"))]
    return [*files, ROOT / "testing" / "kube" / "kube", ROOT / "deploy" / "images" / "build"]


def faults(*files: Path, text: str = "") -> list[str]:
    """What pyflakes says of these files, or of the text."""
    done = subprocess.run(["pyflakes3", *map(str, files)], input=text, text=True, capture_output=True)
    return (done.stdout + done.stderr).splitlines()


def defined(module: ast.Module) -> Iterator[tuple[str, int]]:
    """The functions, the attributes of classes and the constants of a module, with their lines."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.lineno
        if not isinstance(node, (ast.ClassDef, ast.Module)):
            continue
        for line in node.body:
            targets = line.targets if isinstance(line, ast.Assign) else (
                [line.target] if isinstance(line, ast.AnnAssign) else [])
            yield from ((each.id, each.lineno) for each in targets if isinstance(each, ast.Name))


def read(module: ast.Module) -> set[str]:
    """The names and attributes that a module reads or calls."""
    loads = [node for node in ast.walk(module) if isinstance(node, (ast.Name, ast.Attribute))
             and isinstance(node.ctx, ast.Load)]
    return {node.id if isinstance(node, ast.Name) else node.attr for node in loads}


def unread(texts: Mapping[str, str]) -> list[str]:
    """What some file defines and none reads. Tests are called by unittest."""
    modules = {name: ast.parse(text) for name, text in texts.items()}
    names = CALLED_BY_PYTHON.union(*map(read, modules.values()))
    return [f"{file}:{line}: nothing reads {name}" for file, module in modules.items()
            for name, line in defined(module)
            if name not in names and not name.startswith(("test_", "__"))]


class PythonNamesTest(unittest.TestCase):
    """Of every Python file of the tree."""

    def test_every_name_exists(self) -> None:
        self.assertGreater(len(tree()), 50)
        self.assertEqual(faults(*tree()), [])

    def test_it_finds_one_that_does_not(self) -> None:
        self.assertEqual(faults(text="print(SECONDS)\n"), ["<stdin>:1:7: undefined name 'SECONDS'"])

    def test_every_name_is_read(self) -> None:
        texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in tree()}
        self.assertEqual(unread(texts), [])

    def test_it_finds_a_setting_without_effect(self) -> None:
        texts = {"base.py": "class Base:\n    size = 1\n    used: int = 2\n",
                 "case.py": "class Case(Base):\n    siez = 2\n\n    def run(self):\n"
                            "        return self.size + self.used\n\nCase().run()\n"}
        self.assertEqual(unread(texts), ["case.py:2: nothing reads siez"])


if __name__ == "__main__":
    unittest.main()
