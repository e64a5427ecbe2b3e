"""The demo tells its story to the end, and what it claims holds: it checks each claim itself."""

from __future__ import annotations

import subprocess
import sys
import unittest

from stack import builds


class DemoTest(unittest.TestCase):
    def test_demo(self) -> None:
        done = subprocess.run([sys.executable, str(builds.ROOT / "testing" / "demo" / "demo.py")],
                              text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{done.stdout[-6000:]}\n{done.stderr[-4000:]}")
        self.assertIn("Done in", done.stdout)
