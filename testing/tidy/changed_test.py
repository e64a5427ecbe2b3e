"""Goal: clang-tidy reads what a change touched, in every kind of clone, and never nothing."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import changed

_IDENTITY = {f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER")
             for what in ("NAME", "EMAIL")}


class Repository:
    """A scratch repository on the branch main."""

    def __init__(self, root: Path, *clone: str) -> None:
        self.root = root
        subprocess.run(["git", *(clone or ("init", "--quiet", "--initial-branch=main")), root],
                       check=True, capture_output=True)

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True,
                       env={**os.environ, **_IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null"})

    def write(self, *names: str, text: str = "") -> None:
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            path.write_text(f"{text}{before}// again\n", encoding="utf-8")

    def commit(self, *names: str, text: str = "") -> None:
        """One commit that changes these files."""
        self.write(*names, text=text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")

    def sources(self) -> list[str]:
        return changed.changed_sources(self.root).sources


class ChangedTest(unittest.TestCase):
    """Each test has a folder for its repositories."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.repository = Repository(self.folder / "origin")
        self.repository.commit("src/a.cpp", "src/b.cpp", "src/old.cpp")

    def publish(self) -> None:
        """origin/main is here from now on."""
        self.repository.git("update-ref", "refs/remotes/origin/main", "HEAD")

    def test_since_the_merge_base(self) -> None:
        self.publish()
        self.repository.git("switch", "--quiet", "--create", "topic")
        self.repository.commit("src/a.cpp")
        self.repository.commit("src/b.cpp", "docs/page.md")
        chosen = changed.changed_sources(self.repository.root)
        self.assertEqual(chosen.sources, ["src/b.cpp", "src/a.cpp"])
        self.assertEqual(chosen.since, "the merge base with origin/main")
        # What others merged meanwhile is not this change.
        self.repository.git("switch", "--quiet", "main")
        self.repository.commit("src/old.cpp")
        self.publish()
        self.repository.git("switch", "--quiet", "topic")
        self.assertEqual(self.repository.sources(), ["src/b.cpp", "src/a.cpp"])

    def test_head_is_origin_main(self) -> None:
        self.repository.commit("src/b.cpp")
        self.publish()
        chosen = changed.changed_sources(self.repository.root)
        self.assertEqual(chosen.sources[0], "src/b.cpp")
        self.assertEqual(chosen.since, "the last 40 commits")
        for _ in range(changed.COMMITS - 1):
            self.repository.commit("src/a.cpp")
        self.publish()
        self.assertEqual(self.repository.sources(), ["src/a.cpp", "src/b.cpp"])

    def test_no_origin(self) -> None:
        self.repository.commit("src/b.cpp")
        self.assertEqual(sorted(self.repository.sources()),
                         ["src/a.cpp", "src/b.cpp", "src/old.cpp"])

    def test_shallow_clone(self) -> None:
        self.repository.commit("src/b.cpp")
        clone = Repository(self.folder / "shallow", "clone", "--quiet", "--depth=1",
                           f"file://{self.repository.root}")
        self.assertEqual(len(clone.sources()), 3)
        # A branch of which the merge base is beyond the depth.
        clone.git("switch", "--quiet", "--orphan", "topic")
        clone.commit("src/own.cpp")
        self.assertEqual(clone.sources(), ["src/own.cpp"])

    def test_never_nothing(self) -> None:
        for _ in range(changed.COMMITS + 1):
            self.repository.commit("README.md")
        self.assertEqual(len(self.repository.sources()), 3)
        self.publish()
        self.repository.commit("README.md")
        self.assertEqual(len(self.repository.sources()), 3)

    def test_a_merge_brings_its_files(self) -> None:
        self.publish()
        self.repository.git("switch", "--quiet", "--create", "topic")
        self.repository.git("switch", "--quiet", "--create", "part")
        self.repository.commit("src/a.cpp")
        self.repository.git("switch", "--quiet", "topic")
        self.repository.commit("src/b.cpp")
        self.repository.git("merge", "--quiet", "--no-edit", "part")
        self.assertEqual(self.repository.sources(), ["src/a.cpp", "src/b.cpp"])

    def test_files_that_are_not_committed_come_first(self) -> None:
        self.publish()
        self.repository.commit("src/a.cpp")
        self.repository.write("src/b.cpp", "guard/fresh.cpp")
        self.assertEqual(self.repository.sources(), ["src/b.cpp", "guard/fresh.cpp", "src/a.cpp"])

    def test_a_header_counts_as_a_source_that_includes_it(self) -> None:
        self.repository.commit("src/base/own.hpp", "src/base/own.cpp", "src/base/alone.hpp",
                               "src/base/unused.hpp", "guard/rows.def")
        self.repository.commit("src/user.cpp", text='#include "base/alone.hpp"\n')
        self.repository.commit("guard/user.cpp", text='#include "guard/rows.def"\n')
        self.publish()
        self.repository.commit("src/base/own.hpp")
        self.repository.commit("src/base/alone.hpp")
        self.repository.commit("src/base/unused.hpp", "guard/rows.def")
        self.assertEqual(self.repository.sources(),
                         ["guard/user.cpp", "src/user.cpp", "src/base/own.cpp"])

    def test_tests_and_deleted_files_do_not_count(self) -> None:
        self.publish()
        self.repository.commit("src/a_test.cpp", "src/a_fuzz.cpp", "guard/hardware/probe.cpp",
                               "testing/fakes/fake.cpp", "src/b.cpp")
        self.repository.git("rm", "--quiet", "src/a.cpp")
        self.repository.commit()
        self.assertEqual(self.repository.sources(), ["src/b.cpp"])


if __name__ == "__main__":
    unittest.main()
