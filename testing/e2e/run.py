"""Runs test modules for ctest: `python3 -m e2e.run MODULE...`; status 77: they were skipped."""

from __future__ import annotations

import os
import sys
import unittest

SKIPPED = 77  # SKIP_RETURN_CODE in CMakeLists.txt


def main(modules: list[str]) -> int:
    """The exit status."""
    if os.geteuid() != 0:
        print("skipped: a Kubernetes with nodes of its own needs root; run: sudo ./dev test -L e2e")
        return SKIPPED
    program = unittest.main(module=None, argv=["e2e", "-v", *modules], exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
