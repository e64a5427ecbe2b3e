"""deploy/images/build: the contents of an image, and that builds are reproducible."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from kube import images


class ImageBuildTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def _build(self, out: str, *options: str) -> Path:
        subprocess.run([images.BUILD, "localhost/x:1", self.directory / out, *options], check=True,
                       capture_output=True, text=True)
        return self.directory / out

    def _layer(self, archive: Path) -> dict[str, tarfile.TarInfo]:
        with tarfile.open(archive) as outer:
            member = outer.extractfile("layer.tar")
            assert member is not None
            with tarfile.open(fileobj=member) as layer:
                return {info.name: info for info in layer.getmembers()}

    def test_same_inputs_same_bytes(self) -> None:
        (self.directory / "f").write_text("x")
        options = [f"--file={self.directory}/f=/a/b", "--program=/usr/bin/openssl=/usr/bin/x"]
        digests = set()
        for out in ("1.tar", "2.tar"):
            os.utime(self.directory / "f")
            digests.add(hashlib.sha256(self._build(out, *options).read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_a_program_brings_its_libraries_and_loader(self) -> None:
        names = self._layer(self._build("x.tar", "--program=/usr/bin/openssl=/usr/bin/openssl"))
        for path in ("usr/bin/openssl", "lib64/ld-linux-x86-64.so.2",
                     "lib/x86_64-linux-gnu/libcrypto.so.3", "lib/x86_64-linux-gnu/libc.so.6"):
            self.assertIn(path, names)
        self.assertEqual(names["tmp"].mode, 0o1777)

    def test_without_leaves_a_library_out(self) -> None:
        names = self._layer(self._build("x.tar", "--program=/usr/bin/openssl=/x",
                                        "--without=libcrypto.so.3"))
        self.assertNotIn("lib/x86_64-linux-gnu/libcrypto.so.3", names)

    def test_equal_files_are_stored_once(self) -> None:
        (self.directory / "f").write_text("x" * 9999)
        names = self._layer(self._build("x.tar", f"--file={self.directory}/f=/a",
                                        f"--file={self.directory}/f=/b"))
        self.assertEqual(names["b"].linkname, "a")

    def test_mistakes_are_one_line(self) -> None:
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            self._build("x.tar", "--file=/not/there=/a")
        self.assertEqual(caught.exception.stderr, "build: no file /not/there\n")


if __name__ == "__main__":
    unittest.main()
