"""gpusim's MPS programs answer byte for byte what the vendor's of two drivers answered."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from mps.programs import simulated
from mps.transcript import GOLDEN, golden_steps

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))


@unittest.skipUnless(os.geteuid() == 0, "the transcripts were made as root")
class GoldenTest(unittest.TestCase):
    def plays(self, golden: str) -> None:
        """The transcript of the driver of this file."""
        version = golden.split("-")[1].split(".")[0]
        played = "".join(step.text for step in golden_steps(simulated(BUILD, version)))
        self.assertMultiLineEqual(played, (GOLDEN / golden).read_text(encoding="utf-8"))

    def test_driver_535(self) -> None:
        self.plays("control-535.309.01.txt")

    def test_driver_550(self) -> None:
        self.plays("control-550.163.01.txt")


if __name__ == "__main__":
    unittest.main()
