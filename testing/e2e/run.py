"""Runs test modules for ctest: `python3 -m e2e.run MODULE...`. Exit status 77: skipped."""

from __future__ import annotations

import os
import sys
import time
import unittest

SKIPPED = 77  # SKIP_RETURN_CODE in CMakeLists.txt


class Timed(unittest.TextTestResult):
    """Prints how long each test took."""

    def startTest(self, test: unittest.TestCase) -> None:
        self.began = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.stream.write(f"{time.monotonic() - self.began:.1f} s ")
        super().addSuccess(test)


def main(modules: list[str]) -> int:
    """Runs the modules and returns the exit status."""
    if os.geteuid() != 0:
        print("skipped: Kubernetes nodes on this machine need root; run: sudo ./dev test -L e2e")
        return SKIPPED
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Timed)
    program = unittest.main(module=None, argv=["e2e", "-v", *modules], exit=False,
                            testRunner=runner)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
