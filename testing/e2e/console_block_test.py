"""Tests of e2e.console_block."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from e2e import console_block

DOCUMENT = """# Title

## Install

Words.

```console
$ first --a \\
    --b
one
two
$ second
$ third
LAST DEPLOYED: Fri Nov 27 2026
```

## Next

```yaml
kind: Pod
```
"""


class ConsoleBlockTest(unittest.TestCase):
    def test_steps(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            document = Path(folder) / "README.md"
            document.write_text(DOCUMENT)
            steps = console_block.steps(document, "Install")
            self.assertEqual([step.command for step in steps], ["first --a --b", "second", "third"])
            self.assertEqual([step.printed for step in steps][:2], ["one\ntwo\n", ""])
            self.assertEqual(steps[2].printed, "LAST DEPLOYED: Fri Nov 27 2026\n")
            self.assertEqual(console_block.yaml_block(document, "Next"), "kind: Pod\n")
            with self.assertRaisesRegex(ValueError, "no ```console block below the heading Next"):
                console_block.steps(document, "Next")
            printed = console_block.run("echo a; echo b >&2; pwd",
                                        {"PATH": "/usr/bin:/bin"}, Path(folder))
            self.assertEqual(printed, f"a\nb\n{Path(folder).resolve()}\n")


if __name__ == "__main__":
    unittest.main()
