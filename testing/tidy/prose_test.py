"""Each rule of prose.py bites, lawful text passes, and the tree itself has no fault."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import prose
import texts

ROOT = Path(__file__).resolve().parents[2]
LONG = " ".join(["word"] * 41)
FITS = " ".join(["word"] * 40)


def faults_of(name: str, text: str) -> list[str]:
    """The faults of a tree with one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return list(prose.faults(Path(folder)))


class TreeTest(unittest.TestCase):
    found: list[prose.Fault]

    @classmethod
    def setUpClass(cls) -> None:
        cls.found = list(prose.all_faults(ROOT))

    def test_the_tree_has_no_fault(self) -> None:
        self.assertEqual([str(fault) for fault in self.found if not prose.is_exception(fault)], [])

    def test_each_exception_is_needed_and_has_a_reason(self) -> None:
        for allowed in prose.EXCEPTIONS:
            self.assertTrue(any(fault.is_allowed_by(allowed) for fault in self.found), allowed)
            self.assertGreater(len(allowed.reason.split()), 3, allowed)
        self.assertLess(len(prose.EXCEPTIONS), 10)

    def test_every_language_is_read(self) -> None:
        kinds: dict[str, set[str]] = {}
        for source in texts.sources(ROOT):
            kinds.setdefault(Path(source.name).suffix, set()).update(t.kind for t in source.texts)
        for suffix in (".cpp", ".hpp", ".c", ".def", ".py", ".yaml", ""):
            self.assertEqual(kinds[suffix] & {texts.COMMENT, texts.STRING},
                             {texts.COMMENT, texts.STRING}, suffix)
        self.assertEqual(kinds[".md"], {texts.DOCUMENT})
        self.assertEqual(kinds[".json"], {texts.STRING})


