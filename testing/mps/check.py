"""Plays the same commands against the vendor's MPS programs of two drivers and gpusim's, and prints
the results: `./dev check mps`. `tools/setup mps` downloads the vendor's programs. Needs root.

usage: python3 -m mps.check FOLDER    with the folders 535 and 550 of `tools/setup mps`
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mps.programs import CONTROL, SERVER, Programs, simulated
from mps.transcript import Step, corner_case_steps, golden_steps, unprivileged_steps

VERSIONS = ("535", "550")


def vendors(root: Path) -> Programs:
    """The programs of unpacked Debian packages."""
    return Programs(root / "usr/bin" / CONTROL, root / "usr/sbin" / SERVER, {
        "LD_LIBRARY_PATH": str(root / "usr/lib/x86_64-linux-gnu/nvidia/current")})


def steps(programs: Programs) -> Iterator[Step]:
    """Everything that is compared."""
    yield from golden_steps(programs)
    yield from corner_case_steps(programs)
    yield from unprivileged_steps(programs)


def shown(step: Step) -> str:
    """A result in one line: without the command itself."""
    lines = [line for line in step.text.splitlines() if not line.startswith("> ")]
    return " | ".join(line if len(line) <= 70 else f"{line[:67]}..." for line in lines)


def compare(version: str, root: Path, build: Path) -> int:
    """Prints the table of one driver, and returns the number of differences."""
    print(f"driver {version}\n{'command':<60} result")
    differences = 0
    for real, ours in zip(steps(vendors(root)), steps(simulated(build, version)), strict=True):
        print(f"{real.what:<60} {shown(real)}")
        if real.text != ours.text:
            differences += 1
            print(f"{'    DIFFERENT: gpusim':<60} {shown(ours)}")
    print(f"driver {version}: {differences} differences\n")
    return differences


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("check mps: needs root, because commands run as several users", file=sys.stderr)
        return 1
    build = Path(os.environ["TESSERA_BUILD"])
    differences = 0
    with tempfile.TemporaryDirectory(prefix="mps-drivers-") as scratch:
        # Servers of other users must be able to load the driver's libraries.
        os.chmod(scratch, 0o755)
        for version in VERSIONS:
            root = shutil.copytree(Path(sys.argv[1]) / version, Path(scratch) / version,
                                   symlinks=True)
            differences += compare(version, root, build)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
