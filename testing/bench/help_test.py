"""What ./dev says of its commands: it does nothing else, and benchmarks take what it says."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))


def said(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Help(unittest.TestCase):
    def test_does_nothing(self) -> None:
        """In a copy that has nothing to run, and little to lose."""
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            (copy / "tools").mkdir()
            (copy / "build").mkdir()
            for file in ("dev", "tools/say"):
                shutil.copy(ROOT / file, copy / file)
            for command in ("setup", "build", "test", "check", "clean"):
                for option in ("-h", "--help"):
                    self.assertIn("usage: ./dev COMMAND", said(copy / "dev", command, option))
            self.assertTrue((copy / "build").is_dir())
        self.assertIn("usage", said(ROOT / "dev", "kube", "--help"))

    def test_of_placement(self) -> None:
        """It needs no build, so it is a text of its own, which may not fall behind."""
        takes = set(re.findall(r"--[a-z-]+", said(BUILD / "bin" / "placement_bench", "--help")))
        self.assertIn("--golden", takes)
        told = said(ROOT / "dev", "bench", "placement", "--help")
        self.assertEqual(takes - {"--help"}, set(re.findall(r"--[a-z-]+", told)))


if __name__ == "__main__":
    unittest.main()