class ProseTest(unittest.TestCase):
    def assert_fault(self, name: str, text: str, sentence: str, line: int = 1) -> None:
        found = faults_of(name, text)
        self.assertEqual(len(found), 1, (text, found))
        self.assertIn(sentence, found[0])
        self.assertTrue(found[0].startswith(f"{name}:{line}: "), found[0])

    def assert_lawful(self, name: str, text: str) -> None:
        self.assertEqual(faults_of(name, text), [], text)

    def test_banned_words_are_found(self) -> None:
        for sentence in [
            "The agent starts anew.",
            "It waits so many seconds.",
            "The agent is told the limit.",
            "The controller mends the annotation.",
            "A program goes past the limit.",
            "The request comes to nothing.",
            "The agent shall stop.",
            "The event names the pod and whose it is.",
            "The agent skips such ones.",
            "It has a loader of one's own.",
            "A full GPU stands in the way.",
            "The agent retries in vain.",
            "The event names the lack.",
            "The pod waits for lack of memory.",
            "The leader stops when the Lease ends.",
            "The pod stays as it is.",
            "Whoever reads this may write.",
            "The pod for whom it was freed.",
            "The agent refuses who has no token.",
            "Nobody reads it.",
            "The process loses its memory when he dies.",
        ]:
            self.assert_fault("src/a.cpp", f"// {sentence}\n", "write")
            self.assert_fault("docs/a.md", f"# Title\n\n{sentence}\n", "write", 3)

    def test_every_expression_is_tested(self) -> None:
        text = Path(__file__).read_text(encoding="utf-8")
        for row, _ in prose.ROWS:
            self.assertTrue(row.search(text), row.pattern)

    def test_lawful_uses_pass(self) -> None:
        for sentence in [
            "As many pods as fit, so long as they fit.",
            "A user who may read Secrets, and those who own the pod.",
            "The handle is free as soon as it is destroyed.",
            "The share is the same as it is in gpushare.",
            "The process ends, and recommended amendments follow.",
            "The time in the past; the path of a pod; the shallow copy.",
            "The node lacks a GPU.",
            "The option `--who` and the name `nobody` are code.",
            "The heap, the cache and there.",
        ]:
            self.assert_lawful("src/a.cpp", f"// {sentence}\n")
            self.assert_lawful("docs/a.md", f"{sentence}\n")
        self.assert_lawful("src/a.cpp", "int anew = shall(who);\n")

    def test_comments_and_strings_of_every_language(self) -> None:
        for name, text, line in [
            ("src/a.cpp", "int x;  // starts anew\n", 1),
            ("src/a.cpp", "// One line.\n// It starts\n// anew.\n", 3),
            ("guard/a.hpp", "/* One line.\n * It starts anew. */\n", 2),
            ("guard/a.c", 'const char* x = "starts anew";\n', 1),
            ("gpusim/a.cpp", 'f(\'"\', "it starts "\n  "anew");\n', 2),
            ("src/a.cpp", 'f("a \\"quoted\\" text starts anew");\n', 1),
            ("src/a.cpp", 'f(R"(first\nstarts anew)");\n', 2),
            ("src/a.def", 'ROW(x, "starts anew")\n', 1),
            ("simulator/a.cpp", 'f("agent is "\n  "told");\n', 1),
            ("testing/a.py", '"""It starts anew."""\n', 1),
            ("testing/a.py", "X = 1  # starts anew\n", 1),
            ("testing/a.py", "X = 'starts anew'\n", 1),
            ("testing/a.py", 'X = f"{x} starts anew"\n', 1),
            ("testing/tool", "#!/usr/bin/env python3\n# starts anew\n", 2),
            ("tools/a", '#!/bin/bash\necho "starts anew"\n', 2),
            ("dev", "#!/bin/bash\ncat <<'T'\nstarts anew\nT\n", 3),
            ("cmake/a.cmake", "# starts anew\n", 1),
            ("CMakeLists.txt", "# starts anew\n", 1),
            ("deploy/a.yaml", "# starts anew\na: b\n", 1),
            ("deploy/a.yaml", "a: b\ndescription: starts anew\n", 2),
            ("deploy/a.yaml", "a:\n  description: >-\n    it starts\n    anew\n", 4),
            ("deploy/a.json", '{\n  "title": "starts anew"\n}\n', 2),
            ("testing/mutants/a.patch", "It starts anew.\n\n--- a/x\n+++ b/x\n", 1),
            ("README.md", "- item\n- It starts anew.\n", 2),
            ("docs/a.md", "| a | starts anew |\n", 1),
        ]:
            self.assert_fault(name, text, "write", line)

    def test_what_others_wrote_is_not_read(self) -> None:
        for name in ("docs/research/a.md", "testing/fixtures/a.py", "testing/fuzz/corpus/a.md",
                     "api/nri/a.h", "build/a.md", "docs/picture.png"):
            self.assert_lawful(name, "starts anew\n")

    def test_a_sentence_is_short(self) -> None:
        wrapped = LONG.replace(" ", "\n// ", 20)
        for name, text, line in [
            ("src/a.cpp", f"// {LONG}.\n", 1),
            ("src/a.cpp", f"// Short.\n// {wrapped}.\n", 2),
            ("src/a.cpp", f'f("{LONG[:100]}"\n  "{LONG[100:]}");\n', 1),
            ("testing/a.py", f'"""Short. {LONG}."""\n', 1),
            ("deploy/a.yaml", f"summary: {LONG}\n", 1),
            ("tools/a", f"#!/bin/bash\n# {LONG}\n", 2),
            ("docs/a.md", "Short.\n\n" + LONG.replace(" ", "\n") + ".\n", 3),
            ("docs/a.md", "- item\n- " + LONG.replace(" ", "\n  ") + "\n", 2),
            ("docs/a.md", f"| a | {LONG} |\n", 1),
        ]:
            self.assert_fault(name, text, "a sentence of 41 words", line)

    def test_what_ends_a_sentence(self) -> None:
        for end in (". ", "? ", "! ", ".) ", ".\n// ", "\n//\n// ", "\n// - "):
            self.assert_lawful("src/a.cpp", f"// {FITS}{end}{FITS}.\n")
        self.assert_fault("src/a.cpp", f"// {FITS}, {FITS}.\n", "80 words")
        self.assert_fault("src/a.cpp", f"// {FITS}; {FITS}.\n", "80 words")
        self.assert_lawful("src/a.cpp", f'f("{FITS}\\n  {FITS}   {FITS}");\n')
        self.assert_fault("src/a.cpp", f'f("{FITS}\\nand {FITS}");\n', "81 words")

    def test_code_and_addresses_are_one_word(self) -> None:
        code = FITS.removesuffix("word") + "`a program with many arguments`"
        link = FITS.removesuffix("word") + "[text](a%20b.md)"
        for text in (code, link):
            self.assert_lawful("docs/a.md", text.replace(" ", "\n", 30) + "\n")

    def test_a_document_is_narrow(self) -> None:
        self.assert_fault("docs/a.md", "x\n" + "x" * 101 + "\n", "101 columns", 2)
        self.assert_fault("README.md", "x" * 50 + " " + "x" * 50 + "\n", "101 columns")
        self.assert_fault("docs/a.md", "x" * 101 + " https://a.b/c\n", "columns")
        for text in ("x" * 100, "| " + "x" * 101 + " |", "```\n" + "x" * 101 + "\n```",
                     "See https://example.com/" + "x" * 101):
            self.assert_lawful("docs/a.md", text + "\n")

    def test_exceptions(self) -> None:
        allowed = prose.Allowed("src/a", "anew", "the name of a field")
        with mock.patch.object(prose, "EXCEPTIONS", (allowed,)):
            self.assert_lawful("src/a.cpp", 'f("anew");\n')
            self.assert_fault("src/b.cpp", 'f("anew");\n', "write again")
            self.assert_fault("src/a.cpp", 'f("nobody");\n', "write name")

    def test_the_words_to_write_are_not_banned(self) -> None:
        for row, instead in prose.ROWS:
            self.assertIsNone(prose.ANY_BANNED.search(re.sub(r"\W", " ", instead)), row.pattern)


if __name__ == "__main__":
    unittest.main()
