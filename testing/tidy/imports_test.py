"""Every Python module below testing/ can be imported. A name that another change moved would
otherwise show only when the module runs, which for some checks is before a release."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

TESTING = Path(__file__).resolve().parents[1]
SCRIPT = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
"""


def modules() -> list[str]:
    """The modules of the packages below testing/."""
    return sorted(".".join(path.relative_to(TESTING).with_suffix("").parts)
                  for path in TESTING.glob("*/*.py")
                  if (path.parent / "__init__.py").exists() and path.stem != "__init__")


class ImportsTest(unittest.TestCase):
    def test_modules_can_be_imported(self) -> None:
        found = modules()
        self.assertIn("e2e.migration_test", found)
        done = subprocess.run([sys.executable, "-c", SCRIPT, *found], cwd=TESTING, text=True,
                              capture_output=True, timeout=300)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_module_that_cannot_be_imported_is_named(self) -> None:
        done = subprocess.run([sys.executable, "-c", SCRIPT, "no_such_module"], cwd=TESTING,
                              text=True, capture_output=True, timeout=60)
        self.assertIn("no_such_module: ModuleNotFoundError", done.stdout)


if __name__ == "__main__":
    unittest.main()
