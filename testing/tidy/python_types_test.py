"""Every function of our Python says what it takes and returns, and mypy proves that its callers
agree. Otherwise a wrong argument is found when the line runs, which may be in the last test of an
hour, or in a check that runs once a week."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTING = ROOT / "testing"
PACKAGES = sorted(path.parent.name for path in TESTING.glob("*/__init__.py"))
SCRIPTS = [[ROOT / "tools" / "release", ROOT / "tools" / "oci.py", ROOT / "tools" / "sbom.py"],
           [ROOT / "deploy" / "images" / "build"], [TESTING / "kube" / "kube"],
           sorted((TESTING / "tidy").glob("*.py"))]


def faults(*arguments: str, folder: Path, cache: str) -> list[str]:
    """What mypy says of packages and files."""
    done = subprocess.run(
        ["mypy", "--strict", "--implicit-reexport", "--scripts-are-modules", "--no-error-summary",
         f"--cache-dir={cache}", *arguments], cwd=folder, text=True, capture_output=True,
        env={**os.environ, "MYPYPATH": f"{TESTING}:{ROOT / 'tools'}"})
    return (done.stdout + done.stderr).splitlines()


class PythonTypesTest(unittest.TestCase):
    def test_callers_and_functions_agree(self) -> None:
        self.assertIn("e2e", PACKAGES)
        with tempfile.TemporaryDirectory() as cache:
            packages = [f"--package={name}" for name in PACKAGES]
            self.assertEqual(faults(*packages, folder=TESTING, cache=cache), [])
            for scripts in SCRIPTS:
                self.assertEqual(faults(*map(str, scripts), folder=ROOT, cache=cache), [])

    def test_it_finds_a_wrong_argument(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.py").write_text("def f(x: int) -> int:\n    return x\n\n\nf('1')\n")
            said = faults("a.py", folder=Path(folder), cache=f"{folder}/cache")
        self.assertEqual(said, ['a.py:5: error: Argument 1 to "f" has incompatible type "str"; '
                                'expected "int"  [arg-type]'])


if __name__ == "__main__":
    unittest.main()
