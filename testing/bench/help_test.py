"""What ./dev bench --help says of a benchmark's options is what the benchmark takes."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))


def said(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Help(unittest.TestCase):
    def test_of_placement(self) -> None:
        """It needs no build, so it is a text of its own, which may not fall behind."""
        takes = set(re.findall(r"--[a-z-]+", said(BUILD / "bin" / "placement_bench", "--help")))
        self.assertIn("--golden", takes)
        told = said(ROOT / "dev", "bench", "placement", "--help")
        self.assertEqual(takes - {"--help"}, set(re.findall(r"--[a-z-]+", told)))


if __name__ == "__main__":
    unittest.main()
