"""links.py finds planted faults, and the tree itself has none."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import links

ROOT = Path(__file__).resolve().parents[2]
OTHER = """# The Guard's `limits` (and more)

## Twice
## Twice
## A [link](x.md) in_a heading: 10 %
<a id="by-hand"></a>
```
# Not a heading
```
"""


class LinksTest(unittest.TestCase):
    def faults_of(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "docs" / "other.md").write_text(OTHER.replace("x.md", "other.md"))
            (root / "docs" / "page.md").write_text(text)
            return list(links.faults(root))

    def test_the_tree_has_no_fault(self) -> None:
        self.assertEqual(list(links.faults(ROOT)), [])

    def test_paths_of_manifests_exist(self) -> None:
        self.assertEqual(list(links.missing_paths(ROOT)), [])
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "deploy" / "chart").mkdir(parents=True)
            (root / "a.cpp").write_text('say("apply deploy/chart,\\n"\n    "deploy/base/a.yaml.")')
            (root / "CHANGELOG.md").write_text("deploy/base is gone")
            (root / "b.md").write_text("REGISTRY/deploy/x, my-deploy/y and deploy/")
            self.assertEqual(list(links.missing_paths(root)),
                             ["a.cpp:2: deploy/base/a.yaml: no such file."])

    def test_finds_each_planted_fault(self) -> None:
        for text, fault in (
            ("\n[a](missing.md)\n", "docs/page.md:2: missing.md: no such file."),
            ("[a](../docs/missing/)", "docs/page.md:1: ../docs/missing/: no such file."),
            ("![a](picture.svg)", "docs/page.md:1: picture.svg: no such file."),
            ("[a\nb](other.md#none)",
             "docs/page.md:2: other.md#none: docs/other.md has no such heading."),
            ("# Here\n[a](#there)", "docs/page.md:2: #there: docs/page.md has no such heading."),
            ("[a](other.md#Twice)",
             "docs/page.md:1: other.md#Twice: docs/other.md has no such heading."),
            ("[a](other.md#twice-2)",
             "docs/page.md:1: other.md#twice-2: docs/other.md has no such heading."),
            ("[a](other.md#not-a-heading)",
             "docs/page.md:1: other.md#not-a-heading: docs/other.md has no such heading."),
            ("[a][b]\n\n[b]: missing.md\n", "docs/page.md:3: missing.md: no such file."),
            ('<img src="missing.svg">', "docs/page.md:1: missing.svg: no such file."),
            ("[a](/missing.md)", "docs/page.md:1: /missing.md: no such file."),
            ("[a](../../etc)", "docs/page.md:1: ../../etc: outside the repository."),
            ("`[a](b.md)` [c](d.md)", "docs/page.md:1: d.md: no such file."),
            ("```\n[a](b.md)\n```\n[c](d.md)", "docs/page.md:4: d.md: no such file."),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.faults_of(text), [fault])

    def test_accepts_what_exists(self) -> None:
        for text in (
            "[a](other.md) [b](../docs/) [c](/docs/other.md)",
            "[a](other.md#the-guards-limits-and-more)",
            "[a](other.md#twice) [b](other.md#twice-1)",
            "[a](other.md#a-link-in_a-heading-10-)",
            "[a](other.md#by-hand)",
            "[a](https://example.com/x#y) [b](mailto:a@example.com)",
            "`[a](b.md)` and ``[a](`b.md)``",
            "```\n[a](b.md)\n```\n~~~\n[a](b.md)\n~~~",
            "<!-- [a](b.md) -->",
        ):
            with self.subTest(text=text):
                self.assertEqual(self.faults_of(text), [])


if __name__ == "__main__":
    unittest.main()
