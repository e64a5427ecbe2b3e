"""A file that a command left in the top folder is committed by `git add -A`, and is then in every
clone. So the top folder has only what this test names."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = {".ci", ".clang-format", ".clang-tidy", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md",
       "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md",
       "SECURITY.md", "STYLE.md", "api", "cmake", "deploy", "dev", "docs", "gpusim", "guard",
       "simulator", "src", "testing", "tools"}


class TrackedFilesTest(unittest.TestCase):
    def test_the_top_folder(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True,
                                capture_output=True, check=True).stdout
        self.assertEqual({name.partition("/")[0] for name in listed.split("\0") if name}, TOP)


if __name__ == "__main__":
    unittest.main()
