"""Tests of init.py as an ordinary process: programs, requests, and the end of stdin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from kube.control import PACKAGE_PARENT, Init
from kube.errors import KubeError


class InitTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        self.init = Init(self.directory)
        self.init.write_spec(join=[], steps=[], ends_with_stdin=True)
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-S", "-m", "kube.init", str(self.directory)],
            stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)})
        self.addCleanup(self._end)
        self.init.wait_alive()

    def _end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.assertEqual(self.process.wait(10), 0)

    def test_start_kill_and_start_again(self) -> None:
        self.init.define("p", ["/bin/sh", "-c", "echo $WORD; exec sleep 100"], {"WORD": "hello"})
        self.init.start("p")
        self.assertEqual(self.init.running(), ["p"])
        with self.assertRaisesRegex(KubeError, "runs already"):
            self.init.start("p")
        while "hello" not in self.init.log("p"):
            time.sleep(0.01)
        self.assertEqual(self.init.kill("p"), -signal.SIGKILL)
        self.assertEqual(self.init.ended(), {"p": -signal.SIGKILL})
        self.init.start("p")
        while self.init.log("p") != "hello\nhello\n":
            time.sleep(0.01)
        self.init.kill("p", signal.SIGTERM)

    def test_an_end_is_seen_and_unknown_names_are_errors(self) -> None:
        self.init.define("p", ["/bin/sh", "-c", "exit 3"])
        self.init.start("p")
        while not self.init.ended():
            time.sleep(0.01)
        self.assertEqual(self.init.ended(), {"p": 3})
        with self.assertRaises(KubeError):
            self.init.kill("p")
        with self.assertRaises(KubeError):
            self.init.start("q")
        with self.assertRaises(KubeError):
            self.init.log("q")

    def test_pid_is_that_of_the_process(self) -> None:
        self.assertEqual(self.init.pid(), self.process.pid)


if __name__ == "__main__":
    unittest.main()
