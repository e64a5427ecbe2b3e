"""The help of ./dev: it has no other effect, and it lists the options of the benchmarks."""

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
        """Runs in a copy without programs, where a mistake can do no harm."""
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
        """This help needs no build, so it is a separate text. It must list the same options."""
        takes = set(re.findall(r"--[a-z-]+", said(BUILD / "bin" / "placement_bench", "--help")))
        self.assertIn("--golden", takes)
        printed = said(ROOT / "dev", "bench", "placement", "--help")
        self.assertEqual(takes - {"--help"}, set(re.findall(r"--[a-z-]+", printed)))


if __name__ == "__main__":
    unittest.main()
