"""32 programs at once call `tessera run` on two GPUs, and their processes are killed at random."""

from __future__ import annotations

import contextlib
import os
import random
import select
import subprocess
import threading
import unittest
from collections import defaultdict
from collections.abc import Mapping

from workstation.machine import BIN, GIB, GPU_BYTES, Hog, Json, Machine, Process

AT_ONCE = 32
ROUNDS = 3
MIB = 1 << 20


class Crowd(unittest.TestCase):
    def setUp(self) -> None:
        self.machine = Machine()
        self.addCleanup(self.machine.close)
        self.lock = threading.Lock()
        # What the programs that are certainly alive see as their GPU's memory.
        self.alive: dict[int, Hog] = {}
        self.errors: list[str] = []
        self.killed: dict[str, int] = defaultdict(int)

    def test_capacity(self) -> None:
        """Goal: shares never exceed a GPU, whichever processes are killed, and all are released.
        Method: an observer lists the leases all the time, and compares them and the programs that
        are alive with the GPUs."""
        seed = int(os.environ.get("TESSERA_SEED", random.SystemRandom().randrange(1 << 32)))
        users = [threading.Thread(target=self._user, args=(random.Random(seed + number),))
                 for number in range(AT_ONCE)]
        for user in users:
            user.start()
        looks = 0
        most = 0
        try:
            while any(user.is_alive() for user in users):
                most = max(most, len(self._look()))
                looks += 1
        finally:
            for user in users:
                user.join()
        with self.subTest(seed=seed):
            self.assertEqual(self.errors, [])
            self.assertGreater(looks, 1)
            self.assertGreater(most, 2)
            self.assertTrue(self.machine.is_empty())
            print(f"seed {seed}: {looks} looks, at most {most} runs, killed: {dict(self.killed)}")

    def _look(self) -> list[Json]:
        with self.lock:
            alive = [(hog.gpu, hog.share) for hog in self.alive.values()]
        self._fits(alive)
        runs = self.machine.runs()
        self._fits([(run["gpu"], run["memoryBytes"]) for run in runs])
        cores: Mapping[str, int] = self._sums([(run["gpu"], run["coresPercent"]) for run in runs])
        self._check(all(total <= 100 for total in cores.values()), f"cores: {runs}")
        self._check(all(run["usedBytes"] <= run["memoryBytes"] for run in runs), f"used: {runs}")
        return runs

    def _fits(self, shares: list[tuple[str, int]]) -> None:
        sums = self._sums(shares)
        self._check(all(total <= GPU_BYTES for total in sums.values()), f"memory: {shares}")

    @staticmethod
    def _sums(amounts: list[tuple[str, int]]) -> dict[str, int]:
        sums: dict[str, int] = defaultdict(int)
        for gpu, amount in amounts:
            sums[gpu] += amount
        return sums

    def _check(self, holds: bool, text: str) -> None:
        if not holds:
            with self.lock:
                self.errors.append(text)

    def _user(self, chance: random.Random) -> None:
        """Starts one run after the other, and ends each in one of several ways."""
        for _ in range(ROUNDS):
            memory = chance.randrange(1, 5) * GIB
            size = chance.randrange(0, memory // MIB) * MIB
            name = f"NAME={chance.randrange(1 << 60)}"
            front = self.machine.start("--wait", "--quiet", f"--memory={memory}",
                                       f"--cores={chance.randrange(0, 40)}", "--", "env", name,
                                       BIN / "gpuhog", str(size))
            try:
                if chance.randrange(3) == 0:
                    self._kill_early(front, name, chance)
                    continue
                hog = self.machine.started(front)
                self._check(hog.share == memory, f"gpuhog sees {hog.share}, not {memory}")
                self._end(hog, chance)
            except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
                self._check(False, repr(error))

    def _kill_early(self, front: subprocess.Popen[str], name: str, chance: random.Random) -> None:
        """Kills the front while it waits, starts the program, or after that. Ends the program."""
        threading.Event().wait(chance.random() / 2)
        front.kill()
        with self.lock:
            self.killed["early"] += 1
        assert front.stdout is not None
        while not select.select([front.stdout], [], [], 0.1)[0] or os.read(front.stdout.fileno(), 99):
            for run in self.machine.runs():
                if name in run["command"].split() and run["programAlive"]:
                    with contextlib.suppress(ProcessLookupError):
                        Process(run["pid"]).close()
        front.communicate()

    def _end(self, hog: Hog, chance: random.Random) -> None:
        with self.lock:
            self.alive[hog.program.pid] = hog
        victims: dict[str, list[subprocess.Popen[str] | Process]] = {
            "program": [], "front": [hog.front], "supervisor": [hog.supervisor],
            "both": [hog.front, hog.supervisor]}
        name = chance.choice(list(victims))
        for victim in victims[name]:
            victim.kill()
        with self.lock:
            self.killed[name] += 1
        threading.Event().wait(chance.random())
        with self.lock:
            del self.alive[hog.program.pid]
        errors = hog.close()
        self._check(errors == "", errors)
        status = -9 if hog.front in victims[name] else 137
        self._check(hog.front.returncode == status, f"{name}: status {hog.front.returncode}")


if __name__ == "__main__":
    unittest.main()
