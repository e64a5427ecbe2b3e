"""Tests of the functions of mounts.py that need no privileges."""

from __future__ import annotations

import unittest
from pathlib import Path

from kube import mounts


class MountsTest(unittest.TestCase):
    def test_finds_mounts_below_and_not_beside(self) -> None:
        text = "1 2 0:1 / /a/run rw - x x rw\n1 2 0:1 / /a/run/b rw - x x rw\n" \
               "1 2 0:1 / /a/run2 rw - x x rw\n"
        self.assertEqual(mounts.points_below(Path("/a/run"), text), ["/a/run", "/a/run/b"])

    def test_an_unknown_step_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            mounts.apply([["unbind", "/a"]])


if __name__ == "__main__":
    unittest.main()
