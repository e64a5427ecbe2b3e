"""Python finds a name that does not exist when the line runs, which may be in the last test of an
hour: pyflakes finds it at once, and what is imported and not used."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def faults(*files: Path, text: str = "") -> list[str]:
    """What pyflakes says of these files, or of the text."""
    done = subprocess.run(["pyflakes3", *map(str, files)], input=text, text=True, capture_output=True)
    return (done.stdout + done.stderr).splitlines()


class PythonNamesTest(unittest.TestCase):
    """Of every Python file of the tree."""

    def test_every_name_exists(self) -> None:
        files = [file for top in ("testing", "guard", "deploy", "docs")
                 for file in sorted((ROOT / top).rglob("*.py"))]
        files += [ROOT / "testing" / "kube" / "kube", ROOT / "deploy" / "images" / "build"]
        self.assertGreater(len(files), 50)
        self.assertEqual(faults(*files), [])

    def test_it_finds_one_that_does_not(self) -> None:
        self.assertEqual(faults(text="print(SECONDS)\n"), ["<stdin>:1:7: undefined name 'SECONDS'"])


if __name__ == "__main__":
    unittest.main()
