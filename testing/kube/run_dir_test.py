"""The registry: claims, slots, and the removal of dead runs. Starts no run, so needs no root."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from kube.control import PACKAGE_PARENT
from kube.errors import KubeError
from kube.run_dir import Registry

CLAIM_AND_WAIT = """
import sys, pathlib, time
from kube.run_dir import Registry
run = Registry(pathlib.Path(sys.argv[1])).claim(sys.argv[2])
print("claimed", flush=True)
time.sleep(100)
"""


class RegistryTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.base = Path(scratch.name) / "runs"
        self.registry = Registry(self.base)

    def _other_process(self, name: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", CLAIM_AND_WAIT, str(self.base), name], text=True,
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "claimed\n")
        return process

    def test_two_runs_do_not_meet(self) -> None:
        one, two = self.registry.claim(), self.registry.claim()
        self.assertNotEqual(one.record.slot, two.record.slot)
        self.assertNotEqual(one.directory, two.directory)
        self.assertNotEqual(one.ports.first, two.ports.first)
        self.assertEqual(len(self.registry.live()), 2)
        for run in (one, two):
            self.registry.remove(run)
        self.assertFalse(self.base.exists())

    def test_a_slot_is_used_again(self) -> None:
        one = self.registry.claim()
        self.registry.remove(one)
        two = self.registry.claim()
        self.assertEqual(one.record.slot, two.record.slot)
        self.registry.remove(two)

    def test_a_name_that_is_up_is_refused(self) -> None:
        self._other_process("dev")
        with self.assertRaisesRegex(KubeError, "up already"):
            self.registry.claim("dev")

    def test_the_next_claim_removes_what_a_killed_one_left(self) -> None:
        process = self._other_process("dev")
        (self.base / "dev" / "file").write_text("x")
        process.send_signal(signal.SIGKILL)
        process.wait()
        run = self.registry.claim("dev")
        self.assertFalse((run.directory / "file").exists())
        self.registry.remove(run)

    def test_a_kept_run_lives_while_its_own_lock_is_held(self) -> None:
        run = self.registry.claim("dev")
        run.keep()
        init_lock = os.dup(run.locks[0])  # init inherits it
        run.unlock()
        self.assertTrue(self.registry.find("dev").record.keep)
        self.registry.clean()
        self.assertEqual([r.name for r in self.registry.live()], ["dev"])
        os.close(init_lock)
        self.registry.clean()
        self.assertFalse(self.base.exists())

    def test_waits_for_a_run_whose_owner_died_just_now(self) -> None:
        run = self.registry.claim("dev")
        init_lock = os.dup(run.locks[0])
        run.unlock()
        dying = subprocess.Popen(["sleep", "0.3"], pass_fds=[init_lock])
        os.close(init_lock)
        began = time.monotonic()
        self.registry.clean()
        self.assertGreater(time.monotonic() - began, 0.1)
        self.assertFalse(self.base.exists())
        dying.wait()

    def test_names(self) -> None:
        for name in ("", "A", "-a", "a-", "a/b", "x" * 21, "..", "a\n"):
            with self.subTest(name=name), self.assertRaises(KubeError):
                self.registry.claim(name)

    def test_a_half_made_run_is_removed(self) -> None:
        (self.base / "half").mkdir(parents=True)
        self.registry.clean()
        self.assertFalse(self.base.exists())

    def test_an_unknown_name_lists_the_known(self) -> None:
        run = self.registry.claim("dev")
        with self.assertRaisesRegex(KubeError, "there is: dev"):
            self.registry.find("other")
        self.assertEqual(json.loads((run.directory / "run.json").read_text())["name"], "dev")
        self.registry.remove(run)


if __name__ == "__main__":
    unittest.main()
