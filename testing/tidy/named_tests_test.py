"""Every test that a document names exists."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "compat" / "gpushare-defects.md"
OTHERS = (ROOT / "docs" / "install" / "ai-conformance.md",)
NAMED = re.compile(r"`(test_\w+|[A-Z]\w+\.[A-Z]\w+)`")
UNIT = re.compile(r"^(?:TEST|TEST_F|RC_GTEST_PROP|REACHING_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
E2E = re.compile(r"^    def (test_\w+)\(", re.MULTILINE)


def existing() -> set[str]:
    """All tests of the tree."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*_test.cpp"):
        found.update(".".join(names) for names in UNIT.findall(path.read_text(encoding="utf-8")))
    for path in (ROOT / "testing" / "e2e").glob("*.py"):
        found.update(E2E.findall(path.read_text(encoding="utf-8")))
    return found


class NamedTestsTest(unittest.TestCase):
    """And all 27 defects stand there."""

    def test_all_exist(self) -> None:
        named = set(NAMED.findall(PAGE.read_text(encoding="utf-8")))
        self.assertGreater(len(named), 40)
        for other in OTHERS:
            more = set(NAMED.findall(other.read_text(encoding="utf-8")))
            self.assertGreater(len(more), 5, other)
            named |= more
        self.assertEqual(named - existing(), set())

    def test_all_defects(self) -> None:
        first_column = " ".join(line.split("|")[1] for line in PAGE.read_text(
            encoding="utf-8").splitlines() if line.startswith("| D-"))
        self.assertEqual({int(n) for n in re.findall(r"D-(\d+)", first_column)}, set(range(1, 28)))


if __name__ == "__main__":
    unittest.main()
