"""The demo runs to its end, and prints what docs/tour.md shows. It checks its claims itself."""

from __future__ import annotations

import subprocess
import sys
import unittest

from demo import transcript
from stack import builds

TOUR = builds.ROOT / "docs" / "tour.md"


class DemoTest(unittest.TestCase):
    def test_demo(self) -> None:
        done = subprocess.run([sys.executable, str(builds.ROOT / "testing" / "demo" / "demo.py")],
                              text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-6000:]}\n{done.stderr[-4000:]}")
        self.assertIn("Done in", done.stdout)
        page = transcript.of_page(TOUR.read_text(encoding="utf-8"))
        differences = transcript.differences(page, done.stdout)
        self.assertEqual(differences, [], "correct docs/tour.md:\n" + "\n".join(differences))
