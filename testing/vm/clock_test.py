"""The frequency of the time-stamp counter."""

from __future__ import annotations

import unittest

from vm import clock


class ClockTest(unittest.TestCase):
    def test_two_measurements_agree(self) -> None:
        first, second = clock.tsc_khz(), clock.tsc_khz()
        self.assertGreater(first, 100_000)
        self.assertLess(abs(first - second), first / 100)


if __name__ == "__main__":
    unittest.main()
